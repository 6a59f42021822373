package storetest

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/paulmach/orb"

	"grense/internal/cql2"
	"grense/internal/geo/crs"
	"grense/internal/store"
)

// sorts are orders with ties and nulls, for every sortable type.
var sorts = [][]store.Sort{
	nil, {{Property: "navn"}}, {{Property: "navn", Desc: true}},
	{{Property: "antall"}, {Property: "areal", Desc: true}}, {{Property: "areal"}},
	{{Property: "aktiv", Desc: true}, {Property: "dag"}}, {{Property: "tid", Desc: true}},
	{{Property: "tid"}, {Property: "skjult"}}, {{Property: "dag", Desc: true}},
}

func exercisePages(t *testing.T, s store.Store, d *dataset) {
	for _, set := range d.sets {
		c := find(t, s, set.c.ID)
		filters := []cql2.Expr{nil, cql2.Compare{Op: cql2.Ge, L: cql2.Prop{Name: "antall"}, R: cql2.Int(0)}}
		if c.Geometry != nil {
			poly := orb.Polygon{{{10, 59}, {12, 59.2}, {11, 61}, {10, 59}}}
			filters = append(filters, cql2.Spatial{Op: cql2.SIntersects, L: cql2.Prop{Name: "geometry"},
				R: cql2.Geom{G: poly, CRS: crs.CRS84}})
		}
		for i, sort := range sorts {
			for j, f := range filters {
				f = checked(t, c, f)
				want := set.filter(t, f, sort)
				for limit := 1; limit <= 40; limit++ {
					if (limit+i+j)%3 != 0 && limit > 3 && i > 0 {
						continue // a third of the limits is enough if the order is not by id
					}
					crawl(t, s, store.Query{Collection: c.ID, Filter: f, SortBy: sort, Limit: limit}, want)
				}
				offsets(t, s, store.Query{Collection: c.ID, Filter: f, SortBy: sort}, want)
			}
		}
	}
}

// exerciseRank pages in the order of rank.
func exerciseRank(t *testing.T, s store.Store, d *dataset) {
	for i, set := range d.sets {
		g := &generator{r: rand.New(rand.NewPCG(11, uint64(i))), set: set}
		c := find(t, s, set.c.ID)
		for n, terms := range [][]string{{"bo"}, {"o"}, {"a", "nord fr"}, {"n"}, g.terms(), g.terms()} {
			for _, props := range [][]string{set.c.SearchNames(), {"navn"}} {
				search := cql2.Search{Props: props, Terms: terms}
				f := checked(t, c,
					cql2.And{search, cql2.Compare{Op: cql2.Le, L: cql2.Prop{Name: "skjult"}, R: cql2.Int(3)}})
				by := []store.Sort(nil)
				if n%2 == 1 {
					by = []store.Sort{{Property: "antall", Desc: true}}
				}
				want := set.filter(t, f, by)
				slices.SortStableFunc(want, func(a, b string) int {
					return set.rank(t, search, a) - set.rank(t, search, b)
				})
				for _, limit := range []int{1, 2, 5, 100} {
					crawl(t, s, store.Query{Collection: c.ID, Filter: f, SortBy: by, Rank: &search, Limit: limit}, want)
				}
				offsets(t, s, store.Query{Collection: c.ID, Filter: f, SortBy: by, Rank: &search}, want)
			}
		}
	}
}

// rank returns the reference rank of a feature in a search.
func (s *set) rank(t *testing.T, search cql2.Search, id string) int {
	t.Helper()
	i := slices.IndexFunc(s.rows, func(f *feature) bool { return f.id == id })
	n, ok, err := search.Rank(s.rows[i])
	if !ok || err != nil {
		t.Fatalf("%s does not match %v: %v", id, search, err)
	}
	return n
}

// crawl pages to the end by Next and back by Prev.
func crawl(t *testing.T, s store.Store, q store.Query, want []string) {
	t.Helper()
	var got []string
	pages := 0
	last := store.Cursor("")
	for {
		p := page(t, s, q)
		if p.Matched != len(want) {
			t.Fatalf("%+v: matched %d, want %d", q, p.Matched, len(want))
		}
		if (p.Prev == "") != (pages == 0) {
			t.Fatalf("%+v, page %d: previous page %q", q, pages, p.Prev)
		}
		got = append(got, idsOf(p)...)
		pages++
		if pages > len(want)+1 || p.Next == "" {
			last = p.Prev
			break
		}
		if len(p.Rows) != q.Limit {
			t.Fatalf("%+v: %d rows before the last page", q, len(p.Rows))
		}
		q.Cursor, q.Count = p.Next, store.CountExact
	}
	same(t, "forwards", got, want)
	tail := len(want) % q.Limit
	if tail == 0 {
		tail = min(q.Limit, len(want))
	}
	back := slices.Clone(want[len(want)-tail:])
	for q.Cursor = last; q.Cursor != ""; {
		p := page(t, s, q)
		back = append(idsOf(p), back...)
		if p.Next == "" || len(back) > len(want) {
			t.Fatalf("%+v backwards: next page %q after %d rows", q, p.Next, len(back))
		}
		q.Cursor = p.Prev
	}
	same(t, "backwards", back, want)
}

func offsets(t *testing.T, s store.Store, q store.Query, want []string) {
	t.Helper()
	for _, q.Offset = range []int{0, 1, 7, len(want) - 1, len(want), len(want) + 5} {
		if q.Offset < 0 {
			continue
		}
		for _, q.Limit = range []int{1, 5, 1000} {
			p := page(t, s, q)
			lo := min(q.Offset, len(want))
			hi := min(lo+q.Limit, len(want))
			same(t, "offset", idsOf(p), slices.Clone(want[lo:hi]))
			if (p.Next != "") != (hi < len(want)) {
				t.Errorf("offset %d, limit %d of %d: next page %q", q.Offset, q.Limit, len(want), p.Next)
			}
		}
	}
	q.Offset, q.Limit = 0, 0
	if p := page(t, s, q); p.Matched != len(want) || len(p.Rows) != 0 {
		t.Errorf("limit 0: %d rows, matched %d", len(p.Rows), p.Matched)
	}
	q.Limit, q.Count = 3, store.CountNone
	if p := page(t, s, q); p.Matched != -1 {
		t.Errorf("a count that nobody asked for: %d", p.Matched)
	}
}

// exerciseCancel cancels queries before and while they run.
func exerciseCancel(t *testing.T, s store.Store, d *dataset) {
	set := d.sets[0]
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := s.Page(ctx, store.Query{Collection: set.c.ID, Limit: 1}); !errors.Is(err, context.Canceled) {
		t.Errorf("page: %v", err)
	}
	if err := s.Fetch(ctx, set.c.ID, store.Current(set.order(nil)...), store.Want{}, func(*store.Feature) error {
		return nil
	}); !errors.Is(err, context.Canceled) {
		t.Errorf("fetch: %v", err)
	}
	if err := s.Ready(context.Background()); err != nil {
		t.Errorf("after a cancellation: %v", err)
	}
	if p := page(t, s, store.Query{Collection: set.c.ID, Limit: 1}); p.Matched != len(set.rows) {
		t.Errorf("after a cancellation: matched %d", p.Matched)
	}
}

// exerciseConcurrent queries from many goroutines while the store reloads.
func exerciseConcurrent(t *testing.T, s store.Store, d *dataset) {
	var readers sync.WaitGroup
	for i := range 16 {
		readers.Go(func() {
			set := d.sets[i%len(d.sets)]
			for n := range 10 {
				sort := sorts[n%len(sorts)]
				p, err := s.Page(context.Background(), store.Query{Collection: set.c.ID, SortBy: sort, Limit: 1000})
				if err != nil {
					t.Error(err)
					return
				}
				same(t, "while others ask", idsOf(p), set.order(sort))
				err = s.Fetch(context.Background(), set.c.ID, p.Rows, store.Want{}, func(f *store.Feature) error {
					set.compare(t, f, visible(set.c))
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range 3 {
		if err := s.Reload(context.Background()); err != nil {
			t.Error(err)
		}
	}
	readers.Wait()
}

// exerciseClose closes the store during a query: Close waits, and afterwards no query succeeds.
func exerciseClose(t *testing.T, open Opener) {
	d := newDataset()
	s := open(t, func(w store.Writer) { d.write(t, w) })
	set := d.sets[0]
	closed := make(chan error, 1)
	started := false
	err := s.Fetch(context.Background(), set.c.ID, store.Current(set.order(nil)...), store.Want{},
		func(*store.Feature) error {
			if !started {
				started = true
				go func() { closed <- s.Close() }()
			}
			select {
			case <-closed:
				return errors.New("closed under a question")
			case <-time.After(100 * time.Microsecond):
				return nil
			}
		})
	if err != nil {
		t.Error(err)
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
	if _, err := s.Page(context.Background(), store.Query{Collection: set.c.ID, Limit: 1}); !errors.Is(err,
		store.ErrUnavailable) {
		t.Errorf("page of a closed store: %v", err)
	}
	if s.Catalog() == nil {
		t.Error("a closed store has no catalog")
	}
}

// exerciseLongKeys pages in the order of texts that are too long for a URL.
func exerciseLongKeys(t *testing.T, open Opener) {
	c := &store.Collection{ID: "lange", Table: "lange", Public: true,
		Key:        store.FeatureKey{Column: "kode", Type: cql2.TypeText},
		Properties: []store.Property{text("navn"), text("tekst"), prop("antall", cql2.TypeInteger)}}
	var want []string
	s := open(t, func(w store.Writer) {
		insert, err := define(t, w, c)
		for i := range 12 {
			if err == nil {
				id := string(rune('a' + i))
				want = append(want, id)
				err = insert(id, "navn", strings.Repeat("Å", 3000)+string(rune('a'+i/2)), int64(i))
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	})
	for _, norwegian := range []bool{false, true} {
		for _, sort := range [][]store.Sort{{{Property: "tekst", Norwegian: norwegian}},
			{{Property: "navn"}, {Property: "tekst", Norwegian: norwegian}, {Property: "antall"}}} {
			for _, rank := range []*cql2.Search{nil, {Props: []string{"navn"}, Terms: []string{"navn"}}} {
				for limit := 1; limit <= 5; limit += 2 {
					crawl(t, s, store.Query{Collection: c.ID, SortBy: sort, Rank: rank, Limit: limit}, want)
				}
			}
			p := page(t, s, store.Query{Collection: c.ID, SortBy: sort, Limit: 1})
			if len(p.Next) > 4096 {
				t.Errorf("a cursor of %d bytes", len(p.Next))
			}
		}
	}
}

func define(t *testing.T, w store.Writer, c *store.Collection) (func(...any) error, error) {
	if err := w.Define(t.Context(), c, false); err != nil {
		return nil, err
	}
	columns := []string{c.Key.Column}
	for _, p := range c.Properties {
		columns = append(columns, p.Column)
	}
	return w.Insert(t.Context(), c.Table, columns)
}
