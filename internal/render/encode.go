package render

import (
	"bytes"
	"context"
	"image/jpeg"
)

// PNG paints a drawing as PNG.
func (d *Drawing) PNG(ctx context.Context) ([]byte, error) {
	img, put := d.canvas()
	defer put()
	if _, err := d.paint(ctx, img); err != nil {
		return nil, err
	}
	return appendPNG(nil, img)
}

// JPEG encodes a drawing as JPEG. Transparent parts become white.
func (d *Drawing) JPEG(ctx context.Context) ([]byte, error) {
	img, put := d.canvas()
	defer put()
	if _, err := d.paint(ctx, img); err != nil {
		return nil, err
	}
	for i := 0; i < len(img.Pix); i += 4 {
		px := img.Pix[i : i+4 : i+4]
		if rest := 255 - px[3]; rest > 0 {
			px[0], px[1], px[2], px[3] = px[0]+rest, px[1]+rest, px[2]+rest, 255
		}
	}
	var b bytes.Buffer
	err := jpeg.Encode(&b, img, &jpeg.Options{Quality: 90})
	return b.Bytes(), err
}
