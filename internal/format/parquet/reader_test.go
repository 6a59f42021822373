package parquet_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"
	"github.com/paulmach/orb/encoding/wkt"

	"grense/internal/format/input"
	"grense/internal/geo/wkb"
	"grense/internal/ingest/ingesttest"
	"grense/internal/store"
)

// typed is a type of Parquet that the library reads and does not write.
type typed struct {
	parquet.Type
	logical format.LogicalTypeValue
	old     deprecated.ConvertedType
}

func (t typed) LogicalType() *format.LogicalType {
	if t.logical == nil {
		return nil
	}
	return &format.LogicalType{Value: t.logical}
}

func (t typed) ConvertedType() *deprecated.ConvertedType {
	if t.logical != nil {
		return nil
	}
	return &t.old
}

// TestParquetWithTypedGeometriesIsRead: those of columns whose type says that they are, without metadata of GeoParquet.
func TestParquetWithTypedGeometriesIsRead(t *testing.T) {
	t.Parallel()
	point := wkb.AppendXY(wkb.AppendHeader(nil, wkb.Point, false), 10, 60)
	metres := wkb.AppendXY(wkb.AppendHeader(nil, wkb.Point, false), 262000, 6650000)
	projjson := parquet.KeyValueMetadata("utm",
		`{"type":"ProjectedCRS","name":"x","id":{"authority":"EPSG","code":25833}}`)
	for _, x := range []struct {
		column parquet.Node
		value  []byte
		want   string
	}{
		{parquet.Geometry(""), point, "OGC:CRS84"},
		{parquet.Geography("OGC:CRS84", format.Spherical), point, "OGC:CRS84"},
		{parquet.Geometry("srid:25833"), metres, "EPSG:25833"},
		{parquet.Geometry("EPSG:25833"), metres, "EPSG:25833"},
		{parquet.Geometry("projjson:utm"), metres, "EPSG:25833"},
		{parquet.Geometry(`{"id":{"authority":"EPSG","code":25833}}`), metres, "EPSG:25833"},
	} {
		plan, got := ingesttest.ImportText(t, "a.parquet", ingesttest.ParquetOf(t, x.column, x.value, false, projjson),
			ingesttest.Into)
		if len(got) != 1 || !bytes.Equal(got[0].WKB, x.value) || plan.Collection.Geometry == nil ||
			plan.Collection.Geometry.CRS.String() != x.want {
			t.Errorf("%v: %v, %v", x.column, plan.Collection.Geometry, got)
		}
	}
	plan, _ := ingesttest.Survey(t, "a.parquet",
		ingesttest.ParquetOf(t, parquet.Geometry("projjson:none"), metres, false), ingesttest.Into)
	if _, found := ingesttest.Find(plan.Report, input.Refused, ""); !found {
		t.Errorf("metres without a system: %v", plan.Report.Faults)
	}
}

func TestParquetOfRareTypesKeepsItsValues(t *testing.T) {
	t.Parallel()
	half := parquet.Leaf(typed{Type: parquet.FixedLenByteArrayType(2), logical: &format.Float16Type{}})
	interval := parquet.Leaf(typed{Type: parquet.FixedLenByteArrayType(12), old: deprecated.Interval})
	for i, x := range []struct {
		column parquet.Node
		value  []byte
		want   any
	}{
		{half, []byte{0x00, 0x3e}, 1.5}, {half, []byte{0x00, 0xc0}, int64(-2)},
		{half, []byte{0x01, 0x00}, 5.9604645e-08}, {half, []byte{0xff, 0x7b}, int64(65504)},
		{interval, []byte{14, 0, 0, 0, 3, 0, 0, 0, 0xdc, 5, 0, 0}, "P14M3DT1.500S"},
	} {
		_, got := ingesttest.ImportText(t, "a.parquet", ingesttest.ParquetOf(t, x.column, x.value, true),
			ingesttest.Into)
		if v := got[0].Values["k"]; fmt.Sprint(v) != fmt.Sprint(x.want) {
			t.Errorf("%d: %v, not %v", i, v, x.want)
		}
	}
	plan, _ := ingesttest.ImportText(t, "a.parquet",
		ingesttest.ParquetOf(t, parquet.Leaf(parquet.ByteArrayType), []byte("a\x00b"), false), ingesttest.Into)
	if _, found := ingesttest.Find(plan.Report, input.Warning,
		`the property "k" has bytes that are no text; it is left out`); !found || len(plan.Collection.Properties) != 0 {
		t.Errorf("bytes that are no text: %v", plan.Report.Faults)
	}
}

// TestNativeEncodingsOfGeoParquetAreRead writes geometries as lists of coordinates.
func TestNativeEncodingsOfGeoParquetAreRead(t *testing.T) {
	t.Parallel()
	type xy struct {
		X float64 `parquet:"x"`
		Y float64 `parquet:"y"`
	}
	type xyz struct {
		X float64 `parquet:"x"`
		Y float64 `parquet:"y"`
		Z float64 `parquet:"z"`
	}
	ring := listOf(xy{0, 0}, xy{4, 0}, xy{4, 4}, xy{0, 0})
	hole := listOf(xy{2, 1}, xy{3, 2}, xy{3, 1}, xy{2, 1})
	short := listOf(xy{0, 0}, xy{1, 1}, xy{0, 0})
	for encoding, c := range map[string]struct {
		file string
		want []string
	}{
		"point": {nativeFile(t, "point", []struct {
			G *xy `parquet:"g,optional"`
		}{{&xy{10, 60}}, {nil}}), []string{"POINT(10 60)", ""}},
		"linestring": {nativeFile(t, "linestring", []struct {
			G listed[xyz] `parquet:"g"`
		}{{listOf(xyz{1, 2, 3}, xyz{4, 5, 6})}, {}}), []string{"LINESTRING(1 2,4 5)", ""}},
		"multipoint": {nativeFile(t, "multipoint", []struct {
			G *listed[xy] `parquet:"g,optional"`
		}{{&ring}, {}}), []string{"MULTIPOINT((0 0),(4 0),(4 4),(0 0))", ""}},
		"polygon": {nativeFile(t, "polygon", []struct {
			G listed[listed[xy]] `parquet:"g"`
		}{{listOf(ring, hole)}, {listOf(short)}}), []string{"POLYGON((0 0,4 0,4 4,0 0),(2 1,3 2,3 1,2 1))", ""}},
		"multilinestring": {nativeFile(t, "multilinestring", []struct {
			G listed[listed[xy]] `parquet:"g"`
		}{{listOf(short, hole)}}), []string{"MULTILINESTRING((0 0,1 1,0 0),(2 1,3 2,3 1,2 1))"}},
		"multipolygon": {nativeFile(t, "multipolygon", []struct {
			G listed[listed[listed[xy]]] `parquet:"g"`
		}{{listOf(listOf(ring, hole), listed[listed[xy]]{}, listOf(listOf(xy{8, 8}, xy{9, 8}, xy{9, 9}, xy{8, 8})))},
			{}}),
			[]string{"MULTIPOLYGON(((0 0,4 0,4 4,0 0),(2 1,3 2,3 1,2 1)),((8 8,9 8,9 9,8 8)))", ""}},
	} {
		_, have := ingesttest.ImportText(t, "a.parquet", c.file, ingesttest.Into)
		for i, want := range c.want {
			got := ""
			if len(have[i].WKB) > 0 {
				g, err := store.Geometry{WKB: have[i].WKB}.Orb()
				if err != nil {
					t.Fatal(err)
				}
				got = wkt.MarshalString(g)
			}
			if got != want {
				t.Errorf("%s: %s, want %s", encoding, got, want)
			}
		}
	}
	plan, _ := ingesttest.Survey(t, "a.parquet", nativeFile(t, "polygon", []struct {
		G listed[xy] `parquet:"g"`
	}{{ring}}), ingesttest.Into)
	if _, found := ingesttest.Find(plan.Report, input.Refused, `not as its encoding "polygon" says`); !found {
		t.Errorf("another depth: %v", plan.Report.Faults)
	}
}

// listed is a list as Parquet has it.
type listed[T any] struct {
	List []element[T] `parquet:"list"`
}

type element[T any] struct {
	Element T `parquet:"element"`
}

func listOf[T any](items ...T) (l listed[T]) {
	for _, x := range items {
		l.List = append(l.List, element[T]{x})
	}
	return l
}

// nativeFile is a file of rows with geometries in the column g.
func nativeFile[T any](t *testing.T, encoding string, rows []T) string {
	t.Helper()
	var b bytes.Buffer
	w := parquet.NewGenericWriter[T](&b, parquet.KeyValueMetadata("geo",
		`{"version":"1.1.0","primary_column":"g","columns":{"g":{"encoding":"`+encoding+`","geometry_types":[]}}}`))
	if _, err := w.Write(rows); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
