package render_test

import (
	"image/color"
	"math"
	"testing"

	"grense/internal/render"
)

// BenchmarkPNG draws 360 areas of some hundred edges on a million pixels.
func BenchmarkPNG(b *testing.B) {
	var list []render.Feature
	for y := range 18 {
		for x := range 20 {
			var ring []render.Point
			for i := range 200 {
				sin, cos := math.Sincos(2 * math.Pi * float64(i) / 200)
				r := 26 + 3*math.Sin(float64(9*i))
				ring = append(ring, render.Point{X: float32(50*x + 25 + int(r*cos)),
					Y: float32(55*y + 25 + int(r*sin))})
			}
			list = append(list, area(uint64(20*y+x), []render.Tag{{Key: "n", Value: float64((x + y) % 2)},
				{Key: "name", Value: "Navn"}, {Key: "rank", Value: 1.0}}, ring...))
		}
	}
	m := &render.Map{Width: 1000, Height: 1000, Ground: &color.NRGBA{240, 240, 240, 255},
		Rules: rules(b, byIndex+`,{"id":"z","type":"line","source":"a","source-layer":"f","paint":
			{"line-color":"#333333","line-width":0.8}},`+named), Sources: map[string][]render.Feature{"f": list}}
	for b.Loop() {
		d, err := render.Draw(b.Context(), m)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := d.PNG(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
