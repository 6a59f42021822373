package cursor_test

import (
	"net/url"
	"testing"

	"grense/internal/server/cursor"
	"grense/internal/store"
)

// TestCursorsAreOfOneQuery: a cursor is valid for the query that it was signed for, whatever its page size, and for no
// other.
func TestCursorsAreOfOneQuery(t *testing.T) {
	t.Parallel()
	key := cursor.New()
	place := store.NewCursor(store.Place{ID: "0301"})
	p := key.Sign(&store.Page{Next: place}, "kommuner", url.Values{"q": {"os"}, "limit": {"10"}})
	text := string(p.Next)
	for name, c := range map[string]struct {
		text, collection string
		query            url.Values
		key              cursor.Key
		ok               bool
	}{
		"same query":       {text, "kommuner", url.Values{"q": {"os"}, "limit": {"10"}}, key, true},
		"other page size":  {text, "kommuner", url.Values{"q": {"os"}, "limit": {"20"}, "f": {"html"}}, key, true},
		"other filter":     {text, "kommuner", url.Values{"q": {"as"}}, key, false},
		"other collection": {text, "fylker", url.Values{"q": {"os"}}, key, false},
		"other process":    {text, "kommuner", url.Values{"q": {"os"}}, cursor.New(), false},
		"no signature":     {string(place), "kommuner", url.Values{"q": {"os"}}, key, false},
		"changed":          {text + "A", "kommuner", url.Values{"q": {"os"}}, key, false},
		"empty":            {"", "kommuner", url.Values{"q": {"os"}}, key, false},
	} {
		got, ok := c.key.Verify(c.text, c.collection, c.query)
		if ok != c.ok || ok && got != place {
			t.Errorf("%s: %q, %t", name, got, ok)
		}
	}
}
