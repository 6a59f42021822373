package server_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/paulmach/orb"

	"grense/internal/config"
	"grense/internal/store"
)

// manyCollections is a store whose catalog has n collections more. Those with an odd number have neither geometry nor
// time. Each of the others lies a degree further east and begins a year later than the one before.
type manyCollections struct {
	store.Store
	cat *store.Catalog
}

func (m *manyCollections) Catalog() *store.Catalog { return m.cat }

func withCollections(st store.Store, n int) *manyCollections {
	cat := *st.Catalog()
	base := cat.Collections[0]
	for i := range n {
		coll := *base
		coll.ID, coll.Title, coll.Description, coll.Keywords = fmt.Sprintf("lag_%04d", i),
			store.Text{"nb": fmt.Sprintf("Åsen %d", i), "en": "Ridges"}, nil, nil
		coll.Versions, coll.IntervalStart, coll.IntervalEnd, coll.Instant = nil, "", "", ""
		coll.Extent, coll.Geometry = nil, nil
		if i%2 == 0 {
			x, from := float64(i%360-179), time.Date(1000+i, 1, 1, 0, 0, 0, 0, time.UTC)
			coll.Extent, coll.Geometry = &orb.Bound{Min: orb.Point{x, -10}, Max: orb.Point{x + 0.5, -9}}, base.Geometry
			to := from.AddDate(0, 6, 0)
			coll.Temporal, coll.Instant = [2]*time.Time{&from, &to}, "gyldig_fra"
		}
		if i == 7 {
			coll.Keywords = []string{"havn"}
		}
		cat.Collections = append(cat.Collections[:len(cat.Collections):len(cat.Collections)], &coll)
	}
	cat.Version += "-many"
	return &manyCollections{st, &cat}
}

type collectionList struct {
	Collections                   []struct{ ID string }
	Links                         []link
	NumberMatched, NumberReturned int
}

func (a *api) collectionList(path string) (l collectionList) {
	a.t.Helper()
	r := a.get(path).wants(200)
	decode(a.t, r.Body, &l)
	if l.NumberReturned != len(l.Collections) || l.NumberMatched < l.NumberReturned {
		a.t.Errorf("%s: %d of %d, %d listed", path, l.NumberReturned, l.NumberMatched, len(l.Collections))
	}
	return l
}

// TestCollectionsArePaged: OGC API - Common - Part 2, draft.
func TestCollectionsArePaged(t *testing.T) {
	t.Parallel()
	st := demoStore(t)
	own := 0
	for _, coll := range st.Catalog().Collections {
		if coll.Public {
			own++
		}
	}
	a := serveStore(t, withCollections(st, 1200), func(c *config.Config) { c.Limits.Query = time.Hour })
	for _, start := range []string{"/collections", "/v1/collections?limit=500",
		"/collections?f=json&lang=nn&limit=7&offset=1190", "/collections?limit=20000"} {
		seen, pages := map[string]bool{}, 0
		l := a.collectionList(start)
		if !strings.Contains(start, "limit") && len(l.Collections) != 1000 {
			t.Errorf("%s: %d collections", start, len(l.Collections))
		}
		for at := start; ; {
			l := a.collectionList(at)
			pages++
			for _, x := range l.Collections {
				if seen[x.ID] {
					t.Errorf("%s: %s twice", at, x.ID)
				}
				seen[x.ID] = true
			}
			next, ok := find(l.Links, "next", "application/json")
			if _, prev := find(l.Links, "prev", ""); prev != strings.Contains(at, "offset=") {
				t.Errorf("%s: a page before it: %v", at, prev)
			}
			if !ok {
				break
			}
			at = next.Href
			if strings.Contains(start, "lang=nn") && !strings.Contains(at, "lang=nn") ||
				strings.HasPrefix(start, "/v1") && !strings.HasPrefix(at, a.URL+"/v1/collections?") {
				t.Fatalf("%s: next is %s", start, at)
			}
		}
		if want := own + 1200; !strings.Contains(start, "offset") && len(seen) != want || pages > 3 {
			t.Errorf("%s: %d collections on %d pages, want %d", start, len(seen), pages, want)
		}
	}
	html := string(a.get("/collections?f=html&limit=10&offset=20").wants(200).Body)
	if !strings.Contains(html, `rel="next" href="`+a.URL+`/collections?f=html&amp;limit=10&amp;offset=30"`) ||
		!strings.Contains(html, `rel="prev"`) || !strings.Contains(html, `name="q"`) {
		t.Error("the page lacks its neighbours, or the search")
	}
}

func TestCollectionsAreSearched(t *testing.T) {
	t.Parallel()
	st := demoStore(t)
	a := serveStore(t, withCollections(st, 400), nil)
	all := a.collectionList("/collections").NumberMatched
	for query, want := range map[string]struct {
		matched int
		first   string
	}{
		"q=lag_0012":                                {1, "lag_0012"},
		"q=asen%2012":                               {11, "lag_0012"}, // words in their order, as of features
		"q=havn":                                    {1, "lag_0007"},
		"q=ridges":                                  {400, "lag_0000"},
		"q=ridges&limit=3&offset=5":                 {400, "lag_0005"},
		"q=none-such":                               {0, ""},
		"q=ridges&bbox=-179,-11,-174.8,-8":          {203 + 3, "lag_0000"},
		"q=ridges&bbox=178,-11,-178.6,-8":           {200 + 3, "lag_0000"},
		"q=ridges&bbox=0,40,1,41":                   {200, "lag_0001"},
		"q=ridges&datetime=1010-03-01T00:00:00Z":    {201, "lag_0001"},
		"q=ridges&datetime=../1004-03-01T00:00:00Z": {203, "lag_0000"},
		"q=ridges&datetime=1390-01-01T00:00:00Z/..": {205, "lag_0001"},
		"q=lag_0012&bbox=-180,-90,180,90&f=json":    {1, "lag_0012"},
		"limit=1":                                   {all, ""},
		"q=Kommuner":                                {1, "kommuner"},
		"bbox=-180,-90,180,90&datetime=1000-01-01T00:00:00Z/..&lang=en": {all, ""},
	} {
		l := a.collectionList("/collections?" + query)
		if l.NumberMatched != want.matched || want.first != "" &&
			(len(l.Collections) == 0 || l.Collections[0].ID != want.first) {
			t.Errorf("%s: %d match, the first is %v; want %d, %s", query, l.NumberMatched,
				l.Collections[:min(1, len(l.Collections))], want.matched, want.first)
		}
	}
	for _, query := range []string{"limit=0", "limit=x", "offset=-1", "q=", "q=%2C", "bbox=1,2,3", "bbox=10,60,11,59",
		"datetime=yesterday", "datetime=", "page=2", "limit=1&limit=2"} {
		name, _, _ := strings.Cut(query, "=")
		if r := a.get("/collections?" + query).wants(400); !strings.Contains(string(r.Body), `"name":"`+name+`"`) {
			t.Errorf("%s: %s", query, r.Body)
		}
	}
	if html := string(a.get("/collections?f=html&q=none-such&lang=en").wants(200).Body); !strings.Contains(
		html, "No hits.") || !strings.Contains(html, `value="none-such"`) {
		t.Error("a page without hits does not say so")
	}
}
