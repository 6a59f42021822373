package server_test

import "testing"

// TestFirstItemsLinkTakesAnID: GDAL appends /ID to it.
func TestFirstItemsLinkTakesAnID(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	for _, mount := range []string{"", "/v1"} {
		for _, path := range []string{"/collections/kommuner", "/collections/kommuner?f=json&lang=en"} {
			l, ok := find(a.get(mount+path).wants(200).links(), "items", "application/geo+json")
			if want := a.URL + mount + "/collections/kommuner/items"; !ok || l.Href != want {
				t.Errorf("%s: %q, want %q", path, l.Href, want)
			}
			a.get(l.Href+"/0301", "Accept", "application/geo+json").wants(200)
		}
	}
}
