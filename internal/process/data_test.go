package process_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"grense/internal/cql2"
	"grense/internal/geo/crs"
	"grense/internal/history"
	"grense/internal/problem"
	"grense/internal/process"
	"grense/internal/store"
)

// data is a snapshot of one collection, in pages of two, in the order of the features. It knows no filters.
type data struct {
	store.Store
	c     *store.Collection
	rows  []store.Feature // with the values of all properties
	asked []store.Query
}

func (d *data) Catalog() *store.Catalog {
	return &store.Catalog{Collections: []*store.Collection{d.c}}
}

func (d *data) Page(_ context.Context, q store.Query) (*store.Page, error) {
	d.asked = append(d.asked, q)
	from, _ := strconv.Atoi(string(q.Cursor))
	p := &store.Page{Matched: -1}
	for _, f := range d.rows[from:min(from+2, len(d.rows))] {
		p.Rows = append(p.Rows, store.Row{ID: f.ID, Rev: 1})
	}
	if from+2 < len(d.rows) {
		p.Next = store.Cursor(strconv.Itoa(from + 2))
	}
	return p, nil
}

func (d *data) Fetch(_ context.Context, _ string, rows []store.Row, want store.Want,
	fn func(*store.Feature) error) error {
	if want.Properties == nil {
		for _, p := range d.c.Properties {
			if !p.Hidden {
				want.Properties = append(want.Properties, p.Name)
			}
		}
	}
	for _, r := range rows {
		i := slices.IndexFunc(d.rows, func(f store.Feature) bool { return f.ID == r.ID })
		if i < 0 && want.SkipMissing {
			continue
		}
		if i < 0 {
			return store.ErrNotFound
		}
		f := store.Feature{ID: r.ID}
		for _, name := range want.Properties {
			at := slices.IndexFunc(d.c.Properties, func(p store.Property) bool { return p.Name == name })
			f.Values = append(f.Values, d.rows[i].Values[at])
		}
		if err := fn(&f); err != nil {
			return err
		}
	}
	return nil
}

func (*data) Holds() bool { return false }

// municipalities have a code as id, a name, and a number that several of them may share.
func municipalities(rows ...[]any) *data {
	d := &data{c: &store.Collection{ID: "kommuner", Public: true,
		Key: store.FeatureKey{Type: cql2.TypeText, Property: "nr"},
		Properties: []store.Property{{Name: "nr", Type: cql2.TypeText}, {Name: "navn", Type: cql2.TypeText},
			{Name: "sone", Type: cql2.TypeInteger}, {Name: "skjult", Type: cql2.TypeText, Hidden: true}}}}
	for _, r := range rows {
		d.rows = append(d.rows, store.Feature{ID: r[0].(string), Values: append(slices.Clone(r), "x")})
	}
	return d
}

func (d *data) env() *process.Env {
	return &process.Env{Catalog: d.Catalog(), Store: d, Base: "https://example.com", Lang: "en",
		Now:      time.Date(2024, 6, 1, 12, 0, 0, 0, time.UTC),
		Snapshot: func(context.Context) (store.Snapshot, error) { return d, nil },
		Progress: func(int, string) {}}
}

func (*data) Close() error { return nil }

// run executes a process with inputs as JSON, as a caller does.
func run(t *testing.T, env *process.Env, id, inputs string) (process.Outputs, error) {
	t.Helper()
	p, ok := process.NewRegistry(process.Standard()...).Find(id)
	if !ok {
		t.Fatalf("there is no %s", id)
	}
	r, err := process.Read([]byte(`{"inputs":`+inputs+`}`), p, p.Describe(env.Catalog, "en"))
	if err != nil {
		return nil, err
	}
	return p.Execute(t.Context(), env, r.Inputs)
}

// written is an output as it is sent.
func written(t *testing.T, o process.Output) string {
	t.Helper()
	if o.Write == nil {
		b, err := json.Marshal(o.Value)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	var b bytes.Buffer
	if err := o.Write(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestRowsFindTheirFeatures: the report has the members of the draft of OGC API - Joins.
func TestRowsFindTheirFeatures(t *testing.T) {
	t.Parallel()
	d := municipalities([]any{"0301", "Oslo", int64(32)}, []any{"1103", "Stavanger", int64(32)},
		[]any{"4601", "Bergen", int64(32)}, []any{"5001", "Trondheim", nil}, []any{"0501", "Ø", int64(33)},
		[]any{"501", "Å", int64(33)})
	const none = "{}"
	for _, x := range []struct {
		name, table, more  string
		matched, unmatched int
		missing, extra     string
		restored           int
		columns            string
	}{
		{"all rows", "code,n\n0301,1\n4601,2\n", none, 2, 4, "1103 5001 0501 501", "", 0, "n:n"},
		{"a code that there is not", "code,n\n0301,1\n9999,2\n0000,3\n", none, 1, 5, "1103 4601 5001 0501 501",
			"9999 0000", 0, "n:n"},
		{"leading zeros are restored", "code,n\n301,1\n", none, 1, 5, "1103 4601 5001 0501 501", "", 1, "n:n"},
		{"not if the code is one", "code,n\n501,1\n", none, 1, 5, "0301 1103 4601 5001 0501", "", 0, "n:n"},
		{"not if both are in the table", "code,n\n0301,1\n301,2\n", none, 1, 5, "1103 4601 5001 0501 501", "301", 0,
			"n:n"},
		{"not if too many zeros are gone", "code,n\n00301,1\n", none, 0, 6, "0301 1103 4601 5001 0501 501", "00301", 0,
			"n:n"},
		{"features of one key share a row", "code,n\n32,1\n", `{"key":"sone"}`, 3, 3, " 33 33", "", 0, "n:n"},
		{"names that are taken get a number", "code,navn,ID,n,N\n0301,a,b,c,d\n", none, 1, 5,
			"1103 4601 5001 0501 501", "", 0, "ID:ID_2 N:N_2 n:n navn:navn_2"},
		{"chosen columns in their order", "code,a,b,c\n0301,1,2,3\n", `{"columns":"c, a"}`, 1, 5,
			"1103 4601 5001 0501 501", "", 0, "a:a c:c"},
		{"a named column of codes", "a;b\n1;0301\n", `{"code":"b"}`, 1, 5, "1103 4601 5001 0501 501", "", 0, "a:a"},
	} {
		var in map[string]any
		if err := json.Unmarshal([]byte(x.more), &in); err != nil {
			t.Fatal(err)
		}
		in["collection_id"], in["table"] = "kommuner", x.table
		b, _ := json.Marshal(in)
		out, err := run(t, d.env(), "join-table", string(b))
		if err != nil {
			t.Errorf("%s: %v", x.name, err)
			continue
		}
		var got struct {
			Info struct {
				Matched   int               `json:"numberOfMatchedCollectionKeys"`
				Unmatched int               `json:"numberOfUnmatchedCollectionKeys"`
				Extra     int               `json:"numberOfAdditionalAttributeKeys"`
				Missing   []string          `json:"unmatchedCollectionKeys"`
				More      []string          `json:"additionalAttributeKeys"`
				Restored  int               `json:"restoredCodes"`
				Columns   map[string]string `json:"columns"`
			} `json:"joinInformation"`
		}
		if err := json.Unmarshal([]byte(written(t, out["report"])), &got); err != nil {
			t.Fatal(err)
		}
		i := got.Info
		var columns []string
		for name, property := range i.Columns {
			columns = append(columns, name+":"+property)
		}
		slices.Sort(columns)
		if i.Matched != x.matched || i.Unmatched != x.unmatched || strings.Join(i.Missing, " ") != x.missing ||
			strings.Join(i.More, " ") != x.extra || i.Extra != len(i.More) || i.Restored != x.restored ||
			strings.Join(columns, " ") != x.columns {
			t.Errorf("%s: %+v", x.name, i)
		}
	}
}

// TestColumnsHaveTheTypeOfAllTheirValues: codes stay texts, so that no digit is lost.
func TestColumnsHaveTheTypeOfAllTheirValues(t *testing.T) {
	t.Parallel()
	d := municipalities([]any{"1", "a", nil}, []any{"2", "b", nil})
	for _, x := range []struct{ name, delimiter, first, second, want string }{
		{"integers", ",", "1", "-2", "1 -2"},
		{"an integer and nothing", ",", "1", "", "1 null"},
		{"nothing", ",", "", "", "null null"},
		{"integers and fractions", ",", "1", "2.50", "1 2.5"},
		{"a decimal comma", ";", "1,5", "2", "1.5 2"},
		{"a decimal point between semicolons", ";", "1.5", "2", "1.5 2"},
		{"a comma and a point", ";", "1.234,5", "2", `"1.234,5" "2"`},
		{"leading zeros", ",", "0301", "4601", `"0301" "4601"`},
		{"nought", ",", "0", "0.5", "0 0.5"},
		{"a leading nought with a sign", ",", "-05", "1", `"-05" "1"`},
		{"a word among numbers", ",", "1", "x", `"1" "x"`},
		{"the largest integer", ",", "9223372036854775807", "1", "9223372036854775807 1"},
		{"more than the largest integer", ",", "9223372036854775808", "1", `"9223372036854775808" "1"`},
		{"a fraction of more digits than doubles have", ",", "0.12345678901234567891", "1",
			`"0.12345678901234567891" "1"`},
		{"no number in words", ",", "NaN", "1", `"NaN" "1"`},
		{"infinity in words", ",", "Inf", "1", `"Inf" "1"`},
		{"hexadecimal digits", ",", "0x1F", "1", `"0x1F" "1"`},
		{"digits with underscores", ",", "1_000", "1", `"1_000" "1"`},
		{"spaces around a number", ";", " 1 ", "2", "1 2"},
	} {
		table := fmt.Sprintf("code%[1]sn%[1]sz\n1%[1]s%[2]s%[1]s\n2%[1]s%[3]s%[1]s\n", x.delimiter, x.first, x.second)
		b, _ := json.Marshal(map[string]any{"collection_id": "kommuner", "table": table, "columns": "n"})
		out, err := run(t, d.env(), "join-table", string(b))
		if err != nil {
			t.Errorf("%s: %v", x.name, err)
			continue
		}
		var got struct {
			Features []struct {
				Properties struct{ N json.RawMessage } `json:"properties"`
			}
		}
		doc := written(t, out["joined"])
		if err := json.Unmarshal([]byte(doc), &got); err != nil || len(got.Features) != 2 {
			t.Errorf("%s: %v in %s", x.name, err, doc)
			continue
		}
		if s := fmt.Sprintf("%s %s", got.Features[0].Properties.N, got.Features[1].Properties.N); s != x.want {
			t.Errorf("%s: %s, want %s", x.name, s, x.want)
		}
	}
}

func TestFaultyTablesAreRefused(t *testing.T) {
	t.Parallel()
	d := municipalities([]any{"0301", "Oslo", int64(32)})
	for _, x := range []struct{ name, inputs, want string }{
		{"a code twice", `"table":"code,n\n1,a\n2,b\n1,c\n"`,
			"/inputs/table: rows 1 and 3 have this code; a table has one row for each"},
		{"a row without a code", `"table":"code,n\n1,a\n,b\n"`, "/inputs/table: row 2 has no code"},
		{"no rows", `"table":"code,n\n"`, "/inputs/table: the table has no rows"},
		{"a column that there is not", `"table":"code,n\n1,a\n","columns":"m"`,
			"/inputs/columns: name each column once, of code, n"},
		{"a column twice", `"table":"code,n\n1,a\n","columns":"n,n"`,
			"/inputs/columns: name each column once, of code, n"},
		{"a hidden key", `"table":"code,n\n1,a\n","key":"skjult"`,
			"/inputs/key: name a property of the collection: nr, navn, sone"},
		{"a time without versions", `"table":"code,n\n1,a\n","datetime":"2024-01-01"`,
			"/inputs/datetime: there is no such input"},
		{"a table by reference of another type", `"table":{"href":"https://example.com/x.html"}`,
			"/inputs/table/href: what is there is text/html"},
	} {
		env := d.env()
		env.Open = func(context.Context, string) (io.ReadCloser, string, error) {
			return io.NopCloser(strings.NewReader("<html>")), "text/html; charset=utf-8", nil
		}
		_, err := run(t, env, "join-table", `{"collection_id":"kommuner",`+x.inputs+`}`)
		if got := faults(err); err == nil || !strings.HasPrefix(got, x.want) {
			t.Errorf("%s: %q, want %q (%v)", x.name, got, x.want, err)
		}
	}
}

// TestFeaturesWithoutARowAreKeptOrDropped.
func TestFeaturesWithoutARowAreKeptOrDropped(t *testing.T) {
	t.Parallel()
	d := municipalities([]any{"1", "a", nil}, []any{"2", "b", nil}, []any{"3", "c", nil}, []any{"4", "d", nil},
		[]any{"5", "e", nil})
	for unmatched, want := range map[string]string{"keep": "1:null 2:7 3:null 4:8 5:null", "drop": "2:7 4:8"} {
		out, err := run(t, d.env(), "join-table",
			`{"collection_id":"kommuner","table":"code,n\n2,7\n4,8\n9,9\n","unmatched":"`+unmatched+`"}`)
		if err != nil {
			t.Fatal(err)
		}
		var got struct {
			Features []struct {
				ID         string
				Properties struct{ N json.RawMessage }
			}
		}
		if err := json.Unmarshal([]byte(written(t, out["joined"])), &got); err != nil {
			t.Fatal(err)
		}
		var list []string
		for _, f := range got.Features {
			list = append(list, f.ID+":"+string(f.Properties.N))
		}
		if s := strings.Join(list, " "); s != want {
			t.Errorf("%s: %s, want %s", unmatched, s, want)
		}
	}
}

// TestAnAreaOfTheCollectionItselfIsThatFeature, and not those whose code begins with its own.
func TestAnAreaOfTheCollectionItselfIsThatFeature(t *testing.T) {
	t.Parallel()
	for _, x := range []struct{ name, id, want, fault string }{
		{"a code", "1", "nr = '1'", ""},
		{"a code with a quote", "it's", "nr = 'it''s'", ""},
		{"no such code", "2", "", "/inputs/area_id: there is no such kommuner"},
	} {
		d := municipalities([]any{"1", "a", nil}, []any{"10", "b", nil}, []any{"it's", "c", nil})
		d.c.Geometry = &store.Geom{Name: "geometry", Type: "Polygon", CRS: crs.CRS84}
		out, err := run(t, d.env(), "export-collection-csv",
			`{"collection_id":"kommuner","area_type":"kommuner","area_id":"`+x.id+`"}`)
		if got := faults(err); got != x.fault {
			t.Errorf("%s: %q, want %q (%v)", x.name, got, x.fault, err)
		}
		if err != nil {
			continue
		}
		for _, o := range out {
			written(t, o)
		}
		if got := cql2.FormatText(d.asked[len(d.asked)-1].Filter); got != x.want {
			t.Errorf("%s: selected by %s", x.name, got)
		}
	}
}

func TestACollectionIsExportedOnce(t *testing.T) {
	t.Parallel()
	for ids, want := range map[string]string{
		"kommuner,kommuner":   "/inputs/collection_ids: name each collection once, of kommuner",
		" kommuner, kommuner": "/inputs/collection_ids: name each collection once, of kommuner",
		"kommuner,":           "/inputs/collection_ids: name each collection once, of kommuner",
		"fylker":              "/inputs/collection_ids: name each collection once, of kommuner",
		" kommuner ":          "",
	} {
		d := municipalities([]any{"1", "a", nil})
		env := d.env()
		env.GeoPackage = func(context.Context, string, time.Time) (store.Writer, error) { return nil, store.ErrFull }
		if _, err := run(t, env, "export-all-gpkg", `{"collection_ids":"`+ids+`"}`); faults(err) != want {
			t.Errorf("%q: %v", ids, err)
		}
	}
}

func TestDistinctValuesComeOnce(t *testing.T) {
	t.Parallel()
	d := municipalities([]any{"1", "a", int64(32)}, []any{"2", "a", nil}, []any{"3", "b", int64(33)},
		[]any{"4", "a", int64(32)}, []any{"5", nil, nil})
	for _, x := range []struct{ queryable, want string }{
		{"navn", `{"id":"values","value":["a","b"]}`}, {"sone", `{"id":"values","value":[32,33]}`},
	} {
		out, err := run(t, d.env(), "get-distinct-values", `{"resource_name":"kommuner","queryable":"`+x.queryable+`"}`)
		if err != nil {
			t.Errorf("%s: %v", x.queryable, err)
			continue
		}
		if got := written(t, out["values"]); got != x.want {
			t.Errorf("%s: %s", x.queryable, got)
		}
	}
	for _, queryable := range []string{"skjult", "ingen", "NAVN"} {
		_, err := run(t, d.env(), "get-distinct-values", `{"resource_name":"kommuner","queryable":"`+queryable+`"}`)
		if got := faults(err); got != "/inputs/queryable: use one of nr, navn, sone" {
			t.Errorf("%s: %q", queryable, got)
		}
	}
	empty := municipalities()
	out, err := run(t, empty.env(), "get-distinct-values", `{"resource_name":"kommuner","queryable":"navn"}`)
	if err != nil || written(t, out["values"]) != `{"id":"values","value":[]}` {
		t.Errorf("no features: %v, %v", out, err)
	}
}

// TestNeighboursAreNamedAndMeasured: lengths are rounded to decimetres, addresses are escaped.
func TestNeighboursAreNamedAndMeasured(t *testing.T) {
	t.Parallel()
	d := municipalities([]any{"0301", "Oslo", nil}, []any{"a/b c", "Lillestrøm", nil}, []any{"3", nil, nil})
	d.c.Geometry, d.c.TitleProperty = &store.Geom{Name: "geometry", Type: "Polygon"}, "navn"
	env := d.env()
	env.Neighbours = func(_ context.Context, coll, row string) ([]process.Neighbour, bool, error) {
		if coll != "kommuner" || row != "0301" {
			return nil, true, store.ErrNotFound
		}
		return []process.Neighbour{{ID: "a/b c", Length: 1234.56}, {ID: "3", Length: 0.04}}, true, nil
	}
	out, err := run(t, env, "neighbours", `{"collection_id":"kommuner","id":"0301"}`)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"collection":"kommuner","id":"0301","method":"shared-borders","neighbours":[` +
		`{"id":"a/b c","title":"Lillestrøm","length":1234.6,` +
		`"href":"https://example.com/collections/kommuner/items/a%2Fb%20c"},` +
		`{"id":"3","title":"3","length":0,"href":"https://example.com/collections/kommuner/items/3"}]}`
	if got := written(t, out["neighbours"]); got != want {
		t.Errorf("%s", got)
	}
	if _, err := run(t, env, "neighbours", `{"collection_id":"kommuner","id":"9999"}`); !strings.HasPrefix(faults(err),
		"/inputs/id: there is no such feature in kommuner") {
		t.Errorf("no such feature: %v", err)
	}
	env.Neighbours = func(context.Context, string, string) ([]process.Neighbour, bool, error) {
		return nil, true, nil
	}
	if out, err = run(t, env, "neighbours", `{"collection_id":"kommuner","id":"3"}`); err != nil ||
		!strings.HasSuffix(written(t, out["neighbours"]), `"neighbours":[]}`) {
		t.Errorf("an island: %v, %v", out, err)
	}
}

// TestCodesOfNorwayAreTranslated: by the changes that Statistics Norway has published (Klass 131 and 104).
func TestCodesOfNorwayAreTranslated(t *testing.T) {
	t.Parallel()
	rows, err := history.NorwayRows()
	if err != nil {
		t.Fatal(err)
	}
	h, err := history.New(rows...)
	if err != nil {
		t.Fatal(err)
	}
	env := municipalities().env()
	env.History = func(context.Context) (*history.History, error) { return h, nil }
	for _, x := range []struct{ name, inputs, want string }{
		{"the same day", `"codes":["0301"],"from":"2024-01-01","to":"2024-01-01"`, "0301=0301"},
		{"forwards", `"codes":["1504"],"from":"2019-01-01","to":"2020-01-01"`, "1504=1507"},
		{"a name and a number alone", `"codes":["0301","1201"],"from":"2019-01-01","to":"2020-01-01"`,
			"0301=0301 1201=4601"},
		{"leading zeros are restored", `"codes":["301"],"from":"2024-01-01","to":"2024-01-01"`, "301=0301 restored"},
		{"a code that is several", `"codes":["1507"],"from":"2023-12-31","to":"2024-01-01"`,
			"1507=1508,1580 ambiguous"},
		{"none of several", `"codes":["1507"],"from":"2023-12-31","to":"2024-01-01","onAmbiguous":"null"`,
			"1507= ambiguous"},
		{"the largest of several", `"codes":["1507"],"from":"2023-12-31","to":"2024-01-01","onAmbiguous":"largest"`,
			"1507=1508 ambiguous"},
		{"a code that there never was", `"codes":["9999"],"from":"2024-01-01","to":"2024-01-01"`,
			"9999= fault"},
		{"a code of another day", `"codes":["1201"],"from":"2024-01-01","to":"2024-01-01"`, "1201= fault"},
		{"an empty code", `"codes":[""],"from":"2024-01-01","to":"2024-01-01"`, "= fault"},
	} {
		out, err := run(t, env, "translate-codes", `{`+x.inputs+`}`)
		if err != nil {
			t.Errorf("%s: %v", x.name, err)
			continue
		}
		var got []struct {
			Code, Fault         string
			Became              []struct{ Code, Name string }
			Ambiguous, Restored bool
		}
		if err := json.Unmarshal([]byte(written(t, out["translations"])), &got); err != nil {
			t.Fatal(err)
		}
		var list []string
		for _, r := range got {
			var became []string
			for _, b := range r.Became {
				if became = append(became, b.Code); b.Name == "" {
					t.Errorf("%s: %s has no name", x.name, b.Code)
				}
			}
			s := r.Code + "=" + strings.Join(became, ",")
			for word, is := range map[string]bool{" ambiguous": r.Ambiguous, " restored": r.Restored,
				" fault": r.Fault != ""} {
				if is {
					s += word
				}
			}
			list = append(list, s)
		}
		if s := strings.Join(list, " "); s != x.want {
			t.Errorf("%s: %s, want %s", x.name, s, x.want)
		}
	}
	for _, x := range []struct{ name, inputs, want string }{
		{"neither codes nor a table", `"from":"2024-01-01","to":"2024-01-01"`,
			"/inputs/codes: send either codes or a table"},
		{"codes and a table", `"codes":["1"],"table":"a\n1\n","from":"2024-01-01","to":"2024-01-01"`,
			"/inputs/codes: send either codes or a table"},
		{"a column without a table", `"codes":["1"],"column":"a","from":"2024-01-01","to":"2024-01-01"`,
			"/inputs/column: a column is one of a table; leave it out"},
		{"another scheme", `"codes":["1"],"scheme":"x","from":"2024-01-01","to":"2024-01-01"`,
			"/inputs/scheme: use one of "},
		{"several, refused", `"codes":["0301","1507"],"from":"2023-12-31","to":"2024-01-01","onAmbiguous":"error"`,
			"/inputs/codes/1: it stands for several"},
	} {
		_, err := run(t, env, "translate-codes", `{`+x.inputs+`}`)
		if got := faults(err); err == nil || !strings.HasPrefix(got, x.want) {
			t.Errorf("%s: %q, want %q", x.name, got, x.want)
		}
	}
	env.History = func(context.Context) (*history.History, error) { return nil, nil }
	if _, err := run(t, env, "translate-codes", `{"codes":["1"],"from":"2024-01-01","to":"2024-01-01"}`); err == nil ||
		problem.Of(err).Kind != problem.NotFound {
		t.Errorf("no history: %v", err)
	}
}

// TestEchoWaitsAndReportsItsProgress, and ends when nobody wants the answer any more.
func TestEchoWaitsAndReportsItsProgress(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		env := municipalities().env()
		last := -1
		env.Progress = func(percent int, _ string) {
			if percent < last || percent > 100 {
				t.Errorf("progress goes from %d to %d", last, percent)
			}
			last = percent
		}
		start := time.Now()
		out, err := run(t, env, "echo", `{"string":"x","pause":30}`)
		if took := time.Since(start); err != nil || took < 30*time.Second || took > 31*time.Second || last < 98 {
			t.Errorf("%v after %v, progress %d", err, took, last)
		}
		if _, ok := out["pause"]; ok || out["string"].Value != "x" {
			t.Errorf("outputs %+v", out)
		}
		p, _ := process.NewRegistry(process.Standard()...).Find("echo")
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		start, last = time.Now(), -1
		_, err = p.Execute(ctx, env, process.Inputs{"pause": json.Number("60")})
		if took := time.Since(start); !errors.Is(err, context.DeadlineExceeded) || math.Round(took.Seconds()) != 2 {
			t.Errorf("%v after %v", err, took)
		}
	})
}
