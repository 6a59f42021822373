package render

import (
	"bytes"
	"context"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"sync"
)

// PNG paints a drawing as PNG.
func (d *Drawing) PNG(ctx context.Context) ([]byte, error) {
	img, err := d.Image(ctx)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	enc := png.Encoder{CompressionLevel: png.BestSpeed, BufferPool: encoders}
	if few := paletted(img); few != nil {
		err = enc.Encode(&b, few)
	} else {
		err = enc.Encode(&b, img)
	}
	return b.Bytes(), err
}

// JPEG paints a drawing as JPEG; what is transparent becomes white.
func (d *Drawing) JPEG(ctx context.Context) ([]byte, error) {
	img, err := d.Image(ctx)
	if err != nil {
		return nil, err
	}
	for i := 0; i < len(img.Pix); i += 4 {
		px := img.Pix[i : i+4 : i+4]
		if rest := 255 - px[3]; rest > 0 {
			px[0], px[1], px[2], px[3] = px[0]+rest, px[1]+rest, px[2]+rest, 255
		}
	}
	var b bytes.Buffer
	err = jpeg.Encode(&b, img, &jpeg.Options{Quality: 90})
	return b.Bytes(), err
}

// encoders are the buffers of encoders that are not in use.
var encoders = &encoderPool{}

type encoderPool struct{ sync.Pool }

func (p *encoderPool) Get() *png.EncoderBuffer { b, _ := p.Pool.Get().(*png.EncoderBuffer); return b }

func (p *encoderPool) Put(b *png.EncoderBuffer) { p.Pool.Put(b) }

// paletted is a picture of at most 256 colours; nil where it has more.
func paletted(img *image.RGBA) *image.Paletted {
	const slots = 1024 // of a table of colours, by their hashes
	var colors [slots]uint32
	var places [slots]uint16 // in the palette, plus one; 0: the slot is empty
	var palette color.Palette
	out := make([]byte, len(img.Pix)/4)
	for i := range out {
		px := img.Pix[4*i : 4*i+4 : 4*i+4]
		v := uint32(px[0])<<24 | uint32(px[1])<<16 | uint32(px[2])<<8 | uint32(px[3])
		h := v * 0x9e3779b1 >> 22
		for places[h] != 0 && colors[h] != v {
			h = (h + 1) % slots
		}
		if places[h] == 0 {
			if len(palette) == 256 {
				return nil
			}
			palette = append(palette, color.RGBA{px[0], px[1], px[2], px[3]})
			colors[h], places[h] = v, uint16(len(palette))
		}
		out[i] = uint8(places[h] - 1)
	}
	return &image.Paletted{Pix: out, Stride: img.Rect.Dx(), Rect: img.Rect, Palette: palette}
}
