package feature_test

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"grense/internal/feature"
	"grense/internal/geo/crs"
)

// tree is a geometry as plain as can be: positions, or parts. A point without positions is empty.
type tree struct {
	kind  int // of well-known binary; 0: a ring
	pts   [][4]float64
	parts []tree
}

// coding says how a tree is written as well-known binary.
type coding struct {
	order    binary.AppendByteOrder
	ewkb     bool
	z, m     bool
	withSRID bool
}

func (c coding) wkb(t tree) []byte { return c.append(nil, t, true) }

func (c coding) append(b []byte, t tree, root bool) []byte {
	if t.kind == 0 {
		return c.positions(c.order.AppendUint32(b, uint32(len(t.pts))), t.pts)
	}
	if c.order == binary.AppendByteOrder(binary.BigEndian) {
		b = append(b, 0)
	} else {
		b = append(b, 1)
	}
	kind := uint32(t.kind)
	switch {
	case c.ewkb:
		if c.z {
			kind |= 0x80000000
		}
		if c.m {
			kind |= 0x40000000
		}
		if c.withSRID && root {
			b = c.order.AppendUint32(b, kind|0x20000000)
			kind = 25833
		}
	case c.z && c.m:
		kind += 3000
	case c.m:
		kind += 2000
	case c.z:
		kind += 1000
	}
	b = c.order.AppendUint32(b, kind)
	switch {
	case t.kind == 1 && len(t.pts) == 0:
		nan := math.NaN()
		return c.positions(b, [][4]float64{{nan, nan, nan, nan}})
	case t.kind == 1:
		return c.positions(b, t.pts)
	case t.kind == 2:
		return c.positions(c.order.AppendUint32(b, uint32(len(t.pts))), t.pts)
	}
	b = c.order.AppendUint32(b, uint32(len(t.parts)))
	for _, p := range t.parts {
		b = c.append(b, p, false)
	}
	return b
}

func (c coding) positions(b []byte, pts [][4]float64) []byte {
	for _, p := range pts {
		v := p[:2]
		if c.z {
			v = append(slices.Clone(v), p[2])
		}
		if c.m {
			v = append(slices.Clone(v), p[3])
		}
		for _, f := range v {
			b = c.order.AppendUint64(b, math.Float64bits(f))
		}
	}
	return b
}

// randomTree makes a geometry of that kind; now and then a part is empty.
func randomTree(r *rand.Rand, kind, depth int) tree {
	pt := func() [4]float64 {
		return [4]float64{4 + 28*r.Float64(), 57 + 14*r.Float64(), 2400 * r.Float64(), r.Float64()}
	}
	t := tree{kind: kind}
	few := r.IntN(4)
	switch kind {
	case 0, 2:
		for range few * 3 {
			t.pts = append(t.pts, pt())
		}
		if kind == 0 && len(t.pts) > 0 {
			t.pts = append(t.pts, t.pts[0])
		}
	case 1:
		if few > 0 {
			t.pts = [][4]float64{pt()}
		}
	default:
		for range few {
			part := map[int]int{3: 0, 4: 1, 5: 2, 6: 3}[kind]
			if kind == 7 {
				part = 1 + r.IntN(7)
				if depth > 2 {
					part = 1
				}
			}
			t.parts = append(t.parts, randomTree(r, part, depth+1))
		}
	}
	return t
}

// slow is the obvious encoder to GeoJSON and WKT.
type slow struct {
	to crs.ID
	f  crs.Func
	z  bool
}

func (s slow) position(p [4]float64, wkt bool) string {
	x, y := s.f(p[0], p[1])
	xs, ys := slowFixed(x, s.to.Decimals()), slowFixed(y, s.to.Decimals())
	if wkt {
		return xs + " " + ys
	}
	v := []string{xs, ys}
	if s.to.NorthFirst() {
		v = []string{ys, xs}
	}
	if s.z {
		v = append(v, slowFixed(p[2], 2))
	}
	return "[" + strings.Join(v, ",") + "]"
}

func (s slow) ring(pts [][4]float64, hole bool) [][4]float64 {
	var sum float64
	for i := 1; i < len(pts); i++ {
		sum += (pts[i-1][0]-4)*(pts[i][1]-57) - (pts[i][0]-4)*(pts[i-1][1]-57)
	}
	if s.to == crs.CRS84 && (sum < 0 && !hole || sum > 0 && hole) {
		pts = slices.Clone(pts)
		slices.Reverse(pts)
	}
	return pts
}

// body returns the nested positions; "" when there are none.
func (s slow) body(t tree, wkt bool) string {
	var parts []string
	switch t.kind {
	case 0, 1, 2:
		for _, p := range t.pts {
			parts = append(parts, s.position(p, wkt))
		}
		if t.kind == 1 && !wkt {
			return strings.Join(parts, "")
		}
	case 3:
		for i, ring := range t.parts {
			if !wkt {
				ring.pts = s.ring(ring.pts, i > 0)
			}
			parts = append(parts, s.body(ring, wkt))
		}
	case 7:
		for _, p := range t.parts {
			if g := s.geometry(p, wkt); g != "null" && !strings.HasSuffix(g, " EMPTY") {
				parts = append(parts, g)
			}
		}
	default:
		for _, p := range t.parts {
			parts = append(parts, s.body(p, wkt))
		}
	}
	parts = slices.DeleteFunc(parts, func(p string) bool { return p == "" })
	if len(parts) == 0 {
		return ""
	}
	if wkt {
		return "(" + strings.Join(parts, ",") + ")"
	}
	return "[" + strings.Join(parts, ",") + "]"
}

var kinds = []string{
	"",
	"Point",
	"LineString",
	"Polygon",
	"MultiPoint",
	"MultiLineString",
	"MultiPolygon",
	"GeometryCollection",
}

func (s slow) geometry(t tree, wkt bool) string {
	b := s.body(t, wkt)
	switch {
	case wkt && b == "":
		return strings.ToUpper(kinds[t.kind]) + " EMPTY"
	case wkt:
		return strings.ToUpper(kinds[t.kind]) + b
	case b == "":
		return "null"
	case t.kind == 7:
		return fmt.Sprintf(`{"type":"GeometryCollection","geometries":%s}`, b)
	}
	return fmt.Sprintf(`{"type":%q,"coordinates":%s}`, kinds[t.kind], b)
}

func geometry(t testing.TB, from, to crs.ID) feature.Geometry {
	t.Helper()
	g, err := feature.NewGeometry(from, to)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestGeometriesAgreeWithTheObviousEncoder(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long: the run without the race detector has it")
	}
	r := rand.New(rand.NewPCG(7, 8))
	for _, to := range []crs.ID{crs.CRS84, crs.WGS84, crs.UTM33, crs.LAEAEurope} {
		g := geometry(t, crs.CRS84, to)
		f, err := crs.Between(crs.CRS84, to)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 600 {
			c := coding{order: binary.LittleEndian, ewkb: i&1 > 0, z: i&2 > 0, m: i&4 > 0, withSRID: i&8 > 0}
			if i&16 > 0 {
				c.order = binary.BigEndian
			}
			tr := randomTree(r, 1+i%7, 0)
			s, wkb := slow{to, f, c.z}, c.wkb(tr)
			got, err := g.AppendGeoJSON([]byte("x"), wkb)
			if want := "x" + s.geometry(tr, false); err != nil || string(got) != want {
				t.Fatalf("%v %+v:\ngot  %s, %v\nwant %s", to, c, got, err, want)
			}
			if !json.Valid(got[1:]) {
				t.Fatalf("not JSON: %s", got[1:])
			}
			got, err = g.AppendWKT([]byte("x"), wkb)
			if want := "x" + s.geometry(tr, true); err != nil || string(got) != want {
				t.Fatalf("%v %+v:\ngot  %s, %v\nwant %s", to, c, got, err, want)
			}
			for cut := range len(wkb) { // every start of it is broken, and is left out whole
				if got, err := g.AppendGeoJSON([]byte("x"), wkb[:cut]); err == nil || string(got) != "x" {
					t.Fatalf("%d of %d bytes: %s, %v", cut, len(wkb), got, err)
				}
			}
		}
	}
}

var little = coding{order: binary.LittleEndian}

func square(clockwise bool, at, side float64) tree {
	pts := [][4]float64{{at, at}, {at + side, at}, {at + side, at + side}, {at, at + side}, {at, at}}
	if clockwise {
		slices.Reverse(pts)
	}
	return tree{pts: pts}
}

// TestRightHandRule: RFC 7946, 3.1.6, for CRS84 and only there.
func TestRightHandRule(t *testing.T) {
	t.Parallel()
	const want = `{"type":"Polygon","coordinates":[[[0,0],[9,0],[9,9],[0,9],[0,0]],[[1,1],[1,2],[2,2],[2,1],[1,1]]]}`
	for _, outer := range []bool{false, true} {
		for _, hole := range []bool{false, true} {
			wkb := little.wkb(tree{kind: 3, parts: []tree{square(outer, 0, 9), square(hole, 1, 1)}})
			g := geometry(t, crs.CRS84, crs.CRS84)
			if got, err := g.AppendGeoJSON(nil, wkb); err != nil || string(got) != want {
				t.Errorf("clockwise %v, %v: %s, %v", outer, hole, got, err)
			}
		}
	}
	g := geometry(t, crs.UTM33, crs.UTM33)
	got, err := g.AppendGeoJSON(nil, little.wkb(tree{kind: 3, parts: []tree{square(true, 0, 9)}}))
	if want := `{"type":"Polygon","coordinates":[[[0,0],[0,9],[9,9],[9,0],[0,0]]]}`; err != nil || string(got) != want {
		t.Errorf("metres: %s, %v", got, err)
	}
	// Stored in metres, requested in degrees: the stored order counts.
	g = geometry(t, crs.UTM33, crs.CRS84)
	a, err := g.AppendGeoJSON(nil, little.wkb(tree{kind: 3, parts: []tree{square(true, 6e5, 1e5)}}))
	if err != nil {
		t.Fatal(err)
	}
	b, err := g.AppendGeoJSON(nil, little.wkb(tree{kind: 3, parts: []tree{square(false, 6e5, 1e5)}}))
	if err != nil || string(a) != string(b) {
		t.Errorf("%s\n%s, %v", a, b, err)
	}
}

func TestAxisOrderAndDecimals(t *testing.T) {
	t.Parallel()
	wkb := little.wkb(tree{kind: 1, pts: [][4]float64{{10.123456789, 59.99999996}}})
	for _, c := range []struct {
		to   crs.ID
		want string
	}{
		{crs.CRS84, "[10.1234568,60]"},
		{crs.WGS84, "[60,10.1234568]"},
		{crs.ETRS89, "[60,10.1234568]"},
		{crs.UTM33, "[228162.09,6661438.72]"},
		{crs.LAEAEurope, "[4099943.93,4327906.76]"},
	} {
		g := geometry(t, crs.CRS84, c.to)
		got, err := g.AppendGeoJSON(nil, wkb)
		if want := `{"type":"Point","coordinates":` + c.want + `}`; err != nil || string(got) != want {
			t.Errorf("%v: %s, %v; want %s", c.to, got, err, want)
		}
	}
}

func TestHeights(t *testing.T) {
	t.Parallel()
	g := geometry(t, crs.CRS84, crs.CRS84)
	c := coding{order: binary.BigEndian, z: true}
	wkb := c.wkb(tree{kind: 2, pts: [][4]float64{{1, 2, 3.14159}, {4, 5, math.NaN()}, {6, 7, -0.001}}})
	got, err := g.AppendGeoJSON(nil, wkb)
	if want := `{"type":"LineString","coordinates":[[1,2,3.14],[4,5],[6,7,0]]}`; err != nil || string(got) != want {
		t.Errorf("%s, %v; want %s", got, err, want)
	}
	if got, err := g.AppendGeoJSON(nil, c.wkb(tree{kind: 1, pts: [][4]float64{{1, 2, math.Inf(1)}}})); err != nil ||
		string(got) != `{"type":"Point","coordinates":[1,2]}` {
		t.Errorf("infinite height: %s, %v", got, err)
	}
}

func TestBrokenGeometries(t *testing.T) {
	t.Parallel()
	deep := tree{kind: 1, pts: [][4]float64{{1, 2}}}
	for range 40 {
		deep = tree{kind: 7, parts: []tree{deep}}
	}
	g, utm := geometry(t, crs.CRS84, crs.CRS84), geometry(t, crs.CRS84, crs.UTM33)
	for _, c := range []struct {
		name, want string
		g          feature.Geometry
		wkb        []byte
	}{
		{"nothing", "truncated", g, nil},
		{"no byte order", "byte order", g, []byte{2, 1, 0, 0, 0}},
		{"a curve", "CircularString", g, []byte{1, 8, 0, 0, 0, 0, 0, 0, 0}},
		{"type 0", "type 0", g, []byte{1, 0, 0, 0, 0}},
		{"four thousands", "type 4001", g, []byte{1, 0xa1, 0x0f, 0, 0}},
		{"a count that cannot be", "truncated", g, []byte{1, 2, 0, 0, 0, 255, 255, 255, 255}},
		{"a line among points", "LineString inside MultiPoint", g, little.wkb(tree{kind: 4, parts: []tree{{kind: 2}}})},
		{"too deep", "in each other", g, little.wkb(deep)},
		{"infinity", "no legal coordinate", g, little.wkb(tree{kind: 1, pts: [][4]float64{{math.Inf(1), 2}}})},
		{"NaN in a line", "no legal coordinate", g,
			little.wkb(tree{kind: 2, pts: [][4]float64{{1, 2}, {math.NaN(), 2}}})},
		{"half a NaN point", "no legal coordinate", g, little.wkb(tree{kind: 1, pts: [][4]float64{{math.NaN(), 2}}})},
		{"out of every range", "no legal coordinate", g, little.wkb(tree{kind: 1, pts: [][4]float64{{1e12, 2}}})},
		{"no such latitude", "no legal coordinate: 1 91", utm, little.wkb(tree{kind: 1, pts: [][4]float64{{1, 91}}})},
	} {
		for _, f := range []func([]byte, []byte) ([]byte, error){c.g.AppendGeoJSON, c.g.AppendWKT} {
			got, err := f([]byte("x"), c.wkb)
			if err == nil || !strings.Contains(err.Error(), c.want) || string(got) != "x" {
				t.Errorf("%s: %s, %v", c.name, got, err)
			}
		}
	}
	if _, err := feature.NewGeometry(crs.CRS84, 3395); err == nil {
		t.Error("EPSG:3395 is not served")
	}
}

func FuzzGeometry(f *testing.F) {
	r := rand.New(rand.NewPCG(9, 10))
	for i := range 14 {
		f.Add(coding{order: binary.LittleEndian, ewkb: i > 6, z: i%2 > 0}.wkb(randomTree(r, 1+i%7, 0)))
	}
	plain, utm := geometry(f, crs.CRS84, crs.CRS84), geometry(f, crs.CRS84, crs.UTM33)
	f.Fuzz(func(t *testing.T, wkb []byte) {
		for _, g := range []feature.Geometry{plain, utm} {
			if b, err := g.AppendGeoJSON(nil, wkb); err == nil && !json.Valid(b) {
				t.Fatalf("not JSON: %s", b)
			}
			if b, err := g.AppendWKT(nil, wkb); err == nil && len(b) == 0 {
				t.Fatal("no text and no error")
			}
		}
	})
}
