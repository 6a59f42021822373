package gpb_test

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/paulmach/orb"

	"grense/internal/geo/wkb"
	"grense/internal/sharedtest"
	"grense/internal/store/gpkg/gpb"
)

// blob returns a geometry with a header made by hand (OGC 12-128r18, 2.1.3, table 6).
func blob(flags byte, srs int32, envelope []float64, geometry []byte) []byte {
	order := binary.AppendByteOrder(binary.BigEndian)
	if flags&1 == 1 {
		order = binary.LittleEndian
	}
	b := order.AppendUint32([]byte{'G', 'P', 0, flags}, uint32(srs))
	for _, v := range envelope {
		b = order.AppendUint64(b, math.Float64bits(v))
	}
	return append(b, geometry...)
}

// pointXY is a point of either byte order.
func pointXY(order binary.AppendByteOrder, x, y float64) []byte {
	b := []byte{0}
	if order == binary.AppendByteOrder(binary.LittleEndian) {
		b[0] = 1
	}
	b = order.AppendUint32(b, 1)
	return order.AppendUint64(order.AppendUint64(b, math.Float64bits(x)), math.Float64bits(y))
}

// TestHeadersHaveFlagsAndEnvelopes: the envelope of any of five kinds, each byte order of the header with each of the
// geometry; all other flags are no geometry of GeoPackage.
func TestHeadersHaveFlagsAndEnvelopes(t *testing.T) {
	t.Parallel()
	sizes := []int{0, 4, 6, 6, 8}
	for kind := range 8 {
		for little := range byte(2) {
			for _, order := range []binary.AppendByteOrder{binary.BigEndian, binary.LittleEndian} {
				want := gpb.Fine
				size := 0
				if kind < len(sizes) {
					size = sizes[kind]
				} else {
					want = gpb.Broken
				}
				point := pointXY(order, 10, 60)
				b := blob(byte(kind)<<1|little, 4326, make([]float64, size), point)
				got, in, state := gpb.Read(b)
				if state != want {
					t.Errorf("envelope %d, header %d, %v: state %d, want %d", kind, little, order, state, want)
					continue
				}
				if want != gpb.Fine {
					if got != nil || in != (wkb.Info{}) || gpb.WKB(b) != nil {
						t.Errorf("envelope %d: %x, %+v", kind, got, in)
					}
					continue
				}
				if !bytes.Equal(got, point) || &got[0] != &b[8+8*size] || !bytes.Equal(gpb.WKB(b), point) ||
					in.Kind != wkb.Point || in.Positions != 1 || in.Bound.Min != (orb.Point{10, 60}) {
					t.Errorf("envelope %d, header %d, %v: %x, %+v", kind, little, order, got, in)
				}
			}
		}
	}
}

func TestGeometriesAreFineEmptyOrBroken(t *testing.T) {
	t.Parallel()
	nan, inf := math.NaN(), math.Inf(1)
	point := pointXY(binary.LittleEndian, 10, 60)
	line := wkb.Append(nil, orb.LineString{{1, 2}, {3, 4}})
	none := func(k wkb.Kind) []byte { return wkb.AppendCount(wkb.AppendHeader(nil, k, false), 0) }
	for _, x := range []struct {
		name string
		b    []byte
		want gpb.State
	}{
		{"null", nil, gpb.Empty},
		{"no bytes", []byte{}, gpb.Empty},
		{"a point", blob(1, 4326, nil, point), gpb.Fine},
		{"a line", blob(1, 4326, nil, line), gpb.Fine},
		{"reserved flags", blob(0xc1, 4326, nil, point), gpb.Fine},
		{"an envelope of no numbers", blob(3, 4326, []float64{nan, nan, nan, nan}, point), gpb.Fine},
		{"a system that is not known", blob(1, math.MinInt32, nil, point), gpb.Fine},
		{"an empty point", blob(1, 4326, nil, pointXY(binary.LittleEndian, nan, nan)), gpb.Empty},
		{"an empty point with its flag", blob(0x11, 4326, nil, pointXY(binary.LittleEndian, nan, nan)), gpb.Empty},
		{"an empty line", blob(1, 4326, nil, none(wkb.LineString)), gpb.Empty},
		{"an empty area", blob(1, 4326, nil, none(wkb.Polygon)), gpb.Empty},
		{"no points", blob(1, 4326, nil, none(wkb.MultiPoint)), gpb.Empty},
		{"no areas", blob(1, 4326, nil, none(wkb.MultiPolygon)), gpb.Empty},
		{"no geometries", blob(1, 4326, nil, none(wkb.Collection)), gpb.Empty},
		{"no arcs", blob(1, 4326, nil, none(wkb.CircularString)), gpb.Empty},
		{"the flag of nothing before something", blob(0x11, 4326, nil, point), gpb.Empty},
		{"the flag of nothing before no geometry", blob(0x11, 4326, nil, []byte{1, 2}), gpb.Broken},
		{"half a point", blob(1, 4326, nil, pointXY(binary.LittleEndian, 10, nan)), gpb.Broken},
		{"an infinite point", blob(1, 4326, nil, pointXY(binary.LittleEndian, 10, -inf)), gpb.Broken},
		{"a point beyond the earth", blob(1, 4326, nil, pointXY(binary.LittleEndian, 1e300, 0)), gpb.Broken},
		{"a geometry of a vendor", blob(0x21, 4326, nil, point), gpb.Broken},
		{"another version", append([]byte{'G', 'P', 1}, blob(1, 4326, nil, point)[3:]...), gpb.Broken},
		{"another magic", append([]byte{'P', 'G'}, blob(1, 4326, nil, point)[2:]...), gpb.Broken},
		{"well-known binary alone", line, gpb.Broken},
		{"a header alone", blob(1, 4326, nil, nil), gpb.Broken},
		{"an envelope alone", blob(3, 4326, []float64{1, 2, 3, 4}, nil), gpb.Broken},
		{"an abstract type", blob(1, 4326, nil, none(wkb.Curve)), gpb.Broken},
		{"no type", blob(1, 4326, nil, none(99)), gpb.Broken},
		{"more points than bytes", blob(1, 4326, nil, wkb.AppendCount(wkb.AppendHeader(nil, wkb.LineString, false),
			math.MaxUint32)), gpb.Broken},
	} {
		got, in, state := gpb.Read(x.b)
		if state != x.want || (got != nil) != (state == gpb.Fine) || state != gpb.Fine && in != (wkb.Info{}) {
			t.Errorf("%s: state %d, want %d; %x, %+v", x.name, state, x.want, got, in)
		}
	}
}

// TestCutGeometriesAreBroken at any byte, and never read beyond it.
func TestCutGeometriesAreBroken(t *testing.T) {
	t.Parallel()
	for _, g := range []orb.Geometry{orb.Point{1, 2}, orb.Polygon{{{0, 0}, {4, 0}, {4, 4}, {0, 0}}},
		orb.Collection{orb.Point{1, 2}, orb.MultiLineString{{{1, 2}, {3, 4}}}}} {
		whole := gpb.Append(nil, 4326, wkb.Append(nil, g), g.Bound(), false)
		for n := 1; n < len(whole); n++ {
			if _, _, state := gpb.Read(bytes.Clone(whole[:n])); state != gpb.Broken {
				t.Errorf("%v cut after %d of %d bytes: state %d", g, n, len(whole), state)
			}
			gpb.WKB(bytes.Clone(whole[:n]))
		}
	}
}

// TestWrittenGeometriesAreReadAgain, with the header that the standard asks for.
func TestWrittenGeometriesAreReadAgain(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(2, 1))
	for range 500 {
		g, srs := sharedtest.Geometry(r), int32(r.Uint32())
		geometry, bound := wkb.Append(nil, g), g.Bound()
		b := gpb.Append([]byte("before"), srs, geometry, bound, false)
		want := append([]byte("before"), blob(0x03, srs, []float64{bound.Min[0], bound.Max[0], bound.Min[1],
			bound.Max[1]}, geometry)...)
		if !bytes.Equal(b, want) {
			t.Fatalf("%v is written as %x, want %x", g, b, want)
		}
		b = b[len("before"):]
		got, in, state := gpb.Read(b)
		if state != gpb.Fine || !bytes.Equal(got, geometry) || in.Bound != bound || !bytes.Equal(gpb.WKB(b), geometry) {
			t.Fatalf("%v: state %d, %x, %+v", g, state, got, in)
		}
	}
	empty := wkb.Append(nil, orb.MultiPolygon{})
	b := gpb.Append(nil, -1, empty, wkb.EmptyBound(), true)
	if want := blob(0x11, -1, nil, empty); !bytes.Equal(b, want) {
		t.Errorf("nothing is written as %x, want %x", b, want)
	}
	if _, _, state := gpb.Read(b); state != gpb.Empty {
		t.Errorf("nothing: state %d", state)
	}
}

// TestArcsBecomeLinesOfTheirUnit: at most a millimetre from the arc, or the like of it in degrees. Where the reference
// system is not known, the first position decides.
func TestArcsBecomeLinesOfTheirUnit(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		name    string
		srs     int32
		x, y, r float64
		chord   float64
	}{
		{"degrees", 4326, 10, 60, 0.01, wkb.ChordDegrees},
		{"metres", 25833, 500000, 6.6e6, 1000, wkb.ChordMetres},
		{"metres close to the origin", 25833, 0, 0, 50, wkb.ChordMetres},
		{"undefined geographic", 0, 10, 60, 0.01, wkb.ChordDegrees},
		{"undefined cartesian in metres", -1, 500000, 6.6e6, 1000, wkb.ChordMetres},
		{"another system with degrees", 100000, 10, 60, 0.01, wkb.ChordDegrees},
		{"another system with metres", 100000, 361.5, 60, 1, wkb.ChordMetres},
	} {
		for little := range byte(2) {
			arc := wkb.AppendCount(wkb.AppendHeader(nil, wkb.CircularString, false), 3)
			for _, angle := range []float64{0, math.Pi / 3, math.Pi} {
				arc = wkb.AppendXY(arc, x.x+x.r*math.Cos(angle), x.y+x.r*math.Sin(angle))
			}
			b := blob(little, x.srs, nil, arc)
			got, in, state := gpb.Read(b)
			if state != gpb.Fine || in.Kind != wkb.LineString || !bytes.Equal(gpb.WKB(b), got) {
				t.Errorf("%s: state %d, %v", x.name, state, in.Kind)
				continue
			}
			g, err := wkb.Decode(got)
			if err != nil {
				t.Fatal(err)
			}
			line, farthest := g.(orb.LineString), 0.0
			for i := range line[1:] {
				middle := math.Hypot((line[i][0]+line[i+1][0])/2-x.x, (line[i][1]+line[i+1][1])/2-x.y)
				farthest = max(farthest, x.r-middle)
			}
			// With few lines more, none would be farther than a quarter of the chord.
			if farthest > 1.01*x.chord || farthest < x.chord/5 {
				t.Errorf("%s: %d lines, up to %g beside the arc, want %g", x.name, len(line)-1, farthest, x.chord)
			}
		}
	}
}

// TestCollectionsOfArcsAreRead as those of their lines, whichever function reads them.
func TestCollectionsOfArcsAreRead(t *testing.T) {
	t.Parallel()
	arc := wkb.AppendCount(wkb.AppendHeader(nil, wkb.CircularString, false), 3)
	arc = wkb.AppendXY(wkb.AppendXY(wkb.AppendXY(arc, 0, 0), 1, 1), 2, 0)
	all := wkb.AppendCount(wkb.AppendHeader(nil, wkb.Collection, false), 2)
	all = append(append(all, wkb.Append(nil, orb.Point{9, 9})...), arc...)
	b := blob(1, 25833, nil, all)
	got, in, state := gpb.Read(b)
	if state != gpb.Fine || in.Kind != wkb.Collection || in.Bound.Max != (orb.Point{9, 9}) {
		t.Fatalf("state %d, %+v", state, in)
	}
	g, err := wkb.Decode(got)
	if err != nil {
		t.Fatal(err)
	}
	parts, ok := g.(orb.Collection)
	if !ok || len(parts) != 2 || !reflect.DeepEqual(parts[0], orb.Geometry(orb.Point{9, 9})) ||
		len(parts[1].(orb.LineString)) < 10 {
		t.Errorf("%v", g)
	}
	if !bytes.Equal(gpb.WKB(b), got) {
		t.Errorf("%x, want %x", gpb.WKB(b), got)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(gpb.Append(nil, 4326, wkb.Append(nil, orb.Point{1, 2}), orb.Bound{}, false))
	f.Add(gpb.Append(nil, 25833, wkb.Append(nil, orb.Collection{orb.Point{1, 2}}), orb.Bound{}, true))
	f.Add(blob(9, -1, make([]float64, 8), wkb.AppendCount(wkb.AppendHeader(nil, wkb.TIN, true), 0)))
	f.Add([]byte("GP\x00\x21"))
	f.Fuzz(func(t *testing.T, b []byte) {
		got, in, state := gpb.Read(b)
		if state != gpb.Fine {
			if got != nil || in != (wkb.Info{}) {
				t.Fatalf("state %d with %x, %+v", state, got, in)
			}
			gpb.WKB(b)
			return
		}
		checked, err := wkb.Check(got)
		if err != nil || checked != in || in.Positions == 0 || in.Bound.IsEmpty() {
			t.Fatalf("%x: %+v, checked %+v, %v", got, in, checked, err)
		}
		if !bytes.Equal(gpb.WKB(b), got) {
			t.Fatalf("%x is read as %x, and again as %x", b, got, gpb.WKB(b))
		}
		again, _, state := gpb.Read(gpb.Append(nil, 25833, got, in.Bound, false))
		if state != gpb.Fine || !bytes.Equal(again, got) {
			t.Fatalf("%x is written, and read as %x", got, again)
		}
	})
}
