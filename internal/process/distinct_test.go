package process_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"grense/internal/cql2"
	"grense/internal/process"
	"grense/internal/store"
)

// TestDistinctValuesKeepTheirType, and are in the order of the property; null is no value.
func TestDistinctValuesKeepTheirType(t *testing.T) {
	t.Parallel()
	s := island()
	for _, x := range []struct{ collection, queryable, want string }{
		{"kommuner", "navn", `["A` + "\u030a" + `s","Tvers","Våler","Ås"]`}, // by code point; no form is another
		{"kommuner", "samisk", `["Oslove","Rasta"]`},
		{"kommuner", "folk", `[-7,0,5]`},
		{"steder", "kommune", `["0301","0302","0303","1101"]`},
		{"tall", "verdi", `[-1e+300,0.5,2]`},
		{"tall", "ja", `[false,true]`},
		{"tall", "dag", `["2024-02-29","2024-03-01"]`},
	} {
		out, err := run(t, s.env(), "get-distinct-values",
			`{"resource_name":"`+x.collection+`","queryable":"`+x.queryable+`"}`)
		if err != nil {
			t.Errorf("%s of %s: %v", x.queryable, x.collection, err)
		} else if got := written(t, out["values"]); got != `{"id":"values","value":`+x.want+`}` {
			t.Errorf("%s of %s: %s, want %s", x.queryable, x.collection, got, x.want)
		}
	}
	for _, x := range []struct{ collection, queryable, want string }{
		{"tall", "liste", "/inputs/queryable: use one of fylke_kode, verdi, ja, dag"},
		{"steder", "punkt", "/inputs/queryable: use one of navn, FylkeSnummer, kommune"},
		{"steder", "geometry", "/inputs/queryable: use one of navn, FylkeSnummer, kommune"},
		{"kommuner", "skjult", "/inputs/queryable: use one of nr, navn, samisk, folk"},
		{"kommuner", "", "/inputs/queryable: send at least 1 characters"},
		{"hemmelig", "nr", "/inputs/resource_name: use one of fylker, kommuner, steder, tall"},
		{"Kommuner", "nr", "/inputs/resource_name: use one of fylker, kommuner, steder, tall"},
	} {
		_, err := run(t, s.env(), "get-distinct-values",
			`{"resource_name":"`+x.collection+`","queryable":"`+x.queryable+`"}`)
		if got := faults(err); err == nil || got != x.want {
			t.Errorf("%s of %s: %q, want %q (%v)", x.queryable, x.collection, got, x.want, err)
		}
	}
}

func TestDistinctValuesAreOfTheVersionsOfADay(t *testing.T) {
	t.Parallel()
	for datetime, want := range map[string]string{"": `["Nye","Ås"]`, "2010-01-01": `["Gamle"]`, "1999-12-31": `[]`} {
		in := `{"resource_name":"kommuner","queryable":"navn"}`
		if datetime != "" {
			in = `{"resource_name":"kommuner","queryable":"navn","datetime":"` + datetime + `"}`
		}
		out, err := run(t, versioned(cql2.TypeText).env(), "get-distinct-values", in)
		if err != nil || written(t, out["values"]) != `{"id":"values","value":`+want+`}` {
			t.Errorf("%q: %v, %v, want %s", datetime, out, err, want)
		}
	}
}

// bulk is a snapshot of n features whose only property is their number.
type bulk struct {
	*data
	n int
}

func (b *bulk) Page(ctx context.Context, q store.Query) (*store.Page, error) {
	var from int
	fmt.Sscan(string(q.Cursor), &from)
	p := &store.Page{Matched: -1}
	for i := from; i < min(from+q.Limit, b.n); i++ {
		p.Rows = append(p.Rows, store.Row{ID: fmt.Sprint(i), Rev: 1})
	}
	if from+q.Limit < b.n {
		p.Next = store.Cursor(fmt.Sprint(from + q.Limit))
	}
	return p, ctx.Err()
}

func (b *bulk) Fetch(_ context.Context, _ string, rows []store.Row, want store.Want,
	fn func(*store.Feature) error) error {
	for _, r := range rows {
		f := store.Feature{ID: r.ID}
		for range want.Properties {
			f.Values = append(f.Values, r.ID)
		}
		if err := fn(&f); err != nil {
			return err
		}
	}
	return nil
}

// TestThereAreLimits: of distinct values, and of features and rows that are joined.
func TestThereAreLimits(t *testing.T) {
	t.Parallel()
	of := func(n int) *process.Env {
		b := &bulk{municipalities(), n}
		env := b.env()
		env.Snapshot = func(context.Context) (store.Snapshot, error) { return b, nil }
		return env
	}
	const distinct = `{"resource_name":"kommuner","queryable":"navn"}`
	out, err := run(t, of(100_000), "get-distinct-values", distinct)
	if err != nil || strings.Count(written(t, out["values"]), ",") != 100_000 { // one behind the id
		t.Errorf("100,000 values: %v", err)
	}
	_, err = run(t, of(100_001), "get-distinct-values", distinct)
	if got := faults(err); got != "/inputs/queryable: it has more than 100000 values; choose another one" {
		t.Errorf("more values: %q", got)
	}
	const join = `{"collection_id":"kommuner","table":"code,n\n7,1\n"}`
	if _, err = run(t, of(200_000), "join-table", join); err != nil {
		t.Errorf("200,000 features: %v", err)
	}
	_, err = run(t, of(200_001), "join-table", join)
	if got := faults(err); got != "/inputs/collection_id: it has more than 200000 features" {
		t.Errorf("more features: %q", got)
	}
	var table strings.Builder
	table.WriteString("code,n\\n")
	for i := range 200_001 {
		fmt.Fprintf(&table, "%d,1\\n", i)
	}
	_, err = run(t, of(1), "join-table", `{"collection_id":"kommuner","table":"`+table.String()+`"}`)
	if got := faults(err); got != "/inputs/table: a table has at most 200000 rows" {
		t.Errorf("more rows: %q", got)
	}
	codes := strings.Repeat(`"1",`, 100_000)
	_, err = run(t, of(1), "translate-codes", `{"codes":[`+codes+`"1"],"from":"2024-01-01","to":"2024-01-01"}`)
	if got := faults(err); got != "/inputs/codes: send at most 100000 elements" {
		t.Errorf("more codes: %.100q", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	p, _ := process.NewRegistry(process.Standard()...).Find("get-distinct-values")
	_, err = p.Execute(ctx, of(1000), process.Inputs{"resource_name": "kommuner", "queryable": "navn"})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("after the client has gone: %v", err)
	}
}
