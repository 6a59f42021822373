package placename_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	api "grense/api/placename"
	"grense/internal/placename"
	"grense/internal/store"
)

// countingStore counts the records that are read, and shows them under another revision.
type countingStore struct {
	store.Store
	rev     uint64
	fetched int
}

func (c *countingStore) Page(ctx context.Context, q store.Query) (*store.Page, error) {
	p, err := c.Store.Page(ctx, q)
	if err == nil {
		for i := range p.Rows {
			p.Rows[i].Rev += c.rev
		}
	}
	return p, err
}

func (c *countingStore) Fetch(ctx context.Context, collection string, rows []store.Row, w store.Want, fn func(*store.Feature) error) error {
	c.fetched += len(rows)
	own := slices.Clone(rows)
	for i := range own {
		own[i].Rev -= c.rev
	}
	return c.Store.Fetch(ctx, collection, own, w, fn)
}

// written searches, and returns the hits as they are written.
func written(t *testing.T, s api.Searcher, r api.Request) (all []string) {
	t.Helper()
	a, err := s.Search(t.Context(), r)
	for err == nil && a.Next != nil {
		var h api.Hits
		if h, err = a.Next(t.Context()); h == nil {
			break
		}
		items := strings.SplitAfter(string(api.PlainNil.AppendHits(nil, r.Operation(), h)), "</t:item>")
		if len(items)-1 != h.Len() {
			t.Errorf("%d hits are written as %d", h.Len(), len(items)-1)
		}
		all = append(all, items[:len(items)-1]...)
	}
	if err != nil || len(all) != a.Count {
		t.Fatalf("%s: %d hits of %d, %v", describe(r), len(all), a.Count, err)
	}
	return all
}

// TestHitsThatAreCachedAreThoseOfValues: of every search, the first time and again, in other company.
func TestHitsThatAreCachedAreThoseOfValues(t *testing.T) {
	t.Parallel()
	f := setup(t)
	plain := placename.New(f.store, placename.Options{MaxHits: 1_000_000, UnknownCodes: placename.NoMatch})
	cached := placename.New(f.store, placename.Options{MaxHits: 1_000_000, UnknownCodes: placename.NoMatch, Cached: true})
	given := map[string]int{}
	d := newDrawing(t, f)
	for op, search := range searches {
		names := slices.Sorted(maps.Keys(search.draws))
		for range 40 {
			q, ok := search.fill(d, pick(d, f.rows[search.table]), []string{pick(d, names)})
			if !ok {
				continue
			}
			want := written(t, plain, q)
			given[op] += len(want)
			for range 2 {
				if got := written(t, cached, q); !slices.Equal(got, want) {
					t.Fatalf("%s: other hits than as values:\n%s\n%s", describe(q), got, want)
				}
			}
		}
	}
	for op := range searches {
		if given[op] == 0 {
			t.Errorf("%s gave no hits", op)
		}
	}
}

func TestHitsAreReadAgainOnlyWhenTheirRecordsChange(t *testing.T) {
	t.Parallel()
	c := &countingStore{Store: setup(t).store}
	s := placename.New(c, placename.Options{MaxHits: 1_000_000, UnknownCodes: placename.NoMatch, Cached: true})
	ask := func(name string, f api.Flags) []string {
		return written(t, s, &api.FindSteder{Flags: f, StedSoek: api.StedSoek{Stedsnavn: &name}})
	}
	few := ask("nes*", api.Flags{})
	if len(few) == 0 || c.fetched != len(few) {
		t.Fatalf("%d hits, %d read", len(few), c.fetched)
	}
	many := ask("n*s*", api.Flags{}) // some were read before, in other places
	if c.fetched != len(many) {
		t.Errorf("%d read of %d", c.fetched, len(many))
	}
	for _, step := range []struct {
		name  string
		flags api.Flags
		rev   uint64
		read  int
	}{
		{"the same", api.Flags{}, 0, 0},
		{"with display names", api.Flags{BeregnVisningsnavn: true}, 0, len(many)},
		{"with display names again", api.Flags{BeregnVisningsnavn: true}, 0, 0},
		{"with geometries", api.Flags{InkluderGeometri: true}, 0, len(many)},
		{"with geometries again", api.Flags{InkluderGeometri: true}, 0, len(many)},
		{"changed", api.Flags{}, 1, len(many)},
	} {
		c.rev, c.fetched = step.rev, 0
		got := ask("n*s*", step.flags)
		if c.fetched != step.read {
			t.Errorf("%s: %d read, want %d", step.name, c.fetched, step.read)
		}
		want := written(t, placename.New(c.Store, placename.Options{MaxHits: 1_000_000, UnknownCodes: placename.NoMatch}),
			&api.FindSteder{Flags: step.flags, StedSoek: api.StedSoek{Stedsnavn: ptr("n*s*")}})
		if !slices.Equal(got, want) {
			t.Errorf("%s: other hits than of a new service", step.name)
		}
	}
}

func TestCachedHitsKeepToTheirRoom(t *testing.T) {
	t.Parallel()
	for _, bytes := range []int{0, 10_000, 100_000} {
		if most, others := placename.CachedOf(bytes, 1000); most > bytes/placename.HitSize || others > 0 {
			t.Errorf("%d hits are cached in %d bytes, %d are others", most, bytes, others)
		}
	}
	if n, others := placename.CachedOf(4000*placename.HitSize, 1000); n != 1000 || others > 0 {
		t.Errorf("%d of 1000 hits are cached where there is room, %d are others", n, others)
	}
}

// packedStore is a countingStore that has its records at hand.
type packedStore struct{ *countingStore }

func (packedStore) Packed(string) bool { return true }

func TestHitsOfRecordsAtHandAreCachedOnceTheyAreAskedForAgain(t *testing.T) {
	t.Parallel()
	c := packedStore{&countingStore{Store: setup(t).store}}
	s := placename.New(c, placename.Options{MaxHits: 1_000_000, UnknownCodes: placename.NoMatch, Cached: true})
	ask := func(name string, f api.Flags) (n, read int) {
		c.fetched = 0
		got := written(t, s, &api.FindSteder{Flags: f, StedSoek: api.StedSoek{Stedsnavn: &name}})
		read = c.fetched
		want := written(t, placename.New(c.Store, placename.Options{MaxHits: 1_000_000, UnknownCodes: placename.NoMatch}), &api.FindSteder{Flags: f, StedSoek: api.StedSoek{Stedsnavn: &name}})
		if !slices.Equal(got, want) {
			t.Errorf("%s: other hits than of a new service", name)
		}
		return len(got), read
	}
	for i, all := range []bool{true, true, false, false} {
		for _, f := range []api.Flags{{}, {BeregnVisningsnavn: true}} {
			if n, read := ask("n*s*", f); n == 0 || all && read != n || !all && read > n/20 {
				t.Errorf("time %d: %d read of %d", i+1, read, n)
			}
		}
	}
	if n, read := ask("*n*s*", api.Flags{}); read == 0 || read >= n {
		t.Errorf("some of which are cached: %d read of %d", read, n)
	}
}

func TestHitsThatShareAPlaceAreKnownAgainAllTheSame(t *testing.T) {
	t.Parallel()
	if n := placename.NeverKnown(20_000, 30); n > 0 {
		t.Errorf("%d of 20,000 hits are asked for 30 times, and never known", n)
	}
}

// reloadedStore shows another catalog once it is said to be reloaded.
type reloadedStore struct {
	store.Store
	reloaded bool
}

func (s *reloadedStore) Catalog() *store.Catalog {
	c := s.Store.Catalog()
	if s.reloaded {
		other := *c
		return &other
	}
	return c
}

// TestHitsAreReadyWhereAllAreCached: they are those that are read; where some are not cached, or the data have changed, there are none, and Next gives all.
func TestHitsAreReadyWhereAllAreCached(t *testing.T) {
	t.Parallel()
	st := &reloadedStore{Store: setup(t).store}
	plain := placename.New(st.Store, placename.Options{MaxHits: 1_000_000, UnknownCodes: placename.NoMatch})
	s := placename.New(st, placename.Options{MaxHits: 1_000_000, UnknownCodes: placename.NoMatch, Cached: true})
	ask := func(name string, f api.Flags) *api.FindSteder {
		return &api.FindSteder{Flags: f, StedSoek: api.StedSoek{Stedsnavn: &name}}
	}
	all := &api.FindSteder{StedSoek: api.StedSoek{OppdatertEtter: ptr(time.Unix(0, 0))}}
	if n := len(written(t, plain, all)); n < 1500 {
		t.Fatalf("%d hits are no two batches", n)
	}
	written(t, s, ask("nes*", api.Flags{}))
	for i, step := range []struct {
		r     *api.FindSteder
		ready bool
	}{
		{ask("n*s*", api.Flags{}), false},
		{ask("n*s*", api.Flags{}), true},
		{ask("nes*", api.Flags{BeregnVisningsnavn: true}), false},
		{ask("n*s*", api.Flags{InkluderGeometri: true}), false},
		{all, false}, // of several batches
		{all, true},
	} {
		want := strings.Join(written(t, plain, step.r), "")
		a, err := s.Search(t.Context(), step.r)
		if err != nil {
			t.Fatal(err)
		}
		all, err := a.Ready(t.Context())
		if err != nil || (all != nil) != step.ready {
			t.Fatalf("step %d: %v, %v", i, all, err)
		}
		if all != nil && string(api.PlainNil.AppendHits(nil, "findSteder", all)) != want {
			t.Errorf("step %d: other hits are ready than are read", i)
		}
		var got []byte
		for {
			h, err := a.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if h == nil {
				break
			}
			got = api.PlainNil.AppendHits(got, "findSteder", h)
		}
		if string(got) != want {
			t.Errorf("step %d: other hits come than without a cache", i)
		}
	}
	a, err := s.Search(t.Context(), ask("nes*", api.Flags{}))
	if err != nil {
		t.Fatal(err)
	}
	st.reloaded = true
	if all, err := a.Ready(t.Context()); all != nil || !errors.Is(err, api.ErrChanged) {
		t.Errorf("of data that were opened anew: %v, %v", all, err)
	}
}

func TestHitsAreNotTakenForThoseOfLikeIDs(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("1", 21)
	if put, found := placename.Cacheable("1", "1\x00", "11", "", long, long[1:]); put != 6 || found != 6 {
		t.Errorf("%d put, %d found", put, found)
	}
	if put, found := placename.Cacheable(long+"1", long+"2", long+"11"); put != 0 || found != 0 {
		t.Errorf("of ids that are too long: %d put, %d found", put, found)
	}
}
