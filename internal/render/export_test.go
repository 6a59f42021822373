package render

import (
	"context"
	"image"
)

// Image paints a drawing.
func (d *Drawing) Image(ctx context.Context) (*image.RGBA, error) {
	return d.paint(ctx, image.NewRGBA(image.Rect(0, 0, d.Width, d.Height)))
}
