package format_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"testing"

	"github.com/paulmach/orb"

	"grense/internal/format"
	"grense/internal/format/output"
	"grense/internal/format/topojson"
	"grense/internal/geo/crs"
	"grense/internal/geo/wkb"
	"grense/internal/store"
)

// topologyFile is a TopoJSON document with one object.
type topologyFile struct {
	Type      string
	Transform struct{ Scale, Translate [2]float64 }
	Objects   map[string]struct {
		Type       string
		Geometries []json.RawMessage
	}
	Arcs [][][2]int64
}

func parseTopology(t *testing.T, b []byte) (f topologyFile) {
	t.Helper()
	if err := json.Unmarshal(b, &f); err != nil {
		t.Fatalf("%v: %.300s", err, b)
	}
	if f.Type != "Topology" || len(f.Objects) != 1 {
		t.Fatalf("%.300s", b)
	}
	return f
}

// place turns a position of the grid into a real one. The unit is a power of ten, so that dividing by its inverse gives
// the double of the decimals.
func (f *topologyFile) place(x, y int64) orb.Point {
	return orb.Point{float64(x) / 1e7, float64(y) / 1e7}
}

// run joins arcs.
func (f *topologyFile) run(t *testing.T, refs []int) (line []orb.Point) {
	t.Helper()
	for _, r := range refs {
		at := max(r, ^r)
		if at >= len(f.Arcs) || len(f.Arcs[at]) < 2 {
			t.Fatalf("arc %d of %d has too few positions", r, len(f.Arcs))
		}
		var arc []orb.Point
		x, y := int64(0), int64(0)
		for _, d := range f.Arcs[at] {
			x, y = x+d[0], y+d[1]
			arc = append(arc, f.place(x, y))
		}
		if r < 0 {
			slices.Reverse(arc)
		}
		if len(line) > 0 {
			if line[len(line)-1] != arc[0] {
				t.Fatalf("arc %d begins at %v, the one before ends at %v", r, arc[0], line[len(line)-1])
			}
			arc = arc[1:]
		}
		line = append(line, arc...)
	}
	return line
}

// runs are those of a geometry object.
func (f *topologyFile) runs(t *testing.T, b []byte) (runs [][]orb.Point) {
	t.Helper()
	var g struct {
		Type        string
		Coordinates json.RawMessage
		Arcs        json.RawMessage
		Geometries  []json.RawMessage
	}
	into := func(raw []byte, v any) {
		if err := json.Unmarshal(raw, v); err != nil {
			t.Fatalf("%s: %v: %s", g.Type, err, raw)
		}
	}
	into(b, &g)
	lists := func(list [][]int, closed bool) {
		for _, refs := range list {
			line := f.run(t, refs)
			if closed && line[0] != line[len(line)-1] {
				t.Fatalf("a ring is open: %v", refs)
			}
			runs = append(runs, line)
		}
	}
	switch g.Type {
	case "Point":
		var p [2]int64
		into(g.Coordinates, &p)
		runs = append(runs, []orb.Point{f.place(p[0], p[1])})
	case "LineString":
		var refs []int
		into(g.Arcs, &refs)
		lists([][]int{refs}, false)
	case "Polygon":
		var list [][]int
		into(g.Arcs, &list)
		lists(list, true)
	case "MultiPolygon":
		var polygons [][][]int
		into(g.Arcs, &polygons)
		for _, list := range polygons {
			lists(list, true)
		}
	case "GeometryCollection":
		for _, m := range g.Geometries {
			runs = append(runs, f.runs(t, m)...)
		}
	case "":
	default:
		t.Fatalf("the type %s", g.Type)
	}
	return runs
}

func readTopology(t *testing.T, b []byte) (out []record) {
	t.Helper()
	f := parseTopology(t, b)
	if f.Transform.Scale != [2]float64{1e-7, 1e-7} || f.Transform.Translate != [2]float64{} {
		t.Fatalf("%v", f.Transform)
	}
	for _, o := range f.Objects {
		for _, g := range o.Geometries {
			r := readFeature(t, g)
			r.runs = f.runs(t, g)
			out = append(out, r)
		}
	}
	return out
}

func areas(polygons ...orb.Geometry) (*store.Collection, []store.Feature) {
	c := &store.Collection{ID: "areas", Table: "areas", Geometry: &store.Geom{Name: "geom", CRS: crs.WGS84}}
	var fs []store.Feature
	for i, p := range polygons {
		fs = append(fs, store.Feature{ID: fmt.Sprint(i), Rev: 1, Geometry: store.Geometry{WKB: wkb.Append(nil, p)}})
	}
	return c, fs
}

func TestNeighboursShareArcs(t *testing.T) {
	t.Parallel()
	ring := func(xy ...float64) (r orb.Ring) {
		for i := 0; i < len(xy); i += 2 {
			r = append(r, orb.Point{xy[i], xy[i+1]})
		}
		return append(r, r[0])
	}
	hole, filler := ring(1, 1, 1, 2, 2, 2, 2, 1), ring(2, 1, 2, 2, 1, 2, 1, 1)
	for name, c := range map[string]struct {
		of   []orb.Geometry
		arcs int
	}{
		"a ring": {[]orb.Geometry{orb.Polygon{ring(0, 0, 1, 0, 1, 1)}}, 1},
		"two squares with a side": {[]orb.Geometry{orb.Polygon{ring(0, 0, 1, 0, 1, 1, 0, 1)},
			orb.Polygon{ring(1, 1, 1, 0, 2, 0, 2, 1)}}, 3},
		"a hole and what fills it": {[]orb.Geometry{orb.Polygon{ring(0, 0, 3, 0, 3, 3, 0, 3), hole},
			orb.Polygon{filler}}, 2},
		"a line along a ring": {[]orb.Geometry{orb.Polygon{ring(0, 0, 1, 0, 1, 1)},
			orb.LineString{{1, 1}, {1, 0}}}, 2},
		"the same ring twice": {[]orb.Geometry{orb.Polygon{ring(0, 0, 1, 0, 1, 1)},
			orb.Polygon{ring(1, 0, 1, 1, 0, 0)}}, 1},
		"sides with another vertex on it": {[]orb.Geometry{orb.Polygon{ring(0, 0, 1, 0, 1, 1, 0, 1)},
			orb.Polygon{ring(1, 1, 1, .5, 1, 0, 2, 0, 2, 1)}}, 4},
		"a ring that touches itself": {[]orb.Geometry{orb.Polygon{ring(0, 0, 1, 1, 2, 0, 2, 2, 1, 1, 0, 2)}}, 2},
		"a line there and back":      {[]orb.Geometry{orb.LineString{{0, 0}, {1, 0}, {2, 0}, {1, 0}, {0, 0}}}, 1},
	} {
		coll, fs := areas(c.of...)
		f := parseTopology(t, write(t, format.Find("topojson"), output.Options{Collection: coll}, fs))
		if len(f.Arcs) != c.arcs {
			t.Errorf("%s: %d arcs, want %d: %v", name, len(f.Arcs), c.arcs, f.Arcs)
		}
	}
}

// TestTopologyHoldsEveryRing writes random partitions of a grid, settled after so many positions, and joins their rings
// again.
func TestTopologyHoldsEveryRing(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(7, 1))
	for _, together := range []int{1, 50, 1 << 20} {
		var cells []orb.Geometry
		const n = 12.0
		for x := 0.0; x < n; x++ {
			// cells and strips, some with a hole that another fills, some with repeated positions, turned anyhow
			for y := 0.0; y < n; {
				h := float64(1 + random.IntN(3))
				r := orb.Ring{{x, y}, {x + 1, y}}
				for k := 1.0; k <= h; k++ {
					r = append(r, orb.Point{x + 1, y + k})
				}
				for k := h; k >= 0; k-- {
					r = append(r, orb.Point{x, y + k})
				}
				if random.IntN(4) == 0 {
					r = slices.Insert(r, 1, r[0], r[1])
				}
				turn, open := random.IntN(len(r)-1), r[:len(r)-1]
				r = append(append(slices.Clone(open[turn:]), open[:turn]...), open[turn])
				p := orb.Polygon{r}
				if random.IntN(2) == 0 {
					hole := orb.Ring{{x + .2, y + .2}, {x + .2, y + .4}, {x + .4, y + .4}, {x + .4, y + .2},
						{x + .2, y + .2}}
					p = append(p, hole)
					fill := slices.Clone(hole)
					slices.Reverse(fill)
					cells = append(cells, orb.Polygon{fill})
				}
				cells = append(cells, p)
				y += h
			}
		}
		coll, fs := areas(cells...)
		var b bytes.Buffer
		w, err := topojson.NewTogether(&b, output.Options{Collection: coll, Temp: t.TempDir()}, together)
		if err != nil {
			t.Fatal(err)
		}
		for i := range fs {
			if err := w.Write(&fs[i]); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(false); err != nil {
			t.Fatal(err)
		}
		f := parseTopology(t, b.Bytes())
		got := readTopology(t, b.Bytes())
		if len(got) != len(fs) {
			t.Fatalf("%d features of %d", len(got), len(fs))
		}
		for i := range fs {
			want := runsOf(cells[i])
			for j := range want {
				if have := canonical(got[i].runs[j]); have != canonical(want[j]) {
					t.Errorf("settled after %d: ring %d of %d is %s, want %s", together, j, i, have, canonical(want[j]))
				}
			}
		}
		seen := map[string]bool{}
		if together > len(fs)*20 {
			for i, a := range f.Arcs {
				line := f.run(t, []int{i})
				back := slices.Clone(line)
				slices.Reverse(back)
				if seen[fmt.Sprint(line)] || seen[fmt.Sprint(back)] {
					t.Errorf("the arc %v is there twice", a)
				}
				seen[fmt.Sprint(line)] = true
			}
		}
	}
}

// canonical writes a ring so that neither its beginning nor its sense matters: the least of all ways to write it.
func canonical(ring []orb.Point) string {
	open := ring[:len(ring)-1]
	var all []string
	for range 2 {
		for i := range open {
			all = append(all, fmt.Sprint(append(slices.Clone(open[i:]), open[:i]...)))
		}
		open = slices.Clone(open)
		slices.Reverse(open)
	}
	return slices.Min(all)
}

// TestATopologyOfManySmallAreasTakesFewBytes: of squares that lie side by side each side is an arc.
func TestATopologyOfManySmallAreasTakesFewBytes(t *testing.T) {
	const across = 250
	c := &store.Collection{ID: "squares", Geometry: &store.Geom{Name: "geom", CRS: crs.CRS84}}
	w, err := format.Find("topojson").Open(io.Discard, output.Options{Collection: c, Temp: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	var b []byte
	for i := range across * across {
		x, y := float64(i%across)/across, float64(i/across)/across
		const d = 1.0 / across
		b = wkb.AppendCount(wkb.AppendCount(wkb.AppendHeader(b[:0], wkb.Polygon, false), 1), 5)
		for _, p := range [...][2]float64{{x, y}, {x + d, y}, {x + d, y + d}, {x, y + d}, {x, y}} {
			b = wkb.AppendXY(b, p[0], p[1])
		}
		if err := w.Write(&store.Feature{ID: strconv.Itoa(i), Geometry: store.Geometry{WKB: b}}); err != nil {
			t.Fatal(err)
		}
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if err := w.Close(false); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if n := (after.TotalAlloc - before.TotalAlloc) / (5 * across * across); n > 64 {
		t.Errorf("%d bytes for each position", n)
	} else {
		t.Logf("%d bytes for each position", n)
	}
}
