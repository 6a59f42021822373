package page_test

import (
	"strings"
	"testing"

	"grense/internal/server/page"
)

func TestIndentXMLAddsNothingButWhiteSpaceBetweenTags(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, in, want string }{
		{"nested", "<a><b>x</b><c/></a>", "<a>\n  <b>x</b>\n  <c/>\n</a>"},
		{"declaration", "<?xml version=\"1.0\"?>\n<a><b x=\"1\"></b></a>\n",
			"<?xml version=\"1.0\"?>\n<a>\n  <b x=\"1\"></b>\n</a>"},
		{"indented already", "<a>\n      <b>x</b>\n</a>", "<a>\n  <b>x</b>\n</a>"},
		{"text keeps its spaces", "<a><b> x  y </b></a>", "<a>\n  <b> x  y </b>\n</a>"},
		{"mixed", "<a>x<b>y</b>z</a>", "<a>x<b>y</b>z</a>"},
		{"comment", "<a><!-- <b> --></a>", "<a><!-- <b> --></a>"},
		{"no XML", "not < found", "not < found"},
		{"cut off", "<a><b", "<a><b"},
		{"closes too often", "</a></a><b/>", "</a>\n</a>\n<b/>"},
		{"empty", "", ""},
	} {
		if got := page.IndentXML(c.in); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func FuzzIndentXML(f *testing.F) {
	for _, s := range []string{"<a><b>x</b></a>", "<a>\n <b/></a>", "x<y>z", "<<>>", "<a", "</a>"} {
		f.Add(s)
	}
	bare := func(s string) string { return strings.Join(strings.Fields(s), "") }
	f.Fuzz(func(t *testing.T, s string) {
		got := page.IndentXML(s)
		if bare(got) != bare(s) {
			t.Errorf("%q became %q", s, got)
		}
		if again := page.IndentXML(got); again != got {
			t.Errorf("%q, then %q", got, again)
		}
	})
}
