package process_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"grense/internal/cql2"
	"grense/internal/problem"
	"grense/internal/process"
	"grense/internal/store"
)

// exported runs export-collection-csv and returns the ids in the file, or the faults.
func exported(t *testing.T, env *process.Env, inputs string) (ids, fault string, out process.Output) {
	t.Helper()
	all, err := run(t, env, "export-collection-csv", "{"+inputs+"}")
	if err != nil {
		return "", faults(err), out
	}
	out = all["result"]
	_, rows := records(t, written(t, out))
	return column(rows, "id"), "", out
}

// TestFeaturesOfAnArea: by code, within, or touched; expectations are read off a map of squares.
func TestFeaturesOfAnArea(t *testing.T) {
	t.Parallel()
	s := island()
	for _, x := range []struct{ name, inputs, want string }{
		{"no area", `"collection_id":"kommuner"`, "0301 0302 0303 1101 11_1"},
		{"the beginning of the codes", `"collection_id":"kommuner","area_type":"fylke","area_id":"03"`,
			"0301 0302 0303"},
		{"codes beyond digits", `"collection_id":"kommuner","area_type":"fylke","area_id":"11"`, "1101 11_1"},
		{"a county without any", `"collection_id":"kommuner","area_type":"fylke","area_id":"99"`, ""},
		{"wholly within", `"collection_id":"kommuner","area_type":"fylke","area_id":"03","predicate":"within"`,
			"0301 0302"},
		{"touched", `"collection_id":"kommuner","area_type":"fylke","area_id":"03","predicate":"intersects"`,
			"0301 0302 0303 1101"},
		{"touched from the other side", `"collection_id":"kommuner","area_type":"fylker","area_id":"11",` +
			`"predicate":"intersects"`, "0302 1101"},
		{"a property of the usual name", `"collection_id":"steder","area_type":"fylke","area_id":"03"`, "1 2"},
		{"without a geometry of its own", `"collection_id":"steder","area_type":"fylke","area_id":"11"`, "3 4"},
		{"points within", `"collection_id":"steder","area_type":"fylke","area_id":"11","predicate":"within"`, "3"},
		{"points of an area across counties", `"collection_id":"steder","area_type":"kommune","area_id":"0303",` +
			`"predicate":"within"`, "5"},
		{"points on the border are not within", `"collection_id":"steder","area_type":"kommune","area_id":"0301",` +
			`"predicate":"within"`, "1"},
		{"points on the border are touched", `"collection_id":"steder","area_type":"kommune","area_id":"0301",` +
			`"predicate":"intersects"`, "1 2"},
		{"a property that refers to the collection", `"collection_id":"steder","area_type":"kommuner","area_id":"0302"`,
			"2"},
		{"a table without geometries", `"collection_id":"tall","area_type":"fylke","area_id":"03"`, "1 3"},
		{"by name", `"collection_id":"tall","area_type":"fylke","area_name":"Sør"`, "2"},
		{"by a name without its accents decomposed", `"collection_id":"kommuner","area_type":"fylke",` +
			`"area_name":"So\u0338r"`,
			"/inputs/area_name: there is no fylke with this navn"},
		{"by another property", `"collection_id":"steder","area_type":"kommune","area_name":"Oslove",` +
			`"area_name_field":"samisk"`, "1"},
		{"by an id instead of a name", `"collection_id":"tall","area_type":"fylke","area_id":"11","area_name":"Nord"`,
			"2"},
		{"an area of the collection itself", `"collection_id":"kommuner","area_type":"kommune","area_id":"11_1"`,
			"11_1"},

		{"no such id", `"collection_id":"tall","area_type":"fylke","area_id":"1"`,
			"/inputs/area_id: there is no such fylke"},
		{"a wildcard", `"collection_id":"kommuner","area_type":"fylke","area_id":"%"`,
			"/inputs/area_id: there is no such fylke"},
		{"a name in small letters", `"collection_id":"tall","area_type":"fylke","area_name":"sør"`,
			"/inputs/area_name: there is no fylke with this navn; write the name as in fylker, or use area_id"},
		{"a name of two", `"collection_id":"steder","area_type":"kommune","area_name":"Våler"`,
			"/inputs/area_name: several areas have this name; use area_id"},
		{"a name of two, of which one is decomposed", `"collection_id":"steder","area_type":"kommune","area_name":"Ås"`,
			"/inputs/area_name: several areas have this name; use area_id"},
		{"a hidden property", `"collection_id":"tall","area_type":"kommune","area_name":"x","area_name_field":"skjult"`,
			"/inputs/area_name_field: name a property of kommuner: nr, navn, samisk, folk, geometry"},
		{"the geometry", `"collection_id":"tall","area_type":"kommune","area_name":"x","area_name_field":"geometry"`,
			"/inputs/area_name_field: name a property of kommuner"},
		{"a property of numbers", `"collection_id":"tall","area_type":"kommune","area_name":"x",` +
			`"area_name_field":"folk"`,
			"/inputs/area_name_field: name a property that holds texts"},
		{"no name", `"collection_id":"tall","area_type":"fylke"`,
			"/inputs/area_name: say which area, with area_name or area_id"},
		{"no name of points", `"collection_id":"tall","area_type":"steder","area_name":"x"`,
			"/inputs/area_name: there is no steder with this navn"},
		{"a name without a kind", `"collection_id":"kommuner","area_name":"Nord"`,
			"/inputs/area_type: say what kind of area it is: fylke, kommune, fylker, kommuner, steder"},
		{"an id without a kind", `"collection_id":"kommuner","area_id":"03"`,
			"/inputs/area_type: say what kind of area it is"},
		{"another kind", `"collection_id":"kommuner","area_type":"land","area_id":"03"`,
			"/inputs/area_type: use one of fylke, kommune, fylker, kommuner, steder"},
		{"a kind without geometries", `"collection_id":"kommuner","area_type":"tall","area_id":"1"`,
			"/inputs/area_type: use"},
		{"a kind that is not public", `"collection_id":"kommuner","area_type":"hemmelig","area_id":"1"`,
			"/inputs/area_type: use"},
		{"no geometry of the features", `"collection_id":"tall","area_type":"fylke","area_id":"03",` +
			`"predicate":"within"`,
			"/inputs/predicate: there is no geometry to compare; use code"},
		{"no geometry of the area", `"collection_id":"steder","area_type":"fylke","area_id":"99",` +
			`"predicate":"intersects"`,
			"/inputs/predicate: there is no geometry to compare; use code"},
		{"no codes", `"collection_id":"tall","area_type":"kommune","area_id":"0301"`,
			"/inputs/predicate: nothing in tall states the kommune of a feature; use within or intersects"},
		{"ids that are numbers", `"collection_id":"steder","area_type":"steder","area_id":"1"`,
			"/inputs/predicate: nothing in steder states the steder of a feature"},
		{"a collection that is not public", `"collection_id":"hemmelig"`,
			"/inputs/collection_id: use one of fylker, kommuner"},
	} {
		ids, fault, _ := exported(t, s.env(), x.inputs)
		if got := ids + fault; got != x.want && (fault == "" || !strings.HasPrefix(fault, x.want) || x.want == "") {
			t.Errorf("%s: %q, want %q", x.name, got, x.want)
		}
	}
}

func TestFilesHaveANameThatEverySystemAllows(t *testing.T) {
	t.Parallel()
	const odd = "../a\\b:c*d?e\"f<g>h|i\nÆ"
	s := island()
	s.layer("fylker").rows[2].Values[1] = odd
	quoted, _ := json.Marshal(odd)
	for _, x := range []struct{ inputs, want string }{
		{`"collection_id":"tall"`, "tall.csv"},
		{`"collection_id":"tall","area_type":"fylke","area_id":"03"`, "tall_fylke_03.csv"},
		{`"collection_id":"tall","area_type":"fylke","area_name":"Sør"`, "tall_fylke_Sør.csv"},
		{`"collection_id":"steder","area_type":"kommuner","area_id":"0302"`, "steder_kommuner_0302.csv"},
		{`"collection_id":"tall","area_type":"fylke","area_name":` + string(quoted),
			"tall_fylke_.._a_b_c_d_e_f_g_h_i_Æ.csv"},
	} {
		if _, fault, out := exported(t, s.env(), x.inputs); out.Name != x.want || out.Media != "text/csv" {
			t.Errorf("%s: %q of %s, %s", x.inputs, out.Name, out.Media, fault)
		}
	}
}

// TestChosenPropertiesComeInTheirOrder, with the geometry only if it is chosen too.
func TestChosenPropertiesComeInTheirOrder(t *testing.T) {
	t.Parallel()
	s := island()
	for _, x := range []struct{ collection, properties, want string }{
		{"kommuner", "folk,nr", "id,folk,nr"},
		{"kommuner", " folk , nr ", "id,folk,nr"},
		{"steder", "navn", "id,navn"},
		{"steder", "navn,punkt", "id,navn,lon,lat"},
		{"steder", "punkt", "id,lon,lat"},
		{"tall", "liste", "id,liste"},
		{"kommuner", "folk,folk", "/inputs/properties: name each property once, of nr, navn, samisk, folk, geometry"},
		{"kommuner", "folk, folk", "/inputs/properties: name each property once"},
		{"kommuner", "skjult", "/inputs/properties: name each property once"},
		{"kommuner", "Folk", "/inputs/properties: name each property once"},
		{"kommuner", "folk,", "/inputs/properties: name each property once"},
		{"tall", "geometry", "/inputs/properties: name each property once"},
	} {
		in, _ := json.Marshal(map[string]string{"collection_id": x.collection, "properties": x.properties})
		all, err := run(t, s.env(), "export-collection-csv", string(in))
		got := faults(err)
		if err == nil {
			header, _ := records(t, written(t, all["result"]))
			got = strings.Join(header, ",")
		}
		if got != x.want && !(strings.HasPrefix(x.want, "/") && strings.HasPrefix(got, x.want)) {
			t.Errorf("%s of %s: %s, want %s", x.properties, x.collection, got, x.want)
		}
	}
}

// versioned is an island whose municipalities have versions: 0301 until and from 2020, 0302 from 2020.
func versioned(keyType cql2.Type) *shelf {
	s := island()
	l := s.layer("kommuner")
	l.c.Key = store.FeatureKey{Type: keyType, Property: "nr"}
	l.c.Versions = &store.Versions{ID: "nr", Start: "fra", End: "til"}
	l.c.Properties = []store.Property{text("nr"), text("navn"), {Name: "fra", Type: cql2.TypeDate},
		{Name: "til", Type: cql2.TypeDate}}
	l.rows = []store.Feature{
		row("1", square(0, 0, 2), "0301", "Gamle", "2000-01-01", "2020-01-01"),
		row("2", square(0, 0, 2), "0301", "Nye", "2020-01-01", nil),
		row("3", square(2, 0, 2), "0302", "Ås", "2020-01-01", nil),
	}
	for i := range l.rows {
		l.rows[i].Of = l.rows[i].Values[0].(string)
	}
	return s
}

// TestVersionsAreThoseOfADayOrMoment in the time zone of the service; without one, those of now.
func TestVersionsAreThoseOfADayOrMoment(t *testing.T) {
	t.Parallel()
	for _, x := range []struct{ name, inputs, want string }{
		{"now", `"collection_id":"kommuner"`, "0301/Nye 0302/Ås"},
		{"a day", `"collection_id":"kommuner","datetime":"2010-02-28"`, "0301/Gamle"},
		{"the last day", `"collection_id":"kommuner","datetime":"2019-12-31"`, "0301/Gamle"},
		{"the first day", `"collection_id":"kommuner","datetime":"2020-01-01"`, "0301/Nye 0302/Ås"},
		{"a moment that is the next day in Norway", `"collection_id":"kommuner","datetime":"2019-12-31T23:30:00Z"`,
			"0301/Nye 0302/Ås"},
		{"a moment of another zone", `"collection_id":"kommuner","datetime":"2020-01-01T00:30:00+03:00"`, "0301/Gamle"},
		{"before all", `"collection_id":"kommuner","datetime":"1999-12-31"`, ""},
		{"the first moment of all", `"collection_id":"kommuner","datetime":"0001-01-01T00:00:00Z"`, ""},
		{"of one feature", `"collection_id":"kommuner","area_type":"kommune","area_id":"0301"`, "0301/Nye"},
		{"of one feature on a day", `"collection_id":"kommuner","area_type":"kommune","area_id":"0301",` +
			`"datetime":"2010-01-01"`, "0301/Gamle"},
		{"of one feature by its name on a day", `"collection_id":"kommuner","area_type":"kommune",` +
			`"area_name":"Gamle",` +
			`"datetime":"2010-01-01"`, "0301/Gamle"},
		{"of a county", `"collection_id":"kommuner","area_type":"fylke","area_id":"03","datetime":"2010-01-01"`,
			"0301/Gamle"},
		{"of what is within", `"collection_id":"kommuner","area_type":"fylke","area_id":"03","predicate":"within"`,
			"0301/Nye 0302/Ås"},
		{"what was not there then", `"collection_id":"kommuner","area_type":"kommune","area_id":"0302",` +
			`"datetime":"2010-01-01"`, "/inputs/area_id: there is no such kommune"},
		{"a name of another day", `"collection_id":"kommuner","area_type":"kommune","area_name":"Gamle"`,
			"/inputs/area_name: there is no kommune with this navn"},
		{"an interval", `"collection_id":"kommuner","datetime":"2010-01-01/.."`,
			"/inputs/datetime: use a day as 2024-01-31 or a moment as 2024-01-31T12:00:00Z"},
		{"no such day", `"collection_id":"kommuner","datetime":"2023-02-29"`, "/inputs/datetime: use a day"},
		{"a month", `"collection_id":"kommuner","datetime":"2023-02"`, "/inputs/datetime: use a day"},
		{"a collection without versions", `"collection_id":"tall","datetime":"2020-01-01"`,
			"/inputs/datetime: leave it out: features of these collections have no versions"},
		{"an area with versions", `"collection_id":"tall","area_type":"kommune","area_id":"0301",` +
			`"datetime":"2020-01-01"`,
			"/inputs/predicate: nothing in tall states the kommune"},
	} {
		for _, key := range []cql2.Type{cql2.TypeText, cql2.TypeInteger} {
			env := versioned(key).env()
			env.Now = env.Now.In(time.FixedZone("CET", 3600))
			all, err := run(t, env, "export-collection-csv", "{"+x.inputs+"}")
			got := faults(err)
			if err == nil {
				_, rows := records(t, written(t, all["result"]))
				var list []string
				for _, r := range rows {
					list = append(list, r["nr"]+"/"+r["navn"])
				}
				got = strings.Join(list, " ")
			}
			if got != x.want && (err == nil || !strings.HasPrefix(got, x.want)) {
				t.Errorf("%s, key of type %d: %q, want %q", x.name, key, got, x.want)
			}
		}
	}
}

// recorder writes a file with what a GeoPackage would hold: a line for each table and each row.
type recorder struct {
	path  string
	lines []string
}

func (r *recorder) Define(_ context.Context, c *store.Collection, _ bool) error {
	r.lines = append(r.lines, "table "+c.Table)
	return nil
}

func (r *recorder) Insert(context.Context, string, []string) (func(...any) error, error) {
	return func(...any) error {
		r.lines = append(r.lines, "row")
		return nil
	}, nil
}

func (r *recorder) Commit(context.Context) error {
	return os.WriteFile(r.path, []byte(strings.Join(r.lines, "\n")), 0o600)
}

func (*recorder) Close() error { return nil }

// TestGeoPackagesHaveALayerForEachCollection.
func TestGeoPackagesHaveALayerForEachCollection(t *testing.T) {
	t.Parallel()
	for _, x := range []struct{ name, process, inputs, want, file string }{
		{"all", "export-all-gpkg", `{}`, "table fylker row row row table kommuner row row row row row table steder " +
			"row row row row row table tall row row row row", "grense.gpkg"},
		{"some in their order", "export-all-gpkg", `{"collection_ids":"tall, fylker"}`, "table tall row row row row " +
			"table fylker row row row", "grense.gpkg"},
		{"one", "export-collection-gpkg", `{"collection_id":"fylker"}`, "table fylker row row row", "fylker.gpkg"},
		{"an area", "export-by-area-gpkg", `{"collection_id":"kommuner","area_type":"fylke","area_name":"Sør"}`,
			"table kommuner_fylke_Sør row row", "kommuner_fylke_Sør.gpkg"},
	} {
		env := island().env()
		env.Temp = t.TempDir()
		env.GeoPackage = func(_ context.Context, path string, at time.Time) (store.Writer, error) {
			if !at.Equal(env.Catalog.Modified) {
				t.Errorf("%s: dated %v", x.name, at)
			}
			return &recorder{path: path}, nil
		}
		out, err := run(t, env, x.process, x.inputs)
		if err != nil {
			t.Errorf("%s: %v", x.name, err)
			continue
		}
		got := strings.ReplaceAll(written(t, out["result"]), "\n", " ")
		if got != x.want || out["result"].Name != x.file {
			t.Errorf("%s: %s: %s, want %s", x.name, out["result"].Name, got, x.want)
		}
		if left, err := os.ReadDir(env.Temp); err != nil || len(left) > 0 {
			t.Errorf("%s: %v are left behind, %v", x.name, left, err)
		}
	}
	full := island().env()
	full.Temp = t.TempDir()
	full.GeoPackage = func(context.Context, string, time.Time) (store.Writer, error) { return nil, store.ErrFull }
	out, err := run(t, full, "export-all-gpkg", `{}`)
	if err != nil {
		t.Fatal(err)
	}
	if err := out["result"].Write(t.Context(), &strings.Builder{}); !errors.Is(err, store.ErrFull) {
		t.Errorf("a full disk: %v", err)
	}
	if _, err := run(t, island().env(), "export-all-gpkg", `{}`); problem.Of(err).Kind != problem.Unavailable {
		t.Errorf("nothing that writes: %v", err)
	}
	empty := &shelf{}
	env := empty.env()
	env.GeoPackage = full.GeoPackage
	if _, err := run(t, env, "export-all-gpkg", `{}`); problem.Of(err).Kind != problem.NotFound {
		t.Errorf("no collections: %v", err)
	}
	for inputs, want := range map[string]string{
		`{"collection_ids":"fylker","crs":"http://www.opengis.net/def/crs/EPSG/0/9999999"}`: "/inputs/crs: use one of",
		`{"collection_ids":"fylker","crs":"urn:x"}`:                                         "/inputs/crs: use one of",
		`{"collection_ids":"fylker","crs":"25833"}`: "/inputs/crs: send an " +
			"absolute address",
		`{"collection_ids":"hemmelig"}`: "/inputs/collection_ids: name each collection once, of fylker, kommuner",
		`{"collection_ids":""}`:         "/inputs/collection_ids: send at least 1 characters",
	} {
		if _, err := run(t, full, "export-all-gpkg", inputs); !strings.HasPrefix(faults(err), want) || err == nil {
			t.Errorf("%s: %v, want %s", inputs, err, want)
		}
	}
}

// TestExportsEndWithTheirContext, and pass on what the store reports.
func TestExportsEndWithTheirContext(t *testing.T) {
	t.Parallel()
	s := island()
	env := s.env()
	out, err := run(t, env, "export-collection-csv", `{"collection_id":"kommuner"}`)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := out["result"].Write(ctx, &strings.Builder{}); !errors.Is(err, context.Canceled) {
		t.Errorf("after the client has gone: %v", err)
	}
	s.broken = store.ErrChanged
	if err := out["result"].Write(t.Context(), &strings.Builder{}); !errors.Is(err, store.ErrChanged) {
		t.Errorf("after a change: %v", err)
	}
	_, err = run(t, env, "export-collection-csv", `{"collection_id":"tall","area_type":"fylke","area_id":"03"}`)
	if !errors.Is(err, store.ErrChanged) {
		t.Errorf("while the area is read: %v", err)
	}
	env.Snapshot = func(context.Context) (store.Snapshot, error) { return nil, store.ErrBusy }
	for _, x := range [][2]string{{"export-collection-csv", `{"collection_id":"kommuner"}`},
		{"get-distinct-values", `{"resource_name":"kommuner","queryable":"nr"}`},
		{"join-table", `{"collection_id":"kommuner","table":"code,n\n1,2\n"}`}} {
		if _, err := run(t, env, x[0], x[1]); !errors.Is(err, store.ErrBusy) {
			t.Errorf("%s of a busy store: %v", x[0], err)
		}
	}
}
