package server_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"grense/internal/config"
	"grense/internal/format"
	"grense/internal/store"
	"grense/internal/store/gpkg"
	"grense/internal/store/storetest"
)

// fetchAs sends a request with headers and returns the whole response.
func fetchAs(t *testing.T, url string, header map[string]string) (*http.Response, []byte) {
	t.Helper()
	req, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range header {
		req.Header.Set(k, v)
	}
	return exchange(t, http.DefaultTransport, req)
}

// exchange sends a request and reads the whole response.
func exchange(t testing.TB, by http.RoundTripper, req *http.Request) (*http.Response, []byte) {
	t.Helper()
	res, err := by.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, b
}

// idsIn returns the ids of features in GeoJSON.
func idsIn(t *testing.T, b []byte) []string {
	t.Helper()
	var doc struct{ Features []struct{ ID string } }
	decode(t, b, &doc)
	ids := make([]string, len(doc.Features))
	for i, f := range doc.Features {
		ids[i] = f.ID
	}
	return ids
}

func TestDownloadHoldsEveryFeatureInEveryFormat(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	_, all := fetchAs(t, a.URL+"/collections/kommuner/items?limit=1000", nil)
	want := idsIn(t, all)
	if len(want) != 357 {
		t.Fatalf("%d municipalities", len(want))
	}
	for _, f := range format.All() {
		res, b := fetchAs(t, a.URL+"/collections/kommuner/download?f="+f.Name, nil)
		if res.StatusCode != 200 || !strings.HasPrefix(res.Header.Get("Content-Type"), f.Media) ||
			!strings.Contains(res.Header.Get("Content-Disposition"), `"kommuner`+f.Ext+`"`) {
			t.Errorf("%s: %d %s %s", f.Name, res.StatusCode, res.Header.Get("Content-Type"),
				res.Header.Get("Content-Disposition"))
		}
		if (res.Header.Get("Format-Losses") != "") != (len(f.Losses) > 0) {
			t.Errorf("%s: the header tells %q", f.Name, res.Header.Get("Format-Losses"))
		}
		if res, again := fetchAs(t, a.URL+"/collections/kommuner/download",
			map[string]string{"Accept": f.Media}); res.Header.Get("Content-Type") == "" ||
			!strings.HasPrefix(res.Header.Get("Content-Type"), f.Media) || len(again) != len(b) {
			t.Errorf("%s: by its media type come %d bytes of %s", f.Name, len(again), res.Header.Get("Content-Type"))
		}
		switch f.Name {
		case "json":
			if got := idsIn(t, b); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%d features, not those of items", len(got))
			}
		case "geojsonseq":
			if n := bytes.Count(b, []byte{0x1e}); n != len(want) {
				t.Errorf("%d records", n)
			}
		case "ndjson":
			if n := bytes.Count(b, []byte("\n{\"type\":\"Feature\"")); n != len(want)-1 || b[0] != '{' {
				t.Errorf("%d lines", n)
			}
		case "csv":
			rows, err := csv.NewReader(bytes.NewReader(b)).ReadAll()
			if err != nil || len(rows) != len(want)+1 {
				t.Errorf("%d rows, %v", len(rows), err)
			}
		case "gml":
			if n := bytes.Count(b, []byte("<sf:featureMember>")); n != len(want) {
				t.Errorf("%d members", n)
			}
		case "kml":
			if n := bytes.Count(b, []byte("<Placemark id=")); n != len(want) {
				t.Errorf("%d placemarks", n)
			}
		}
	}
}

// TestPagesShowSizesOfFinishedFiles, to two digits at least.
func TestPagesShowSizesOfFinishedFiles(t *testing.T) {
	t.Parallel()
	if !linksHaveVersion() {
		t.Skip("a link that names no state tells no length")
	}
	a := serve(t, "", nil)
	row := regexp.MustCompile(`<a href="([^"]*)"[^>]*rel="enclosure nofollow">[^<]*</a> ` +
		`<span class="hint">[^,<]*, ([0-9.]+)\x{a0}(B|kB|MB)</span>`)
	for _, page := range []string{"/collections/kommuner?f=html&lang=en", "/collections/fylker?f=html&lang=en"} {
		if b := a.get(page).wants(http.StatusOK).Body; row.Match(b) {
			t.Errorf("%s tells sizes of files before they are made: %s", page, b)
		}
		a.makeFiles(t, strings.TrimPrefix(strings.TrimSuffix(page, "?f=html&lang=en"), "/collections/"))
		b := a.get(page).wants(http.StatusOK).Body
		found := row.FindAllStringSubmatch(string(b), -1)
		if len(found) != len(format.All()) {
			t.Errorf("%s tells %d sizes: %s", page, len(found), b)
		}
		for _, m := range found {
			stated, err := strconv.ParseFloat(m[2], 64)
			if err != nil {
				t.Error(err)
			}
			stated *= map[string]float64{"B": 1, "kB": 1e3, "MB": 1e6}[m[3]]
			_, file := fetchAs(t, html.UnescapeString(m[1]), map[string]string{"Accept-Encoding": "identity"})
			if n := float64(len(file)); stated > 1.1*n || stated < n/1.1 {
				t.Errorf("%s: %s is told to have %.0f bytes, and has %.0f", page, m[1], stated, n)
			}
		}
	}
}

func TestLinksToOnePageAreNamedSo(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	page := string(a.get("/collections/kommuner/items?f=html&lang=en&limit=3").wants(200).Body)
	if !strings.Contains(page, "Only this page as:") || strings.Contains(page, "This page as:") {
		t.Error("the page of items names its links as if they led to all")
	}
	var doc struct {
		Links        []struct{ Rel, Title string }
		Distribution []struct{ ContentURL string }
	}
	decode(t, a.get("/collections/kommuner?f=json").wants(200).Body, &doc)
	for _, l := range doc.Links {
		if l.Rel == "items" && !strings.HasSuffix(l.Title, ", page by page") {
			t.Errorf("a link to items is called %q", l.Title)
		}
	}
	decode(t, a.get("/collections/kommuner?f=jsonld").wants(200).Body, &doc)
	for _, d := range doc.Distribution {
		if !strings.Contains(d.ContentURL, "/collections/kommuner/download?f=") {
			t.Errorf("a file of the data set is %s", d.ContentURL)
		}
	}
	if len(doc.Distribution) == 0 {
		t.Error("the data set has no files")
	}
}

func TestDownloadTakesTheParametersOfItems(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	for _, query := range []string{"navn=Oslo", "bbox=10,59,11,60", "filter=nr%20LIKE%20%2703%25%27&sortby=-navn",
		"properties=navn&crs=http://www.opengis.net/def/crs/EPSG/0/25833", "q=os"} {
		_, items := fetchAs(t, a.URL+"/collections/kommuner/items?limit=1000&"+query, nil)
		res, file := fetchAs(t, a.URL+"/collections/kommuner/download?f=json&"+query, nil)
		var x, y struct{ Features []json.RawMessage }
		decode(t, items, &x)
		decode(t, file, &y)
		if res.StatusCode != 200 || len(x.Features) == 0 || len(x.Features) != len(y.Features) {
			t.Errorf("%s: %d, %d features instead of %d", query, res.StatusCode, len(y.Features), len(x.Features))
			continue
		}
		for i := range x.Features {
			if string(x.Features[i]) != string(y.Features[i]) {
				t.Errorf("%s: feature %d is %s, not %s", query, i, y.Features[i], x.Features[i])
				break
			}
		}
	}
}

// TestDownloadOfSimplifiedGeometriesHasThoseOfItems downloads simplified geometries as one file. As a topology the
// file has each border once.
func TestDownloadOfSimplifiedGeometriesHasThoseOfItems(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	a.ready("/collections/kommuner/items?limit=1&zoom-level=4")
	_, items := fetchAs(t, a.URL+"/collections/kommuner/items?limit=1000&zoom-level=4", nil)
	_, file := fetchAs(t, a.URL+"/collections/kommuner/download?f=json&zoom-level=4", nil)
	var x, y struct{ Features []json.RawMessage }
	decode(t, items, &x)
	decode(t, file, &y)
	if len(x.Features) != 357 || len(y.Features) != 357 {
		t.Fatalf("%d and %d features", len(x.Features), len(y.Features))
	}
	for i := range x.Features {
		if string(x.Features[i]) != string(y.Features[i]) {
			t.Fatalf("feature %d is %.300s, not %.300s", i, y.Features[i], x.Features[i])
		}
	}
	type topology struct {
		Arcs    [][]json.RawMessage
		Objects map[string]struct {
			Geometries []struct{ Arcs json.RawMessage }
		}
	}
	count := func(path string) (positions, arcs, references int) {
		res, b := fetchAs(t, a.URL+path, nil)
		var doc topology
		decode(t, b, &doc)
		if res.StatusCode != 200 {
			t.Fatalf("%s: %d", path, res.StatusCode)
		}
		for _, arc := range doc.Arcs {
			positions += len(arc)
		}
		for _, g := range doc.Objects["kommuner"].Geometries {
			references += len(regexp.MustCompile(`\d+`).FindAll(g.Arcs, -1))
		}
		return positions, len(doc.Arcs), references
	}
	const path = "/collections/kommuner/download?f=topojson"
	whole, _, _ := count(path)
	simple, arcs, references := count(path + "&zoom-level=4")
	if simple >= whole || references < arcs*3/2 {
		t.Errorf("%d positions in %d arcs of simplified geometries, %d references to them; %d positions of all", simple,
			arcs, references, whole)
	}
	if page, _, _ := count("/collections/kommuner/items?limit=1000&f=topojson&zoom-level=4"); page != simple {
		t.Errorf("%d positions on a page of all, %d in the file", page, simple)
	}
}

func TestDownloadRefusesWhatDoesNotGoTogether(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	for query, want := range map[string]int{
		"f=doc": 400, "f=json&dialect=excel": 400, "f=csv&dialect=x": 400, "f=json&profile=x": 400,
		"f=csv&crs=http://www.opengis.net/def/crs/EPSG/0/25833": 400,
		"f=gpkg&revision=": 400, "f=gpkg&revision=zz": 400, "f=gpkg&revision=00&navn=Oslo": 400,
		"f=gpkg&revision=0011223344556677": 410, "limit=5": 400, "offset=1": 400, "cursor=x": 400,
	} {
		res, b := fetchAs(t, a.URL+"/collections/kommuner/download?"+query, nil)
		if res.StatusCode != want || !strings.HasPrefix(res.Header.Get("Content-Type"), "application/problem+json") ||
			res.Header.Get("Content-Disposition") != "" {
			t.Errorf("%s: %d %s, want %d", query, res.StatusCode, b, want)
		}
	}
}

// linksHaveVersion reports whether links contain the data version before a file is cached. Those of PostGIS do not,
// since every document would have to query it.
func linksHaveVersion() bool { return !onPostGIS() }

// resumable returns the address of a file of the current data version: the link, or the Content-Location of the
// response.
func resumable(t *testing.T, link string) string {
	t.Helper()
	if linksHaveVersion() {
		return link
	}
	res, _ := fetchAs(t, link, nil)
	at := res.Header.Get("Content-Location")
	if !strings.HasPrefix(at, link+"&revision=") {
		t.Fatalf("%s: %d, it lies at %q", link, res.StatusCode, at)
	}
	return at
}

// TestKeptDownloadIsResumed breaks a download off and resumes it, as curl -C - does. After the data have changed, the
// old version is gone.
func TestKeptDownloadIsResumed(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	var doc struct {
		Links []struct{ Rel, Href, Type string }
	}
	_, b := fetchAs(t, a.URL+"/collections/fylker?f=json", nil)
	decode(t, b, &doc)
	address := ""
	for _, l := range doc.Links {
		if l.Rel == "enclosure" && l.Type == "application/geopackage+sqlite3" {
			address = l.Href
		}
	}
	if names := strings.Contains(address, "revision="); names != linksHaveVersion() {
		t.Fatalf("the collection links to %q", address)
	}
	address = resumable(t, address)
	res, whole := fetchAs(t, address, nil)
	if res.StatusCode != 200 || res.Header.Get("Accept-Ranges") != "bytes" ||
		res.Header.Get("Content-Encoding") != "" || res.ContentLength != int64(len(whole)) || len(whole) == 0 {
		t.Fatalf("%d %v", res.StatusCode, res.Header)
	}
	etag := res.Header.Get("ETag")
	if etag == "" || strings.HasPrefix(etag, "W/") {
		t.Errorf("the validator is %q", etag)
	}
	for _, at := range []int{1, len(whole) / 3, len(whole) - 1} {
		res, rest := fetchAs(t, address, map[string]string{"Range": fmt.Sprintf("bytes=%d-", at)})
		if res.StatusCode != 206 || !bytes.Equal(rest, whole[at:]) {
			t.Errorf("from %d: %d, %d bytes", at, res.StatusCode, len(rest))
		}
	}
	if res, _ := fetchAs(t, address, map[string]string{"If-None-Match": etag}); res.StatusCode != 304 {
		t.Errorf("the same again: %d", res.StatusCode)
	}
	if res, _ := fetchAs(t, address, map[string]string{"If-Match": `"other"`,
		"Range": "bytes=5-"}); res.StatusCode != 412 {
		t.Errorf("another state is wanted: %d", res.StatusCode)
	}
	if res, got := fetchAs(t, address, map[string]string{"If-Range": `"other"`,
		"Range": "bytes=5-"}); res.StatusCode != 200 || !bytes.Equal(got, whole) {
		t.Errorf("a part of another state: %d, %d bytes", res.StatusCode, len(got))
	}
	// An address without a version means the current file. Any transaction on a database server changes its version.
	plain, _, _ := strings.Cut(address, "&revision=")
	res, got := fetchAs(t, plain, map[string]string{"Range": "bytes=5-"})
	at := res.Header.Get("Content-Location")
	if at != address && !linksHaveVersion() {
		_, whole = fetchAs(t, at, nil)
		address = at
	}
	if res.StatusCode != 206 || !bytes.Equal(got, whole[5:]) || res.Header.Get("Accept-Ranges") != "bytes" ||
		at != address {
		t.Errorf("without revision: %d %v", res.StatusCode, res.Header)
	}
}

// TestPartsOfADownloadNeedNoRevision sends range requests as GDAL's /vsicurl/, polars and flatgeobuf.js do, for files
// that were not built before.
func TestPartsOfADownloadNeedNoRevision(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	for _, f := range []string{"flatgeobuf", "geojsonseq"} {
		address := a.URL + "/collections/fylker/download?f=" + f
		req, err := http.NewRequestWithContext(t.Context(), http.MethodHead, address, nil)
		if err != nil {
			t.Fatal(err)
		}
		head, _ := exchange(t, http.DefaultTransport, req)
		res, part := fetchAs(t, address, map[string]string{"Range": "bytes=0-99"})
		if head.StatusCode != 200 || head.ContentLength < 100 || head.Header.Get("Accept-Ranges") != "bytes" ||
			res.StatusCode != 206 || len(part) != 100 {
			t.Fatalf("%s: %d %v, %d %v", f, head.StatusCode, head.Header, res.StatusCode, res.Header)
		}
		tag := res.Header.Get("ETag")
		res, whole := fetchAs(t, address, map[string]string{"Accept-Encoding": "identity"})
		if !bytes.Equal(whole[:100], part) || linksHaveVersion() &&
			(res.Header.Get("ETag") != tag || int64(len(whole)) != head.ContentLength) {
			t.Errorf("%s: %d bytes %v", f, len(whole), res.Header)
		}
		if strings.HasPrefix(tag, "W/") || tag == "" {
			t.Errorf("%s: the validator is %q", f, tag)
		}
		if res, _ := fetchAs(t, address, map[string]string{"Range": "bytes=5-",
			"If-Range": `"other"`}); res.StatusCode != 200 {
			t.Errorf("%s: a part of another state is %d", f, res.StatusCode)
		}
		if res, rest := fetchAs(t, address, map[string]string{
			"Range": "bytes=5-", "If-Range": tag}); linksHaveVersion() &&
			(res.StatusCode != 206 || !bytes.Equal(rest, whole[5:])) {
			t.Errorf("%s: the rest is %d", f, res.StatusCode)
		}
		if res, _ := fetchAs(t, address, map[string]string{"Range": "bytes=999999999-"}); res.StatusCode != 416 {
			t.Errorf("%s: behind the end: %d", f, res.StatusCode)
		}
		if res, _ := fetchAs(t, address+"&bbox=10,59,11,60",
			map[string]string{"Range": "bytes=0-99"}); res.StatusCode != 200 {
			t.Errorf("%s: a part of a selection is %d", f, res.StatusCode)
		}
	}
}

func TestDownloadOfAnEarlierStateIsGoneNotMixed(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.gpkg")
	write := func(names ...string) {
		storetest.Write(t, func(w store.Writer) {
			c := &store.Collection{ID: "x", Table: "x", Public: true, Key: store.FeatureKey{Column: "id"},
				Properties: []store.Property{{Name: "navn", Column: "navn"}}}
			if err := w.Define(context.Background(), c, true); err != nil {
				t.Fatal(err)
			}
			insert, err := w.Insert(context.Background(), "x", []string{"id", "navn"})
			if err != nil {
				t.Fatal(err)
			}
			for i, n := range names {
				if err := insert(fmt.Sprint(i), n); err != nil {
					t.Fatal(err)
				}
			}
		})(gpkg.Create(context.Background(), path))
	}
	write("a", "b")
	st := storetest.Opened[*gpkg.Store](t)(gpkg.Open(context.Background(), path, gpkg.Options{DataDir: t.TempDir()}))
	a := serveStore(t, st, func(c *config.Config) { c.Limits.Downloads = 0 })
	first, b := fetchAs(t, a.URL+"/collections/x/download?f=gpkg", nil)
	address := first.Header.Get("Content-Location")
	snap, err := st.Snapshot(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer snap.Close()
	write("a", "c", "d")
	if err := st.Reload(context.Background()); err != nil {
		t.Fatal(err)
	}
	if p, err := snap.Page(context.Background(), store.Query{
		Collection: "x", Limit: 10, Count: store.CountNone}); err != nil || len(p.Rows) != 2 {
		t.Errorf("the snapshot has %v, %v after a reload", p, err)
	}
	if res, rest := fetchAs(t, address, map[string]string{"Range": "bytes=100-"}); res.StatusCode != 206 ||
		!bytes.Equal(rest, b[100:]) {
		t.Errorf("the kept file of the earlier state: %d", res.StatusCode)
	}
	// replaces the first, since only one is cached
	second, _ := fetchAs(t, a.URL+"/collections/x/download?f=gpkg", nil)
	if second.Header.Get("Content-Location") == address {
		t.Error("another state has the same name")
	}
	if res, _ := fetchAs(t, address, map[string]string{"Range": "bytes=100-"}); res.StatusCode != 410 {
		t.Errorf("the earlier state: %d, want 410", res.StatusCode)
	}
	_, csvFile := fetchAs(t, a.URL+"/collections/x/download?f=csv&dialect=excel", nil)
	if want := "\uFEFFid;navn\r\n0;a\r\n1;c\r\n2;d\r\n"; string(csvFile) != want {
		t.Errorf("got %q, want %q", csvFile, want)
	}
}

// TestDownloadOfPlaces: collections of a register have the names of its tables, which hold more than is public.
func TestDownloadOfPlaces(t *testing.T) {
	t.Parallel()
	path, err := wholeDemo()
	if err != nil {
		t.Fatal(err)
	}
	a := serve(t, path, nil)
	for _, id := range []string{"sted", "stedsnavn"} {
		for _, f := range format.All() {
			if res, b := fetchAs(t, a.URL+"/collections/"+id+"/download?f="+f.Name, nil); res.StatusCode != 200 ||
				len(b) == 0 {
				t.Errorf("%s as %s: %d, %d bytes", id, f.Name, res.StatusCode, len(b))
			}
		}
	}
}

func TestDownloadNeedsAKeyWhereDataDo(t *testing.T) {
	t.Parallel()
	a := serve(t, "", func(c *config.Config) { c.Auth = "required" })
	if res, _ := fetchAs(t, a.URL+"/collections/fylker/download?f=gpkg", nil); res.StatusCode != 401 {
		t.Errorf("without a key: %d", res.StatusCode)
	}
	if res, _ := fetchAs(t, a.URL+"/v1/collections/fylker/download?f=gpkg",
		map[string]string{"X-API-Key": a.key}); res.StatusCode != 200 {
		t.Errorf("with a key: %d", res.StatusCode)
	}
}

func TestJSONFGHasPlaceTypeAndProfile(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	const crs = "&crs=http://www.opengis.net/def/crs/EPSG/0/25833"
	for query, want := range map[string][2]bool{"profile=jsonfg": {true, false}, "profile=jsonfg" + crs: {false, true},
		"profile=jsonfg-plus" + crs: {true, true}} {
		res, b := fetchAs(t, a.URL+"/collections/fylker/download?f=json&"+query, nil)
		var doc struct {
			ConformsTo               []string
			FeatureType, CoordRefSys string
			Features                 []struct{ Geometry, Place, Time json.RawMessage }
		}
		decode(t, b, &doc)
		if len(doc.ConformsTo) == 0 || doc.FeatureType != "fylker" || (doc.CoordRefSys != "") != want[1] ||
			len(doc.Features) != 15 {
			t.Errorf("%s: %.300s", query, b)
			continue
		}
		for _, f := range doc.Features {
			if (string(f.Geometry) != "null") != want[0] || (string(f.Place) != "null") != want[1] ||
				string(f.Time) == "" {
				t.Errorf("%s: geometry %.40s, place %.40s, time %s", query, f.Geometry, f.Place, f.Time)
			}
		}
		profile, _, _ := strings.Cut(query, "&")
		if l := res.Header.Get("Link"); !strings.Contains(l,
			"/profile/OGC/0/"+strings.TrimPrefix(profile, "profile=")+`>; rel="profile"`) {
			t.Errorf("%s: Link is %s", query, l)
		}
	}
}
