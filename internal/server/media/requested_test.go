package media_test

import (
	"net/url"
	"testing"

	"grense/internal/server/media"
)

// TestLanguageThatIsAskedForIsThatOfTheQuery: the query decides the language, however it is written and whatever
// other parameters it has.
func TestLanguageThatIsAskedForIsThatOfTheQuery(t *testing.T) {
	t.Parallel()
	for _, query := range []string{"", "lang", "lang=", "lang=nn", "f=html&lang=en", "lang=en&lang=nn", "l%61ng=nn",
		"%6c%61%6e%67=en&f=json", "slang=en", "lang[]=en", "q=lang", "q=%6cang=en", "q=a%26lang%3Den",
		"lang%3Den", "LANG=en", "a;lang=en", "lang=en;f=html", "lang;f=html", "&lang=nn&", "=lang", "%zz=1&lang=en",
		"lang=%zz", "la+ng=en", "lang+=en", "filter=nr%3D1&lang=nn"} {
		u := &url.URL{RawQuery: query}
		if got, want := media.Requested(u), u.Query().Get("lang"); got != want {
			t.Errorf("%q asks for %q, want %q", query, got, want)
		}
	}
}
