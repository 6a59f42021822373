package storetest

import (
	"context"
	"errors"
	"testing"

	"grense/internal/store"
)

// Changer opens a store as Opener does, and returns a function that replaces all its data with another fill.
type Changer func(t *testing.T, fill func(w store.Writer)) (s store.Store, change func(fill func(w store.Writer)))

// ExerciseChange tests that a result has a single version: what a page names is returned as it was then, or not at all.
func ExerciseChange(t *testing.T, open Changer) {
	t.Helper()
	before, after := newDataset(), newDataset()
	for _, set := range after.sets {
		for _, f := range set.rows {
			f.values["navn"] = "annet" // the same number of bytes for each, and the same ids
		}
		set.rows = set.rows[:len(set.rows)-1]
	}
	for _, set := range before.sets {
		for _, f := range set.rows {
			f.values["navn"] = "forst"
		}
	}
	s, change := open(t, func(w store.Writer) { before.write(t, w) })
	pages := map[string]*store.Page{}
	for _, set := range before.sets {
		p := page(t, s, store.Query{Collection: set.c.ID, Limit: 1000})
		pages[set.c.ID] = p
		fetchPage(t, s, set, p)
	}
	change(func(w store.Writer) { after.write(t, w) })
	for i, set := range before.sets {
		old := pages[set.c.ID]
		for _, r := range old.Rows {
			err := s.Fetch(context.Background(), set.c.ID, []store.Row{r}, store.Want{SkipMissing: true},
				func(f *store.Feature) error {
					set.compare(t, f, visible(set.c))
					return nil
				})
			if !errors.Is(err, store.ErrChanged) {
				t.Errorf("%s %s: %v, want ErrChanged", set.c.ID, r.ID, err)
			}
		}
		calls := 0
		if err := s.Fetch(context.Background(), set.c.ID, old.Rows, store.Want{}, func(*store.Feature) error {
			calls++
			return nil
		}); !errors.Is(err, store.ErrChanged) || calls > 0 {
			t.Errorf("%s: %v after %d features, want ErrChanged and none", set.c.ID, err, calls)
		}
		set := after.sets[i]
		p := page(t, s, store.Query{Collection: set.c.ID, Limit: 1000})
		same(t, set.c.ID, idsOf(p), set.order(nil))
		fetchPage(t, s, set, p)
		for j, r := range p.Rows {
			if r.Rev == old.Rows[j].Rev {
				t.Errorf("%s %s: two states are one revision", set.c.ID, r.ID)
			}
		}
	}
}

// fetchPage fetches the rows of a page.
func fetchPage(t *testing.T, s store.Store, set *set, p *store.Page) {
	t.Helper()
	n := 0
	err := s.Fetch(context.Background(), set.c.ID, p.Rows, store.Want{}, func(f *store.Feature) error {
		if f.Rev != p.Rows[n].Rev || f.Rev == 0 || f.ID != p.Rows[n].ID {
			t.Errorf("%s: the page names %+v, read is %s in revision %d", set.c.ID, p.Rows[n], f.ID, f.Rev)
		}
		set.compare(t, f, visible(set.c))
		n++
		return nil
	})
	if err != nil || n != len(p.Rows) {
		t.Errorf("%s: %d of %d features: %v", set.c.ID, n, len(p.Rows), err)
	}
}
