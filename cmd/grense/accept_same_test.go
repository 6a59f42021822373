package main_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// crawlMost bounds the addresses of one crawl, crawlAlike those that differ in an id, a page or a tile only.
const (
	crawlMost  = 2500
	crawlAlike = 6
)

// crawlStarts are where a crawl begins, besides the addresses that the answers name.
var crawlStarts = []string{
	"/", "/?f=html", "/conformance", "/openapi", "/collections", "/collections?f=html&lang=en", "/processes",
	"/tileMatrixSets", "/v1/collections/kommuner/items?limit=2",
	"/collections/kommuner/items?limit=100", "/collections/kommuner/items?f=html", "/collections/kommuner/items?f=csv",
	"/collections/kommuner/items?f=jsonld&limit=3",
	"/collections/kommuner/items?bbox=10,59,11,60.5", "/collections/kommuner/items?q=osl",
	"/collections/kommuner/items?sortby=-areal_km2&limit=5",
	"/collections/kommuner/items?filter=areal_km2%20%3E%203000%20AND%20navn%20LIKE%20'S%25'",
	"/collections/kommuner/items?crs=http://www.opengis.net/def/crs/EPSG/0/25833&limit=3",
	"/collections/kommuner/items?limit=7&offset=20", "/collections/kommuner/items?properties=navn&skipGeometry=true",
	"/collections/kommuner/items?unknown=1", "/collections/kommuner/items?limit=0",
	"/collections/kommuner/items/0301", "/collections/kommuner/items/0301?f=html", "/collections/kommuner/items/9999",
	"/collections/none", "/lookup?lon=10.75&lat=59.91", "/lookup?lon=10.75&lat=59.91&f=html",
	"/collections/kommuner/tiles/WebMercatorQuad/6/18/33", "/collections/kommuner/tiles/WebMercatorQuad/4/4/8",
	"/collections/kommuner/download?f=geojson", "/collections/kommuner/download?f=csv",
	"/collections/kommuner/download?f=xlsx", "/collections/kommuner/download?f=fgb",
	"/collections/divisions_events/items?limit=20", "/changes",
}

// TestAcceptSameAnswersAsBefore compares what bin/grense and the program that GRENSE_ACCEPT_OLD names answer over the
// demo, address by address: status, headers and body, without what differs between any two processes.
func TestAcceptSameAnswersAsBefore(t *testing.T) {
	bin := os.Getenv("GRENSE_ACCEPT_OLD")
	if bin == "" {
		t.Skip("GRENSE_ACCEPT_OLD names no older program")
	}
	old, now := start(t, &serving{bin: bin}, nil), serve(t, nil)
	x := &crawl{seen: map[string]bool{}, alike: map[string]int{}}
	for _, path := range crawlStarts {
		x.add(path)
	}
	differ := 0
	for ; len(x.next) > 0 && x.asked < crawlMost; x.asked++ {
		path := x.next[0]
		x.next = x.next[1:]
		was, is := crawled(t, old, path), crawled(t, now, path)
		for _, m := range crawlHref.FindAllStringSubmatch(is, -1) {
			x.add(strings.ReplaceAll(m[1], "&amp;", "&"))
		}
		if was == is {
			continue
		}
		if differ++; differ <= 20 {
			i := 0
			for i < min(len(was), len(is)) && was[i] == is[i] {
				i++
			}
			t.Errorf("%s: the older program answers\n…%.300q\nand this one\n…%.300q", path, was[max(0, i-80):],
				is[max(0, i-80):])
		}
	}
	t.Logf("%d addresses were compared, %d differ", x.asked, differ)
}

// crawl is the addresses to compare.
type crawl struct {
	next  []string
	seen  map[string]bool
	alike map[string]int // by addresses without ids and numbers
	asked int
}

var (
	// crawlHref finds addresses below the root in a response of crawled.
	crawlHref = regexp.MustCompile(`["'<]ROOT(/[^"'<> {}]*)["'>]`)
	crawlLike = regexp.MustCompile(`items/[^/?]+|[0-9]+|cursor=[^&]*|lang=[^&]*`)
)

func (x *crawl) add(path string) {
	path, _, _ = strings.Cut(path, "#")
	if like := crawlLike.ReplaceAllString(path, "*"); !x.seen[path] && x.alike[like] < crawlAlike {
		x.seen[path] = true
		x.alike[like]++
		x.next = append(x.next, path)
	}
}

// crawlOwn is what differs between any two programs or processes: their versions, cursors, versions of data, times, ids
// of requests, and lengths of files, which are known once they are built.
var crawlOwn = regexp.MustCompile(
	`v\d+\.\d+\.\d+-[-0-9a-f]+|\bdevel\b|cursor=[^&"'<> ]*|revision=[0-9a-f]+|"timeStamp":"[^"]*"|` +
		`urn:uuid:[0-9a-f-]+|` +
		`"length":\d+,?|[0-9a-f]{16,}|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[.0-9]*Z?|[0-9,.]+ [kKM]i?B`,
)

// crawlHeaders are not compared.
var crawlHeaders = []string{"Date", "Etag", "X-Request-Id", "Content-Length", "Last-Modified", "Ratelimit",
	"Ratelimit-Policy", "Connection"}

// crawled is the response to a request for an address, as text.
func crawled(t *testing.T, s *serving, path string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.base+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Api-Key", s.key)
	req.Header.Set("Accept-Encoding", "gzip")
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err == nil && res.Header.Get("Content-Encoding") == "gzip" {
		var zip *gzip.Reader
		if zip, err = gzip.NewReader(bytes.NewReader(body)); err == nil {
			body, err = io.ReadAll(zip)
		}
	}
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	var b strings.Builder
	fmt.Fprintln(&b, res.StatusCode)
	for _, name := range slices.Sorted(maps.Keys(res.Header)) {
		if !slices.Contains(crawlHeaders, name) {
			fmt.Fprintf(&b, "%s: %q\n", name, res.Header[name])
		}
	}
	b.Write(body)
	return crawlOwn.ReplaceAllString(strings.ReplaceAll(strings.ReplaceAll(b.String(), s.base, "ROOT"), s.key, "KEY"),
		"*")
}
