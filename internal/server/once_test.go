package server_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"grense/internal/store"
)

// counting counts the queries to a store.
type counting struct {
	store.Store
	mu      sync.Mutex
	pages   map[string]int    // queries for pages, by collection
	fetches map[string]int    // queries for features, by collection
	ids     map[[2]string]int // features fetched, by collection and id
}

// background reports whether a query does not belong to a request: tile levels are built from whole collections.
func background(ctx context.Context) bool {
	_, asked := ctx.Deadline()
	return !asked
}

func (s *counting) reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pages, s.fetches, s.ids = map[string]int{}, map[string]int{}, map[[2]string]int{}
}

func (s *counting) Page(ctx context.Context, q store.Query) (*store.Page, error) {
	s.mu.Lock()
	s.pages[q.Collection]++
	s.mu.Unlock()
	return s.Store.Page(ctx, q)
}

func (s *counting) Fetch(ctx context.Context, coll string, rows []store.Row, want store.Want,
	fn func(*store.Feature) error) error {
	if background(ctx) {
		return s.Store.Fetch(ctx, coll, rows, want, fn)
	}
	s.mu.Lock()
	s.fetches[coll]++
	for _, r := range rows {
		s.ids[[2]string{coll, r.ID}]++
	}
	s.mu.Unlock()
	return s.Store.Fetch(ctx, coll, rows, want, fn)
}

func serveCounting(t *testing.T) (*api, *counting) {
	t.Helper()
	path, err := wholeDemo()
	if err != nil {
		t.Fatal(err)
	}
	s := &counting{Store: openTest(t, path)}
	s.reset()
	return serveStore(t, s, nil), s
}

// TestAPageAsksForItsFeaturesOnce requests pages for the first time, so that no features are cached.
func TestAPageAsksForItsFeaturesOnce(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/collections/kommuner/items/0301?f=html",
		"/collections/kommuner/items?f=html&limit=20", "/collections/kommuner/items?f=html&limit=250",
		"/collections/sted/items/2?f=html", "/collections/sted/items?f=html&limit=20",
		"/collections/sted/items?f=html&limit=5&properties=kommunenummer,stedsnummer",
		"/collections/kommuner/items/0301?f=html&properties=navn", "/collections/kommuner/items/0301?f=jsonld",
		"/collections/sted/items?f=csv&limit=20"} {
		a, s := serveCounting(t)
		for _, id := range []string{"kommuner", "sted"} {
			a.settled("/collections/" + id + "/items?f=html&q=xqzw")
		}
		s.reset()
		a.get(path).wants(200)
		// collections, ID, items, and for one feature its id
		part := strings.FieldsFunc(path, func(r rune) bool { return r == '/' || r == '?' })
		found := false
		for at, n := range s.ids {
			// related features that the page names or draws
			if at[0] != part[1] || !strings.HasPrefix(part[3], "f=") && at[1] != part[3] {
				continue
			}
			if found = true; n > 1 {
				t.Errorf("%s asks %d times for %s of %s", path, n, at[1], at[0])
				break
			}
		}
		if !found {
			t.Errorf("%s asks for none of its features", path)
		}
	}
}

func TestTheListOfCodeListsAsksForNoOtherList(t *testing.T) {
	t.Parallel()
	// the page counts the codes of all lists in one query
	for f, most := range map[string]int{"json": 1, "csv": 1, "html": 2} {
		a, s := serveCounting(t)
		a.get("/codelists?f=" + f).wants(200)
		if s.pages["kode"] != most || s.fetches["kode"] != most {
			t.Errorf("f=%s asks %d times for pages of codes and %d times for codes, want %d", f, s.pages["kode"],
				s.fetches["kode"], most)
		}
		if other := slices.Collect(maps.Keys(s.pages)); len(other) > 1 {
			t.Errorf("f=%s asks for pages of %v", f, other)
		}
	}
}
