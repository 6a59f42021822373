package postgis_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"grense/internal/cql2"
	"grense/internal/cql2/fold"
	"grense/internal/demo"
	"grense/internal/register"
	"grense/internal/store"
	"grense/internal/store/gpkg"
	"grense/internal/store/postgis"
	"grense/internal/store/storetest"
)

// TestRegisterIsTheSameInBothStores writes the demo and a register into both and compares every collection and value.
func TestRegisterIsTheSameInBothStores(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long: the run without the race detector has it")
	}
	sameRegister(t, cluster.Database(t))
}

// TestRegisterIsTheSameWithoutTrigrams is that by a role to which the database refuses the extension.
func TestRegisterIsTheSameWithoutTrigrams(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long: the run without the race detector has it")
	}
	url := cluster.Database(t)
	role, asRole := storetest.Role(t, url, "")
	run(t, url, "CREATE SCHEMA grense AUTHORIZATION "+role)
	sameRegister(t, asRole)
	if found := storetest.Lines(t, url, "SELECT extname::text FROM pg_extension WHERE extname = 'pg_trgm' UNION ALL "+
		"SELECT indexname::text FROM pg_indexes WHERE indexname LIKE '%_gram'"); len(found) > 0 {
		t.Errorf("the role has got %v", found)
	}
}

// sameRegister compares the file with the database at url, in which the store is opened as it was written.
func sameRegister(t *testing.T, url string) {
	t.Helper()
	ctx := context.Background()
	write := func(w store.Writer) {
		if err := demo.Write(ctx, w); err != nil {
			t.Fatal(err)
		}
		if err := register.Generate(ctx, w, register.Options{Places: 300, Seed: 3}); err != nil {
			t.Fatal(err)
		}
	}
	create(t, url, write)
	create(t, url, func(w store.Writer) { // again, in place of the first
		if err := register.Generate(ctx, w, register.Options{Places: 300, Seed: 3}); err != nil {
			t.Fatal(err)
		}
	})
	path := filepath.Join(t.TempDir(), "data.gpkg")
	storetest.Write(t, write)(gpkg.Create(ctx, path))
	file := storetest.Opened[*gpkg.Store](t)(gpkg.Open(ctx, path, gpkg.Options{DataDir: t.TempDir()}))
	base := openStore(t, url, postgis.Options{})
	if n := base.Catalog().Notes; len(n) > 0 {
		t.Errorf("notes %+v", n)
	}
	if a, b := len(file.Catalog().Collections), len(base.Catalog().Collections); a != b {
		t.Errorf("%d collections in the file, %d in the database", a, b)
	}
	sameWords(t, file, base)
	allOrNone(t, file, base)
	for _, c := range file.Catalog().Collections {
		got, ok := base.Catalog().Collection(c.ID)
		if !ok {
			t.Errorf("no collection %q", c.ID)
			continue
		}
		if got.Count != c.Count || !reflect.DeepEqual(got.Extent, c.Extent) {
			t.Errorf("%s: %d features in %v, want %d in %v", c.ID, got.Count, got.Extent, c.Count, c.Extent)
		}
		// a file without a null of a column says so, whatever the column may hold
		asDeclared := slices.Clone(c.Properties)
		for i := range min(len(asDeclared), len(got.Properties)) {
			asDeclared[i].NotNull = asDeclared[i].NotNull && got.Properties[i].NotNull
		}
		for _, x := range [][2]any{{got.Properties, asDeclared}, {got.Relations, c.Relations}} {
			if a, b := fmt.Sprintf("%+v", x[0]), fmt.Sprintf("%+v", x[1]); a != b { // an empty list is no list
				i := 0
				for i < min(len(a), len(b)) && a[i] == b[i] {
					i++
				}
				t.Errorf("%s: properties or relations differ:\n got ...%.200s\nwant ...%.200s", c.ID, a[max(0, i-60):],
					b[max(0, i-60):])
			}
		}
		if !reflect.DeepEqual(got.Temporal, c.Temporal) {
			t.Errorf("%s: time from %v to %v, want %v to %v", c.ID, got.Temporal[0], got.Temporal[1], c.Temporal[0],
				c.Temporal[1])
		}
		if a, b := everything(t, file, c), everything(t, base, c); !reflect.DeepEqual(a, b) {
			for i := range a {
				if i >= len(b) || !reflect.DeepEqual(a[i], b[i]) {
					t.Errorf("%s: feature %d of %d: %v, want %v", c.ID, i, len(b), b[min(i, len(b)-1)], a[i])
					break
				}
			}
		}
	}
}

// allOrNone asks for all matches where there are as many as the limit, and one more.
func allOrNone(t *testing.T, file, base store.Store) {
	t.Helper()
	q := store.Query{Collection: "sted", SortBy: []store.Sort{{Property: "rang"}}}
	q.Filter = cql2.Compare{Op: cql2.Eq, L: cql2.Prop{Name: "navneobjekttype"}, R: cql2.Text("fylke")}
	page := q
	page.Limit = 1000
	want, err := file.Page(context.Background(), page)
	if err != nil || len(want.Rows) < 2 {
		t.Fatalf("%d places of the type: %v", len(want.Rows), err)
	}
	for _, less := range []int{0, 1} {
		q.Limit = len(want.Rows) - less
		got, err := base.All(context.Background(), store.AllQuery{Query: q})
		if err != nil {
			t.Fatal(err)
		}
		if less == 0 && ids(&store.Page{Rows: got.Rows}) != ids(want) || got.More != (less == 1) {
			t.Errorf("a limit of %d for %d places: %d, more %v", q.Limit, len(want.Rows), len(got.Rows), got.More)
		}
	}
}

// sameWords searches the names of both stores for words and folded texts, and compares what comes,
// in which order, and how many there are.
func sameWords(t *testing.T, file, base store.Store) {
	t.Helper()
	for _, x := range []struct{ collection, property string }{{"sted", "visningsnavn"}, {"stedsnavn", "stedsnavn"}} {
		c, ok := file.Catalog().Collection(x.collection)
		if !ok {
			t.Fatalf("no collection %q", x.collection)
		}
		at := slices.IndexFunc(c.Properties, func(p store.Property) bool { return p.Name == x.property })
		rng := rand.New(rand.NewPCG(1, 2))
		for i, row := range everything(t, file, c) {
			if i%7 > 0 {
				continue
			}
			name := row[2+at].(string)
			runes := []rune(name)
			part := string(runes[:1+rng.IntN(len(runes))])
			casei := func(e cql2.Expr) cql2.Expr { return cql2.Func{Name: "casei", Args: []cql2.Expr{e}} }
			like := cql2.Like{X: casei(cql2.Prop{Name: x.property}),
				Pattern: casei(cql2.Text("%" + strings.ToUpper(part[len(part)/2:]) + "%"))}
			if !utf8.ValidString(part[len(part)/2:]) {
				like.Pattern = cql2.Text(fold.CaseI(part) + "%")
			}
			words := cql2.Search{Props: c.SearchNames(), Terms: []string{cql2.Words(part)}}
			if i%2 == 0 {
				words.Terms = append(words.Terms, cql2.Words(name))
			}
			for _, q := range []store.Query{{Filter: words, Rank: &words, Limit: 20},
				{Filter: words, Limit: 5, Offset: 1}, {Filter: cql2.Not{X: words}, Limit: 5}, {Filter: like, Limit: 5},
				{Filter: cql2.Not{X: like}, Limit: 5}} {
				q.Collection = c.ID
				var err error
				if q.Filter, err = cql2.Check(q.Filter, c); err != nil {
					t.Fatal(err)
				}
				want, err := file.Page(context.Background(), q)
				if err != nil {
					t.Fatal(err)
				}
				got, err := base.Page(context.Background(), q)
				if err != nil {
					t.Fatal(err)
				}
				if ids(got) != ids(want) || got.Matched != want.Matched {
					t.Errorf("%s %v: %d in the database, %s; want %d, %s", c.ID, q.Filter, got.Matched, ids(got),
						want.Matched, ids(want))
				}
			}
		}
	}
}

// everything returns ids, all values and geometries of a collection by id.
func everything(t *testing.T, s store.Store, c *store.Collection) (all [][]any) {
	t.Helper()
	p, err := s.Page(context.Background(), store.Query{Collection: c.ID, Limit: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	var ids, names []string
	for _, r := range p.Rows {
		ids = append(ids, r.ID)
	}
	for _, x := range c.Properties {
		names = append(names, x.Name)
	}
	err = s.Fetch(context.Background(), c.ID, store.Current(ids...), store.Want{Properties: names},
		func(f *store.Feature) error {
			g, err := f.Geometry.Orb()
			all = append(all, append([]any{f.ID, g}, f.Values...))
			return err
		})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestRegistersOfAnOlderFoldAreRefused: names would not be found as they are folded now.
func TestRegistersOfAnOlderFoldAreRefused(t *testing.T) {
	t.Parallel()
	url := cluster.Database(t)
	create(t, url, func(w store.Writer) {
		if err := register.Generate(context.Background(), w, register.Options{Places: 50, Seed: 3}); err != nil {
			t.Fatal(err)
		}
	})
	run(t, url, `UPDATE grense.collection SET definition = replace(definition::text, '"Fold":"`+fold.NormVersion+
		`"', '"Fold":""')::json`)
	s := openStore(t, url, postgis.Options{})
	if _, ok := s.Catalog().Collection("skrivemaate"); ok {
		t.Error("spellings of an older fold are served")
	}
	if !slices.ContainsFunc(s.Catalog().Notes, func(n store.Note) bool {
		return n.Refused && strings.Contains(n.Reason, "grense register upgrade")
	}) {
		t.Errorf("no note tells the cure: %+v", s.Catalog().Notes)
	}
}
