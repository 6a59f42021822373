package ingest_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"testing"

	"grense/internal/format/input"
	"grense/internal/geo/crs"
	"grense/internal/ingest"
	"grense/internal/ingest/ingesttest"
)

// roundTrip surveys a layer, and writes it when nothing is refused. Both passes must agree.
func roundTrip(t *testing.T, l *ingest.Layer) (*ingest.Plan, bool) {
	t.Helper()
	plan, err := ingest.Survey(t.Context(), []*ingest.Layer{l}, ingesttest.Into, ingest.Watch{})
	if err != nil {
		if !errors.Is(err, input.ErrRefused) {
			return plan, false // of the reader, as a row without an end
		}
		if plan.Report.Refused == 0 && len(plan.Report.Faults) > 0 {
			t.Errorf("%v, but no refusal is in the report", err)
		}
		return plan, false
	}
	w := &ingesttest.CountingWriter{}
	if err := plan.Write(t.Context(), w); err != nil || w.Rows != plan.Report.Read {
		t.Errorf("the second pass differs: %v, %d rows, %d read", err, w.Rows, plan.Report.Read)
	}
	return plan, true
}

// inMemory is the first layer of a file; an empty one if there is none.
func inMemory(t *testing.T, name string, b []byte, parts map[string][]byte, system crs.ID) *ingest.Layer {
	t.Helper()
	src, err := ingest.InMemory(t.Context(), name, b, parts, system)
	t.Cleanup(func() { _ = src.Close() })
	if err != nil && !errors.Is(err, input.ErrRefused) {
		t.Fatal(err)
	}
	if len(src.Layers) == 0 {
		t.Skip("no layer")
	}
	return src.Layers[0]
}

// FuzzGeoJSON compares with encoding/json: what is read is JSON, and has as many features.
func FuzzGeoJSON(f *testing.F) {
	for _, s := range []string{
		ingesttest.GeoJSON(ingesttest.PointWith(`"id":1,`, `"a":"æ\u00e6\ud83d\ude00","b":[1,{"c":null}],"d":-1.5e3`),
			ingesttest.PointWith("", `"a":"2024-01-01"`)),
		ingesttest.PointWith("", "") + "\n\x1e" + ingesttest.PointWith("", ""),
		"\ufeff" + `{"type":"Point","coordinates":[1,2,3]}`,
		`{"features":[{"geometry":{"coordinates":[[[0,0],[2,0],[2,2]]],"type":"Polygon"},"type":"Feature",` +
			`"properties":null}],"type":"FeatureCollection","crs":null}`,
		`{"type":"GeometryCollection","geometries":[{"type":"MultiPoint","coordinates":[[0,0]]},{"type":"LineString",` +
			`"coordinates":[[0,0],[1,1]]}]}`,
		`{"type":"MultiPolygon","coordinates":[[[[0,0],[2,2],[2,0],[0,2],[0,0]]],[]]}`, `{"type":"Topology"}`, `[`,
		`{"type":"Point","coordinates":[1e999,NaN]}`, `nul`, ``,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		plan, ok := roundTrip(t, inMemory(t, "a.geojson", text, nil, 0))
		if !ok {
			return
		}
		text = bytes.ReplaceAll(bytes.TrimPrefix(text, []byte("\ufeff")), []byte{0x1e}, []byte{' '})
		want := 0
		for dec := json.NewDecoder(bytes.NewReader(text)); ; {
			var x struct {
				Type     string            `json:"type"`
				Features []json.RawMessage `json:"features"`
			}
			var members map[string]json.RawMessage
			err := dec.Decode(&members)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("read %+v, but it is not JSON: %v", plan.Report, err)
			}
			if err := json.Unmarshal(members["type"], &x.Type); err != nil {
				t.Fatal(err)
			}
			if want++; x.Type == "FeatureCollection" {
				if err := json.Unmarshal(members["features"], &x.Features); err != nil {
					t.Fatal(err)
				}
				want += len(x.Features) - 1
			}
		}
		if plan.Report.Read != want {
			t.Errorf("%d features, want %d", plan.Report.Read, want)
		}
	})
}

func FuzzCSV(f *testing.F) {
	for _, s := range []string{"id,lon,lat,a\n1,10,60,x\n", "x;y\n1,5;2\n", "wkt\nSRID=25833;POINT(1 2)\n",
		"\xff\xfel\x00", "wkt\n\"POLYGON((0 0,1 0,1 1))\"\n", "lon,lat\n\"", "a|b\n",
		"wkt\n\"CURVEPOLYGON(COMPOUNDCURVE((10 60,10.04 60),CIRCULARSTRING Z(10.04 60 1,10.02 60.02 2,10 60 3)))\"\n",
		"wkt\n\"GEOMETRYCOLLECTION(TIN(((0 0,1 0,0 1,0 0))),MULTISURFACE EMPTY)\"\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) { roundTrip(t, inMemory(t, "a.csv", text, nil, crs.CRS84)) })
}

func FuzzShapefile(f *testing.F) {
	table := ingesttest.DBF(0x57, []string{"A:C:5", "N:N:5", "D:D:8", "L:L:1"},
		[]string{"\xe6", "1.5", "20240131", "T"})
	f.Add(ingesttest.SHP(1, ingesttest.Floats(1, 2)), table, []byte(ingesttest.WGS84), "1252")
	f.Add(ingesttest.SHP(5, ingesttest.Rings([]float64{0, 0, 0, 9, 9, 9, 9, 0, 0, 0},
		[]float64{1, 1, 2, 1, 2, 2, 1, 1})), table, []byte("PROJCS[\"x\"]"), "")
	f.Add(ingesttest.SHP(13, append(ingesttest.Rings([]float64{0, 0, 1, 1}), ingesttest.Floats(0, 0, 5, 6)...)), table,
		[]byte{}, "UTF-16")
	f.Add(ingesttest.SHP(31, ingesttest.Patch([]uint32{0, 2, 3}, []float64{0, 0, 1, 1, 0, 2, 0, 1, 3, 1, 1, 4},
		[]float64{0, 0, 1, 1, 0, 2, 0, 1, 3, 0, 0, 1}, []float64{0, 0, 1, 1, 0, 2, 0, 1, 3, 0, 0, 1})), table,
		[]byte(ingesttest.WGS84), "")
	f.Add(ingesttest.SHP(31), []byte{}, []byte("A["), "Big5")
	f.Fuzz(func(t *testing.T, shp, dbf, prj []byte, cpg string) {
		roundTrip(t, inMemory(t, "a.shp", shp, map[string][]byte{".dbf": dbf, ".prj": prj, ".cpg": []byte(cpg)},
			crs.WebMercator))
	})
}

func FuzzTopoJSON(f *testing.F) {
	const arcs = `"transform":{"scale":[0.5,0.5],"translate":[10,60]},"arcs":[[[0,0],[2,0]],[[2,0],[0,2]],[[2,2],` +
		`[-2,-2]]]}`
	for _, s := range []string{
		`{"type":"Topology","objects":{"k":{"type":"GeometryCollection","geometries":[{"type":"Polygon","arcs":[[0,1,` +
			`2]],"id":1,"properties":{"a":1}},{"type":null}]}},` + arcs,
		`{"objects":{"k":{"type":"MultiPolygon","arcs":[[[-3,-2,-1]],[]]}},` + arcs,
		`{"objects":{"k":{"type":"Point","coordinates":[1,2]}},"arcs":[[[1]]]}`, `{"arcs":{}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) { roundTrip(t, inMemory(t, "a.topojson", text, nil, crs.CRS84)) })
}
