package postgis_test

import (
	"fmt"
	"strings"
	"testing"

	"grense/internal/store"
	"grense/internal/store/postgis"
	"grense/internal/store/storetest"
)

// TestNumbersOfForeignTablesCompareExactly, which may be numeric of any length. Of the indexes some serve.
func TestNumbersOfForeignTablesCompareExactly(t *testing.T) {
	t.Parallel()
	rows := storetest.NumberRows(map[string][]any{"i": storetest.Anys(storetest.EdgeIntegers),
		"d": storetest.Anys(storetest.EdgeDoubles), "n": storetest.Anys(storetest.EdgeDecimals)})
	literal := func(v any) string {
		switch v := v.(type) {
		case nil:
			return "NULL"
		case float64:
			return fmt.Sprintf("'%g'", v)
		}
		return fmt.Sprintf("'%v'", v)
	}
	var list []string
	for _, r := range rows {
		list = append(list, fmt.Sprintf("(%d, %s, %s, %s)", r.ID, literal(r.Values["i"]), literal(r.Values["d"]),
			literal(r.Values["n"])))
	}
	s := openStore(t, base(t,
		"CREATE TABLE tall (id INT PRIMARY KEY, i BIGINT, d FLOAT8, n NUMERIC); INSERT INTO tall VALUES "+
			strings.Join(list,
				", ")+
			"; CREATE INDEX ON tall (i); CREATE INDEX ON tall (n)"), postgis.Options{})
	storetest.ExerciseNumbers(t, s, "tall", rows)
}

func TestNumericColumnsAreSortedByTheirDigits(t *testing.T) {
	t.Parallel()
	s := openStore(t, base(t, `CREATE TABLE mini (id INT PRIMARY KEY, n NUMERIC);
		INSERT INTO mini VALUES (1, 12345678901234567891), (2, 12345678901234567892), (3, 'NaN'), (4, repeat('9',
			300)::numeric), (5, ('0.' || repeat('1', 3000))::numeric), (6, ('0.' || repeat('1', 2999) || '2')::numeric), (7,
			NULL)`),
		postgis.Options{})
	for order, want := range map[string]string{"n": "5 6 1 2 4 3 7", "-n": "4 2 1 6 5 3 7"} {
		by := []store.Sort{{Property: "n", Desc: strings.HasPrefix(order, "-")}}
		q := store.Query{Collection: "mini", SortBy: by, Limit: 1}
		var got []string
		for {
			p := page(t, s, q)
			got = append(got, ids(p))
			if q.Cursor = p.Next; q.Cursor == "" {
				break
			}
			if len(q.Cursor) > 4096 {
				t.Fatalf("a cursor of %d bytes", len(q.Cursor))
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("by %s: %v, want %s", order, got, want)
		}
	}
	c, _ := s.Catalog().Collection("mini")
	for filter, want := range map[string]string{"n = 12345678901234567891": "1", "n > 12345678901234567891": "2 4",
		"n < 0.2": "5 6", "n IN (12345678901234567892, 4)": "2"} {
		e := parsed(t, c, filter)
		if got := ids(page(t, s, store.Query{Collection: "mini", Filter: e, Limit: 10})); got != want {
			t.Errorf("%s: %s, want %s", filter, got, want)
		}
	}
}
