package storetest

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/paulmach/orb"

	"grense/internal/cql2"
	"grense/internal/geo/crs"
	"grense/internal/geo/wkb"
	"grense/internal/store"
)

// curves returns geometries around x, y of types that GeoJSON lacks: arcs of radius r, and faces.
func curves(x, y, r float64) [][]byte {
	line := func(k wkb.Kind, at ...float64) []byte {
		b := wkb.AppendCount(wkb.AppendHeader(nil, k, false), len(at)/2)
		for i := 0; i < len(at); i += 2 {
			b = wkb.AppendXY(b, x+r*at[i], y+r*at[i+1])
		}
		return b
	}
	among := func(k wkb.Kind, parts ...[]byte) []byte {
		b := wkb.AppendCount(wkb.AppendHeader(nil, k, false), len(parts))
		for _, p := range parts {
			b = append(b, p...)
		}
		return b
	}
	disc := among(wkb.CurvePolygon, line(wkb.CircularString, -1, 0, 1, 0, -1, 0),
		line(wkb.LineString, -0.5, 0, 0.5, 0, 0, 0.5, -0.5, 0))
	bow := among(wkb.CompoundCurve, line(wkb.LineString, -1, 0, 1, 0), line(wkb.CircularString, 1, 0, 0, 1, -1, 0))
	square := among(wkb.Polygon, line(wkb.LineString, 2, 2, 3, 2, 3, 3, 2, 3, 2, 2)[5:])
	triangle := func(at ...float64) []byte { return among(wkb.Triangle, line(wkb.LineString, at...)[5:]) }
	return [][]byte{
		line(wkb.CircularString, -1, 0, 0, 1, 1, 0), bow, disc, among(wkb.CurvePolygon, bow),
		among(wkb.MultiCurve, bow, line(wkb.LineString, 0, 0, 2, 2)), among(wkb.MultiSurface, disc, square),
		among(wkb.Collection, disc, line(wkb.LineString, 0, 0, 2, 2)),
		among(wkb.PolyhedralSurface, square), among(wkb.TIN, triangle(0, 0, 1, 0, 0, 1, 0, 0),
			triangle(1, 0, 1, 1, 0, 1, 1, 0)), triangle(0, 0, 1, 0, 0, 1, 0, 0),
	}
}

// ExerciseCurves tests geometries of other programs in types that GeoJSON lacks: they are served as wkb.Straighten
// returns them, and found there.
func ExerciseCurves(t *testing.T, open BrokenOpener) {
	t.Helper()
	d := newDataset()
	s := open(t, func(w store.Writer) { d.write(t, w) }, func(put Put) {
		for _, set := range d.sets {
			if set.c.Geometry == nil {
				continue
			}
			x, y, unit := 10.0, 59.0, 0.25
			if !set.c.Geometry.CRS.Geographic() {
				x, y, unit = 200000, 6600000, 10000
			}
			rows := slices.DeleteFunc(slices.Clone(set.rows), func(f *feature) bool { return f.shape == nil })
			for i, b := range curves(x, y, unit/10) {
				f := rows[i]
				if !put(set.c, f.id, b) {
					t.Fatalf("%s: the storage refuses %x", set.c.ID, b)
				}
				lines, _, err := wkb.Lines(b, store.Chord(set.c.Geometry.CRS))
				if err == nil {
					f.shape, err = wkb.Decode(lines)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
		}
	})
	t.Run("catalog", func(t *testing.T) { exerciseCatalog(t, s, d) })
	t.Run("fetch", func(t *testing.T) { exerciseFetch(t, s, d) })
	if len(s.Catalog().Notes) > 0 {
		t.Errorf("notes: %+v", s.Catalog().Notes)
	}
	for i, set := range d.sets[:2] {
		t.Run("where "+set.c.ID+" is", func(t *testing.T) {
			first := slices.IndexFunc(set.rows, func(f *feature) bool { return f.shape != nil })
			at := set.rows[first].shape.Bound()
			c, r := orb.Point{at.Center()[0], at.Min[1]}, (at.Max[0]-at.Min[0])/2
			box := func(x0, y0, x1, y1 float64) cql2.BBox {
				return cql2.BBox{Prop: set.c.Geometry.Name, CRS: set.c.Geometry.CRS,
					Box: orb.Bound{Min: orb.Point{c[0] + r*x0, c[1] + r*y0}, Max: orb.Point{c[0] + r*x1, c[1] + r*y1}}}
			}
			for _, e := range []cql2.Expr{
				box(0.7, 0.7, 0.7, 0.7), box(0.72, 0.72, 0.72, 0.72), box(-0.1, 0.999, 0.1, 2),
				box(-0.1, 1.001, 0.1, 2), box(0.9, -2, 2, -0.9), box(-2, -2, 4, 4), box(2.5, 2.5, 2.5, 2.5),
				cql2.BBox{Prop: set.c.Geometry.Name, CRS: crs.CRS84,
					Box: orb.Bound{Min: orb.Point{9, 58}, Max: orb.Point{10, 59}}},
				cql2.Spatial{Op: cql2.SIntersects, L: name(set.c.Geometry.Name),
					R: cql2.Geom{G: orb.Point{c[0] + 0.7*r, c[1] - 0.7*r}, CRS: set.c.Geometry.CRS}},
				cql2.IsNull{X: name(set.c.Geometry.Name)},
			} {
				agree(t, s, set, e)
				agree(t, s, set, cql2.Not{X: e})
			}
			g := &generator{r: rand.New(rand.NewPCG(13, uint64(i))), set: set}
			for range 20 {
				agree(t, s, set, g.spatial())
			}
		})
	}
}
