package process_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"testing"

	"grense/internal/enrich"
	"grense/internal/geo/crs"
	"grense/internal/history"
	"grense/internal/process"
)

// halves finds the half of the world that a point lies in, and knows the codes 1 and 02.
type halves struct{}

func (halves) Columns() []string { return []string{"half"} }

func (halves) At(dst []string, x, _ float64) ([]string, string, error) {
	switch {
	case x == 0:
		return append(dst, ""), "", nil
	case x < 0:
		return append(dst, "west"), "", nil
	case x > 180:
		return append(dst, ""), "not on earth", nil
	}
	return append(dst, "east"), "", nil
}

func (halves) Code(dst []string, code string) ([]string, bool, error) {
	switch code {
	case "1":
		return append(dst, "west"), false, nil
	case "2":
		return append(dst, "east"), true, nil
	case "error":
		return nil, false, errors.New("disk")
	}
	return append(dst, ""), false, nil
}

// tables is an environment with halves; it stores the arguments of Divisions.
func tables(asked *string) *process.Env {
	env := municipalities().env()
	env.Divisions = func(_ context.Context, collections, datetime string, points crs.ID) (enrich.Finder, error) {
		*asked = fmt.Sprintf("%s %s %v", collections, datetime, points)
		return halves{}, nil
	}
	return env
}

func TestRowsOfTablesGetTheirDivisions(t *testing.T) {
	t.Parallel()
	for _, x := range []struct{ name, inputs, want, report string }{
		{"points as CSV", `"table":"lon,lat\n-1,0\n1,0\n0,0\n"`,
			"lon,lat,half,enrich_error\n-1,0,west,\n1,0,east,\n0,0,,\n",
			`{"rows":3,"matched":2,"unmatched":1,"errors":0,"restoredCodes":0}`},
		{"named columns", `"table":"a;b\n0;1\n","x":"b","y":"a"`, "a;b;half;enrich_error\n0;1;east;\n",
			`{"rows":1,"matched":1,"unmatched":0,"errors":0,"restoredCodes":0}`},
		{"codes", `"table":"code\n1\n2\n9\n","code":"code"`, "code,half,enrich_error\n1,west,\n2,east,\n9,,\n",
			`{"rows":3,"matched":2,"unmatched":1,"errors":0,"restoredCodes":1}`},
		{"a JSON object a line", `"table":"{\"lon\":1,\"lat\":2}\n"`,
			"{\"lon\":1,\"lat\":2,\"half\":\"east\",\"enrich_error\":null}\n",
			`{"rows":1,"matched":1,"unmatched":0,"errors":0,"restoredCodes":0}`},
	} {
		var asked string
		out, err := run(t, tables(&asked), "enrich-table", `{`+x.inputs+`}`)
		if err != nil {
			t.Errorf("%s: %v", x.name, err)
			continue
		}
		if got := written(t, out["report"]); got != x.report { // without the table
			t.Errorf("%s: report %s", x.name, got)
		}
		if got := strings.ReplaceAll(written(t, out["table"]), "\r\n", "\n"); got != x.want {
			t.Errorf("%s: table %q", x.name, got)
		}
		if got := written(t, out["report"]); got != x.report { // after the table
			t.Errorf("%s: report after the table %s", x.name, got)
		}
		if asked != fmt.Sprintf("  %v", crs.CRS84) {
			t.Errorf("%s: asked for %q", x.name, asked)
		}
	}
}

func TestTablesOfPointsAreInTheirCoordinateSystem(t *testing.T) {
	t.Parallel()
	var asked string
	_, err := run(t, tables(&asked), "enrich-table",
		`{"table":"x,y\n1,2\n","collections":"a,b","crs":"http://www.opengis.net/def/crs/EPSG/0/25833"}`)
	if err != nil || asked != fmt.Sprintf("a,b  %v", crs.UTM33) {
		t.Errorf("asked for %q, %v", asked, err)
	}
	for _, bad := range []string{"http://www.opengis.net/def/crs/EPSG/0/99999", "urn:x:y"} {
		_, err := run(t, tables(&asked), "enrich-table", `{"table":"x,y\n1,2\n","crs":"`+bad+`"}`)
		if got := faults(err); !strings.HasPrefix(got, "/inputs/crs: use the address of a coordinate system") {
			t.Errorf("%s: %q (%v)", bad, got, err)
		}
	}
}

// TestTablesByReference: by their media type, and no larger than fits while a client waits.
func TestTablesByReference(t *testing.T) {
	t.Parallel()
	endless := reader(func(b []byte) (int, error) { return copy(b, strings.Repeat("1,2\n", len(b)/4+1)), nil })
	for _, x := range []struct {
		name, media string
		table       io.Reader
		waiting     bool
		want        string // fault, or part of the table
	}{
		{"CSV", "text/csv; charset=utf-8", strings.NewReader("lon,lat\n1,2\n"), true, "1,2,east"},
		{"a media type in capitals", "Text/CSV;Charset=UTF-8", strings.NewReader("lon,lat\n1,2\n"), true, "1,2,east"},
		{"no media type", "", strings.NewReader("lon,lat\n1,2\n"), true, "1,2,east"},
		{"a download", "application/octet-stream", strings.NewReader("lon,lat\n1,2\n"), true, "1,2,east"},
		{"JSON lines as text", "text/plain", strings.NewReader(`{"lon":-1,"lat":2}`), false, `"half":"west"`},
		{"a page", "text/html", strings.NewReader("<html>"), true, "/inputs/table/href: what is there is text/html"},
		{"more than fits", "text/csv", io.MultiReader(strings.NewReader("lon,lat\n"), io.LimitReader(endless, 40<<20)),
			true, "/inputs/table/href: the table has more than 33554432 bytes; ask for a job"},
	} {
		var asked string
		env := tables(&asked)
		env.Waiting = x.waiting
		env.Open = func(context.Context, string) (io.ReadCloser, string, error) {
			return io.NopCloser(x.table), x.media, nil
		}
		out, err := run(t, env, "enrich-table", `{"table":{"href":"https://example.com/t"}}`)
		var b strings.Builder
		if err == nil {
			err = out["table"].Write(t.Context(), &b)
		}
		got := b.String()
		if err != nil {
			got = faults(err)
		}
		if !strings.Contains(got, x.want) {
			t.Errorf("%s: %.200s, want %q (%v)", x.name, got, x.want, err)
		}
	}
}

// TestFaultsOfAFinderEndTheTable: a row that cannot be read is counted, a broken disk is an error.
func TestFaultsOfAFinderEndTheTable(t *testing.T) {
	t.Parallel()
	var asked string
	out, err := run(t, tables(&asked), "enrich-table", `{"table":"lon,lat\n200,0\nx,0\n1,0\n"}`)
	if err != nil {
		t.Fatal(err)
	}
	if got := written(t, out["report"]); got != `{"rows":3,"matched":1,"unmatched":0,"errors":2,"restoredCodes":0}` {
		t.Errorf("report %s", got)
	}
	if out, err = run(t, tables(&asked), "enrich-table", `{"table":"code\n1\nerror\n","code":"code"}`); err != nil {
		t.Fatal(err)
	}
	if err := out["table"].Write(t.Context(), io.Discard); err == nil || !strings.Contains(err.Error(), "disk") {
		t.Errorf("a broken disk: %v", err)
	}
}

func TestAPointIsLookedUpAsItWasSent(t *testing.T) {
	t.Parallel()
	env := municipalities().env()
	var got url.Values
	env.Lookup = func(_ context.Context, q url.Values) (json.RawMessage, error) {
		got = q
		return json.RawMessage(`{"type":"FeatureCollection"}`), nil
	}
	out, err := run(t, env, "locate-point", `{"lon":10.750000000000001,"lat":6e1,"collections":"a,b"}`)
	if err != nil || got.Encode() != "collections=a%2Cb&lat=6e1&lon=10.750000000000001" {
		t.Errorf("%s, %v", got.Encode(), err)
	}
	if o := out["divisions"]; written(t, o) != `{"type":"FeatureCollection"}` || o.Media != "application/geo+json" {
		t.Errorf("%+v", o)
	}
	for inputs, want := range map[string]string{`{"lon":10}`: "/inputs/lat: the input is missing",
		`{"lon":"10","lat":60}`: "/inputs/lon: send a number"} {
		if _, err := run(t, env, "locate-point", inputs); !strings.HasPrefix(faults(err), want) {
			t.Errorf("%s: %v", inputs, err)
		}
	}
}

// TestASeriesIsOfTheDivisionsOfOneDay: five municipalities became Ålesund, 1507, on 2020-01-01.
func TestASeriesIsOfTheDivisionsOfOneDay(t *testing.T) {
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
	const five = `code,date,value\n1504,2019-01-01,48000\n1523,2019-01-01,2300\n1529,2019-01-01,4700\n` +
		`1546,2019-01-01,1200\n1534,2019-01-01,9300\n`
	out, err := run(t, env, "harmonise-series", `{"table":"`+five+`","to":"2020-01-01"}`)
	if err != nil {
		t.Fatal(err)
	}
	table := written(t, out["table"])
	line := ""
	for l := range strings.Lines(table) {
		if strings.HasPrefix(l, "1507,") {
			line = l
		}
	}
	if !strings.Contains(line, ",65500,") || !strings.Contains(line, "exact") {
		t.Errorf("Ålesund is %q in\n%.300s", line, table)
	}
	for _, x := range []struct{ name, inputs, want string }{
		{"no such column", `"table":"a,b\n1,2\n","to":"2020-01-01"`, "/inputs/table: "},
		{"a value that is no number", `"table":"code,date,value\n0301,2019-01-01,many\n","to":"2020-01-01"`,
			"/inputs/table: "},
		{"no such day", `"table":"` + five + `","to":"2020-02-30"`, "/inputs/to: send a date"},
		{"own weights without a table", `"table":"` + five + `","to":"2020-01-01","weights":"supplied"`,
			"/inputs/weightsTable: weights supplied and a table of weights go together"},
		{"a table of weights that are not used", `"table":"` + five + `","to":"2020-01-01",` +
			`"weightsTable":"code,weight\n0301,1\n"`,
			"/inputs/weightsTable: weights supplied and a table of weights go together"},
		{"weights that are none", `"table":"` + five + `","to":"2020-01-01","weights":"supplied",` +
			`"weightsTable":"code,weight\n0301,-1\n"`, "/inputs/weightsTable: "},
	} {
		_, err := run(t, env, "harmonise-series", `{`+x.inputs+`}`)
		if got := faults(err); err == nil || !strings.HasPrefix(got, x.want) {
			t.Errorf("%s: %q, want %q (%v)", x.name, got, x.want, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	p, _ := process.NewRegistry(process.Standard()...).Find("harmonise-series")
	d := p.Describe(env.Catalog, "en")
	r, err := process.Read([]byte(`{"inputs":{"table":"`+five+`","to":"2020-01-01"}}`), p, d)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Execute(ctx, env, r.Inputs); !errors.Is(err, context.Canceled) {
		t.Errorf("after the client has gone: %v", err)
	}
}
