package server

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"

	"grense/internal/store"
)

// TestOnlyPagesThatAreKeptAreCompressedAtLength: a page that is made anew for the next who asks is compressed as quickly as can be.
func TestOnlyPagesThatAreKeptAreCompressedAtLength(t *testing.T) {
	t.Parallel()
	plain := []byte(strings.Repeat("<p>Os ligger ved sjøen, Oslo ved fjorden og Ås på land.</p>\n", 40) + "<p>Det var alt.</p>")
	for name, x := range map[string]struct {
		keep              *keeping
		unfinished, quick bool
		level             int
	}{
		"kept":                     {&keeping{}, false, false, gzip.BestCompression},
		"kept, but of one use":     {&keeping{}, false, true, gzip.BestSpeed},
		"it lacks what comes soon": {&keeping{}, true, false, gzip.BestSpeed},
		"not kept":                 {nil, false, false, gzip.BestSpeed},
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set("Accept-Encoding", "gzip")
		c := &call{s: &Server{answers: &answers{}}, r: r, cat: &store.Catalog{}, keep: x.keep, unfinished: x.unfinished}
		w := httptest.NewRecorder()
		if err := c.writeWhole(w, plain, x.quick); err != nil {
			t.Fatal(err)
		}
		if want := compress(nil, plain, x.level); !bytes.Equal(w.Body.Bytes(), want) {
			t.Errorf("%s: %d bytes, want the %d of level %d", name, w.Body.Len(), len(want), x.level)
		}
	}
}
