package postgis_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"grense/internal/cql2"
	"grense/internal/geo/crs"
	"grense/internal/store"
	"grense/internal/store/postgis"
)

const measured = `CREATE TABLE maalt (id INT PRIMARY KEY, dag DATE, stund TIMESTAMPTZ, lokal TIMESTAMP, tall FLOAT8, liten FLOAT4, mengde NUMERIC);
	INSERT INTO maalt SELECT i, DATE '2000-01-01' + i, TIMESTAMPTZ '2000-01-01 00:00:00Z' + i * INTERVAL '1 hour', TIMESTAMP '2000-01-01' + i * INTERVAL '1 hour', i / 10.0, i / 10.0, i / 10.0
		FROM generate_series(1, 20000) i;
	INSERT INTO maalt VALUES (30001, 'infinity', 'infinity', 'infinity', 'Infinity', 'Infinity', 'NaN'), (30002, '-infinity', '-infinity', '-infinity', '-Infinity', '-Infinity', NULL),
		(30003, NULL, NULL, NULL, 'NaN', 'NaN', '0.10000000000000000001'), (30004, '0044-03-15 BC', '0044-03-15 BC', '0044-03-15 BC', NULL, NULL, '0.09999999999999999999'),
		(30005, '12024-01-01', '12024-01-01', '12024-01-01', 0.1, 0.1, 1e300), (30006, '0001-01-01', '0001-01-01 00:00:00Z', '0001-01-01', -0.0, 1e38, -1e300),
		(30007, '9999-12-31', '9999-12-31 23:59:59.999999Z', '9999-12-31 23:59:59.999999', 5e-324, 1e-45, 0), (30008, '2000-02-01', '2000-02-01', '2000-02-01', 16777217, 16777217, 16777217);
	CREATE INDEX ON maalt (dag); CREATE INDEX ON maalt (stund); CREATE INDEX ON maalt (lokal); CREATE INDEX ON maalt (tall); CREATE INDEX ON maalt (liten); CREATE INDEX ON maalt (mengde); ANALYZE maalt`

// TestComparisonsOfDaysMomentsAndNumbersUseIndexes of tables of others, whose columns may hold what is served as null;
// and the cost says so.
func TestComparisonsOfDaysMomentsAndNumbersUseIndexes(t *testing.T) {
	t.Parallel()
	s := openStore(t, base(t, measured),
		postgis.Options{Settings: map[string]store.Settings{"maalt": {Instant: "stund"}}})
	c, _ := s.Catalog().Collection("maalt")
	for _, text := range []string{"dag = DATE('2001-01-01')", "dag BETWEEN DATE('2001-01-01') AND DATE('2001-01-09')",
		"DATE('2000-01-05') > dag", "stund < TIMESTAMP('2000-01-02T00:00:00Z')",
		"lokal IN (TIMESTAMP('2000-01-02T00:00:00Z'))", "tall = 17.5", "tall < 3 AND id > 4",
		"liten BETWEEN 0.1 AND 0.2", "mengde = 0.1", "mengde > 1999.5 AND mengde < 1999.8", "datetime"} {
		var e cql2.Expr
		if text == "datetime" {
			d, ok := c.During()
			from, to := time.Date(2000, 3, 1, 0, 0, 0, 0, time.UTC), time.Date(2000, 3, 2, 0, 0, 0, 0, time.UTC)
			if d.From, d.To = &from, &to; !ok {
				t.Fatal("no time")
			}
			e = d
		} else {
			e = parsed(t, c, text)
		}
		plan, err := s.Explain(context.Background(), store.Query{Collection: "maalt", Filter: e, Limit: 1_000_000,
			Count: store.CountNone, SortBy: []store.Sort{{Property: "id", Desc: true}}})
		if err != nil {
			t.Fatal(err)
		}
		if steps := strings.Join(plan.Steps, "\n"); plan.Cost != store.CostIndexed ||
			!strings.Contains(steps, "Index Cond") || strings.Contains(steps, "Seq Scan") {
			t.Errorf("%s: cost %v\n%s", text, plan.Cost, steps)
		}
	}
}

// servedRow is a feature as a client gets it.
type servedRow map[string]any

// Value gives numbers of any length with all their digits.
func (r servedRow) Value(name string) (any, error) {
	if n, ok := r[name].(store.JSON); ok {
		return cql2.Decimal(n), nil
	}
	return r[name], nil
}

func (servedRow) Geometry(string) ([]byte, crs.ID, error) { return nil, 0, nil }
func (servedRow) Rows(string) ([]cql2.Record, error)      { return nil, nil }

// TestRangesOfIndexesSelectWhatIsMeant compares random comparisons, also under NOT and IS NULL, with the naive
// evaluation of the values as they are served.
func TestRangesOfIndexesSelectWhatIsMeant(t *testing.T) {
	t.Parallel()
	s := openStore(t, base(t, measured+"; DELETE FROM maalt WHERE id BETWEEN 300 AND 29999"),
		postgis.Options{Settings: map[string]store.Settings{"maalt": {Instant: "dag"}}})
	c, _ := s.Catalog().Collection("maalt")
	all := page(t, s, store.Query{Collection: "maalt", Limit: 10000})
	records := make([]servedRow, len(all.Rows))
	for i, r := range all.Rows {
		records[i] = values(t, s, "maalt", r.ID)
	}
	rng := rand.New(rand.NewPCG(5, 8))
	one := func() string {
		prop := []string{"dag", "stund", "lokal", "tall", "liten", "mengde"}[rng.IntN(6)]
		lit := func() string {
			switch prop {
			case "dag":
				return "DATE('" + []string{"0001-01-01", "9999-12-31", "2000-02-01",
					fmt.Sprintf("2000-0%d-11", 1+rng.IntN(9))}[rng.IntN(4)] + "')"
			case "stund", "lokal":
				return "TIMESTAMP('" + []string{"0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z",
					"2000-02-01T00:00:00Z", fmt.Sprintf("2000-01-%02dT05:00:00Z", 1+rng.IntN(12))}[rng.IntN(4)] + "')"
			}
			return []string{"0.1", "0.10000000149011612", "0", "16777217", "16777216", "5e-324", "1e300", "3.5e38",
				"1.7e308", fmt.Sprint(float64(rng.IntN(300)) / 10), fmt.Sprint(rng.IntN(30))}[rng.IntN(11)]
		}
		switch rng.IntN(5) {
		case 0:
			return prop + " BETWEEN " + lit() + " AND " + lit()
		case 1:
			return prop + " IN (" + lit() + ")"
		case 2:
			return lit() + []string{" = ", " < ", " <= ", " > ", " >= ", " <> "}[rng.IntN(6)] + prop
		}
		return prop + []string{" = ", " < ", " <= ", " > ", " >= ", " <> "}[rng.IntN(6)] + lit()
	}
	for range 400 {
		text := one()
		switch rng.IntN(6) {
		case 0:
			text = "NOT (" + text + ")"
		case 1:
			text = "NOT (NOT (" + text + ") OR " + one() + ")"
		case 2:
			text = "(" + text + " OR " + one() + ") AND NOT (" + one() + " AND " + one() + ")"
		}
		e := parsed(t, c, text)
		var want []string
		for i, r := range all.Rows {
			v, err := cql2.NewMatcher(e).Eval(records[i])
			if err != nil {
				t.Fatal(err)
			}
			if v == cql2.True {
				want = append(want, r.ID)
			}
		}
		var got []string
		for _, r := range page(t, s, store.Query{Collection: "maalt", Filter: e, Limit: 10000}).Rows {
			got = append(got, r.ID)
		}
		if slices.Sort(want); !slices.Equal(slices.Sorted(slices.Values(got)), want) {
			t.Errorf("%s: %d features, want %d: %v, %v", text, len(got), len(want), got, want)
		}
	}
}
