package server_test

import (
	"net/http"
	"testing"
)

// TestTheSameQuestionHasOneKeptAnswer: requests with the same response share one cache entry, however they are
// written.
func TestTheSameQuestionHasOneKeptAnswer(t *testing.T) {
	t.Parallel()
	const item, oslo, items, lookup = "/collections/kommuner/items/1103", "/collections/kommuner/items/0301",
		"/collections/kommuner/items", "/lookup?lon=10.75&lat=59.91"
	type way struct {
		path   string
		header []string
	}
	as := func(path string, accept ...string) way {
		w := way{path: path}
		for _, x := range accept {
			w.header = append(w.header, "Accept", x)
		}
		return w
	}
	a := serve(t, "", nil)
	for _, x := range []struct {
		one, other way
		same       bool
	}{
		{as(item), as(item + "?f=json"), true},
		{as(item), as(item + "?f=geojson"), true},
		{as(item), as(item, "application/geo+json"), true},
		{as(item + "?f=json"), as(item, "application/json;q=0.9, text/html;q=0.1"), true},
		{as(item + "?crs=http://www.opengis.net/def/crs/EPSG/0/25833&lang=nn"),
			as(item + "?lang=nn&f=json&crs=http%3A%2F%2Fwww.opengis.net%2Fdef%2Fcrs%2FEPSG%2F0%2F25833"), true},
		{as(item + "?f=html"), as(item + "?f=HTML"), true},
		{as(item + "?f=html"), as(item, "text/html"), false}, // which names JSON as itself in its header
		{as(lookup), as("/lookup?f=json&lat=59.91&lon=10.75"), true},
		{as(items + "?limit=3&offset=2"), as(items+"?offset=2&limit=3", "application/geo+json"), true},
		{as(items + "?limit=3"), as(items + "?limit=3&f=json"), false}, // the link to the next page has f as well
		{as(oslo), as(oslo + "?f=html"), false},
		{as(oslo), as(oslo + "?lang=nb"), false}, // its links contain lang
	} {
		one := a.cachedBefore(x.one.path, x.one.header...).wants(http.StatusOK)
		other := a.get(x.other.path, x.other.header...).wants(http.StatusOK)
		if got := a.wasCached(other); got != x.same {
			t.Errorf("%v after %v: kept %v, want %v", x.other, x.one, got, x.same)
		}
		alike := stamped(one.Body) == stamped(other.Body) && one.Header.Get("Link") == other.Header.Get("Link") &&
			one.Header.Get("ETag") == other.Header.Get("ETag")
		if alike != x.same {
			t.Errorf("%v and %v: the same bytes, links and validator %v, want %v", x.other, x.one, alike, x.same)
		}
	}
}

// TestADocumentIsKeptOnce: with f and without it, where it is the same to the byte.
func TestADocumentIsKeptOnce(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	for _, path := range []string{"/", "/conformance", "/collections", "/collections/kommuner",
		"/collections/kommuner/schema", "/openapi", "/about", "/style", "/processes"} {
		one := a.get(path).wants(http.StatusOK)
		f := "?f=json"
		if path == "/about" {
			f = "?f=html"
		}
		a.get(path)
		before := a.srv.Documents()
		for range 2 {
			if other := a.get(path + f).wants(http.StatusOK); string(other.Body) != string(one.Body) ||
				other.Header.Get("ETag") != one.Header.Get("ETag") ||
				other.Header.Get("Link") != one.Header.Get("Link") {
				t.Errorf("%s: not what it is with %s", path, f)
			}
		}
		if n := a.srv.Documents(); n != before {
			t.Errorf("%s: %d documents, %d before it was asked for with %s", path, n, before, f)
		}
	}
}
