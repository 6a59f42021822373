package tile

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/klauspost/compress/gzip"

	"grense/internal/archive"
	"grense/internal/cql2"
	"grense/internal/geo/coverage"
	"grense/internal/problem"
	"grense/internal/store"
)

// Export describes an archive to be written.
type Export struct {
	Path        string   // .pmtiles or .mbtiles (archive.IsPath)
	Collections []string // in the order of the layers
	First, Last int      // range of levels
	Name        string
	Attribution string // HTML
	// AsOf is the time at which versions of features must be valid.
	AsOf time.Time
	// Report is called with the progress: with a collection and percent while its levels are built, with "" and the
	// number of tiles while tiles are written. May be nil.
	Report func(collection string, done, total int)
}

// Exported describes the archive that was written.
type Exported struct {
	First, Last      int
	Tiles, Different int
	Resumed          bool // an interrupted export was continued
}

// exporter writes an archive.
type exporter struct {
	Export
	m      *Maker
	st     store.Store
	cat    *store.Catalog
	set    *Set
	rev    string // Made.Rev of all tiles
	when   string // AsOf of the layers with versions
	layers []exportedLayer
	doc    document
	ask    []Query
}

// exportedLayer is a layer with the geometries of the current level.
type exportedLayer struct {
	l      *levels
	area   *coverage.Level
	line   *coverage.Lines
	points *shown
}

// Export writes the tiles of collections in WebMercatorQuad, as Tile returns them, into an archive. The file appears at
// its path once it is complete. Export continues an interrupted export if the data have not changed.
func (m *Maker) Export(ctx context.Context, st store.Store, e Export) (*Exported, error) {
	set, _ := Find(archivedSet)
	x := &exporter{Export: e, m: m, st: st, cat: st.Catalog(), set: set}
	if x.Report == nil {
		x.Report = func(string, int, int) {}
	}
	if err := x.prepare(ctx); err != nil {
		return nil, err
	}
	state, err := json.Marshal([]any{archivedVersion, x.rev + x.when, x.First, x.Last, x.Name, x.Attribution, x.doc})
	if err != nil {
		return nil, err
	}
	w, err := archive.Begin(x.Path, string(state))
	if err != nil {
		return nil, err
	}
	defer w.Close()
	out := &Exported{First: x.First, Last: x.Last, Resumed: w.Next() > 0}
	if err := x.tiles(ctx, w); err != nil {
		return nil, err
	}
	if out.Tiles, out.Different, err = w.Counts(); err != nil {
		return nil, err
	}
	meta, err := x.metadata()
	if err != nil {
		return nil, err
	}
	return out, w.Finish(meta)
}

// prepare waits for the levels of all layers and collects the metadata of the layers.
func (x *exporter) prepare(ctx context.Context) error {
	first, last := x.set.finest()+1, -1
	x.doc.Grense.Version = archivedVersion
	for _, id := range x.Collections { // before the first wait, so that one job builds all levels
		if c, ok := x.cat.Collection(id); ok && c.Geometry != nil {
			x.m.want(x.set, c)
		}
	}
	for _, id := range x.Collections {
		c, move, err := layerOf(x.cat, x.set, id)
		if err != nil {
			return err
		}
		if move == nil {
			return problem.New(problem.Invalid, nil, "The collection %s has no geometries; leave it out.", id)
		}
		l, err := x.m.await(ctx, awaited{x.st, x.set, c, func(done int) { x.Report(id, done, 100) }})
		if err != nil {
			return err
		}
		layer, err := x.describe(ctx, c, l)
		if err != nil {
			return err
		}
		x.rev += l.rev
		if at := c.Moment(x.AsOf); !at.IsZero() {
			x.when += "@" + at.Format(time.RFC3339)
		}
		x.layers, x.ask = append(x.layers, exportedLayer{l: l}),
			append(x.ask, Query{Collection: id, AsOf: c.Moment(x.AsOf)})
		x.doc.Grense.Layers = append(x.doc.Grense.Layers, layer)
		first, last = min(first, layer.First), max(last, layer.Last)
	}
	x.First, x.Last = max(x.First, first), min(x.Last, last)
	if x.First > x.Last {
		return problem.New(problem.Invalid, nil, "The collections have tiles on levels %d to %d of %s only.", first,
			last, x.set.ID)
	}
	for _, l := range x.doc.Grense.Layers {
		c, _ := x.cat.Collection(l.ID)
		v := VectorLayerOf(c, cmp.Or(c.Title.In("nb"), c.ID))
		v.MinZoom, v.MaxZoom = min(max(l.First, x.First), x.Last), x.Last
		x.doc.Vector = append(x.doc.Vector, v)
		if n, ok := LabelLayerOf(x.cat, c, v.Description); ok {
			n.MinZoom, n.MaxZoom = v.MinZoom, v.MaxZoom
			x.doc.Vector = append(x.doc.Vector, n)
		}
	}
	return nil
}

// describe returns the metadata of a layer. It returns store.ErrChanged if its levels are not of the current data.
func (x *exporter) describe(ctx context.Context, c *store.Collection, l *levels) (d archivedLayer, err error) {
	in, end, err := snapshotOf(ctx, x.st)
	if err != nil {
		return d, err
	}
	defer end()
	content, sum, err := contentOf(ctx, in, c)
	if err != nil {
		return d, err
	}
	now, live, err := stamp(ctx, x.st)
	if err != nil {
		return d, err
	}
	if live {
		now = fmt.Sprintf("%s/%x", now, sum)
	}
	s := &l.side.sum
	if now != s.Rev {
		return d, fmt.Errorf("tile: %w", store.ErrChanged)
	}
	return archivedLayer{
		ID:         c.ID,
		Labels:     LabelLayer(x.cat, c),
		First:      s.First,
		Last:       s.Last,
		Bound:      s.Bound,
		Features:   s.Features,
		Side:       s.Side,
		Properties: newTagger(c, nil).kept(),
		Content:    content,
	}, nil
}

// VectorLayerOf returns the TileJSON description of a collection, without its levels.
func VectorLayerOf(c *store.Collection, title string) VectorLayer {
	l := VectorLayer{ID: c.ID, Description: title, Fields: map[string]string{IDKey: "String"}}
	for _, p := range c.Properties {
		if p.Hidden || p.Name == IDKey {
			continue
		}
		kind := "String"
		switch p.Type {
		case cql2.TypeInteger, cql2.TypeNumber:
			kind = "Number"
		case cql2.TypeBool:
			kind = "Boolean"
		}
		l.Fields[p.Name] = kind
	}
	return l
}

func (x *exporter) metadata() (archive.Metadata, error) {
	text, err := json.Marshal(x.doc)
	if err != nil {
		return archive.Metadata{}, err
	}
	m := archive.Metadata{Name: x.Name, Attribution: x.Attribution, First: x.First, Last: x.Last, Layers: text}
	const north = 85.0511287 // northern edge of Web Mercator
	whole := [4]float64{180, north, -180, -north}
	for _, id := range x.Collections {
		if c, _ := x.cat.Collection(id); c.Extent != nil {
			b := c.Extent
			whole = [4]float64{
				min(whole[0], b.Min[0]),
				max(min(whole[1], b.Min[1]), -north),
				max(whole[2], b.Max[0]),
				min(max(whole[3], b.Max[1]), north),
			}
		}
	}
	if m.Bounds = whole; whole[0] > whole[2] {
		m.Bounds = [4]float64{-180, -north, 180, north}
	}
	return m, nil
}

// batch is the number of tiles that are built before the progress is reported and perhaps saved.
const batch = 128

// tiles writes all tiles that the archive does not have yet.
func (x *exporter) tiles(ctx context.Context, w *archive.Writer) error {
	total, done := 0, 0
	for z := x.First; z <= x.Last; z++ {
		if err := x.walk(ctx, z, func(Tile) error { total++; return nil }); err != nil {
			return err
		}
	}
	saved, whole := time.Now(), w.Next() // whole is the id of the first tile that is missing
	var list []Tile
	next := func() error {
		out, err := x.makeAll(ctx, list)
		if err != nil {
			return err
		}
		for i, t := range list {
			if out[i] != nil {
				if err := w.Put(t.Z, t.Row, t.Col, out[i]); err != nil {
					return err
				}
			}
		}
		done += len(list)
		x.Report("", done, total)
		if len(list) > 0 {
			t := list[len(list)-1]
			whole = archive.ID(t.Z, t.Row, t.Col) + 1
			list = list[:0]
		}
		if time.Since(saved) > time.Second {
			saved = time.Now()
			return w.Save(whole)
		}
		return nil
	}
	for z := x.First; z <= x.Last; z++ {
		err := x.walk(ctx, z, func(t Tile) error {
			if archive.ID(t.Z, t.Row, t.Col) < w.Next() {
				done++
				return nil
			}
			if list = append(list, t); len(list) < batch {
				return nil
			}
			return next()
		})
		if err != nil {
			return errors.Join(err, w.Save(whole))
		}
	}
	if err := next(); err != nil {
		return err
	}
	return w.Save(archive.ID(x.Last+1, 0, 0))
}

// makeAll builds tiles in parallel, on all processors. Empty tiles are nil.
func (x *exporter) makeAll(ctx context.Context, list []Tile) ([][]byte, error) {
	out, errs := make([][]byte, len(list)), make([]error, len(list))
	var next atomic.Int64
	var group sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(list)) {
		group.Go(func() {
			z, _ := gzip.NewWriterLevel(nil, gzip.DefaultCompression) // fails only for an invalid level
			for i := int(next.Add(1)) - 1; i < len(list); i = int(next.Add(1)) - 1 {
				if out[i], errs[i] = x.one(ctx, list[i], z); errs[i] != nil {
					return
				}
			}
		})
	}
	group.Wait()
	return out, errors.Join(errs...)
}

// one builds a tile and compresses it with z.
func (x *exporter) one(ctx context.Context, t Tile, z *gzip.Writer) ([]byte, error) {
	made, err := x.m.Tile(ctx, x.st, Ask{Set: x.set, Tile: t, Layers: x.ask, frozen: true})
	if err != nil {
		return nil, fmt.Errorf("tile %d/%d/%d: %w", t.Z, t.Row, t.Col, err)
	}
	if !made.Keep || made.Rev != x.rev {
		return nil, fmt.Errorf("tile: %w", store.ErrChanged)
	}
	if made.Empty {
		return nil, nil
	}
	var b strings.Builder
	z.Reset(&b)
	z.Write(made.Data) // never fails on a strings.Builder
	z.Close()
	return []byte(b.String()), nil
}

// walk calls fn with the tiles of a level that may have features, in the order of archive.ID.
func (x *exporter) walk(ctx context.Context, z int, fn func(Tile) error) error {
	for i := range x.layers {
		if err := x.layers[i].load(z); err != nil {
			return err
		}
	}
	var down func(t Tile) error
	down = func(t Tile) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if !slices.ContainsFunc(x.layers, func(l exportedLayer) bool { return l.touches(t, z) }) {
			return nil
		}
		if t.Z == z {
			return fn(t)
		}
		var four [4]Tile
		for i := range four {
			four[i] = Tile{Z: t.Z + 1, Row: 2*t.Row + i/2, Col: 2*t.Col + i%2}
		}
		slices.SortFunc(four[:],
			func(a, b Tile) int { return cmp.Compare(archive.ID(a.Z, a.Row, a.Col), archive.ID(b.Z, b.Row, b.Col)) })
		for _, t := range four {
			if err := down(t); err != nil {
				return err
			}
		}
		return nil
	}
	return down(Tile{})
}

// load loads the geometries of a level.
func (l *exportedLayer) load(z int) (err error) {
	if l.area, err = l.l.area(z); err != nil {
		return err
	}
	if l.line, err = l.l.line(z); err != nil {
		return err
	}
	l.points, err = l.l.points()
	return err
}

// touches reports whether the box of a feature on level z touches the tile t, which is on level z or a coarser one. It
// takes the buffers of tiles on level z into account.
func (l *exportedLayer) touches(t Tile, z int) bool {
	shift := uint(z - t.Z)
	at := corner(t)
	low := coverage.Point{X: at.X<<shift - Buffer, Y: (at.Y-Extent)<<shift - Buffer}
	high := coverage.Point{X: (at.X+Extent)<<shift + Buffer, Y: at.Y<<shift + Buffer}
	if l.area != nil && l.area.Any(low, high) || l.line != nil && l.line.Any(low, high) {
		return true
	}
	if l.points == nil {
		return false
	}
	finer := uint(l.points.last - z)
	return l.points.any(z, t.Z, coverage.Point{X: low.X << finer, Y: low.Y << finer},
		coverage.Point{X: high.X << finer, Y: high.Y << finer})
}
