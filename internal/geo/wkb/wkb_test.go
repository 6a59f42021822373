package wkb_test

import (
	"encoding/hex"
	"errors"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/paulmach/orb"
	orbwkb "github.com/paulmach/orb/encoding/wkb"
	"github.com/paulmach/orb/planar"
	"github.com/peterstace/simplefeatures/geom"

	"grense/internal/geo/wkb"
)

// shapes are one of each type, with the well-known text from which an independent library makes WKB.
var shapes = map[string]orb.Geometry{
	"POINT(1 2)":                     orb.Point{1, 2},
	"POINT Z(1 2 3)":                 orb.Point{1, 2},
	"POINT M(1 2 3)":                 orb.Point{1, 2},
	"POINT EMPTY":                    orb.MultiPoint{},
	"LINESTRING EMPTY":               orb.LineString{},
	"LINESTRING ZM(1 2 3 4,5 6 7 8)": orb.LineString{{1, 2}, {5, 6}},
	"POLYGON EMPTY":                  orb.Polygon{},
	"POLYGON((0 0,4 0,4 4,0 0),(1 0.5,2 0.5,2 1,1 0.5))": orb.Polygon{
		{{0, 0}, {4, 0}, {4, 4}, {0, 0}},
		{{1, 0.5}, {2, 0.5}, {2, 1}, {1, 0.5}},
	},
	"MULTIPOINT((1 2),EMPTY,(3 4))":          orb.MultiPoint{{1, 2}, {3, 4}},
	"MULTILINESTRING Z((1 2 0,3 4 0),EMPTY)": orb.MultiLineString{{{1, 2}, {3, 4}}, {}},
	"MULTIPOLYGON(((0 0,1 0,1 1,0 0)),((5 5,6 5,6 6,5 5)))": orb.MultiPolygon{
		{{{0, 0}, {1, 0}, {1, 1}, {0, 0}}},
		{{{5, 5}, {6, 5}, {6, 6}, {5, 5}}},
	},
	"GEOMETRYCOLLECTION(POINT(1 2),GEOMETRYCOLLECTION(LINESTRING(1 2,3 4)))": orb.Collection{
		orb.Point{1, 2},
		orb.Collection{orb.LineString{{1, 2}, {3, 4}}},
	},
	"GEOMETRYCOLLECTION EMPTY": orb.Collection{},
}

func unhex(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestGeometryOfAnotherLibrary(t *testing.T) {
	t.Parallel()
	for text, want := range shapes {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			g, err := geom.UnmarshalWKT(text)
			if err != nil {
				t.Fatal(err)
			}
			got, err := wkb.Decode(g.AsBinary())
			if err != nil || !orb.Equal(got, want) {
				t.Errorf("got %v, %v; want %v", got, err, want)
			}
			in, err := wkb.Check(g.AsBinary())
			low, high, exists := g.Envelope().MinMaxXYs()
			if err != nil || (in.Positions > 0) != exists ||
				exists && (in.Bound.Min != orb.Point{low.X, low.Y} || in.Bound.Max != orb.Point{high.X, high.Y}) {
				t.Errorf("%v, %v; want %v %v", in, err, low, high)
			}
			if in.HasZ != g.CoordinatesType().Is3D() || in.Kind.String() != g.Type().String() {
				t.Errorf("%v, heights %v", in.Kind, in.HasZ)
			}
		})
	}
}

func TestWhatIsAGeometry(t *testing.T) {
	t.Parallel()
	const (
		at   = "000000000000f03f0000000000000040"
		nan  = "000000000000f87f"
		inf  = "000000000000f07f"
		huge = "00a138149b39df43" // 9e18
		two  = "0000000000000040"
		line = "010200000002000000" + at
	)
	tests := map[string]struct {
		hex  string
		fine bool
	}{
		"little endian":                 {"0101000000" + at, true},
		"big endian":                    {"00000000013ff00000000000004000000000000000", true},
		"extended with SRID":            {"0101000020e9640000" + at, true},
		"extended Z":                    {"0101000080" + at + "0000000000000840", true},
		"extended ZM":                   {"01010000c0" + at + at, true},
		"ISO Z":                         {"01e9030000" + at + "0000000000000840", true},
		"mixed byte order":              {"010400000001000000" + "00000000013ff00000000000004000000000000000", true},
		"bytes after it":                {"0101000000" + at + "ff", true},
		"empty point":                   {"0101000000" + nan + nan, true},
		"empty point among points":      {"010400000001000000" + "0101000000" + nan + nan, true},
		"a height that is no number":    {"01e9030000" + at + nan, true},
		"an infinite height":            {"01e9030000" + at + inf, true},
		"an infinite measure":           {"01d1070000" + at + inf, true},
		"nothing":                       {"", false},
		"nothing after order":           {"01", false},
		"other byte order":              {"0201000000" + at, false},
		"truncated":                     {"0101000000" + at[:30], false},
		"truncated SRID":                {"0101000020e964", false},
		"unknown flag":                  {"0101000010" + at, false},
		"curve":                         {"010800000000000000", false},
		"curve in a collection":         {"010700000001000000" + "010800000000000000", false},
		"triangle":                      {"011100000000000000", false},
		"type 4000":                     {"01a00f0000" + at, false},
		"type 1000":                     {"01e8030000" + at, false},
		"count beyond the bytes":        {"0102000000ffffffff", false},
		"one position too few":          {"010200000002000000" + at, false},
		"parts beyond the bytes":        {"0107000000ffffffff", false},
		"rings beyond the bytes":        {"010300000002000000" + "00000000", false},
		"half a number":                 {"0101000000" + nan + two, false},
		"a line with NaN NaN":           {line + nan + nan, false},
		"a line with an infinite end":   {line + inf + two, false},
		"a line to no place on Earth":   {line + huge + two, false},
		"a ring with NaN":               {"01030000000100000002000000" + at + nan + nan, false},
		"line inside points":            {"010400000001000000" + "010200000000000000", false},
		"multipoint inside a multiline": {"010500000001000000" + "010400000000000000", false},
		"a broken part behind":          {"010700000002000000" + "0101000000" + at + line + nan + nan, false},
		"sixteen deep":                  {strings.Repeat("010700000001000000", 16) + "0101000000" + at, true},
		"too deep":                      {strings.Repeat("010700000001000000", 17) + "0101000000" + at, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := unhex(t, tt.hex)
			_, err := wkb.Check(b)
			if (err == nil) != tt.fine || err != nil && !errors.Is(err, wkb.ErrInvalid) {
				t.Errorf("Check: %v", err)
			}
			if g, err := wkb.Decode(b); (err == nil) != tt.fine || (g == nil) == tt.fine ||
				err != nil && !errors.Is(err, wkb.ErrInvalid) {
				t.Errorf("Decode: %v, %v", g, err)
			}
		})
	}
}

func TestWalkGivesEachPartItsRuns(t *testing.T) {
	t.Parallel()
	g, err := geom.UnmarshalWKT(
		"GEOMETRYCOLLECTION Z(POINT Z(1 2 7),MULTIPOLYGON Z(((0 0 1,1 0 1,1 1 1,0 0 1),EMPTY),((5 5 2,6 5 2,6 6 2,5 "+
			"5 2))),LINESTRING Z(8 8 3,9 9 3))",
		geom.NoValidate{},
	)
	if err != nil {
		t.Fatal(err)
	}
	type run struct {
		kind   wkb.Kind
		ring   int
		last   bool
		n      int
		height float64
	}
	want := []run{
		{wkb.Point, 0, true, 1, 7},
		{wkb.Polygon, 0, false, 4, 1},
		{wkb.Polygon, 1, true, 0, 0},
		{wkb.Polygon, 0, true, 4, 2},
		{wkb.LineString, 0, true, 2, 3},
	}
	i := 0
	err = wkb.Walk(g.AsBinary(), func(r wkb.Run) bool {
		got := run{r.Kind, r.Ring, r.Last, r.Len(), 0}
		if r.Len() > 0 {
			got.height = r.Z(0)
		}
		if i >= len(want) || got != want[i] {
			t.Errorf("run %d is %v", i, got)
		}
		i++
		return true
	})
	if err != nil || i != len(want) {
		t.Errorf("%d runs, %v", i, err)
	}
	i = 0
	if err := wkb.Walk(g.AsBinary(), func(wkb.Run) bool { i++; return i < 3 }); err != nil || i != 3 {
		t.Errorf("stopped after %d runs, %v", i, err)
	}
}

func TestHeightsThatAreNone(t *testing.T) {
	t.Parallel()
	for _, z := range [...]float64{math.NaN(), math.Inf(1), math.Inf(-1), 1e300} {
		b := wkb.AppendXYZ(wkb.AppendHeader(nil, wkb.Point, true), 1, 2, z)
		if err := wkb.Walk(b, func(r wkb.Run) bool {
			if h := r.Z(0); h == h {
				t.Errorf("height %v of %v", h, z)
			}
			return true
		}); err != nil {
			t.Error(err)
		}
	}
}

// far is where squares of coordinates have no digits left for a metre.
const far = 7e6

func TestSignedArea(t *testing.T) {
	t.Parallel()
	rings := map[string]orb.Ring{
		"counter-clockwise": {{0, 0}, {2, 0}, {2, 2}, {0, 2}, {0, 0}},
		"clockwise":         {{0, 0}, {0, 2}, {2, 2}, {2, 0}, {0, 0}},
		"not closed":        {{0, 0}, {2, 0}, {2, 2}, {0, 2}},
		"far away":          {{far, far}, {far + 0.01, far}, {far + 0.01, far + 0.01}, {far, far}},
		"one position":      {{3, 3}},
		"none":              {},
	}
	want := map[string]float64{"counter-clockwise": 4, "clockwise": -4, "not closed": 4, "far away": 0.00005}
	for name, r := range rings {
		var got float64
		if err := wkb.Walk(wkb.Append(nil, orb.Polygon{r}), func(r wkb.Run) bool {
			got = r.Area()
			return true
		}); err != nil {
			t.Fatal(err)
		}
		if math.Abs(got-want[name]) > 1e-9 {
			t.Errorf("%s: %v, want %v", name, got, want[name])
		}
		if name != "far away" && len(r) > 2 && r.Closed() && math.Abs(got) != planar.Area(orb.Polygon{r}) {
			t.Errorf("%s: %v, and by orb %v", name, got, planar.Area(orb.Polygon{r}))
		}
	}
}

func TestCheckAndWalkAllocateNothing(t *testing.T) {
	b := orbwkb.MustMarshal(shapes["MULTIPOLYGON(((0 0,1 0,1 1,0 0)),((5 5,6 5,6 6,5 5)))"])
	n := testing.AllocsPerRun(100, func() {
		if _, err := wkb.Check(b); err != nil {
			t.Error(err)
		}
		sum := 0
		if err := wkb.Walk(b, func(r wkb.Run) bool { sum += r.Len(); return true }); err != nil || sum != 8 {
			t.Error(sum, err)
		}
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestAppendPlaneMovesEachPosition(t *testing.T) {
	t.Parallel()
	g, err := geom.UnmarshalWKT(
		"GEOMETRYCOLLECTION ZM(POINT ZM(1 2 3 4),POINT ZM EMPTY,MULTILINESTRING ZM((1 2 0 0,3 4 0 0)),POLYGON ZM((0 " +
			"0 1 1,1 0 1 1,1 1 1 1,0 0 1 1)))",
	)
	if err != nil {
		t.Fatal(err)
	}
	b, err := wkb.AppendPlane(nil, g.AsBinary(), func(x, y float64) (float64, float64) { return x + 10, -y })
	if err != nil {
		t.Fatal(err)
	}
	got, err := geom.UnmarshalWKB(b)
	if want := "GEOMETRYCOLLECTION(POINT(11 -2),POINT EMPTY,MULTILINESTRING((11 -2,13 -4)),POLYGON((10 -0,11 -0,11 " +
		"-1,10 -0)))"; err != nil ||
		got.AsText() != want {
		t.Errorf("%v, %v", got.AsText(), err)
	}
}

func TestAppendExtended(t *testing.T) {
	t.Parallel()
	for _, b := range []string{"0101000000", "01010000206c0d0000"} {
		got := wkb.AppendExtended(nil, unhex(t, b+"000000000000f03f0000000000000040"), 25833)
		if hex.EncodeToString(got) != "0101000020e9640000000000000000f03f0000000000000040" {
			t.Errorf("%s: %x", b, got)
		}
	}
	if got := wkb.AppendExtended(nil, unhex(t, "00000000013ff00000000000004000000000000000"),
		25833); hex.EncodeToString(got) != "0020000001000064e93ff00000000000004000000000000000" {
		t.Errorf("big endian: %x", got)
	}
}

// FuzzCheck holds the reader and the writer to two other libraries: simplefeatures takes the same bytes, but for the
// extended form and for numbers and depths that are out of bounds, and reads the same from them; orb reads the same
// from what is written.
func FuzzCheck(f *testing.F) {
	for text := range shapes {
		g, err := geom.UnmarshalWKT(text)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(g.AsBinary())
	}
	for _, s := range [...]string{"0107000000ffffffff",
		"010200000002000000000000000000f03f0000000000000040000000000000f87f000000000000f87f",
		"0101000020e9640000000000000000f03f0000000000000040", "010400000001000000010200000000000000"} {
		b, _ := hex.DecodeString(s)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		in, err := wkb.Check(b)
		if err != nil && !errors.Is(err, wkb.ErrInvalid) {
			t.Fatalf("error %v", err)
		}
		g, errDecode := wkb.Decode(b)
		if (err == nil) != (errDecode == nil) {
			t.Fatalf("Check: %v, Decode: %v", err, errDecode)
		}
		other, errOther := geom.UnmarshalWKB(b, geom.NoValidate{})
		if err != nil {
			if errOther == nil && inBounds(other, 0) {
				t.Fatalf("%v is refused: %v", other.AsText(), err)
			}
			return
		}
		plane, err := wkb.AppendPlane(nil, b, nil)
		if err != nil {
			t.Fatalf("AppendPlane: %v", err)
		}
		same, err := geom.UnmarshalWKB(plane, geom.NoValidate{})
		if err != nil {
			t.Fatalf("what is written is not read: %v", err)
		}
		if errOther == nil && !geom.ExactEquals(same, other.Force2D()) {
			t.Fatalf("%v, and %v by another library", same.AsText(), other.AsText())
		}
		// its Envelope leaves holes out, also those of a polygon without an outer ring
		all, bound := same.DumpCoordinates(), wkb.EmptyBound()
		for i := range all.Length() {
			wkb.Extend(&bound, all.GetXY(i).X, all.GetXY(i).Y)
		}
		if in.Positions != all.Length() || in.Bound != bound {
			t.Fatalf("bound %v of %v", in.Bound, same.AsText())
		}
		written := wkb.Append(nil, g)
		again, err := orbwkb.Unmarshal(written)
		if err != nil || !orb.Equal(again, g) {
			t.Fatalf("%v, %v by another library; it was %v", again, err, g)
		}
		if third, err := wkb.Decode(written); err != nil || !orb.Equal(third, g) {
			t.Fatalf("%v, %v after writing %v", third, err, g)
		}
	})
}

// inBounds reports whether all numbers of g are those of places, and whether it is not nested too deep.
func inBounds(g geom.Geometry, depth int) bool {
	if g.IsGeometryCollection() {
		c := g.MustAsGeometryCollection()
		for i := range c.NumGeometries() {
			if depth == wkb.MaxDepth || !inBounds(c.GeometryN(i), depth+1) {
				return false
			}
		}
		return true
	}
	multi := g.IsMultiPoint() && g.MustAsMultiPoint().NumPoints() > 0 ||
		g.IsMultiLineString() && g.MustAsMultiLineString().NumLineStrings() > 0 ||
		g.IsMultiPolygon() && g.MustAsMultiPolygon().NumPolygons() > 0
	if multi && depth == wkb.MaxDepth {
		return false
	}
	s := g.DumpCoordinates()
	for i := range s.Length() {
		if xy := s.GetXY(i); !wkb.Valid(xy.X) || !wkb.Valid(xy.Y) {
			return false
		}
	}
	return true
}

func ring(n int) orb.Polygon {
	r := make(orb.Ring, n)
	for i := range r {
		s, c := math.Sincos(2 * math.Pi * float64(i) / float64(n-1))
		r[i] = orb.Point{c, s}
	}
	r[n-1] = r[0]
	return orb.Polygon{r}
}

func BenchmarkCheck(b *testing.B) {
	for _, n := range []int{10, 1000, 100000} {
		g := wkb.Append(nil, ring(n))
		b.Run("n="+strconv.Itoa(n), func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(g)))
			for b.Loop() {
				if _, err := wkb.Check(g); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
