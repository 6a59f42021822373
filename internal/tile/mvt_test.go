package tile_test

import (
	"encoding/binary"
	"encoding/json"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/paulmach/orb"

	"grense/internal/geo/coverage"
	"grense/internal/geo/wkb"
	"grense/internal/tile"
)

// level makes a level of features on a grid of units.
func level(t testing.TB, features ...orb.Geometry) *coverage.Level {
	t.Helper()
	b := coverage.NewBuilder(coverage.Grid{Unit: 1}, coverage.Options{Tolerance: 0.001})
	for _, f := range features {
		if err := b.Add(wkb.Append(nil, f), nil); err != nil {
			t.Fatal(err)
		}
	}
	l, err := b.Levels(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	return l[0]
}

func square(x, y, w, h float64) orb.Ring {
	return orb.Ring{{x, y}, {x + w, y}, {x + w, y + h}, {x, y + h}, {x, y}}
}

// example is a tile of two neighbours, the one with a hole and across the side of the tile, a point, and a feature
// that lies elsewhere.
func example(t testing.TB) []byte {
	t.Helper()
	l := level(t, orb.Polygon{square(-500, 100, 1500, 1000), square(200, 300, 100, 100)},
		orb.Polygon{square(1000, 100, 500, 1000)}, orb.Polygon{square(9000, 9000, 100, 100)})
	origin := coverage.Point{X: 0, Y: tile.Extent}
	var c coverage.Clipper
	kommuner, steder, tom := tile.NewLayer("kommuner"), tile.NewLayer("steder"), tile.NewLayer("tom")
	for f, id := range []string{"0301", "1103", "5001"} {
		in, err := kommuner.Polygons(&c, l, f, origin, tile.NumericID(id), []tile.Tag{
			{
				Key:   "id",
				Value: id,
			}, {Key: "areal", Value: 1.5}, {Key: "tomt", Value: nil}, {Key: "antall", Value: int64(-7)},
			{Key: "kyst", Value: f == 0}, {Key: "nan", Value: math.NaN()},
		})
		if err != nil || in != (f < 2) {
			t.Fatalf("feature %d: %v, %v", f, in, err)
		}
	}
	if err := steder.Points([]coverage.Point{{X: 10, Y: -4000}}, coverage.Point{}, 42,
		[]tile.Tag{{Key: "navn", Value: "Ås"}}); err != nil {
		t.Fatal(err)
	}
	return tom.Append(steder.Append(kommuner.Append(nil)))
}

// read is a tile as the format's document has it (Mapbox Vector Tile 2.1, 4): by layer and field number, with values
// and geometries decoded.
type read struct {
	name            string
	version, extent uint64
	keys            []string
	values          []any
	features        []readFeature
}

type readFeature struct {
	id, kind uint64
	tags     map[string]any
	parts    []orb.Ring // a point, or rings that are closed
}

// fields calls fn with each field of a message: number, and the value of a varint, or the bytes of others.
func fields(t *testing.T, b []byte, fn func(number int, v uint64, raw []byte)) {
	t.Helper()
	for len(b) > 0 {
		tag, n := binary.Uvarint(b)
		v, m := binary.Uvarint(b[n:])
		switch tag & 7 {
		case 0:
			fn(int(tag>>3), v, nil)
			b = b[n+m:]
		case 1:
			fn(int(tag>>3), 0, b[n:n+8])
			b = b[n+8:]
		case 2:
			fn(int(tag>>3), 0, b[n+m:n+m+int(v)])
			b = b[n+m+int(v):]
		default:
			t.Fatalf("wire type %d", tag&7)
		}
	}
}

func numbers(b []byte) (list []uint64) {
	for len(b) > 0 {
		v, n := binary.Uvarint(b)
		list, b = append(list, v), b[n:]
	}
	return list
}

func unzigzag(v uint64) float64 { return float64(int64(v>>1) ^ -int64(v&1)) }

func readTile(t *testing.T, b []byte) (layers []read) {
	t.Helper()
	fields(t, b, func(_ int, _ uint64, raw []byte) {
		var l read
		var features [][]byte
		fields(t, raw, func(number int, v uint64, raw []byte) {
			switch number {
			case 15:
				l.version = v
			case 5:
				l.extent = v
			case 1:
				l.name = string(raw)
			case 2:
				features = append(features, raw)
			case 3:
				l.keys = append(l.keys, string(raw))
			case 4:
				fields(t, raw, func(number int, v uint64, raw []byte) {
					l.values = append(l.values, map[int]func() any{
						1: func() any {
							return string(raw)
						}, 3: func() any { return math.Float64frombits(binary.LittleEndian.Uint64(raw)) },
						6: func() any { return unzigzag(v) }, 7: func() any { return v == 1 },
					}[number]())
				})
			}
		})
		for _, raw := range features {
			l.features = append(l.features, l.feature(t, raw))
		}
		layers = append(layers, l)
	})
	return layers
}

func (l *read) feature(t *testing.T, raw []byte) readFeature {
	t.Helper()
	f := readFeature{tags: map[string]any{}}
	fields(t, raw, func(number int, v uint64, raw []byte) {
		list := numbers(raw)
		switch number {
		case 1:
			f.id = v
		case 3:
			f.kind = v
		case 2:
			for i := 0; i < len(list); i += 2 {
				f.tags[l.keys[list[i]]] = l.values[list[i+1]]
			}
		case 4:
			var at orb.Point
			for i := 0; i < len(list); {
				id, count := list[i]&7, list[i]>>3
				i++
				if id == 1 {
					f.parts = append(f.parts, nil)
				}
				last := &f.parts[len(f.parts)-1]
				if id == 7 {
					*last = append(*last, (*last)[0])
					continue
				}
				for range count {
					at = orb.Point{at[0] + unzigzag(list[i]), at[1] + unzigzag(list[i+1])}
					*last = append(*last, at)
					i += 2
				}
			}
		}
	})
	return f
}

func TestTileHoldsWhatWasAdded(t *testing.T) {
	t.Parallel()
	layers := readTile(t, example(t))
	if len(layers) != 2 || layers[0].name != "kommuner" || layers[0].version != 2 || layers[0].extent != tile.Extent ||
		len(layers[0].features) != 2 {
		t.Fatalf("%+v", layers)
	}
	first := layers[0].features[0]
	want := orb.Polygon{
		{{-64, 2996}, {1000, 2996}, {1000, 3996}, {-64, 3996}, {-64, 2996}}, // y down, the buffer 64 wide
		{{200, 3696}, {200, 3796}, {300, 3796}, {300, 3696}, {200, 3696}},
	}
	if first.kind != 3 || len(first.parts) != 2 || !sameRing(first.parts[0], want[0]) ||
		!sameRing(first.parts[1], want[1]) {
		t.Fatalf("%v, want %v", first.parts, want)
	}
	if ringArea(first.parts[0]) <= 0 || ringArea(first.parts[1]) >= 0 {
		t.Error("rings are wound the wrong way")
	}
	if tags := map[string]any{"id": "0301", "areal": 1.5, "antall": -7.0, "kyst": true}; !maps.Equal(first.tags, tags) {
		t.Errorf("%v, want %v", first.tags, tags)
	}
	if first.id != tile.NumericID("0301") || layers[1].features[0].id != 42 {
		t.Errorf("ids %v and %v", first.id, layers[1].features[0].id)
	}
	if p := layers[1].features[0]; p.kind != 1 || p.parts[0][0] != (orb.Point{10, 4000}) || p.tags["navn"] != "Ås" {
		t.Errorf("point %v", p)
	}
}

// sameRing compares rings that may begin anywhere.
func sameRing(a, b orb.Ring) bool {
	if len(a) != len(b) {
		return false
	}
	for shift := range len(a) - 1 {
		same := true
		for i := range len(a) - 1 {
			same = same && a[(i+shift)%(len(a)-1)] == b[i]
		}
		if same {
			return true
		}
	}
	return false
}

func TestTileIsReadByGDAL(t *testing.T) {
	t.Parallel()
	ogr, err := exec.LookPath("ogr2ogr")
	if err != nil {
		t.Skip("without GDAL: no ogr2ogr")
	}
	file := filepath.Join(t.TempDir(), "0.mvt")
	if err := os.WriteFile(file, example(t), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(ogr, "-f", "GeoJSON", "/vsistdout/", file, "kommuner").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var c struct {
		Features []struct {
			Properties map[string]any
			Geometry   struct{ Type string }
		}
	}
	if err := json.Unmarshal(out, &c); err != nil || len(c.Features) != 2 ||
		!strings.HasSuffix(c.Features[0].Geometry.Type, "Polygon") ||
		c.Features[1].Properties["id"] != "1103" {
		t.Errorf("%v: %s", err, out)
	}
}

func TestNumericID(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]uint64{"0": 0, "301": 301, "4503599627370495": 1<<52 - 1} {
		if got := tile.NumericID(id); got != want {
			t.Errorf("%s: %d", id, got)
		}
	}
	seen := map[uint64]string{}
	for _, id := range []string{"0301", "301", "+301", "-1", "4503599627370496", "18446744073709551616", "",
		"a", "b", "Å"} {
		n := tile.NumericID(id)
		if n >= 1<<53 || (n < 1<<52) != (id == "301") || uint64(float64(n)) != n {
			t.Errorf("%q: %d", id, n)
		}
		if other, taken := seen[n]; taken {
			t.Errorf("%q and %q are both %d", id, other, n)
		}
		seen[n] = id
	}
	if n := tile.NumericID("0301"); n != 7478664947947143 {
		t.Errorf("the number of 0301 has changed: %d", n)
	}
}

func TestLayerWithoutFeaturesIsNotWritten(t *testing.T) {
	t.Parallel()
	if b := tile.NewLayer("x").Append(nil); len(b) != 0 {
		t.Errorf("%x", b)
	}
	if err := tile.NewLayer("x").Points([]coverage.Point{{X: 1, Y: 1}}, coverage.Point{}, 1,
		[]tile.Tag{{Key: "a", Value: struct{}{}}}); err == nil {
		t.Error("a property that the format lacks")
	}
}
