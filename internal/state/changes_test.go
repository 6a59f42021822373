package state_test

import (
	"errors"
	"maps"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"grense/internal/state"
	"grense/internal/store"
)

func TestChanges(t *testing.T) {
	onBoth(t, checkChanges)
}

func checkChanges(t *testing.T, open func() *state.DB) {
	ctx, c := t.Context(), open()
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		ok(c.PrepareChanges(ctx))
	}
	if list, err := c.ChangesAfter(ctx, 0, 10); len(list) > 0 || err != nil {
		t.Fatalf("changes before any: %v, %v", list, err)
	}
	digest := func(s string) state.Digest { return state.Digest{ID: s, Title: "title " + s, Digest: [16]byte{s[0]}} }
	held := func(want ...string) {
		t.Helper()
		got := map[string]bool{}
		ok(c.Digests(ctx, "a", func(id string, d [16]byte) error { got[id] = d[0] == id[0]; return nil }))
		if ids := slices.Sorted(maps.Keys(got)); !slices.Equal(ids, want) ||
			slices.Contains(slices.Collect(maps.Values(got)), false) {
			t.Errorf("digests of %v, want %v", got, want)
		}
	}
	now := time.Now().UTC()
	ok(c.Record(ctx, state.Recording{Collection: "a", Now: state.Tracked{Schema: "s", State: "1"}, At: now,
		Afresh: true, Changes: []state.Change{{Op: state.ChangeLoad, Count: 2}},
		Digests: []state.Digest{digest("x"), digest("y")}}))
	held("x", "y")
	all, err := c.Tracked(ctx)
	ok(err)
	if want := (state.Tracked{Schema: "s", State: "1", Pass: 1}); all["a"] != want || len(all) != 1 {
		t.Errorf("tracked %v", all)
	}
	was := all["a"]
	// the clock went back
	next := state.Recording{Collection: "a", Was: was, Now: state.Tracked{Schema: "s", State: "2"},
		At: now.Add(-time.Hour),
		Changes: []state.Change{{Op: state.ChangeRemove, ID: "x"}, {Op: state.ChangeUpdate, ID: "y", Title: "other"},
			{Op: state.ChangeAdd, ID: "z", Title: "title z"}}, Digests: []state.Digest{digest("y"), digest("z")}}
	ok(c.Record(ctx, next))
	held("y", "z")
	if err := c.Record(ctx, next); !errors.Is(err, store.ErrChanged) {
		t.Errorf("recorded twice: %v", err)
	}
	list, err := c.ChangesAfter(ctx, 1, 2)
	ok(err)
	want := []state.Change{{Seq: 2, At: now, Op: state.ChangeRemove, Collection: "a", ID: "x", Title: "title x"},
		{Seq: 3, At: now, Op: state.ChangeUpdate, Collection: "a", ID: "y", Title: "other"}}
	if !slices.Equal(list, want) {
		t.Errorf("%v, want %v", list, want)
	}
	if list, err = c.LastChanges(ctx, 1); err != nil || len(list) != 1 || list[0].Seq != 4 || list[0].ID != "z" {
		t.Errorf("the last is %v, %v", list, err)
	}
	manyRecord(t, c, open)
	ok(c.Record(ctx, state.Recording{Collection: "a", Was: state.Tracked{Pass: 2}, At: now, Afresh: true,
		Changes: []state.Change{{Op: state.ChangeDrop}}}))
	held()
	if all, err = c.Tracked(ctx); err != nil || len(all) != 8 {
		t.Errorf("after a drop %v, %v", all, err)
	}
}

// manyRecord: numbers have no gaps, however many processes record at once, and become visible in order.
func manyRecord(t *testing.T, c *state.DB, open func() *state.DB) {
	const each = 12
	var all sync.WaitGroup
	for p := range 8 {
		mine := open()
		all.Go(func() {
			for i := range each {
				r := state.Recording{Collection: "p" + strconv.Itoa(p), Was: state.Tracked{Pass: int64(i)},
					At: time.Now(), Changes: []state.Change{{Op: state.ChangeAdd, ID: "1"},
						{Op: state.ChangeAdd, ID: "2"}}}
				if err := mine.Record(t.Context(), r); err != nil {
					t.Error(err)
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { all.Wait(); close(done) }()
	last := int64(0)
	for ended := false; !ended; {
		select {
		case <-done:
			ended = true
		default:
		}
		list, err := c.ChangesAfter(t.Context(), last, 1000)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range list {
			if last++; x.Seq != last {
				t.Fatalf("change %d follows %d", x.Seq, last-1)
			}
		}
	}
	if last != 4+8*each*2 {
		t.Errorf("%d changes", last)
	}
}
