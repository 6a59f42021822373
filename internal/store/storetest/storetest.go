// Package storetest tests the contract of store.Store: every store must pass Exercise.
//
// The data are generated here, written with the store's own Writer, and held as plain Go values. Results of a store are
// compared with cql2.Eval over those values, never with another store.
package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"grense/internal/cql2"
	"grense/internal/store"
)

// Opener returns a new store that holds what fill writes. At the end of the test it closes the
// store and removes the data.
type Opener func(t *testing.T, fill func(w store.Writer)) store.Store

// Exercise runs the contract on stores that open returns.
func Exercise(t *testing.T, open Opener) {
	t.Helper()
	d := newDataset()
	s := open(t, func(w store.Writer) { d.write(t, w) })
	t.Run("catalog", func(t *testing.T) { exerciseCatalog(t, s, d) })
	t.Run("fetch", func(t *testing.T) { exerciseFetch(t, s, d) })
	t.Run("pages", func(t *testing.T) { exercisePages(t, s, d) })
	t.Run("all or nothing", func(t *testing.T) { exerciseAllOrNothing(t, s, d) })
	t.Run("texts", func(t *testing.T) { exerciseTexts(t, s, d) })
	t.Run("cost", func(t *testing.T) { exerciseCost(t, s) })
	t.Run("rank", func(t *testing.T) { exerciseRank(t, s, d) })
	t.Run("filters", func(t *testing.T) { exerciseFilters(t, s, d) })
	t.Run("times", func(t *testing.T) { exerciseTimes(t, s, d) })
	t.Run("random filters", func(t *testing.T) { exerciseRandom(t, s, d) })
	t.Run("errors", func(t *testing.T) { exerciseErrors(t, s, d) })
	t.Run("cancellation", func(t *testing.T) { exerciseCancel(t, s, d) })
	t.Run("concurrency", func(t *testing.T) { exerciseConcurrent(t, s, d) })
	t.Run("empty", func(t *testing.T) { exerciseEmpty(t, open) })
	t.Run("numbers", func(t *testing.T) { exerciseNumbers(t, open) })
	t.Run("forms of texts", func(t *testing.T) { exerciseForms(t, open) })
	t.Run("long keys", func(t *testing.T) { exerciseLongKeys(t, open) })
	t.Run("snapshot", func(t *testing.T) { exerciseSnapshot(t, s, d) })
	t.Run("closing", func(t *testing.T) { exerciseClose(t, open) })
}

// ExerciseThreads runs the part of the contract about concurrency: a short part, for the race detector.
func ExerciseThreads(t *testing.T, open Opener) {
	t.Helper()
	d := newDataset()
	s := open(t, func(w store.Writer) { d.write(t, w) })
	t.Run("fetch", func(t *testing.T) { exerciseFetch(t, s, d) })
	t.Run("cancellation", func(t *testing.T) { exerciseCancel(t, s, d) })
	t.Run("concurrency", func(t *testing.T) { exerciseConcurrent(t, s, d) })
	t.Run("snapshot", func(t *testing.T) { exerciseSnapshot(t, s, d) })
	t.Run("closing", func(t *testing.T) { exerciseClose(t, open) })
}

// ExerciseAnswers runs the part of the contract about pages and filters, for a store with several strategies.
func ExerciseAnswers(t *testing.T, open Opener) {
	t.Helper()
	d := newDataset()
	s := open(t, func(w store.Writer) { d.write(t, w) })
	t.Run("pages", func(t *testing.T) { exercisePages(t, s, d) })
	t.Run("filters", func(t *testing.T) { exerciseFilters(t, s, d) })
	t.Run("times", func(t *testing.T) { exerciseTimes(t, s, d) })
	t.Run("random filters", func(t *testing.T) { exerciseRandom(t, s, d) })
}

// Write calls fill with the Writer that a Create of a store returned, and commits.
func Write(t testing.TB, fill func(store.Writer)) func(store.Writer, error) {
	t.Helper()
	return func(w store.Writer, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		fill(w)
		if err := w.Commit(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
}

// Opened returns the store that an Open returned, and closes it at the end of the test.
func Opened[S store.Store](t testing.TB) func(S, error) S {
	t.Helper()
	return func(s S, err error) S {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return s
	}
}

// find returns a collection of the catalog.
func find(t *testing.T, s store.Store, id string) *store.Collection {
	t.Helper()
	c, ok := s.Catalog().Collection(id)
	if !ok {
		t.Fatalf("no collection %q in the catalog", id)
	}
	return c
}

// page returns a page, and fails the test on an error.
func page(t *testing.T, s store.Store, q store.Query) *store.Page {
	t.Helper()
	p, err := s.Page(context.Background(), q)
	if err != nil {
		t.Fatalf("%+v: %v", q, err)
	}
	return p
}

func idsOf(p *store.Page) []string {
	ids := make([]string, len(p.Rows))
	for i, r := range p.Rows {
		ids[i] = r.ID
	}
	return ids
}

func same(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n got %q\nwant %q", what, got, want)
	}
}

func exerciseCatalog(t *testing.T, s store.Store, d *dataset) {
	for _, set := range d.sets {
		c := find(t, s, set.c.ID)
		if c.Count != len(set.rows) {
			t.Errorf("%s: count %d, want %d", c.ID, c.Count, len(set.rows))
		}
		same(t, c.ID+": names", c.Names(), append(append(set.c.Names(), store.IDName), memberNames...))
		for _, p := range set.c.Properties {
			got, ok := c.Find(p.Name)
			if !ok || got.Type != p.Type || got.Hidden != p.Hidden {
				t.Errorf("%s: property %q is %+v, want %+v", c.ID, p.Name, got, p)
			}
		}
		if c.Public != set.c.Public || c.StorageCRS() != set.c.StorageCRS() ||
			c.Title.In("nn") != set.c.Title.In("nn") || c.IntervalEnd != set.c.IntervalEnd {
			t.Errorf("%s: metadata differ: %+v", c.ID, c)
		}
		if len(c.Relations) != len(set.c.Relations) {
			t.Errorf("%s: %d relations, want %d", c.ID, len(c.Relations), len(set.c.Relations))
		}
		want, ok := set.extent()
		if ok != (c.Extent != nil) {
			t.Fatalf("%s: extent %v, want one: %v", c.ID, c.Extent, ok)
		}
		if ok {
			for i := range 2 {
				if diff(c.Extent.Min[i], want.Min[i]) > 1e-9 || diff(c.Extent.Max[i], want.Max[i]) > 1e-9 {
					t.Errorf("%s: extent %v, want %v", c.ID, *c.Extent, want)
				}
			}
		}
	}
	if s.Catalog().Version == "" {
		t.Error("the catalog has no version")
	}
}

func diff(a, b float64) float64 { return max(a-b, b-a) }

func exerciseFetch(t *testing.T, s store.Store, d *dataset) {
	for _, set := range d.sets {
		ids := set.order(nil)
		slices.Reverse(ids)
		ids = append(ids, ids[0], ids[0]) // in the order of the rows, also repeated
		var got []string
		err := s.Fetch(context.Background(), set.c.ID, store.Current(ids...), store.Want{},
			func(f *store.Feature) error {
				got = append(got, f.ID)
				set.compare(t, f, visible(set.c))
				return nil
			})
		if err != nil {
			t.Fatalf("%s: %v", set.c.ID, err)
		}
		same(t, set.c.ID+": order", got, ids)
		exerciseWant(t, s, set)
	}
}

// exerciseWant fetches parts of features.
func exerciseWant(t *testing.T, s store.Store, set *set) {
	names := visible(set.c)
	slices.Reverse(names)
	for _, w := range []store.Want{{Properties: names}, {Properties: names[:1], NoGeometry: true},
		{Properties: []string{}}} {
		err := s.Fetch(context.Background(), set.c.ID, store.Current(set.order(nil)...), w,
			func(f *store.Feature) error {
				if w.NoGeometry && !f.Geometry.IsNull() {
					return errors.New("a geometry that nobody asked for")
				}
				if len(f.Values) != len(w.Properties) {
					return fmt.Errorf("%d values, want %d", len(f.Values), len(w.Properties))
				}
				set.compare(t, f, w.Properties)
				return nil
			})
		if err != nil {
			t.Errorf("%s, %+v: %v", set.c.ID, w, err)
		}
	}
}

func visible(c *store.Collection) []string {
	var names []string
	for _, p := range c.Properties {
		if !p.Hidden {
			names = append(names, p.Name)
		}
	}
	return names
}

func exerciseErrors(t *testing.T, s store.Store, d *dataset) {
	ctx := context.Background()
	none := func(*store.Feature) error { return nil }
	set := d.sets[0]
	if _, err := s.Page(ctx, store.Query{Collection: "nowhere", Limit: 1}); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("page of an unknown collection: %v", err)
	}
	if err := s.Fetch(ctx, "nowhere", store.Current("1"), store.Want{}, none); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("fetch from an unknown collection: %v", err)
	}
	ids := set.order(nil)
	for _, bad := range []string{"", "nobody", "0x1", "01", "1 OR 1=1", "'; DROP TABLE t; --", "1e0", "\x00",
		string(make([]byte, 9000)), "\xff", "9223372036854775808"} {
		for _, set := range d.sets {
			ids := set.order(nil)
			var got []string
			err := s.Fetch(ctx, set.c.ID, store.Current(ids[0], ids[1], bad, ids[2]), store.Want{},
				func(f *store.Feature) error {
					got = append(got, f.ID)
					return nil
				})
			if !errors.Is(err, store.ErrNotFound) {
				t.Errorf("%s: id %.20q: %v", set.c.ID, bad, err)
			}
			same(t, "before the unknown id", got, ids[:2])
			got = nil
			err = s.Fetch(ctx, set.c.ID, store.Current(bad, ids[0], bad, bad, ids[1], ids[2], bad),
				store.Want{SkipMissing: true}, func(f *store.Feature) error {
					got = append(got, f.ID)
					return nil
				})
			if err != nil {
				t.Errorf("%s: passing over id %.20q: %v", set.c.ID, bad, err)
			}
			same(t, "beside the unknown ids", got, ids[:3])
		}
	}
	stop := errors.New("stop")
	calls := 0
	err := s.Fetch(ctx, set.c.ID, store.Current(ids...), store.Want{}, func(*store.Feature) error {
		calls++
		return stop
	})
	if err != stop || calls != 1 {
		t.Errorf("an error of fn came back as %v after %d calls", err, calls)
	}
	cursor := page(t, s, store.Query{Collection: set.c.ID, Limit: 1, SortBy: []store.Sort{{Property: "antall"}}}).Next
	for name, q := range map[string]store.Query{
		"of another order": {Collection: set.c.ID, Limit: 1, Cursor: cursor},
		"of a rank": {Collection: set.c.ID, Limit: 1, Cursor: cursor, SortBy: []store.Sort{{Property: "antall"}},
			Rank: &cql2.Search{Props: []string{"navn"}, Terms: []string{"a"}}},
		"of no order": {Collection: set.c.ID, Limit: 1, Cursor: store.NewCursor(store.Place{ID: "x"}),
			SortBy: []store.Sort{{Property: "antall"}}},
		"that is no cursor": {Collection: set.c.ID, Limit: 1, Cursor: "?"},
		"that is empty":     {Collection: set.c.ID, Limit: 1, Cursor: store.Cursor("W10")},
	} {
		if _, err := s.Page(ctx, q); !errors.Is(err, store.ErrCursor) {
			t.Errorf("cursor %s: %v", name, err)
		}
	}
	if _, err := s.Page(ctx,
		store.Query{Collection: set.c.ID, Limit: 1, SortBy: []store.Sort{{Property: "nothing"}}}); err == nil {
		t.Error("an unknown sort key gave no error")
	}
}

// insertTooLate inserts a row after the context of Insert has ended: it is not written.
func insertTooLate(t *testing.T, w store.Writer, c *store.Collection) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	insert, err := w.Insert(ctx, c.Table, []string{c.Key.Column})
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := insert("late"); !errors.Is(err, context.Canceled) {
		t.Errorf("a row after the end of the context of Insert: %v, want it refused", err)
	}
}

func exerciseEmpty(t *testing.T, open Opener) {
	d := newDataset()
	for _, set := range d.sets {
		set.rows = nil
	}
	s := open(t, func(w store.Writer) {
		d.write(t, w)
		insertTooLate(t, w, d.sets[0].c)
	})
	for _, set := range d.sets {
		p := page(t, s, store.Query{Collection: set.c.ID, Limit: 10})
		if len(p.Rows) != 0 || p.Matched != 0 || p.Next != "" || p.Prev != "" {
			t.Errorf("%s: %+v, want nothing", set.c.ID, p)
		}
		if c := find(t, s, set.c.ID); c.Extent != nil {
			t.Errorf("%s: extent %v of nothing", c.ID, c.Extent)
		}
	}
}
