package server_test

import (
	"encoding/json"
	"net/http/httptest"
	"net/url"
	"testing"
)

func queryEscape(s string) string { return url.QueryEscape(s) }

// FuzzItemsQuery sends any query to items: the response has a documented status and a valid body, never a 5xx.
func FuzzItemsQuery(f *testing.F) {
	for _, q := range []string{"limit=10", "bbox=1,2,3,4", "bbox=177,65,-177,70", "datetime=2020-01-01/..",
		"cursor=W2ZhbHNlLCIiLG51bGwsIjAzMDEiXQ", "offset=3&limit=2", "sortby=-navn,nr", "crs=[EPSG:25833]", "%zz",
		"a=b&a=c", "navn=%00"} {
		f.Add(q)
	}
	a := serve(f, "", nil)
	h := a.srv.Handler()
	f.Fuzz(func(t *testing.T, q string) {
		r := httptest.NewRequest("GET", "/collections/fylker/items", nil)
		r.URL.RawQuery = q
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		switch w.Code {
		case 200, 400, 406:
		default:
			t.Fatalf("%q: %d %s", q, w.Code, w.Body)
		}
		if w.Code != 200 && !json.Valid(w.Body.Bytes()) && w.Header().Get(
			"Content-Type") == "application/problem+json" {
			t.Fatalf("%q: %s", q, w.Body)
		}
	})
}

// FuzzAccept sends any Accept, Accept-Language and Accept-Encoding.
func FuzzAccept(f *testing.F) {
	f.Add("text/html,application/xhtml+xml;q=0.9,*/*;q=0.8", "nb-NO,en;q=0.5", "gzip, br;q=0")
	f.Add("application/json;q=0", "*", "*;q=0")
	f.Add("a/b;c=\"d,e\"", ";q=", "gzip;q=0.000")
	a := serve(f, "", nil)
	h := a.srv.Handler()
	f.Fuzz(func(t *testing.T, accept, lang, enc string) {
		r := httptest.NewRequest("GET", "/collections", nil)
		r.Header.Set("Accept", accept)
		r.Header.Set("Accept-Language", lang)
		r.Header.Set("Accept-Encoding", enc)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != 200 && w.Code != 406 {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
	})
}
