package server_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/paulmach/orb"
	orbwkb "github.com/paulmach/orb/encoding/wkb"

	"grense/internal/cql2"
	"grense/internal/geo/crs"
	"grense/internal/store"
)

// writePlots writes adjacent plots: A until 2010, and C from then on, lie west of B, which has no end. D is far away
// and begins in the future.
func writePlots(ctx context.Context, w store.Writer) error {
	prop := func(name string, t cql2.Type) store.Property {
		return store.Property{Name: name, Column: name, Type: t}
	}
	err := w.Define(ctx, &store.Collection{ID: "plots", Table: "plots", Public: true,
		Key: store.FeatureKey{Column: "fid", Type: cql2.TypeInteger}, TitleProperty: "name",
		Properties: []store.Property{prop("nr", cql2.TypeText), prop("name", cql2.TypeText),
			prop("from", cql2.TypeDate), prop("to", cql2.TypeDate)},
		Geometry: &store.Geom{Name: "geometry", Column: "geom", Type: "Polygon", CRS: crs.CRS84},
		Versions: &store.Versions{ID: "nr", Start: "from", End: "to"}}, true)
	if err != nil {
		return err
	}
	insert, err := w.Insert(ctx, "plots", []string{"fid", "nr", "name", "from", "to", "geom"})
	if err != nil {
		return err
	}
	for i, row := range []struct {
		nr, name, from string
		to             any
		x              float64
	}{
		{"01", "A", "2000-01-01", "2010-01-01", 10}, {"01", "C", "2010-01-01", nil, 10},
		{"02", "B before", "2000-01-01", "2005-01-01", 11}, {"02", "B", "2005-01-01", nil, 11},
		{"03", "D", "2090-01-01", nil, 15},
	} {
		square := orb.Polygon{{{row.x, 60}, {row.x + 1, 60}, {row.x + 1, 61}, {row.x, 61}, {row.x, 60}}}
		if err := insert(int64(100-i), row.nr, row.name, row.from, row.to,
			store.Geometry{WKB: orbwkb.MustMarshal(square)}); err != nil {
			return err
		}
	}
	return nil
}

// TestProcessesSelectVersions: if features have versions, processes use the current ones or those of the given day,
// by the ids of the features.
func TestProcessesSelectVersions(t *testing.T) {
	t.Parallel()
	st, _ := writtenStore(t, writePlots)
	a := serveStore(t, st, nil)
	for _, x := range []struct{ process, inputs, now, then string }{
		{"get-distinct-values", `"resource_name":"plots","queryable":"name"`, `"value":["B","C"]`,
			`"value":["A","B before"]`},
		{"neighbours", `"collection_id":"plots","id":"02"`, `"id":"01","title":"C"`, `"id":"01","title":"A"`},
		{"export-collection-csv", `"collection_id":"plots","properties":"nr,name"`, "02,02,B\r\n01,01,C\r\n",
			"02,02,B before\r\n01,01,A\r\n"},
		{"export-collection-csv",
			`"collection_id":"plots","properties":"nr,name","area_type":"plots","area_name":"A","predicate":"within"`,
			"", "01,A\r\n"},
		{"join-table", `"collection_id":"plots","table":"code;people\n01;5\n2;7\n03;9\n","format":"csv"`,
			"C,2010-01-01,,5\r\n", "A,2000-01-01,2010-01-01,5\r\n"},
		{"join-table", `"collection_id":"plots","table":"code;people\n01;5\n2;7\n03;9\n","format":"csv"`,
			"B,2005-01-01,,7\r\n", "B before,2000-01-01,2005-01-01,7\r\n"},
		{"enrich-table", `"table":"lon,lat\n10.5,60.5\n11.5,60.5\n15.5,60.5\n"`,
			"10.5,60.5,01,C,\n11.5,60.5,02,B,\n15.5,60.5,,,\n", "10.5,60.5,01,A,\n11.5,60.5,02,B " +
				"before,\n15.5,60.5,,,\n"},
		{"enrich-table", `"code":"nr","table":"nr\n1\n02\n03\n"`, "1,01,C,\n02,02,B,\n03,,,",
			"1,01,A,\n02,02,B before,\n03,,,"},
	} {
		run := func(datetime string) answer {
			return a.run(x.process, `{"inputs":{`+x.inputs+datetime+`},"response":"raw"`+map[string]string{
				"join-table": `,"outputs":{"joined":{}}`, "enrich-table": `,"outputs":{"table":{}}`}[x.process]+`}`)
		}
		if r := run(""); x.now == "" && r.StatusCode != http.StatusBadRequest ||
			x.now != "" && !strings.Contains(string(r.wants(200).Body), x.now) {
			t.Errorf("%s %s: %d %s, want %q", x.process, x.inputs, r.StatusCode, r.Body, x.now)
		}
		for _, day := range []string{"2003-06-01", "2003-06-01T12:00:00Z"} {
			if r := run(`,"datetime":"` + day + `"`).wants(200); !strings.Contains(string(r.Body), x.then) {
				t.Errorf("%s %s of %s: %s, want %q", x.process, x.inputs, day, r.Body, x.then)
			}
		}
		for _, bad := range []string{"soon", "2003-01-01/2004-01-01", "../.."} {
			if r := run(`,"datetime":"` + bad + `"`).wants(http.StatusBadRequest); !strings.Contains(
				string(r.Body), `"name":"/inputs/datetime"`) {
				t.Errorf("%s of %s: %s", x.process, bad, r.Body)
			}
		}
	}
	if r := a.post("/enrich?datetime=2003-06-01", "text/csv", "lon,lat\n10.5,60.5\n").wants(200); !strings.Contains(
		string(r.Body), "10.5,60.5,01,A,") {
		t.Errorf("%s", r.Body)
	}
	for _, at := range []string{"0001-01-01", "0001-01-01T00:00:00Z"} {
		if r := a.post("/enrich?datetime="+at, "text/csv", "lon,lat\n10.5,60.5\n").wants(200); !strings.Contains(
			string(r.Body), "10.5,60.5,,,") {
			t.Errorf("%s: %s", at, r.Body)
		}
	}
	a.post("/enrich?datetime=soon", "text/csv", "lon,lat\n10.5,60.5\n").wants(http.StatusBadRequest)
}

// TestProcessesWithoutVersionsHaveNoDatetime: if no collection has versions, the process does not describe the input
// datetime. A collection without versions refuses it.
func TestProcessesWithoutVersionsHaveNoDatetime(t *testing.T) {
	t.Parallel()
	st, _ := writtenStore(t, func(ctx context.Context, w store.Writer) error {
		if err := writePlots(ctx, w); err != nil {
			return err
		}
		return w.Define(ctx, &store.Collection{ID: "plain", Table: "plain", Public: true,
			Key:        store.FeatureKey{Column: "fid", Type: cql2.TypeInteger},
			Properties: []store.Property{{Name: "name", Column: "name", Type: cql2.TypeText}},
			Geometry:   &store.Geom{Name: "geometry", Column: "geom", Type: "Polygon", CRS: crs.CRS84}}, true)
	})
	some := serveStore(t, st, nil)
	for name, inputs := range map[string]string{"get-distinct-values": `"resource_name":"plain","queryable":"name"`,
		"export-collection-csv": `"collection_id":"plain"`,
		"join-table":            `"collection_id":"plain","table":"code;x\n1;2\n"`,
		"enrich-table":          `"table":"lon,lat\n1,2\n","collections":"plain"`} {
		r := some.run(name, `{"inputs":{`+inputs+`,"datetime":"2020-01-01"}}`).wants(http.StatusBadRequest)
		if !strings.Contains(string(r.Body), `"name":"/inputs/datetime"`) {
			t.Errorf("%s: %s", name, r.Body)
		}
	}
	some.post("/enrich?datetime=2020-01-01&collections=plain", "text/csv", "lon,lat\n1,2\n").wants(
		http.StatusBadRequest)
	none := serve(t, "", nil)
	for _, name := range []string{"get-distinct-values", "export-collection-gpkg", "join-table", "enrich-table",
		"neighbours"} {
		if r := none.get("/processes/" + name + "?f=json").wants(200); strings.Contains(string(r.Body), `"datetime"`) {
			t.Errorf("%s has an input datetime, and nothing has versions", name)
		}
	}
}
