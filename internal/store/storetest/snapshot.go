package storetest

import (
	"context"
	"testing"

	"grense/internal/store"
)

// exerciseSnapshot compares the results of a snapshot with those of the store, before and after a reload.
func exerciseSnapshot(t *testing.T, s store.Store, d *dataset) {
	for _, begin := range [...]func(context.Context) (store.Snapshot, error){s.Snapshot, s.Hold} {
		exerciseBegun(t, s, d, begin)
	}
}

func exerciseBegun(t *testing.T, s store.Store, d *dataset, begin func(context.Context) (store.Snapshot, error)) {
	ctx := context.Background()
	snap, err := begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer snap.Close()
	named, err := snap.Version(ctx, d.sets[0].c.ID)
	now, err2 := s.Version(ctx, d.sets[0].c.ID)
	if err != nil || err2 != nil || named == "" || named != now && !s.Catalog().Live || snap.Catalog() != s.Catalog() {
		t.Errorf("version %q, %v of catalog %s, the store has %q, %v of %s", named, err, snap.Catalog().Version, now,
			err2, s.Catalog().Version)
	}
	if err := s.Reload(ctx); err != nil {
		t.Fatal(err)
	}
	for _, set := range d.sets {
		want := set.filter(t, nil, nil)
		var got []string
		for q := (store.Query{Collection: set.c.ID, Limit: 7, Count: store.CountNone}); ; {
			p, err := snap.Page(ctx, q)
			if err != nil {
				t.Fatalf("%s: %v", set.c.ID, err)
			}
			err = snap.Fetch(ctx, set.c.ID, p.Rows, store.Want{NoGeometry: true}, func(f *store.Feature) error {
				got = append(got, f.ID)
				return nil
			})
			if err != nil {
				t.Fatalf("%s: %v", set.c.ID, err)
			}
			if p.Next == "" {
				break
			}
			q.Cursor = p.Next
		}
		same(t, set.c.ID+" in a snapshot", got, want)
	}
	if err := snap.Close(); err != nil {
		t.Error(err)
	}
	if err := snap.Close(); err != nil {
		t.Errorf("closed again: %v", err)
	}
	if _, err := s.Page(ctx, store.Query{Collection: d.sets[0].c.ID, Limit: 1}); err != nil {
		t.Errorf("the store after its snapshot: %v", err)
	}
}
