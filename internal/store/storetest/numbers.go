package storetest

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"grense/internal/cql2"
	"grense/internal/geo/crs"
	"grense/internal/sharedtest"
	"grense/internal/store"
)

// EdgeNumbers are numbers at the limits of integers, doubles and decimals.
var (
	EdgeIntegers = []int64{0, 1, -1, 7, 1<<53 - 1, 1 << 53, 1<<53 + 1, -1<<53 - 1, 1 << 56, 72057594037927940,
		math.MaxInt64, math.MaxInt64 - 1, math.MinInt64, math.MinInt64 + 1}
	EdgeDoubles = []float64{0, 0.1, -0.1, 1, 1.5, 1 << 53, 1<<53 + 2, 1 << 56, 0x1p63, -0x1p63, 0x1p64,
		1.2345678901234567e19, 1e300, -1e300, 5e-324, math.MaxFloat64, 0.30000000000000004}
	EdgeDecimals = []cql2.Decimal{"0", "0.1", "0.10000000000000000555", "1", "1.50", "9007199254740993",
		"9007199254740992.5", "9223372036854775807", "9223372036854775808",
		"12345678901234567891", "12345678901234567892", "-12345678901234567891.0000000001", "18446744073709551616",
		"0.30000000000000000001"}
)

// edgeLiterals are numbers as clients write them.
var edgeLiterals = []string{"0", "-0.0", "1", "1.0", "1.5", "0.1", "0.10000000000000000555",
	"0.1000000000000000055511151231257827", "0.30000000000000004", "0.3", "7",
	"9007199254740991", "9007199254740992", "9007199254740992.0", "9007199254740992.5", "9007199254740993",
	"9007199254740993.0", "9007199254740994", "-9007199254740993",
	"72057594037927936", "72057594037927940", "72057594037927940.0", "9223372036854775806.5", "9223372036854775807",
	"9223372036854775807.5", "9223372036854775808",
	"9223372036854776000", "-9223372036854775808", "-9223372036854775808.5", "-9223372036854775809",
	"12345678901234567000", "12345678901234567168", "12345678901234567891", "12345678901234567892",
	"18446744073709551616",
	"18446744073709552000", "1e300", "1.0000000000000000001e300", "-1e300", "1.7976931348623157e308", "5e-324",
	"4.9406564584124654e-324", "1.00000000000000000001"}

// NumberRow is a feature with an integer id, and the values of its properties in the types of cql2.Record.
type NumberRow struct {
	ID     int64
	Values map[string]any
}

func (r NumberRow) Value(name string) (any, error)              { return r.Values[name], nil }
func (r NumberRow) Geometry(string) ([]byte, crs.ID, error)     { return nil, 0, nil }
func (r NumberRow) Rows(relation string) ([]cql2.Record, error) { return nil, nil }
func (r NumberRow) compare(o NumberRow, by []store.Sort) (c int) {
	for _, k := range by {
		a, b := exact(r.Values[k.Property]), exact(o.Values[k.Property])
		switch {
		case a == nil || b == nil:
			c = cmp.Compare(rank(a), rank(b))
		default:
			if c, _ = cql2.CompareValues(a, b); k.Desc {
				c = -c
			}
		}
		if c != 0 {
			return c
		}
	}
	return cmp.Compare(r.ID, o.ID)
}

func exact(v any) any {
	if d, ok := v.(cql2.Decimal); ok {
		return cql2.ExactNumberOf(d)
	}
	return v
}

// NumberRows returns rows with every edge value of each column, and nulls, in random combinations.
func NumberRows(columns map[string][]any) []NumberRow {
	r := rand.New(rand.NewPCG(3, 7))
	rows := make([]NumberRow, 60)
	for i := range rows {
		rows[i] = NumberRow{int64(i + 1), map[string]any{}}
	}
	for _, name := range slices.Sorted(maps.Keys(columns)) {
		list := columns[name]
		for i, at := range r.Perm(len(rows)) {
			if rows[at].Values[name] = nil; i < 2*len(list) {
				rows[at].Values[name] = list[i%len(list)]
			}
		}
	}
	return rows
}

// Anys returns a list as values of any type.
func Anys[T any](list []T) []any {
	out := make([]any, len(list))
	for i, v := range list {
		out[i] = v
	}
	return out
}

// ExerciseNumbers runs 1,000 random comparisons of numbers on a collection with those rows, and sorts by each property.
// Matches equal those of cql2.Eval, and values are served with all digits. make soak runs more, with a new seed.
func ExerciseNumbers(t *testing.T, s store.Store, collection string, rows []NumberRow) {
	t.Helper()
	c := find(t, s, collection)
	names := slices.Sorted(maps.Keys(rows[0].Values))
	served(t, s, c, rows, names)
	n, seed := 1000, uint64(11)
	if sharedtest.Soak(t) > 0 {
		n, seed = sharedtest.Rounds(t, n), rand.Uint64()
	}
	t.Logf("seed %d", seed)
	g := numberFilters{rand.New(rand.NewPCG(seed, 1)), names}
	for range n {
		text := g.filter(2)
		e, err := cql2.ParseText(text)
		if err == nil {
			e, err = cql2.Check(e, c)
		}
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		m := cql2.NewMatcher(e)
		by := g.order()
		var want []NumberRow
		for _, r := range rows {
			if v, err := m.Eval(r); err != nil {
				t.Fatalf("%s: %v", text, err)
			} else if v == cql2.True {
				want = append(want, r)
			}
		}
		slices.SortFunc(want, func(a, b NumberRow) int { return a.compare(b, by) })
		var list []string
		for _, r := range want {
			list = append(list, strconv.FormatInt(r.ID, 10))
		}
		q := store.Query{Collection: collection, Filter: e, SortBy: by, Limit: 1000}
		if same(t, text, idsOf(page(t, s, q)), list); t.Failed() {
			t.Fatalf("filter %s, order %v", text, by)
		}
	}
	for _, n := range names {
		for _, desc := range []bool{false, true} {
			by := []store.Sort{{Property: n, Desc: desc}}
			var list []string
			for _, r := range slices.SortedFunc(slices.Values(rows), func(a, b NumberRow) int {
				return a.compare(b, by)
			}) {
				list = append(list, strconv.FormatInt(r.ID, 10))
			}
			for _, limit := range []int{1, 7} {
				crawl(t, s, store.Query{Collection: collection, SortBy: by, Limit: limit}, list)
			}
		}
	}
}

// served compares the values of features with those of rows, digit by digit.
func served(t *testing.T, s store.Store, c *store.Collection, rows []NumberRow, names []string) {
	t.Helper()
	i := 0
	var ids []string
	for _, r := range rows {
		ids = append(ids, strconv.FormatInt(r.ID, 10))
	}
	err := s.Fetch(context.Background(), c.ID, store.Current(ids...), store.Want{Properties: names},
		func(f *store.Feature) error {
			for j, n := range names {
				if got, want := printedNumber(f.Values[j]), printedNumber(rows[i].Values[n]); got != want {
					t.Errorf("%s of row %d is %s, want %s", n, rows[i].ID, got, want)
				}
			}
			i++
			return nil
		})
	if err != nil || i != len(rows) {
		t.Fatalf("%d rows: %v", i, err)
	}
}

func printedNumber(v any) string {
	switch v := v.(type) {
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case cql2.Decimal:
		return cql2.ExactNumberOf(v).String()
	}
	return fmt.Sprint(v)
}

// numberFilters builds random filters.
type numberFilters struct {
	r     *rand.Rand
	names []string
}

func (g numberFilters) operand() string {
	switch g.r.IntN(16) {
	case 0, 1:
		return pick(g.r, g.names...)
	case 2:
		return g.computed()
	}
	return pick(g.r, edgeLiterals...)
}

// computed returns arithmetic, or a function, of properties and literals.
func (g numberFilters) computed() string {
	x, y := pick(g.r, g.names...), pick(g.r, append(g.names, edgeLiterals...)...)
	if g.r.IntN(3) == 0 {
		return pick(g.r, "abs", "ceil", "floor") + "(" + x + ")"
	}
	if g.r.IntN(2) == 0 {
		x, y = y, x
	}
	return x + pick(g.r, " + ", " - ", " * ", " / ", " div ", " % ", " ^ ") + y
}

func (g numberFilters) filter(depth int) string {
	if depth > 0 && g.r.IntN(4) == 0 {
		a, b := g.filter(depth-1), g.filter(depth-1)
		return pick(g.r, "NOT ("+a+")", "("+a+") AND ("+b+")", "("+a+") OR ("+b+")", "NOT (("+a+") OR ("+b+"))")
	}
	x := pick(g.r, g.names...)
	if g.r.IntN(8) == 0 {
		x = g.computed()
	}
	switch g.r.IntN(8) {
	case 0:
		return x + " BETWEEN " + g.operand() + " AND " + g.operand()
	case 1:
		return x + " NOT BETWEEN " + g.operand() + " AND " + g.operand()
	case 2:
		var list []string
		for range 1 + g.r.IntN(4) {
			list = append(list, g.operand())
		}
		return x + pick(g.r, " IN (", " NOT IN (") + strings.Join(list, ", ") + ")"
	case 3:
		return g.operand() + pick(g.r, " = ", " < ", " <= ", " > ", " >= ", " <> ") + x
	case 4:
		return g.operand() + " BETWEEN " + x + " AND " + g.operand()
	}
	return x + pick(g.r, " = ", " < ", " <= ", " > ", " >= ", " <> ") + g.operand()
}

func (g numberFilters) order() (by []store.Sort) {
	for range g.r.IntN(3) {
		by = append(by, store.Sort{Property: pick(g.r, g.names...), Desc: g.r.IntN(2) == 0})
	}
	return by
}

// exerciseNumbers is ExerciseNumbers for a collection that a Writer wrote.
func exerciseNumbers(t *testing.T, open Opener) {
	c := &store.Collection{ID: "tall", Table: "tall", Public: true, Key: store.FeatureKey{Column: "nr",
		Type: cql2.TypeInteger},
		Properties: []store.Property{prop("hele", cql2.TypeInteger), prop("desimal", cql2.TypeNumber)}}
	rows := NumberRows(map[string][]any{"hele": Anys(EdgeIntegers), "desimal": Anys(EdgeDoubles)})
	s := open(t, func(w store.Writer) {
		insert, err := define(t, w, c)
		for _, r := range rows {
			if err == nil {
				err = insert(r.ID, r.Values["hele"], r.Values["desimal"])
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	})
	ExerciseNumbers(t, s, c.ID, rows)
}
