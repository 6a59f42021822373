package server_test

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"grense/internal/config"
)

// linkedAlike are pages of features whose links have the same frame, one kind after the other.
func linkedAlike() (kinds [][]string) {
	for _, format := range []string{"limit=%d", "f=json&lang=en&limit=%d", "f=csv&limit=%d", "f=jsonld&limit=%d", "f=html&limit=%d", "limit=2&offset=%d", "resulttype=hits&limit=%d", "limit=%d&profile=rfc7946"} {
		var paths []string
		for _, n := range []int{3, 20, 357} {
			paths = append(paths, "/v1/collections/kommuner/items?"+fmt.Sprintf(format, n))
		}
		kinds = append(kinds, paths)
	}
	var sought, boxes []string
	for _, s := range append(awkward, strings.Repeat("lang", 20), strings.Repeat("lengre", 200)) {
		sought = append(sought, "/collections/kommuner/items?limit=4&filter="+url.QueryEscape("navn <> '"+strings.ReplaceAll(s, "'", "''")+"'"))
	}
	for _, box := range []string{"4,57,32,72", "9.5,59,11.5,60.5", "4.00001,57,32,71.9999", "0,0,1,1", "10,59.8,10.8,60"} {
		boxes = append(boxes, "/collections/kommuner/items?limit=10&bbox="+box)
	}
	return append(kinds, sought, boxes)
}

var nextPage = regexp.MustCompile(`<http://[^/>]*(/[^>]*)>; rel="next"`)

// TestLinksOfAFrameAreThoseWrittenOneByOne: in headers, in documents and in compressed ones, whatever was asked for, and on the pages that follow.
func TestLinksOfAFrameAreThoseWrittenOneByOne(t *testing.T) {
	t.Parallel()
	a := serve(t, "", func(c *config.Config) { c.Limits.Answers = 0 })
	stamp := regexp.MustCompile(`"timeStamp":"[^"]*"`)
	ask := func(path, coding string) (all, next string) {
		r := a.get(path, "Accept-Encoding", coding).wants(http.StatusOK)
		if r.Header.Get("Content-Encoding") == "gzip" {
			r.Body = gunzip(t, r.Body)
		}
		body := stamp.ReplaceAllString(string(r.Body), "")
		if strings.Contains(path, "f=html") { // tells more and more of files
			body = ""
		}
		if m := nextPage.FindStringSubmatch(r.Header.Get("Link")); m != nil {
			next = m[1]
		}
		return r.Header.Get("Link") + "\n" + r.Header.Get("Etag") + "\n" + body, next
	}
	for _, paths := range linkedAlike() {
		alone, following := map[string]string{}, []string(nil)
		for _, path := range paths {
			a.srv.ForgetFrames()
			var next string
			if alone[path], next = ask(path, "identity"); next != "" {
				a.srv.ForgetFrames()
				alone[next], _ = ask(next, "identity")
				following = append(following, next)
			}
		}
		a.srv.ForgetFrames()
		before := a.srv.LinksUses()
		for range 3 {
			for _, path := range append(paths, following...) {
				for _, coding := range []string{"gzip", "identity"} {
					if got, _ := ask(path, coding); got != alone[path] {
						t.Errorf("%s in %s: %.600s\nwant %.600s", path, coding, got, alone[path])
					}
				}
			}
		}
		if uses := a.srv.LinksUses() - before; (uses == 0) != strings.Contains(paths[0], "profile") {
			t.Errorf("%s and others: %d links of frames", paths[0], uses)
		}
	}
}
