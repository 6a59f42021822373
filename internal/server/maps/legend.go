package maps

import (
	"context"
	"image/color"
	"math"
	"net/http"

	"grense/internal/render"
	"grense/internal/server"
	"grense/internal/style"
)

// Sizes of a legend in pixels of the style.
const (
	legendRow    = 30
	legendSample = 48 // width of a sample
	legendPad    = 10
	legendText   = 13
)

// legend writes the legend of a map: a sample of the symbols of each collection, and its name.
func (s *surface) legend(c *call, w http.ResponseWriter) error {
	d, err := c.legendDrawing()
	if err != nil {
		return err
	}
	body, err := c.encoded(d)
	if err != nil {
		return err
	}
	h := w.Header()
	c.DataHeaders(w)
	h.Set("Content-Type", c.Format.ContentType())
	if same, err := server.Unchanged(w, c.Request, tagOf(body)); same || err != nil {
		return err
	}
	if c.Format.F == asSVG.F {
		return c.WriteOnce(w, body)
	}
	return c.WriteAs(w, body, "")
}

func (c *call) legendDrawing() (*render.Drawing, error) {
	k := min(max(pixelMM/c.p.mm, .25), 16)
	m := &render.Map{Ratio: k, Sources: map[string][]render.Feature{}}
	if err := c.dress(m, nil, false); err != nil {
		return nil, err
	}
	for i, at := range c.p.Calls() {
		top := legendPad + i*legendRow
		dimension := style.Dimensions[at.Collection.Geometry.Type] // of any kind: as points
		m.Sources[at.Collection.ID] = sample(dimension, float64(legendPad), float64(top+4), k)
		caption := render.Caption{Text: at.Collection.TitleIn(c.Lang), Size: legendText * k, Color: c.inkOf(),
			At: render.Point{X: float32(k * (2*legendPad + legendSample)), Y: float32(k * float64(top+20))}}
		m.Captions = append(m.Captions, caption)
		m.Width = max(m.Width, legendWidth(caption, k))
		m.Zoom = max(m.Zoom, shownFrom(m.Rules, at.Collection.ID))
	}
	m.Height = min(int(math.Ceil(k*float64(2*legendPad+legendRow*len(m.Captions)))), mostPixels)
	return c.paint(m.Width*m.Height, func(ctx context.Context) (*render.Drawing, error) { return render.Draw(ctx, m) })
}

// legendWidth is how wide a legend with a caption is, in pixels.
func legendWidth(caption render.Caption, k float64) int {
	w := k*(3*legendPad+legendSample) + render.WidthOf(caption)
	return min(int(math.Ceil(w)), mostPixels)
}

// inkOf is the colour of letters on the ground of the theme.
func (c *call) inkOf() color.NRGBA {
	if c.p.theme == style.Dark {
		return color.NRGBA{0xe4, 0xe9, 0xee, 0xff}
	}
	return color.NRGBA{0x2f, 0x31, 0x38, 0xff}
}

// shownFrom is a zoom at which all of a collection is drawn.
func shownFrom(rules []*style.Rules, id string) float64 {
	zoom := 8.0
	for _, r := range rules {
		if r.SourceLayer == id {
			zoom = max(zoom, r.MinZoom+1)
		}
	}
	return zoom
}

// sample returns features for a row of the legend: four adjacent areas, a line, or a point.
func sample(dimension int, left, top, k float64) []render.Feature {
	const high = legendRow - 8
	at := func(x, y float64) render.Point {
		return render.Point{X: float32(k * (left + x)), Y: float32(k * (top + y))}
	}
	switch dimension {
	case 0:
		return []render.Feature{{Kind: render.Points, Parts: [][]render.Point{{at(legendSample/2, high/2)}}}}
	case 1:
		return []render.Feature{{Kind: render.Lines,
			Parts: [][]render.Point{{at(0, high*.8), at(legendSample*.4, high*.3), at(legendSample*.7, high*.7),
				at(legendSample, high*.2)}}}}
	}
	var list []render.Feature
	for i := range 4 {
		x, wide := float64(i*legendSample/4), float64(legendSample/4)
		list = append(list, render.Feature{ID: uint64(i + 1), Kind: render.Polygons,
			Parts: [][]render.Point{{at(x, 0), at(x+wide, 0), at(x+wide, high), at(x, high)}},
			Tags:  []render.Tag{{Key: style.ColorIndex, Value: float64(i)}}})
	}
	return list
}
