package postgis_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"grense/internal/cql2"
	"grense/internal/store"
	"grense/internal/store/postgis"
)

const periods = `CREATE TABLE vedtak (id INT PRIMARY KEY, gyldig DATERANGE, laget TIMESTAMPTZ);
	INSERT INTO vedtak (id, gyldig) VALUES (1, '[2020-01-01,2021-01-01)'), (2, '[2021-01-01,2021-12-31]'), (3, '[2021-06-01,)'), (4, 'empty'), (5, NULL), (6, '[2022-01-01,infinity)'),
		(7, '(2019-12-31,2020-01-02)');
	CREATE TABLE maaling (id INT PRIMARY KEY, stund TSTZRANGE, lokal TSRANGE);
	INSERT INTO maaling VALUES (1, '[2020-01-01 00:00Z,2020-01-02 00:00Z)', '(2020-01-01 00:00,2020-01-02 00:00]'), (2, '(2020-01-02 00:00Z,2020-01-03 00:00Z]', '[2020-01-02,)'), (3, 'empty', NULL),
		(4, '(,2020-01-01 00:00Z)', '(,)'), (5, NULL, 'empty'), (6, '[-infinity,2019-01-01 00:00Z]', '[2019-01-01,12020-01-01)')`

func TestRangeColumnsAreTheIntervalOfFeatures(t *testing.T) {
	t.Parallel()
	s := openStore(t, base(t, periods),
		postgis.Options{Settings: map[string]store.Settings{"maaling": {IntervalStart: "stund"}}})
	vedtak, _ := s.Catalog().Collection("vedtak")
	maaling, _ := s.Catalog().Collection("maaling")
	if vedtak.IntervalStart != "gyldig_start" || vedtak.IntervalEnd != "gyldig_end" || vedtak.Instant != "" ||
		vedtak.Times != nil || strings.Join(vedtak.Names(), " ") != "id gyldig_start gyldig_end laget" {
		t.Errorf("%q to %q, %q, %q, properties %q", vedtak.IntervalStart, vedtak.IntervalEnd, vedtak.Instant,
			vedtak.Times, vedtak.Names())
	}
	if maaling.IntervalStart != "stund_start" || maaling.IntervalEnd != "stund_end" ||
		strings.Join(maaling.Names(), " ") != "id stund_start stund_end lokal_start lokal_end" {
		t.Errorf("%q to %q, properties %q", maaling.IntervalStart, maaling.IntervalEnd, maaling.Names())
	}
	for id, want := range map[string]string{"1": "2020-01-01 2020-12-31", "2": "2021-01-01 2021-12-31",
		"3": "2021-06-01 <nil>", "4": "<nil> <nil>", "5": "<nil> <nil>", "6": "2022-01-01 <nil>",
		"7": "2020-01-01 2020-01-01"} {
		if v := values(t, s, "vedtak", id); fmt.Sprint(v["gyldig_start"], " ", v["gyldig_end"]) != want {
			t.Errorf("%s: %v", id, v)
		}
	}
	for id, want := range map[string]string{
		"1": "2020-01-01T00:00:00Z 2020-01-01T23:59:59.999999Z 2020-01-01T00:00:00.000001Z 2020-01-02T00:00:00Z",
		"2": "2020-01-02T00:00:00.000001Z 2020-01-03T00:00:00Z 2020-01-02T00:00:00Z <nil>",
		"3": "<nil> <nil> <nil> <nil>", "4": "<nil> 2019-12-31T23:59:59.999999Z <nil> <nil>",
		"5": "<nil> <nil> <nil> <nil>", "6": "<nil> 2019-01-01T00:00:00Z 2019-01-01T00:00:00Z <nil>",
	} {
		v := values(t, s, "maaling", id)
		if fmt.Sprint(v["stund_start"], " ", v["stund_end"], " ", v["lokal_start"], " ", v["lokal_end"]) != want {
			t.Errorf("%s: %v", id, v)
		}
	}
	for _, c := range []struct{ collection, datetime, want string }{
		{"vedtak", "2020-12-31", "1 5"}, {"vedtak", "2021-01-01", "2 5"}, {"vedtak", "2020-12-31/2021-01-01", "1 2 5"},
		{"vedtak", "2019-12-31", "5"}, {"vedtak", "../2020-01-01", "1 5 7"},
		{"vedtak", "2022-01-01/..", "3 5 6"}, {"vedtak", "0001-01-01/9999-12-31", "1 2 3 5 6 7"},
		{"maaling", "2020-01-02T00:00:00Z", "5"}, {"maaling", "2020-01-01T00:00:00Z", "1 5"},
		{"maaling", "2020-01-03T00:00:00Z", "2 5"}, {"maaling", "../2018-12-31T00:00:00Z", "4 5 6"},
		{"maaling", "2020-01-02", "2 5"},
	} {
		coll, _ := s.Catalog().Collection(c.collection)
		from, to, err := cql2.ParseInterval(c.datetime, time.UTC)
		if err != nil {
			t.Fatal(err)
		}
		e, ok := coll.IsDuring(from, to)
		if e, err = cql2.Check(e, coll); err != nil || !ok {
			t.Fatal(err)
		}
		if got := ids(page(t, s, store.Query{Collection: c.collection, Filter: e, Limit: 10})); got != c.want {
			t.Errorf("%s %s finds %q, want %q", c.collection, c.datetime, got, c.want)
		}
	}
	for text, want := range map[string]string{
		"T_INTERSECTS(INTERVAL(gyldig_start,gyldig_end),INTERVAL('2020-12-31','2021-01-01'))": "1 2",
		"T_AFTER(gyldig_start,DATE('2021-01-01'))":                                            "3 6",
		"gyldig_end = DATE('2020-12-31')":                                                     "1",
		"gyldig_end IS NULL":                                                                  "3 4 5 6",
		"gyldig_start > DATE('2020-01-01') AND NOT gyldig_end IS NULL":                        "2",
		"T_DURING(INTERVAL(gyldig_start,gyldig_end),INTERVAL('2020-12-31','2022-01-01'))":     "2",
	} {
		if got := ids(page(t, s, store.Query{Collection: "vedtak", Filter: parsed(t, vedtak, text), Limit: 10})); got !=
			want {
			t.Errorf("%s finds %q, want %q", text, got, want)
		}
	}
	if got := ids(page(t, s, store.Query{Collection: "vedtak",
		SortBy: []store.Sort{{Property: "gyldig_start", Desc: true}}, Limit: 10})); got != "6 3 2 1 7 4 5" {
		t.Errorf("sorted by start: %q", got)
	}
	day := func(c *store.Collection) (out [2]string) {
		for i, at := range c.Temporal {
			if at != nil {
				out[i] = at.Format(time.RFC3339)
			}
		}
		return out
	}
	if got := day(vedtak); got != [2]string{"2020-01-01T00:00:00Z", ""} {
		t.Errorf("extent %q", got)
	}
	if got := day(maaling); got != [2]string{"", "2020-01-03T00:00:00Z"} {
		t.Errorf("extent %q", got)
	}
}

func TestOneRangeColumnOfSeveralIsTheInterval(t *testing.T) {
	t.Parallel()
	url := base(t,
		`CREATE TABLE t (id INT PRIMARY KEY, a DATERANGE, b TSRANGE, a_end TEXT); INSERT INTO t VALUES (1, '[2020-01-01,2020-02-01)', NULL, 'x');
		CREATE TABLE tom (id INT PRIMARY KEY, a DATERANGE); INSERT INTO tom VALUES (1, 'empty')`)
	s := openStore(t, url, postgis.Options{})
	c, _ := s.Catalog().Collection("t")
	if got := strings.Join(c.Names(), " "); got != "id a_start a_end_2 b_start b_end a_end" ||
		c.IntervalStart != "a_start" || c.IntervalEnd != "a_end_2" {
		t.Errorf("%q, %q to %q", got, c.IntervalStart, c.IntervalEnd)
	}
	if v := values(t, s, "t", "1"); v["a_end"] != "x" || v["a_end_2"] != "2020-01-31" {
		t.Errorf("%v", v)
	}
	noted := false
	for _, n := range s.Catalog().Notes {
		noted = noted || n.Layer == "t" && strings.Contains(n.Reason, "interval_start")
	}
	if !noted {
		t.Errorf("nobody says how to choose the other range: %+v", s.Catalog().Notes)
	}
	if c, _ = s.Catalog().Collection("tom"); c.Temporal != [2]*time.Time{} {
		t.Errorf("empty ranges have the extent %v", c.Temporal)
	}
	s = openStore(t, url,
		postgis.Options{Settings: map[string]store.Settings{"t": {IntervalStart: "b", HiddenColumns: []string{"a"}}}})
	if c, _ = s.Catalog().Collection("t"); strings.Join(c.Names(), " ") != "id b_start b_end a_end" ||
		c.IntervalEnd != "b_end" {
		t.Errorf("%q, to %q", c.Names(), c.IntervalEnd)
	}
	plan, err := s.Explain(context.Background(),
		store.Query{Collection: "t", Filter: parsed(t, c, "b_start < TIMESTAMP('2020-01-01T00:00:00Z')"), Limit: 1})
	if err != nil || plan.Cost == store.CostIndexed {
		t.Errorf("%+v, %v", plan, err)
	}
}
