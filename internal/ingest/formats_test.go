package ingest_test

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"strings"
	"testing"

	"grense/internal/cql2"
	"grense/internal/format"
	"grense/internal/format/input"
	"grense/internal/format/output"
	"grense/internal/geo/crs"
	"grense/internal/geo/wkb"
	"grense/internal/ingest"
	"grense/internal/ingest/ingesttest"
	"grense/internal/store"
)

// zoo is a collection of every type of value, and features of every type of geometry.
func zoo(z bool) (*store.Collection, []store.Feature) {
	c := &store.Collection{ID: "zoo", Table: "zoo", Geometry: &store.Geom{Name: "geom", CRS: crs.CRS84},
		Properties: []store.Property{{Name: "kode"}, {Name: "antall", Type: cql2.TypeInteger},
			{Name: "areal", Type: cql2.TypeNumber}, {Name: "kyst", Type: cql2.TypeBool},
			{Name: "fra", Type: cql2.TypeDate},
			{Name: "endret", Type: cql2.TypeTimestamp}}}
	position := func(b []byte, x, y float64) []byte {
		if z {
			return wkb.AppendXYZ(b, x, y, 7.5)
		}
		return wkb.AppendXY(b, x, y)
	}
	line := func(b []byte, at ...float64) []byte {
		b = wkb.AppendCount(b, len(at)/2)
		for i := 0; i < len(at); i += 2 {
			b = position(b, at[i], at[i+1])
		}
		return b
	}
	head := func(b []byte, k wkb.Kind) []byte { return wkb.AppendHeader(b, k, z) }
	polygon := func(b []byte) []byte {
		b = line(wkb.AppendCount(head(b, wkb.Polygon), 2), 10, 60, 11, 60, 11, 61, 10, 61, 10, 60)
		return line(b, 10.25, 60.25, 10.25, 60.75, 10.75, 60.75, 10.25, 60.25)
	}
	shapes := [][]byte{
		position(head(nil, wkb.Point), 10.5, 59.75), line(head(nil, wkb.LineString), 10, 60, 11, 61, 12, 60),
		polygon(nil),
		position(head(position(head(wkb.AppendCount(head(nil, wkb.MultiPoint), 2), wkb.Point), 1, 2), wkb.Point), 3, 4),
		line(head(line(head(wkb.AppendCount(head(nil, wkb.MultiLineString), 2), wkb.LineString), 1, 2, 3, 4),
			wkb.LineString), 5, 6, 7, 8),
		line(wkb.AppendCount(head(polygon(wkb.AppendCount(head(nil, wkb.MultiPolygon), 2)), wkb.Polygon), 1), 20, 60,
			21, 60, 21, 61, 20, 60),
		polygon(position(head(wkb.AppendCount(head(nil, wkb.Collection), 2), wkb.Point), 1, 2)), nil,
	}
	var fs []store.Feature
	for i, b := range shapes {
		v := []any{fmt.Sprintf("%04d", i), int64(1) << i, 0.125 * float64(i), i%2 == 0, "2020-02-29",
			"2024-05-17T12:30:00Z"}
		if i == 2 {
			v = []any{"\u2028<&>\"'; ,\n\"æ\"\u00a0", nil, nil, nil, nil, nil}
		}
		fs = append(fs, store.Feature{ID: fmt.Sprint(i), Rev: 1, Geometry: store.Geometry{WKB: b}, Values: v})
	}
	return c, fs
}

// written is a file with all features.
func written(t testing.TB, name string, o output.Options, fs []store.Feature) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := format.Find(name).Open(&b, o)
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
	return b.Bytes()
}

// TestWhatFormatsWriteIsReadBack imports what downloads give, in three systems, with heights and without, from the file
// and packed.
func TestWhatFormatsWriteIsReadBack(t *testing.T) {
	t.Parallel()
	for name, ext := range map[string]string{"flatgeobuf": ".fgb", "parquet": ".parquet", "gml": ".gml", "kml": ".kml",
		"xlsx": ".xlsx"} {
		for i, id := range []crs.ID{crs.CRS84, crs.ETRS89, crs.UTM33, crs.CRS84} {
			c, fs := zoo(i == 3)
			text := string(written(t, name,
				output.Options{Collection: c, CRS: id, Title: "Zoo", Address: "http://localhost/collections/zoo"}, fs))
			_, got := ingesttest.ImportText(t, "zoo"+ext, text, ingesttest.Into)
			if len(got) != len(fs) {
				t.Errorf("%s: %d features", name, len(got))
				continue
			}
			if format.Find(name).Lon {
				id = crs.CRS84
			}
			move, err := crs.Between(id, crs.CRS84)
			if err != nil {
				t.Fatal(err)
			}
			for j, f := range fs {
				for k, p := range c.Properties {
					want := f.Values[k]
					if n, ok := want.(int64); ok && name == "kml" { // as its losses say
						want = fmt.Sprint(n)
					}
					if g := got[j].Values[p.Name]; g != want || got[j].ID != f.ID {
						t.Errorf("%s: %s of %s is %v, not %v", name, p.Name, f.ID, g, want)
					}
				}
				if want, have := runsOf(t, f.Geometry.WKB, nil), runsOf(t, got[j].WKB, move); name != "xlsx" &&
					!reflect.DeepEqual(want, have) {
					t.Errorf("%s in %s: %s is at %v, not at %v", name, id, f.ID, have, want)
				}
			}
		}
	}
}

// runsOf are the positions of a geometry, moved, in 5 decimals; those of rings in the order of their places.
func runsOf(t *testing.T, b []byte, move crs.Func) map[string]int {
	t.Helper()
	out := map[string]int{}
	if len(b) == 0 {
		return out
	}
	round := func(v float64) float64 { return math.Round(v*1e5)/1e5 + 0 }
	err := wkb.Walk(b, func(r wkb.Run) bool {
		for i := range r.Len() {
			x, y := r.XY(i)
			if move != nil {
				x, y = move(x, y)
			}
			z := r.Z(i)
			out[fmt.Sprint(round(x), round(y), z == z, z == z && z != 7.5)]++
		}
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestDamagedFilesAreRefusedWithTheReason cuts files off, and changes bytes in them.
func TestDamagedFilesAreRefusedWithTheReason(t *testing.T) {
	t.Parallel()
	c, fs := zoo(false)
	for name, ext := range map[string]string{"flatgeobuf": ".fgb", "parquet": ".parquet", "gml": ".gml", "kml": ".kml",
		"xlsx": ".xlsx"} {
		whole := written(t, name,
			output.Options{Collection: c, Title: "Zoo", Address: "http://localhost/collections/zoo"}, fs)
		for n := range 24 {
			cut := whole[:len(whole)*n/24]
			if err := readAll(t, "a"+ext, cut); !errors.Is(err, input.ErrRefused) || len(input.Reason(err)) < 10 {
				t.Errorf("%s, %d of %d bytes: %v", name, len(cut), len(whole), err)
			}
			bad := bytes.Clone(whole)
			for i := len(bad) * n / 24; i < min(len(bad)*n/24+9, len(bad)); i++ {
				bad[i] ^= 0x5a
			}
			if err := readAll(t, "a"+ext, bad); err != nil && !errors.Is(err, input.ErrRefused) {
				t.Errorf("%s, changed at %d of 24: %v", name, n, err)
			}
		}
	}
}

// readAll surveys every layer of a file.
func readAll(t *testing.T, name string, b []byte) error {
	t.Helper()
	src, err := ingest.InMemory(t.Context(), name, b, nil, crs.CRS84)
	t.Cleanup(func() { _ = src.Close() })
	for _, l := range src.Layers {
		if _, e := ingest.Survey(t.Context(), []*ingest.Layer{l}, ingesttest.Into, ingest.Watch{}); err == nil {
			err = e
		}
	}
	return err
}

// TestGMLOfOthersIsRead has GML 2, surfaces, axes by the form of the name, and what is refused.
func TestGMLOfOthersIsRead(t *testing.T) {
	t.Parallel()
	gml := func(geometry string) string {
		return `<?xml version="1.0" encoding="ISO-8859-1"?><c xmlns="http://x" ` +
			`xmlns:gml="http://www.opengis.net/gml" xmlns:xlink="http://www.w3.org/1999/xlink"><gml:featureMember><k ` +
			`gml:id="k.1"><navn>` + "\xe6" +
			`</navn><til xlink:href="#a"/><nil/><g>` + geometry + `</g></k></gml:featureMember></c>`
	}
	const urn = ` srsName="urn:ogc:def:crs:EPSG::4258"`
	for geometry, want := range map[string]string{
		`<gml:Point` + urn + `><gml:pos>60 10</gml:pos></gml:Point>`:          "[10 60]",
		`<gml:Point srsName="EPSG:4258"><gml:pos>10 60</gml:pos></gml:Point>`: "[10 60]",
		`<gml:Point srsName="http://www.opengis.net/gml/srs/epsg.xml#4258"><gml:coordinates>10,60</gml:coordinates>` +
			`</gml:Point>`: "[10 60]",
		`<gml:Point` + urn + `><gml:coord><gml:X>60</gml:X><gml:Y>10</gml:Y></gml:coord></gml:Point>`: "[10 60]",
		`<gml:Curve` + urn + `><gml:segments><gml:LineStringSegment><gml:posList>60 10 61 11</gml:posList>` +
			`</gml:LineStringSegment><gml:LineStringSegment><gml:posList>61 11 62 12</gml:posList>` +
			`</gml:LineStringSegment></gml:segments></gml:Curve>`: "[[10 60] [11 61] [12 62]]",
		`<gml:Surface` + urn + `><gml:patches><gml:PolygonPatch><gml:exterior><gml:LinearRing><gml:posList>60 10 60 ` +
			`11 61 11 60 10</gml:posList></gml:LinearRing></gml:exterior></gml:PolygonPatch></gml:patches>` +
			`</gml:Surface>`: "[[[10 60] [11 60] [11 61] [10 60]]]",
		`<gml:MultiSurface` + urn + `><gml:surfaceMembers/></gml:MultiSurface>`: "null",
	} {
		_, got := ingesttest.ImportText(t, "a.gml", gml(geometry), ingesttest.Into)
		text := "null"
		if len(got[0].WKB) > 0 {
			g, err := store.Geometry{WKB: got[0].WKB}.Orb()
			if err != nil {
				t.Fatal(err)
			}
			text = fmt.Sprint(g)
		}
		if text != want || got[0].ID != "1" || got[0].Values["navn"] != "æ" || got[0].Values["til"] != "#a" ||
			got[0].Values["nil"] != nil {
			t.Errorf("%s is %s, not %s; %v", geometry, text, want, got[0])
		}
	}
	for geometry, cure := range map[string]string{
		`<gml:Curve` + urn + `><gml:segments><gml:Bezier><gml:posList>0 0 1 1 2 0</gml:posList></gml:Bezier>` +
			`</gml:segments></gml:Curve>`: "CONVERT_TO_LINEAR",
		`<gml:Point` + urn + `><gml:pos>60 x</gml:pos></gml:Point>`:                       "is not a number",
		`<gml:LineString` + urn + `><gml:posList>60 10 61</gml:posList></gml:LineString>`: "no positions",
		`<gml:Point><gml:pos>1 2</gml:pos></gml:Point>`:                                   "--crs",
	} {
		plan, err := ingesttest.Survey(t, "a.gml", gml(geometry), ingesttest.Into)
		if _, told := ingesttest.Find(plan.Report, input.Refused, cure); !told || !errors.Is(err, input.ErrRefused) {
			t.Errorf("%s: %v %v", geometry, err, plan.Report.Faults)
		}
	}
}

// fuzzOther has files of zoo as seeds.
func fuzzOther(f *testing.F, name, ext string) {
	for _, z := range []bool{false, true} {
		c, fs := zoo(z)
		b := written(f, name, output.Options{Collection: c, Title: "Zoo", Address: "http://localhost/collections/zoo"},
			fs)
		f.Add(b)
		f.Add(b[:len(b)/2])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		src, err := ingest.InMemory(t.Context(), "a"+ext, b, nil, crs.CRS84)
		t.Cleanup(func() { _ = src.Close() })
		if err != nil && !errors.Is(err, input.ErrRefused) {
			t.Errorf("%v", err)
		}
		for _, l := range src.Layers {
			roundTrip(t, l)
		}
	})
}

func FuzzFlatGeobuf(f *testing.F) { fuzzOther(f, "flatgeobuf", ".fgb") }
func FuzzParquet(f *testing.F)    { fuzzOther(f, "parquet", ".parquet") }
func FuzzXLSX(f *testing.F)       { fuzzOther(f, "xlsx", ".xlsx") }
func FuzzGML(f *testing.F)        { fuzzOther(f, "gml", ".gml") }
func FuzzKML(f *testing.F)        { fuzzOther(f, "kml", ".kml") }

// TestAWorkbookInAnotherEncodingIsRefused (ECMA-376-2, 8.1.4: parts are UTF-8 or UTF-16).
func TestAWorkbookInAnotherEncodingIsRefused(t *testing.T) {
	t.Parallel()
	c, fs := zoo(false)
	b := written(t, "xlsx", output.Options{Collection: c, Title: "Zoo"}, fs)
	from, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range from.File {
		var out bytes.Buffer
		to := zip.NewWriter(&out)
		for _, g := range from.File {
			w, err := to.Create(g.Name)
			if err != nil {
				t.Fatal(err)
			}
			in, err := g.Open()
			if err != nil {
				t.Fatal(err)
			}
			text, err := io.ReadAll(in)
			if err != nil {
				t.Fatal(err)
			}
			if g.Name == f.Name {
				text = bytes.Replace(text, []byte("UTF-8"), []byte("latin1"), 1)
			}
			if _, err := w.Write(text); err != nil {
				t.Fatal(err)
			}
		}
		if err := to.Close(); err != nil {
			t.Fatal(err)
		}
		src, err := ingest.InMemory(t.Context(), "a.xlsx", out.Bytes(), nil, crs.CRS84)
		t.Cleanup(func() { _ = src.Close() })
		if err != nil && !errors.Is(err, input.ErrRefused) || err == nil && strings.Contains(f.Name, "sheet1") {
			t.Errorf("%s: %v", f.Name, err)
		}
	}
}
