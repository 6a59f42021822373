package server_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"grense/internal/config"
)

// awkward are texts that mean something where they stand, unless they are escaped there.
var awkward = []string{`<script>alert("x")</script>`, `a&amp;b 'c' + "d"`, `100%25 %3C`, "æ ø å \u2028 \u00a0 +47", "`$(x)`", `</code></input><!--`, `]]&gt;`, `javascript:alert(1)`}

// pagesAlike are pages of features, or of one, that have the same frame, one after the other.
func pagesAlike() (kinds [][]string) {
	at := func(format string, values ...any) (paths []string) {
		for _, v := range values {
			paths = append(paths, fmt.Sprintf("/collections/kommuner/items?f=html"+format, v))
		}
		return paths
	}
	texts := make([]any, 0, len(awkward)+1)
	texts = append(texts, "qqqq") // nothing is found
	for _, s := range awkward {
		texts = append(texts, url.QueryEscape(s))
	}
	filters := []any{"areal_km2%3E1"}
	for _, s := range awkward {
		filters = append(filters, url.QueryEscape("navn <> '"+strings.ReplaceAll(s, "'", "''")+"'"))
	}
	return [][]string{
		at("&limit=%d", 10, 11, 250, 200),
		at("&lang=en&limit=50&offset=%d", 5, 100, 300, 250),
		at("&lang=nn&limit=3&bbox=%s", "4,57,32,72", "9.5,59,11.5,60.5", "4.00001,57,32,71.9999"),
		at("&q=%s", texts...),
		at("&filter=%s", filters...),
		at("&resulttype=hits&filter=%s", filters[:3]...),
		at("&lang=nn&sortby=-navn&limit=20&filter=%s", filters...),
		oneByOne("", "0301", "4601", "5001", "1103"),
		oneByOne("&lang=en&properties=navn", "4601", "0301", "3118"),
		oneByOne("&lang=nn&skipGeometry=true", "0301", "4601"),
	}
}

// oneByOne are pages of single municipalities.
func oneByOne(more string, ids ...string) (paths []string) {
	for _, id := range ids {
		paths = append(paths, "/collections/kommuner/items/"+id+"?f=html"+more)
	}
	return paths
}

// TestPagesOfAFrameAreThoseMadeWhole: what stands around the features is kept for all pages that are alike, and gives the bytes of the page that is made alone, whatever was asked for.
func TestPagesOfAFrameAreThoseMadeWhole(t *testing.T) {
	t.Parallel()
	a := serve(t, "", func(c *config.Config) { c.Limits.Answers = 0 })
	ask := func(path, coding string) string {
		r := a.get(path, "Accept-Encoding", coding).wants(http.StatusOK)
		if coding == "gzip" {
			r.Body = gunzip(t, r.Body)
		}
		return string(r.Body)
	}
	ask("/collections/kommuner/items?f=html", "identity") // begins the levels, which maps are drawn of
	for !a.srv.TilesReady() {
		time.Sleep(10 * time.Millisecond)
	}
	for until := time.Now().Add(time.Minute); !strings.Contains(ask("/collections/kommuner/items?f=html&limit=1", "identity"), "kB"); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatal("no sizes of files")
		}
	}
	for _, paths := range pagesAlike() {
		alone := map[string]string{}
		for _, path := range paths {
			a.srv.ForgetFrames()
			alone[path] = ask(path, "identity")
		}
		a.srv.ForgetFrames()
		ask(paths[0], "identity")
		ask(paths[0], "identity")
		for _, path := range append(paths[1:], paths[0]) {
			before := a.srv.FrameUses()
			for _, coding := range []string{"gzip", "gzip", "gzip", "identity"} {
				if got := ask(path, coding); got != alone[path] {
					t.Errorf("%s, %s: another page than the one made whole:\n%s", path, coding, firstDifference(got, alone[path]))
				}
			}
			if a.srv.FrameUses() == before {
				t.Errorf("%s: no frame was used", path)
			}
		}
	}
}

// firstDifference shows where two texts part.
func firstDifference(a, b string) string {
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	show := func(s string) string { return fmt.Sprintf("%q", s[max(0, i-80):min(len(s), i+80)]) }
	return show(a) + "\n" + show(b)
}

// TestPagesOfHostileFeaturesAreThoseMadeWhole: titles that mean something where they stand are escaped in a frame as they are without one, and ids that would be are in none.
func TestPagesOfHostileFeaturesAreThoseMadeWhole(t *testing.T) {
	t.Parallel()
	a := hostileData(t, func(c *config.Config) { c.Limits.Answers = 0 })
	alone := map[string]string{}
	paths := make([]string, len(hostile))
	for i := range hostile {
		paths[i] = "/collections/ting/items/plain" + strconv.Itoa(i) + "?f=html"
	}
	for _, x := range hostile {
		paths = append(paths, "/collections/ting/items/"+url.PathEscape(x)+"?f=html")
	}
	for _, path := range paths {
		a.srv.ForgetFrames()
		alone[path] = string(a.get(path).wants(http.StatusOK).Body)
	}
	a.srv.ForgetFrames()
	for _, path := range slices.Concat(paths, paths) {
		if got := string(a.get(path).wants(http.StatusOK).Body); got != alone[path] {
			t.Errorf("%s: another page than the one made whole:\n%s", path, firstDifference(got, alone[path]))
		}
	}
	if a.srv.FrameUses() == 0 {
		t.Error("no frame was used")
	}
}
