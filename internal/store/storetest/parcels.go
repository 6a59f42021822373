package storetest

import (
	"encoding/binary"
	"fmt"
	"io"
	"iter"
	"math"
	"os"
	"strconv"
	"testing"
	"time"

	"grense/internal/cql2"
	"grense/internal/geo/crs"
	"grense/internal/store"
)

// Parcels are N synthetic properties in rows from west to east, the southern row first. Neighbours share their borders.
// The same numbers give the same parcels.
type Parcels struct{ N int }

// ScaledParcels returns 300,000 and 3 million parcels if GRENSE_BENCH_SCALE is 1, as many as it says if it is more,
// or skips the test.
func ScaledParcels(t testing.TB) []Parcels {
	t.Helper()
	n, _ := strconv.Atoi(os.Getenv("GRENSE_BENCH_SCALE"))
	if n < 1 {
		t.Skip("long: GRENSE_BENCH_SCALE=1 runs it, and GRENSE_BENCH_SCALE=300000 for so many features")
	}
	if n > 1 {
		return []Parcels{{n}}
	}
	return []Parcels{{300_000}, {3_000_000}}
}

// Parcel is one of Parcels.
type Parcel struct {
	Number int64
	Name   string
	Area   float64       // square metres
	Date   time.Time     // a day
	Kind   string        // one of five
	Ring   [9][2]float64 // closed, metres of EPSG:25833, x before y
}

const (
	parcelSide = 100.0 // metres
	parcelWest = 100_000.0
	parcelEnd  = 6_500_000.0 // the southern end
)

var parcelKinds = [...]string{"bolig", "fritid", "jordbruk", "skog", "veg"}

// Row returns how many parcels a row has.
func (p Parcels) Row() int { return max(1, int(math.Ceil(math.Sqrt(float64(p.N))))) }

// Box returns the west, south, east and north ends of all parcels, in metres.
func (p Parcels) Box() [4]float64 {
	rows := (p.N + p.Row() - 1) / p.Row()
	width, height := parcelSide*float64(p.Row()), parcelSide*float64(rows)
	return [4]float64{parcelWest, parcelEnd, parcelWest + width, parcelEnd + height}
}

// scatter returns 64 bits that look random, the same for the same numbers (SplitMix64).
func scatter(a, b uint64) uint64 {
	x := a*0x9e3779b97f4a7c15 + b*0xd1342543de82ef95
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// vertex returns a point of the grid of half sides, moved by at most a tenth of a side.
func vertex(x, y int) [2]float64 {
	r := scatter(uint64(x), uint64(y))
	move := func(bits uint64) float64 { return math.Round(parcelSide*10*(float64(bits&1023)/1023-0.5)*2) / 100 }
	return [2]float64{parcelWest + parcelSide/2*float64(x) + move(r), parcelEnd + parcelSide/2*float64(y) + move(r>>10)}
}

// At returns the parcel at a place in the order, from 0.
func (p Parcels) At(i int) (x Parcel) {
	column, row := 2*(i%p.Row()), 2*(i/p.Row())
	for k, step := range [9][2]int{{0, 0}, {1, 0}, {2, 0}, {2, 1}, {2, 2}, {1, 2}, {0, 2}, {0, 1}, {0, 0}} {
		x.Ring[k] = vertex(column+step[0], row+step[1])
	}
	r := scatter(uint64(i), 1)
	x.Number = int64(i + 1)
	x.Name = fmt.Sprintf("Gard %d/%d", 1+r%2000, 1+i)
	x.Kind = parcelKinds[r>>16%uint64(len(parcelKinds))]
	x.Date = time.Date(1950, 1, 1+int(r>>32%27_000), 0, 0, 0, 0, time.UTC)
	for k, a := range x.Ring[:8] {
		b := x.Ring[k+1]
		x.Area += ((a[0]-parcelWest)*(b[1]-parcelEnd) - (b[0]-parcelWest)*(a[1]-parcelEnd)) / 2
	}
	x.Area = math.Round(x.Area*100) / 100
	return x
}

// All returns all parcels in their order.
func (p Parcels) All() iter.Seq[Parcel] {
	return func(yield func(Parcel) bool) {
		for i := range p.N {
			if !yield(p.At(i)) {
				return
			}
		}
	}
}

// AppendWKB appends the polygon.
func (x *Parcel) AppendWKB(b []byte) []byte {
	b = append(b, 1)
	for _, n := range [...]uint32{3, 1, uint32(len(x.Ring))} {
		b = binary.LittleEndian.AppendUint32(b, n)
	}
	for _, at := range x.Ring {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(at[0]))
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(at[1]))
	}
	return b
}

// Collection describes parcels as a store has them.
func (p Parcels) Collection() *store.Collection {
	c := &store.Collection{ID: "teig", Table: "teig", Public: true,
		Key:      store.FeatureKey{Column: "fid", Type: cql2.TypeInteger},
		Geometry: &store.Geom{Name: "geometry", Column: "geom", Type: "Polygon", CRS: crs.UTM33}}
	for _, x := range [...]struct {
		name string
		typ  cql2.Type
	}{{"nummer", cql2.TypeInteger}, {"navn", cql2.TypeText}, {"areal", cql2.TypeNumber},
		{"dato", cql2.TypeDate}, {"art", cql2.TypeText}} {
		c.Properties = append(c.Properties, store.Property{Name: x.name, Column: x.name, Type: x.typ})
	}
	return c
}

// Fill writes the parcels as a collection of their own.
func (p Parcels) Fill(t testing.TB, w store.Writer) {
	t.Helper()
	if err := w.Define(t.Context(), p.Collection(), false); err != nil {
		t.Fatal(err)
	}
	insert, err := w.Insert(t.Context(), "teig", []string{"fid", "nummer", "navn", "areal", "dato", "art", "geom"})
	if err != nil {
		t.Fatal(err)
	}
	var b []byte
	for x := range p.All() {
		b = x.AppendWKB(b[:0])
		if err := insert(x.Number, x.Number, x.Name, x.Area, x.Date, x.Kind, store.Geometry{WKB: b}); err != nil {
			t.Fatal(err)
		}
	}
}

// WriteGeoJSON writes the parcels as a sequence of features, one a line. Coordinates are those of EPSG:25833.
func (p Parcels) WriteGeoJSON(w io.Writer) error {
	var b []byte
	for x := range p.All() {
		b = fmt.Appendf(b[:0], `{"type":"Feature","properties":{"nummer":%d,"navn":%q,"areal":%v,"dato":%q,"art":%q},`+
			`"geometry":{"type":"Polygon","coordinates":[[`,
			x.Number, x.Name, x.Area, x.Date.Format(time.DateOnly), x.Kind)
		for i, at := range x.Ring {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(strconv.AppendFloat(append(b, '['), at[0], 'f', -1, 64), ',')
			b = append(strconv.AppendFloat(b, at[1], 'f', -1, 64), ']')
		}
		if _, err := w.Write(append(b, "]]}}\n"...)); err != nil {
			return err
		}
	}
	return nil
}
