package locate_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/paulmach/orb"

	"grense/internal/cql2"
	"grense/internal/geo/crs"
	"grense/internal/geo/locate"
	"grense/internal/geo/wkb"
	"grense/internal/sharedtest"
)

// degrees is where the areas of most tests lie.
func degrees(lon, lat float64) (float64, float64) { return lon, lat }

// build makes an index of areas without a bound on its bytes.
func build(t testing.TB, areas []orb.Geometry) *locate.Index {
	t.Helper()
	x, err := tryBuild(areas, math.MaxInt64)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func tryBuild(areas []orb.Geometry, limit int64) (*locate.Index, error) {
	b := locate.NewBuilder(limit, degrees)
	for _, g := range areas {
		if err := b.Add(wkb.Append(nil, g)); err != nil {
			return nil, err
		}
	}
	return b.Index(context.Background())
}

// record is an area for the filter.
type record []byte

func (r record) Value(string) (any, error) { return nil, nil }

func (r record) Geometry(string) ([]byte, crs.ID, error) { return r, crs.CRS84, nil }

func (r record) Rows(string) ([]cql2.Record, error) { return nil, nil }

// filtered are the numbers of the areas that S_INTERSECTS finds.
func filtered(t testing.TB, areas [][]byte, p orb.Point) (out []int32) {
	t.Helper()
	m := cql2.NewMatcher(
		cql2.Spatial{Op: cql2.SIntersects, L: cql2.Prop{Name: "geometry"}, R: cql2.Geom{G: p, CRS: crs.CRS84}},
	)
	for i, a := range areas {
		hit, err := m.Eval(record(a))
		if err != nil {
			t.Fatal(err)
		}
		if hit == cql2.True {
			out = append(out, int32(i))
		}
	}
	return out
}

func encoded(areas []orb.Geometry) [][]byte {
	out := make([][]byte, len(areas))
	for i, g := range areas {
		out[i] = wkb.Append(nil, g)
	}
	return out
}

// TestIndexFindsWhatTheFilterFinds compares areas of all shapes, with rings that cross themselves and each other, on
// a small lattice, whose points lie on many vertices and edges.
func TestIndexFindsWhatTheFilterFinds(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	for range 60 {
		size := 4 + r.IntN(20)
		step := []float64{1, 0.1, 1e-7, 1e5}[r.IntN(4)]
		at := func() orb.Point { return orb.Point{float64(r.IntN(size)) * step, float64(r.IntN(size)) * step} }
		var areas []orb.Geometry
		for range 1 + r.IntN(6) {
			var m orb.MultiPolygon
			for range r.IntN(4) {
				var p orb.Polygon
				for range 1 + r.IntN(3) {
					ring := orb.Ring{}
					for range 1 + r.IntN(8) {
						ring = append(ring, at())
					}
					p = append(p, append(ring, ring[0]))
				}
				m = append(m, p)
			}
			areas = append(areas, m)
		}
		x, all := build(t, areas), encoded(areas)
		for range 60 {
			p := at()
			switch r.IntN(4) {
			case 0:
				p[0] += step / 2
			case 1:
				p[0], p[1] = p[0]+step*r.Float64(), p[1]-step*r.Float64()
			case 2:
				p[1] = math.Nextafter(p[1], -1)
			}
			if got, want := x.Append(nil, p[0], p[1]), filtered(t, all, p); !slices.Equal(got, want) {
				t.Fatalf("%v: %v, want %v of %v", p, got, want, areas)
			}
		}
	}
}

// TestIndexOfRealLayersFindsWhatTheFilterFinds looks up vertices, middles of edges and places beside them.
func TestIndexOfRealLayersFindsWhatTheFilterFinds(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long: the run without the race detector has it")
	}
	for _, name := range []string{"norway/robhop-2024/Kommuner-M.geojson.gz", "france/departements.geojson.gz",
		"world/ne_50m_admin_0_countries.geojson.gz"} {
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Parallel()
			areas := layer(t, name)
			x, all := build(t, areas), encoded(areas)
			for _, p := range onBorders(areas, rand.New(rand.NewPCG(1, 2)), 100) {
				if got, want := x.Append(nil, p[0], p[1]), filtered(t, all, p); !slices.Equal(got, want) {
					t.Fatalf("%v: %v, want %v", p, got, want)
				}
			}
		})
	}
}

// onBorders are vertices, middles of edges, and places as near to them as numbers can be.
func onBorders(areas []orb.Geometry, r *rand.Rand, n int) (out []orb.Point) {
	for len(out) < n {
		m := areas[r.IntN(len(areas))].(orb.MultiPolygon)
		if len(m) == 0 {
			continue
		}
		p := m[r.IntN(len(m))]
		ring := p[r.IntN(len(p))]
		i := r.IntN(len(ring) - 1)
		a, b := ring[i], ring[i+1]
		middle := orb.Point{(a[0] + b[0]) / 2, (a[1] + b[1]) / 2}
		out = append(out, a, middle, orb.Point{math.Nextafter(a[0], 200), a[1]},
			orb.Point{middle[0], math.Nextafter(middle[1], -200)})
	}
	return out
}

func TestIndexTakesPolygonsAlone(t *testing.T) {
	t.Parallel()
	square := orb.Polygon{{{0, 0}, {4, 0}, {4, 4}, {0, 4}, {0, 0}}}
	for _, g := range []orb.Geometry{orb.Point{1, 1}, orb.LineString{{0, 0}, {1, 1}},
		orb.Collection{square, orb.Point{9, 9}}, orb.Polygon{{{0, 0}, {4, 0}, {4, 4}}}} {
		if _, err := tryBuild([]orb.Geometry{square, g}, math.MaxInt64); !errors.Is(err, locate.ErrNoArea) {
			t.Errorf("%v: %v", g, err)
		}
	}
	for _, g := range []orb.Geometry{orb.Polygon{}, orb.MultiPolygon{}, orb.Collection{}, orb.Collection{square}} {
		x := build(t, []orb.Geometry{g, square})
		if got := x.Append(nil, 4, 2); len(got) == 0 || got[len(got)-1] != 1 {
			t.Errorf("beside %v: %v", g, got)
		}
	}
	empty := build(t, nil)
	if got := empty.Append(nil, 0, 0); got != nil {
		t.Errorf("of nothing: %v", got)
	}
	x := build(t, []orb.Geometry{square})
	for _, p := range []orb.Point{{math.NaN(), 1}, {1, math.NaN()}, {math.Inf(1), 1}, {-1e300, 2}} {
		if got := x.Append(nil, p[0], p[1]); got != nil {
			t.Errorf("%v: %v", p, got)
		}
	}
}

func TestIndexKeepsItsBound(t *testing.T) {
	t.Parallel()
	areas := disks(300, 200)
	whole := build(t, areas).Bytes()
	if _, err := tryBuild(areas, whole/8); !errors.Is(err, locate.ErrTooLarge) {
		t.Errorf("in an eighth: %v", err)
	}
	x, err := tryBuild(areas, whole)
	if err != nil || x.Bytes() > whole {
		t.Errorf("in what it takes: %v", err)
	}
	ctx, stop := context.WithCancel(context.Background())
	stop()
	b := locate.NewBuilder(math.MaxInt64, degrees)
	if err := b.Add(wkb.Append(nil, areas[0])); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Index(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("broken off: %v", err)
	}
}

// disks are areas of n corners each that lie over one another.
func disks(count, n int) (out []orb.Geometry) {
	r := rand.New(rand.NewPCG(3, 4))
	for range count {
		x, y, radius := 20*r.Float64(), 10*r.Float64(), r.Float64()
		ring := make(orb.Ring, n+1)
		for i := range ring {
			sin, cos := math.Sincos(2 * math.Pi * float64(i%n) / float64(n))
			ring[i] = orb.Point{x + radius*cos, y + radius*sin}
		}
		out = append(out, orb.Polygon{ring})
	}
	return out
}

func TestLookingUpAllocatesNothing(t *testing.T) {
	x := build(t, disks(100, 100))
	buf := make([]int32, 0, 100)
	r := rand.New(rand.NewPCG(5, 6))
	if n := testing.AllocsPerRun(1000, func() { buf = x.Append(buf[:0], 20*r.Float64(), 10*r.Float64()) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// layer reads the areas of a packed GeoJSON file of the shared data, a document or a feature a line.
func layer(t testing.TB, name string) (out []orb.Geometry) {
	t.Helper()
	for _, f := range sharedtest.Features(t, "data", name) {
		out = append(out, f.Area)
	}
	return out
}

// scattered are places in the boxes of areas, each area as often as any other.
func scattered(areas []orb.Geometry, r *rand.Rand, n int) []orb.Point {
	boxes := make([]orb.Bound, 0, len(areas))
	for _, g := range areas {
		if b := g.Bound(); !b.IsEmpty() {
			boxes = append(boxes, b)
		}
	}
	out := make([]orb.Point, n)
	for i := range out {
		b := boxes[r.IntN(len(boxes))]
		out[i] = orb.Point{b.Min[0] + (b.Max[0]-b.Min[0])*r.Float64(), b.Min[1] + (b.Max[1]-b.Min[1])*r.Float64()}
	}
	return out
}

// BenchmarkAppend looks up random places in the boxes of municipalities. 357 of Norway (Kommuner-M, 84,349
// positions): see docs/reference/performance.md.
func BenchmarkAppend(b *testing.B) {
	for _, name := range []string{"norway/robhop-2024/Kommuner-M.geojson.gz",
		"france/france-communes-2018.geojsonl.gz"} {
		b.Run(strings.TrimSuffix(filepath.Base(name), ".gz"), func(b *testing.B) {
			areas := layer(b, name)
			x := build(b, areas)
			points := scattered(areas, rand.New(rand.NewPCG(7, 8)), 1<<20)
			buf := make([]int32, 0, 16)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				p := points[i&(1<<20-1)]
				buf = x.Append(buf[:0], p[0], p[1])
			}
			b.ReportMetric(float64(x.Bytes())/1e6, "MB")
		})
	}
}

// BenchmarkBuild makes the index of a layer.
func BenchmarkBuild(b *testing.B) {
	for _, name := range []string{"norway/robhop-2024/Kommuner-M.geojson.gz",
		"france/france-communes-2018.geojsonl.gz"} {
		b.Run(strings.TrimSuffix(filepath.Base(name), ".gz"), func(b *testing.B) {
			areas := encoded(layer(b, name))
			b.ReportAllocs()
			for b.Loop() {
				x := locate.NewBuilder(math.MaxInt64, degrees)
				for _, a := range areas {
					if err := x.Add(a); err != nil {
						b.Fatal(err)
					}
				}
				if _, err := x.Index(context.Background()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func ExampleIndex_Append() {
	b := locate.NewBuilder(1<<20, degrees)
	for _, g := range []orb.Geometry{orb.Polygon{{{0, 0}, {2, 0}, {2, 2}, {0, 2}, {0, 0}}},
		orb.Polygon{{{2, 0}, {4, 0}, {4, 2}, {2, 2}, {2, 0}}}} {
		if err := b.Add(wkb.Append(nil, g)); err != nil {
			panic(err)
		}
	}
	x, err := b.Index(context.Background())
	if err != nil {
		panic(err)
	}
	fmt.Println(x.Append(nil, 1, 1), x.Append(nil, 2, 1), x.Append(nil, 5, 1))
	// Output: [0] [0 1] []
}
