package links_test

import (
	"net/url"
	"slices"
	"testing"

	"grense/internal/server/links"
	"grense/internal/server/media"
)

func set(query string, order ...string) *links.Set {
	values, _ := url.ParseQuery(query)
	return &links.Set{Root: "https://example.org/geo", Mount: "/v1", Values: values, Order: order,
		Formats: []media.Format{media.GeoJSON, media.HTML}, Format: media.HTML, Asked: values.Has("f")}
}

// TestLinksRepeatTheQuery: in the order of the route, without what a link sets itself.
func TestLinksRepeatTheQuery(t *testing.T) {
	t.Parallel()
	s := set("limit=10&f=html&bbox=1,2,3,4&navn=%C3%98+y", "f", "bbox", "limit", "navn")
	if got, want := s.Others(), "&bbox=1,2,3,4&limit=10&navn=%C3%98%20y"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := s.Replay("limit", "navn"), []string{"f=html", "bbox=1,2,3,4"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := s.With("/x", "csv"), "https://example.org/geo/v1/x?f=csv"+s.Others(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestSelfIsTheRepresentationThatWasAskedFor: with f that one, else the first.
func TestSelfIsTheRepresentationThatWasAskedFor(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]string{"f=html": media.HTML.Media, "": media.GeoJSON.Media} {
		for _, l := range set(query, "f").SelfLinks("/x") {
			if (l.Rel == "self") != (l.Type == want) || l.Rel != "self" && l.Rel != "alternate" {
				t.Errorf("%q: %s is %s", query, l.Type, l.Rel)
			}
		}
	}
}

func TestListsArePaged(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		offset, limit, n int
		want             []string
	}{
		"all":      {0, 10, 10, nil},
		"first":    {0, 10, 11, []string{"?f=html&limit=10&offset=10&q=x"}},
		"last":     {10, 10, 11, []string{"?f=html&limit=10&q=x"}},
		"middle":   {15, 10, 40, []string{"?f=html&limit=10&offset=5&q=x", "?f=html&limit=10&offset=25&q=x"}},
		"past end": {90, 10, 40, []string{"?f=html&limit=10&offset=30&q=x"}},
	} {
		var got []string
		for _, l := range set("f=html&q=x&limit=3", "f", "limit", "q").ListPages("/l", c.offset, c.limit, c.n) {
			got = append(got, l.Href[len("https://example.org/geo/v1/l"):])
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestLanguageIsRepeatedWhereTheQueryWasNotRead: links of an error page stay in its language.
func TestLanguageIsRepeatedWhereTheQueryWasNotRead(t *testing.T) {
	t.Parallel()
	s := &links.Set{Root: "https://example.org"}
	s.Speak("nn")
	if got, want := s.HtmlHref("/x")+s.Others(), "https://example.org/x?f=html&lang=nn&lang=nn"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	s = set("q=x", "q")
	s.Speak("nn")
	if got, want := s.Others(), "&q=x"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
