package server_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"grense/internal/config"
	"grense/internal/store"
)

// uncounted leaves out the total if the query permits it, and records the longest time that a query was given.
type uncounted struct {
	store.Store
	mu   sync.Mutex
	most time.Duration
}

// had returns the longest time that a query was given since the last call.
func (s *uncounted) had() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	most := s.most
	s.most = 0
	return most
}

func (s *uncounted) Page(ctx context.Context, q store.Query) (*store.Page, error) {
	if at, _ := ctx.Deadline(); !background(ctx) {
		s.mu.Lock()
		s.most = max(s.most, time.Until(at))
		s.mu.Unlock()
	}
	p, err := s.Store.Page(ctx, q)
	if err == nil && q.Count == store.CountCheap {
		p.Matched = -1
	}
	return p, err
}

// TestPagesWithoutATotal: they are as defined in every representation and state no number. resulttype=hits counts,
// and has time for it.
func TestPagesWithoutATotal(t *testing.T) {
	t.Parallel()
	s := &uncounted{Store: demoStore(t)}
	a := serveStore(t, s, func(c *config.Config) { c.Limits.Query, c.Limits.Count = time.Minute, time.Hour })
	doc := a.definition(t)
	const items = "/collections/kommuner/items"
	for _, query := range []string{"?limit=3", "?limit=3&offset=4", "?limit=3&f=jsonld", "?resulttype=hits"} {
		if err := a.validates(t, doc, items+query); err != nil {
			t.Errorf("%s: %v", query, err)
		}
	}
	s.had()
	next := a.get(items + "?limit=3").wants(200)
	l, ok := find(next.links(), "next", "")
	if !ok {
		t.Error("a page without a total has no next")
	}
	for _, path := range []string{items + "?limit=3", l.Href, items + "?limit=3&f=csv", items + "?limit=3&f=jsonld",
		items + "?limit=3&f=html", l.Href + "&f=html", items + "?limit=3&f=html&lang=en"} {
		r := a.get(path).wants(200)
		if n := r.Header.Get("OGC-NumberMatched"); n != "" {
			t.Errorf("%s: OGC-NumberMatched %s", path, n)
		}
		for _, wrong := range []string{"numberMatched", "numberOfItems", ">-1", " -1", "−1"} {
			if strings.Contains(string(r.Body), wrong) {
				t.Errorf("%s has %q", path, wrong)
			}
		}
	}
	if had := s.had(); had > time.Minute {
		t.Errorf("a page had %v", had)
	}
	p := a.get(items + "?resulttype=hits").wants(200).page()
	if had := s.had(); p.NumberMatched != 357 || had < 10*time.Minute {
		t.Errorf("the number alone is %d, for which there were %v", p.NumberMatched, had)
	}
	body := string(a.get(l.Href + "&f=html&lang=en").wants(200).Body)
	for _, want := range []string{"Showing 3 features; counting", "Download all features found"} {
		if !strings.Contains(body, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}
