package maps

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"image/color"
	"math"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/paulmach/orb"

	"grense/internal/geo/crs"
	"grense/internal/problem"
	"grense/internal/render"
	"grense/internal/server"
	"grense/internal/server/drawing"
	"grense/internal/server/limit"
	"grense/internal/server/media"
	"grense/internal/server/page"
	"grense/internal/server/selection"
	"grense/internal/server/styles"
	"grense/internal/server/tiles"
	"grense/internal/server/wire"
	"grense/internal/store"
	"grense/internal/style"
	"grense/internal/tile"
)

// picture answers with a map.
func (s *surface) picture(c *call, w http.ResponseWriter) error {
	v, err := c.view()
	if err != nil {
		return err
	}
	if c.Format.F == media.HTML.F {
		return c.page(w)
	}
	return c.answer(w, v)
}

// answer draws a map, and writes it.
func (c *call) answer(w http.ResponseWriter, v *view) error {
	d, err := c.drawing(v)
	if err != nil {
		return err
	}
	body, err := c.encoded(d)
	if err != nil {
		return err
	}
	if c.s.Store.Catalog() != c.Catalog {
		return store.ErrChanged
	}
	h := w.Header()
	c.DataHeaders(w)
	h.Set("Content-Type", c.Format.ContentType())
	if v.set == nil && !c.Route.Lenient {
		h.Set("Link", wire.LinkHeader(c.SelfLinks(c.path())))
	}
	if v.crs != crs.CRS84 {
		h.Set("Content-Crs", v.crs.URI())
	}
	h.Set("Content-Bbox", corners(v))
	if at := c.moment(); at != "" {
		h.Set("Content-Datetime", at)
	}
	if same, err := server.Unchanged(w, c.Request, tagOf(body)); same || err != nil {
		return err
	}
	if c.Format.F == asSVG.F {
		return c.WriteOnce(w, body)
	}
	return c.WriteAs(w, body, "")
}

// tagOf is the validator of a picture.
func tagOf(body []byte) string {
	sum := sha256.Sum256(body)
	return base64.RawURLEncoding.EncodeToString(sum[:12])
}

// path is where the map of the call is, below the mount.
func (c *call) path() string {
	path := "/map"
	if c.style != nil {
		path = "/styles/" + c.style.ID + path
	}
	if c.Collection != nil {
		path = "/collections/" + c.Collection.ID + path
	}
	return path
}

// corners writes the box of a view in the axis order of its CRS.
func corners(v *view) string {
	a, b := v.box.Min, v.box.Max
	if v.crs.NorthFirst() {
		a, b = orb.Point{a[1], a[0]}, orb.Point{b[1], b[0]}
	}
	return strings.Join([]string{page.Number(a[0]), page.Number(a[1]), page.Number(b[0]), page.Number(b[1])}, ",")
}

// moment is the time that the map is of; "" for data without any.
func (c *call) moment() string {
	if asked := server.First(c.Values["datetime"]); asked != "" && !strings.Contains(asked, "..") &&
		!strings.HasPrefix(asked, "/") && !strings.HasSuffix(asked, "/") {
		return asked
	}
	var from, to *time.Time
	timed := false
	for _, at := range c.p.Calls() {
		if at.Collection.Versions != nil {
			return c.Today().String()
		}
		if _, ok := at.Collection.During(); ok {
			timed = true
			a, b := at.Collection.Temporal[0], at.Collection.Temporal[1]
			if a != nil && (from == nil || a.Before(*from)) {
				from = a
			}
			if b != nil && (to == nil || b.After(*to)) {
				to = b
			}
		}
	}
	switch {
	case !timed:
		return ""
	case from != nil && to != nil:
		return from.UTC().Format(time.RFC3339) + "/" + to.UTC().Format(time.RFC3339)
	}
	return c.Today().String()
}

// drawing draws the map.
func (c *call) drawing(v *view) (*render.Drawing, error) {
	cellX, cellY := v.cell()
	at := v.box.Center()
	m := &render.Map{Width: v.width, Height: v.height, Ratio: pixelMM / c.p.mm, Reach: v.reach,
		Sources: map[string][]render.Feature{}}
	m.Ratio = min(max(m.Ratio, .25), 16)
	m.Zoom = zoomOf(v.crs, at, math.Sqrt(cellX*cellY)*m.Ratio)
	if err := c.dress(m, v, c.Format.F == asJPEG.F); err != nil {
		return nil, err
	}
	before := styles.Data(c.Catalog, c.p.Collections(), c.s.Tiles, v.setOf)
	for _, part := range parts(v) {
		if err := c.read(m, v, part); err != nil {
			return nil, err
		}
	}
	now := styles.Data(c.Catalog, c.p.Collections(), c.s.Tiles, v.setOf)
	if !reflect.DeepEqual(before, now) { // levels have become ready
		c.Roughly = true
	}
	return c.paint(v.width*v.height, func(ctx context.Context) (*render.Drawing, error) { return render.Draw(ctx, m) })
}

// dress sets the style of a map and its ground; v is nil for a legend. Opaque pictures have the ground of the style
// where nobody says.
func (c *call) dress(m *render.Map, v *view, opaque bool) error {
	l := &c.p.look
	through := l.ground == ""
	if l.transparent != nil {
		through = *l.transparent
	}
	if !through || opaque {
		m.Styled = l.ground == ""
		m.Ground = &color.NRGBA{255, 255, 255, 255}
		if l.ground != "" {
			ground, err := colorOf("bgcolor", l.ground)
			if err != nil {
				return err
			}
			m.Ground = &ground
		}
	}
	var err error
	m.Rules, err = c.rules(v)
	return err
}

// colorOf reads a colour of a parameter.
func colorOf(name, v string) (color.NRGBA, error) {
	text := strings.ToLower(v)
	if digits := strings.TrimPrefix(strings.TrimPrefix(text, "0x"), "#"); len(digits) == 6 {
		if c, ok := style.Color("#" + digits); ok {
			return c, nil
		}
	}
	if c, ok := style.Color(text); ok && !strings.ContainsAny(text, "(") {
		c.A = 255
		return c, nil
	}
	return color.NRGBA{}, problem.Invalidf(name, problem.Clip(v),
		"use six hexadecimal digits, such as 0xFFFFFF, or a name of CSS, such as white")
}

// mercatorCell is the width of a pixel at zoom 0 of map libraries, whose tiles have 512 pixels, in metres.
const mercatorCell = 2 * 20037508.3427892 / 512

// zoomOf is the zoom of map libraries at which a pixel covers as much ground as a cell of a CRS does at a position.
func zoomOf(id crs.ID, at orb.Point, cell float64) float64 {
	back, err := crs.Between(id, crs.CRS84)
	if err != nil {
		return 0
	}
	_, lat := back(at[0], at[1])
	cos := max(math.Cos(lat*math.Pi/180), .02)
	if z := math.Log2(mercatorCell * cos / (cell * metres(id, at))); finite(z) {
		return min(max(z, 0), 24)
	}
	return 0
}

// part is the part of a view in one copy of the world, and the distance by which that copy is moved to the east.
type part struct {
	box   orb.Bound
	shift float64
}

// parts are the copies of the world that a view shows.
func parts(v *view) []part {
	around := world(v.crs)
	if around == 0 {
		return []part{{v.box, 0}}
	}
	var list []part
	for n := math.Floor((v.box.Min[0] + around/2) / around); n <= math.Floor((v.box.Max[0]+around/2)/around) &&
		len(list) < 4; n++ {
		b := v.box
		b.Min[0], b.Max[0] = b.Min[0]-n*around, b.Max[0]-n*around
		list = append(list, part{b, n * around})
	}
	return list
}

// read reads the features of a part of a map.
func (c *call) read(m *render.Map, v *view, in part) error {
	var sets []*tile.Set
	asks := map[*tile.Set][]tile.Query{}
	for _, l := range c.p.Calls() {
		set := v.setOf(l.Collection)
		if set == nil || !c.draws(m, l.Collection) {
			continue
		}
		if asks[set] == nil {
			sets = append(sets, set)
		}
		asks[set] = append(asks[set], tile.Query{Collection: l.Collection.ID, Filter: selection.Of(l).Query.Filter,
			AsOf:       l.Collection.Moment(selection.Of(l).Query.AsOf),
			Properties: selection.Of(l).Properties, Titled: c.file == nil})
	}
	cellX, cellY := v.cell()
	reach := orb.Point{cellX * float64(v.reach), cellY * float64(v.reach)}
	in.box.Min[0], in.box.Min[1] = in.box.Min[0]-reach[0], in.box.Min[1]-reach[1]
	in.box.Max[0], in.box.Max[1] = in.box.Max[0]+reach[0], in.box.Max[1]+reach[1]
	for _, set := range sets {
		box, scale, err := inSet(set, v.crs, in.box, max(min(cellX, cellY), max(cellX, cellY)/8))
		if err != nil {
			return err
		}
		margin := 0
		if v.set != nil { // pixels of the set are as large as those of the picture
			margin = v.reach * 7 / 8
		}
		w, ok := set.Window(box, scale, margin)
		if !ok {
			continue
		}
		made, err := tiles.Draw(c.Call, c.s.Kit, tile.Ask{Set: set, Window: w, Layers: asks[set]})
		if err != nil {
			return err
		}
		c.Roughly = c.Roughly || !made.Keep
		place, err := placer(w, set, v, in)
		if err != nil {
			return err
		}
		if err := render.ReadTile(m.Sources, made.Data, place); err != nil {
			return err
		}
	}
	return nil
}

// draws reports whether the style shows features or labels of a collection at the zoom of the map.
func (c *call) draws(m *render.Map, coll *store.Collection) bool {
	labels := tile.LabelLayer(c.Catalog, coll)
	return slices.ContainsFunc(m.Rules, func(r *style.Rules) bool {
		return r.At(m.Zoom) && r.SourceLayer != "" && (r.SourceLayer == coll.ID || r.SourceLayer == labels)
	})
}

// setOf returns the set whose levels show a collection; nil if there is none, or for a legend.
func (v *view) setOf(coll *store.Collection) *tile.Set {
	switch {
	case v == nil:
		return nil
	case v.set != nil:
		return v.set
	}
	return setOf(coll, v.crs)
}

// setOf returns the tile matrix set whose levels maps of a collection in a CRS use; nil if there is none.
func setOf(coll *store.Collection, id crs.ID) *tile.Set {
	var best *tile.Set
	for _, set := range server.TileSets(coll) {
		if crs.Same(set.CRS, id) {
			return set
		}
		plane := drawing.CRS(coll)
		if best == nil || set.CRS == plane || set.ID == server.WebMercator && best.CRS != plane {
			best = set
		}
	}
	return best
}

// inSet is a box, and the width of a pixel, in the CRS of a set.
func inSet(set *tile.Set, in crs.ID, b orb.Bound, cell float64) (orb.Bound, float64, error) {
	if crs.Same(set.CRS, in) {
		return b, cell, nil
	}
	at := b.Center()
	d := in.Domain()
	b = orb.Bound{Min: orb.Point{max(b.Min[0], d.Min[0]), max(b.Min[1], d.Min[1])},
		Max: orb.Point{min(b.Max[0], d.Max[0]), min(b.Max[1], d.Max[1])}}
	if b.IsEmpty() {
		return orb.Bound{Min: orb.Point{1, 1}}, 1, nil
	}
	box, err := crs.EnvelopeOf(b, in, set.CRS)
	if err != nil {
		return box, 0, err
	}
	move, err := crs.Between(in, set.CRS)
	if err != nil {
		return box, 0, err
	}
	x, y := move(at[0], at[1])
	return box, cell * metres(in, at) / metres(set.CRS, orb.Point{x, y}), nil
}

// placer moves positions of a window to the picture.
func placer(w *tile.Window, set *tile.Set, v *view, in part) (func(x, y int32) render.Point, error) {
	cellX, cellY := v.cell()
	left, top := v.box.Min[0]-in.shift, v.box.Max[1]
	if crs.Same(set.CRS, v.crs) {
		zero, one := w.Place(0, 0), w.Place(1, 1)
		kx, ky := (one[0]-zero[0])/cellX, (zero[1]-one[1])/cellY
		x0, y0 := (zero[0]-left)/cellX, (top-zero[1])/cellY
		return func(x, y int32) render.Point {
			return render.Point{X: float32(x0 + float64(x)*kx), Y: float32(y0 + float64(y)*ky)}
		}, nil
	}
	move, err := crs.Between(set.CRS, v.crs)
	return func(x, y int32) render.Point {
		at := w.Place(x, y)
		px, py := move(at[0], at[1])
		return render.Point{X: bounded((px - left) / cellX), Y: bounded((top - py) / cellY)}
	}, err
}

// bounded keeps a position, which a projection may take to infinity, within what can be drawn.
func bounded(v float64) float32 {
	if math.IsNaN(v) {
		return -1e6
	}
	return float32(min(max(v, -1e6), 1e6))
}

// manyPixels is the number of pixels from which a picture counts as a large response.
const manyPixels = 1 << 21

// paint makes a drawing of so many pixels in its turn, and charges it.
func (c *call) paint(pixels int, draw func(context.Context) (*render.Drawing, error)) (d *render.Drawing, err error) {
	cost := store.CostPage
	if pixels > tile.Cells*tile.Cells {
		cost = store.CostIndexed
	}
	if pixels > manyPixels {
		cost = store.CostScan
		if err := c.Large(c.Request.Context()); err != nil {
			return nil, err
		}
	}
	ctx := c.Request.Context()
	c.s.Turns.Charge(c.Asking(ctx), cost)
	turn := c.Ticket(true)
	if err := c.s.Turns.Enter(ctx, limit.CostTile, turn); err != nil {
		return nil, err
	}
	defer c.s.Turns.Leave(limit.CostTile, turn)
	return draw(ctx)
}

// encoded writes a drawing in the representation of the call, in its turn.
func (c *call) encoded(d *render.Drawing) (body []byte, err error) {
	ctx := c.Request.Context()
	turn := c.Ticket(true)
	if err := c.s.Turns.Enter(ctx, limit.CostTile, turn); err != nil {
		return nil, err
	}
	defer c.s.Turns.Leave(limit.CostTile, turn)
	if c.Format.F == asSVG.F {
		return d.AppendSVG(ctx, nil, c.title())
	}
	size := 4 * d.Width * d.Height
	c.Hold(size)
	defer c.Hold(-size)
	if c.Format.F == asJPEG.F {
		return d.JPEG(ctx)
	}
	return d.PNG(ctx)
}

// title returns the title of the map.
func (c *call) title() string {
	if c.Collection != nil {
		return c.Collection.TitleIn(c.Lang)
	}
	return c.s.Config.Service.Title.In(c.Lang)
}
