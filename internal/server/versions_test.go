package server_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"fmt"
	"log/slog"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/paulmach/orb"
	"github.com/paulmach/orb/encoding/mvt"
	orbwkb "github.com/paulmach/orb/encoding/wkb"

	"grense/internal/config"
	"grense/internal/cql2"
	"grense/internal/geo/crs"
	"grense/internal/sharedtest"
	"grense/internal/store"
	"grense/internal/store/gpkg"
)

// versionedFile holds areas with versions by days and buildings with versions by timestamps, as in the example of the
// draft.
var versionedFile = besideDemo("versions.gpkg", writeVersioned)

func writeVersioned(ctx context.Context, w store.Writer) error {
	return writeVersions(ctx, w, func([]any) bool { return true })
}

// writeVersions writes rows of id, name, start and end after change has edited them. A row for which change returns
// false is left out.
func writeVersions(ctx context.Context, w store.Writer, change func(row []any) bool) error {
	prop := func(name string, t cql2.Type) store.Property {
		return store.Property{Name: name, Column: name, Type: t}
	}
	for _, x := range []struct {
		id        string
		key, time cql2.Type
		rows      [][]any
	}{
		{"areas", cql2.TypeText, cql2.TypeDate, [][]any{
			{"1", "Old", "2001-01-01", "2012-01-01"}, {"1", "New", "2012-01-01", nil},
			{"2", "Ended", "2005-01-01", "2020-01-01"},
			{"3", "Young", "2020-01-01", nil}, {"4", "To come", "2090-01-01", nil},
			{"5.a", "Gap", "2001-01-01", "2003-01-01"}, {"5.a", "Again", "2010-01-01", nil},
		}},
		{"buildings", cql2.TypeInteger, cql2.TypeTimestamp, [][]any{
			{int64(1), "10.8", "2001-07-02T10:43:17Z", "2012-10-14T16:43:17Z"},
			{int64(1), "14.0", "2012-10-14T16:43:17Z", nil},
		}},
	} {
		err := w.Define(ctx, &store.Collection{ID: x.id, Table: x.id, Public: true, Title: store.Text{"en": x.id},
			Key: store.FeatureKey{Column: "fid", Type: cql2.TypeInteger},
			Properties: []store.Property{prop("nr", x.key), prop("name", cql2.TypeText), prop("from", x.time),
				prop("to", x.time)}, TitleProperty: "name",
			Geometry:      &store.Geom{Name: "geometry", Column: "geom", Type: "Polygon", CRS: crs.CRS84},
			Versions:      &store.Versions{ID: "nr", Start: "from", End: "to"},
			IntervalStart: "from", IntervalEnd: "to", DefaultSort: []store.Sort{{Property: "nr"}, {Property: "from"}}},
			true)
		if err != nil {
			return err
		}
		insert, err := w.Insert(ctx, x.id, []string{"fid", "nr", "name", "from", "to", "geom"})
		if err != nil {
			return err
		}
		for i, row := range x.rows {
			n := len(x.rows) - i
			if !change(row) {
				continue
			}
			at := 10 + float64(n)/10
			square := orb.Polygon{{{at, 60}, {at + .08, 60}, {at + .08, 60.1}, {at, 60.1}, {at, 60}}}
			if err := insert(append(append([]any{int64(100 + n)}, row...),
				store.Geometry{WKB: orbwkb.MustMarshal(square)})...); err != nil {
				return err
			}
		}
	}
	return nil
}

func serveVersions(t *testing.T, change func(*config.Config)) *api {
	t.Helper()
	path, err := versionedFile()
	if err != nil {
		t.Fatal(err)
	}
	return serve(t, path, change)
}

var headerLink = regexp.MustCompile(`<([^>]*)>[^<]*?;\s*rel="?([^";,]+)`)

// headerLinks are the targets of the header Link by relation, without the mount.
func (r answer) headerLinks() map[string][]string {
	out := map[string][]string{}
	for _, m := range headerLink.FindAllStringSubmatch(strings.Join(r.Header.Values("Link"), ", "), -1) {
		href := strings.TrimPrefix(strings.TrimPrefix(m[1], "http://"), r.Request.URL.Host)
		out[m[2]] = append(out[m[2]], strings.TrimPrefix(strings.TrimPrefix(href, "www.opengis.net"), "/v1"))
	}
	return out
}

// TestNothingIsValidInYear1: the first timestamp is valid as a parameter.
func TestNothingIsValidInYear1(t *testing.T) {
	t.Parallel()
	a := serveVersions(t, nil)
	for _, c := range []string{"areas", "buildings"} {
		for _, at := range []string{"0001-01-01", "0001-01-01T00:00:00Z"} {
			for _, mount := range []string{"", "/v1"} {
				if f := a.get(mount + "/collections/" + c + "/items?datetime=" + at).wants(
					http.StatusOK).page().Features; len(f) != 0 {
					t.Errorf("%s at %s: %d features", c, at, len(f))
				}
			}
		}
	}
}

// TestTheFirstFeatureWithVersionsLeadsToTheNext, of those that are valid at its moment.
func TestTheFirstFeatureWithVersionsLeadsToTheNext(t *testing.T) {
	t.Parallel()
	a := serveVersions(t, nil)
	for path, next := range map[string]string{"areas/items/1": "3", "areas/items/1?datetime=2006-01-01": "2",
		"areas/items/1.20010101": "5.a.20010101"} {
		if got := a.get("/collections/" + path).wants(http.StatusOK).json()["next"]; got != next {
			t.Errorf("%s: next %v, want %s", path, got, next)
		}
	}
}

// TestVersionsOfAFeature requests a feature at a timestamp, with the links of the draft Versioned Features (access to
// a feature and its versions), at both mounts.
func TestVersionsOfAFeature(t *testing.T) {
	t.Parallel()
	a := serveVersions(t, func(c *config.Config) { c.Service.TimeZone = "Europe/Oslo" })
	for _, x := range []struct{ path, name, memento, canonical, before, after string }{
		{"areas/items/1", "New", "Sat, 31 Dec 2011 23:00:00 GMT", "areas/items/1?datetime=2012-01-01",
			"areas/items/1?datetime=2001-01-01", ""},
		{"areas/items/1?datetime=2005-06-01", "Old", "Sun, 31 Dec 2000 23:00:00 GMT",
			"areas/items/1?datetime=2001-01-01", "", "areas/items/1?datetime=2012-01-01"},
		{"areas/items/1?datetime=2012-01-01", "New", "Sat, 31 Dec 2011 23:00:00 GMT",
			"areas/items/1?datetime=2012-01-01", "areas/items/1?datetime=2001-01-01", ""},
		{"areas/items/1?datetime=2011-12-31T22:59:59Z", "Old", "Sun, 31 Dec 2000 23:00:00 GMT",
			"areas/items/1?datetime=2001-01-01", "", "areas/items/1?datetime=2012-01-01"},
		{"areas/items/1?datetime=2011-12-31T23:00:00Z", "New", "Sat, 31 Dec 2011 23:00:00 GMT",
			"areas/items/1?datetime=2012-01-01", "areas/items/1?datetime=2001-01-01", ""},
		{"areas/items/1.20010101", "Old", "Sun, 31 Dec 2000 23:00:00 GMT", "areas/items/1?datetime=2001-01-01", "",
			"areas/items/1?datetime=2012-01-01"},
		{"areas/items/1.20001231T230000Z", "Old", "Sun, 31 Dec 2000 23:00:00 GMT", "areas/items/1?datetime=2001-01-01",
			"", "areas/items/1?datetime=2012-01-01"},
		{"areas/items/5.a", "Again", "Thu, 31 Dec 2009 23:00:00 GMT", "areas/items/5.a?datetime=2010-01-01",
			"areas/items/5.a?datetime=2001-01-01", ""},
		{"buildings/items/1?datetime=2012-10-14T16:43:17Z", "14.0", "Sun, 14 Oct 2012 16:43:17 GMT",
			"buildings/items/1?datetime=2012-10-14T16:43:17Z", "buildings/items/1?datetime=2001-07-02T10:43:17Z", ""},
		{"buildings/items/1?datetime=2005-01-01T00:00:00Z", "10.8", "Mon, 02 Jul 2001 10:43:17 GMT",
			"buildings/items/1?datetime=2001-07-02T10:43:17Z", "", "buildings/items/1?datetime=2012-10-14T16:43:17Z"},
		{"buildings/items/1.20010702T104317Z", "10.8", "Mon, 02 Jul 2001 10:43:17 GMT",
			"buildings/items/1?datetime=2001-07-02T10:43:17Z", "", "buildings/items/1?datetime=2012-10-14T16:43:17Z"},
	} {
		for _, mount := range []string{"", "/v1"} {
			r := a.get(mount + "/collections/" + x.path).wants(http.StatusOK)
			doc := r.json()
			id, _, _ := strings.Cut(x.path[strings.LastIndex(x.path, "/")+1:], "?")
			if id == "1.20001231T230000Z" { // the day is that of the zone
				id = "1.20010101"
			}
			if doc["id"] != id || doc["properties"].(map[string]any)["name"] != x.name {
				t.Errorf("%s: %v %v, want %s", x.path, doc["id"], doc["properties"], x.name)
			}
			if got := r.Header.Get("Memento-Datetime"); got != x.memento {
				t.Errorf("%s: Memento-Datetime %q, want %q", x.path, got, x.memento)
			}
			original, _, _ := strings.Cut(x.canonical, "?")
			links := r.headerLinks()
			for rel, want := range map[string]string{"canonical": x.canonical, "original": original,
				"version-history": original + "/versions", "predecessor-version": x.before,
				"successor-version": x.after} {
				var all []string
				if want != "" {
					all = []string{"/collections/" + want}
				}
				if !slices.Equal(links[rel], all) {
					t.Errorf("%s: header Link %s is %q, want %q", x.path, rel, links[rel], all)
				}
				l, ok := find(r.links(), rel, "")
				if ok != (want != "") || ok && !strings.HasSuffix(l.Href, mount+"/collections/"+want) {
					t.Errorf("%s: link %s is %q, want %q", x.path, rel, l.Href, want)
				}
			}
			if !slices.Contains(links["timemap"], "/collections/"+original+"/versions") {
				t.Errorf("%s: no time map in %q", x.path, links["timemap"])
			}
		}
	}
	a.get("/collections/fylker/items/03").wants(http.StatusNotFound) // the file has no such
}

// TestVersionsThatAreNotThere: 410 for a feature that was or will be, with its last version; 404 for one that never
// was; 400 for a parameter that selects no version.
func TestVersionsThatAreNotThere(t *testing.T) {
	t.Parallel()
	a := serveVersions(t, nil)
	for path, latest := range map[string]string{
		"areas/items/2": "2?datetime=2005-01-01", "areas/items/1?datetime=1990-01-01": "1?datetime=2012-01-01",
		"areas/items/4":                       "4?datetime=2090-01-01",
		"areas/items/5.a?datetime=2005-01-01": "5.a?datetime=2010-01-01",
		"areas/items/2?datetime=2020-01-01":   "2?datetime=2005-01-01",
	} {
		r := a.get("/collections/" + path).wants(http.StatusGone)
		links := r.headerLinks()
		if !slices.Equal(links["latest-version"], []string{"/collections/areas/items/" + latest}) ||
			len(links["timemap"]) == 0 || len(links["version-history"]) != 1 {
			t.Errorf("%s: %v", path, links)
		}
		if r.Header.Get("Memento-Datetime") != "" || r.Header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s: %v", path, r.Header)
		}
	}
	for _, path := range []string{"areas/items/9", "areas/items/9?datetime=2020-01-01", "areas/items/1.19990101",
		"areas/items/1.20010102", "buildings/items/x", "areas/items/9/versions", "buildings/items/01"} {
		a.get("/collections/" + path).wants(http.StatusNotFound)
	}
	for _, path := range []string{"areas/items/1?datetime=2001-01-01/..", "areas/items/1?datetime=yesterday",
		"areas/items/1.20010101?datetime=2001-01-01", "areas/items/1?profile=features-with-time-slices"} {
		r := a.get("/collections/" + path).wants(http.StatusBadRequest)
		if len(r.json()["faults"].([]any)) == 0 {
			t.Errorf("%s: %s", path, r.Body)
		}
	}
	demo := serve(t, "", nil) // features without versions have none of this
	demo.get("/collections/kommuner/items/0301?datetime=2020-01-01").wants(http.StatusBadRequest)
	demo.get("/collections/kommuner/items?profile=versions-as-features").wants(http.StatusBadRequest)
	demo.get("/collections/kommuner/items/0301/versions").wants(http.StatusNotFound)
}

// TestTimeMap: all versions of a feature, as JSON, as links (RFC 7089, 5; RFC 6690) and as a page.
func TestTimeMap(t *testing.T) {
	t.Parallel()
	a := serveVersions(t, nil)
	doc := a.get("/collections/buildings/items/1/versions").wants(http.StatusOK).json()
	var got []string
	for _, x := range doc["links"].([]any) {
		l := x.(map[string]any)
		at, _ := l["datetime"].(string)
		if l["rel"] != "self" && l["rel"] != "alternate" {
			href := l["href"].(string)
			got = append(got, l["rel"].(string)+" "+href[strings.LastIndex(href, "/"):]+" "+at)
		}
	}
	want := []string{"original /1 ", "first /1?datetime=2001-07-02T10:43:17Z ",
		"memento /1?datetime=2001-07-02T10:43:17Z Mon, 02 Jul 2001 10:43:17 GMT",
		"last /1?datetime=2012-10-14T16:43:17Z ", "latest-version /1?datetime=2012-10-14T16:43:17Z ",
		"memento /1?datetime=2012-10-14T16:43:17Z Sun, 14 Oct 2012 16:43:17 GMT"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	r := a.get("/v1/collections/buildings/items/1/versions", "Accept", "application/link-format").wants(http.StatusOK)
	media := r.Header.Get("Content-Type")
	if line := `/v1/collections/buildings/items/1?datetime=2001-07-02T10:43:17Z>;rel="memento";` +
		`type="application/geo+json";datetime="Mon, 02 Jul 2001 10:43:17 GMT"`; media != "application/link-format" ||
		!strings.Contains(string(r.Body), line) {
		t.Errorf("%s: %s", r.Header.Get("Content-Type"), r.Body)
	}
	page := string(a.get("/collections/areas/items/5.a/versions?f=html").wants(http.StatusOK).Body)
	for _, part := range []string{"Gap", "Again", "2003-01-01",
		"/collections/areas/items/5.a?datetime=2001-01-01&amp;f=html"} {
		if !strings.Contains(page, part) {
			t.Errorf("the page does not say %q", part)
		}
	}
}

// TestItemsSelectVersions: datetime selects versions first, and all other conditions apply to these (draft Versioned
// Features, behaviour on the features resource): on pages, in files and in the count.
func TestItemsSelectVersions(t *testing.T) {
	t.Parallel()
	a := serveVersions(t, nil)
	for query, want := range map[string]string{
		"":                                        "1 3 5.a",
		"datetime=2005-06-01":                     "1 2",
		"datetime=2012-01-01T00:00:00Z":           "1 2 5.a",
		"datetime=1990-01-01":                     "",
		"datetime=2095-01-01":                     "1 3 4 5.a",
		"name=Old":                                "",
		"datetime=2005-06-01&name=Old":            "1",
		"filter=name IN ('Old','New','Young')":    "1 3",
		"datetime=2005-06-01&bbox=10,59,10.65,61": "2",
		"datetime=2019-01-01/..":                  "1.20120101 2.20050101 3.20200101 4.20900101 5.a.20100101",
		"datetime=2020-01-01/2020-01-02":          "1.20120101 2.20050101 3.20200101 5.a.20100101",
		"datetime=2019-01-01/..&profile=versions-as-features":         "1 2 3 4 5.a",
		"datetime=2000-01-01/2011-01-01&profile=versions-as-features": "1 2 5.a 5.a",
		"profile=versions-as-features-unique-ids":                     "1.20120101 3.20200101 5.a.20100101",
		"profile=jsonfg,versions-as-features-unique-ids":              "1.20120101 3.20200101 5.a.20100101",
		"datetime=2005-06-01&sortby=-name&limit=1":                    "1",
		"profile=http://www.opengis.net/def/profile/OGC/0/versions-as-features" +
			"&datetime=2005-06-01/2005-06-02": "1 2",
	} {
		query = strings.ReplaceAll(query, " ", "%20")
		for _, mount := range []string{"", "/v1"} {
			r := a.get(mount + "/collections/areas/items?" + query).wants(http.StatusOK)
			p := r.page()
			if got := strings.Join(p.ids(), " "); got != want {
				t.Errorf("%s: %q, want %q", query, got, want)
			}
			if n := len(p.Features); !strings.Contains(query, "limit") &&
				(p.NumberMatched != n || p.NumberReturned != n) {
				t.Errorf("%s: %d matched, %d returned, %d there", query, p.NumberMatched, p.NumberReturned, n)
			}
			profile := slices.Contains(r.headerLinks()["profile"], "/def/profile/OGC/0/versions-as-features")
			unique := slices.Contains(r.headerLinks()["profile"], "/def/profile/OGC/0/versions-as-features-unique-ids")
			interval := strings.Contains(query, "/.") || strings.Contains(query, "01/20")
			if interval != (profile || unique) && !strings.Contains(query, "profile") {
				t.Errorf("%s: profiles %q", query, r.headerLinks()["profile"])
			}
		}
		if strings.Contains(query, "jsonfg") {
			continue
		}
		csv := string(a.get("/collections/areas/items?f=csv&" + query).wants(http.StatusOK).Body)
		file := string(a.get("/collections/areas/download?f=csv&" + strings.ReplaceAll(query, "&limit=1", "")).wants(
			http.StatusOK).Body)
		for _, id := range strings.Fields(want) {
			if !strings.Contains(csv, "\n"+id+",") || !strings.Contains(file, "\n"+id+",") {
				t.Errorf("%s: no %s in CSV: %s", query, id, csv)
			}
		}
	}
	page := string(a.get("/collections/areas/items?f=html&datetime=2005-06-01").wants(http.StatusOK).Body)
	if !strings.Contains(page, "/collections/areas/items/2?datetime=2005-06-01&amp;f=html") {
		t.Error("the page of a day leads to features of another")
	}
}

// TestVersionedCollectionSaysSo: its metadata, schema and API definition state the versions; those of other
// collections do not.
func TestVersionedCollectionSaysSo(t *testing.T) {
	t.Parallel()
	a := serveVersions(t, nil)
	collection := a.get("/collections/areas").wants(200).json()
	if v, _ := collection["versioning"].(map[string]any); v["timeAxis"] != "validity-time" {
		t.Errorf("versioning %v", v)
	}
	roles := map[string]string{}
	for name, p := range a.get("/collections/areas/schema").wants(200).json()["properties"].(map[string]any) {
		roles[name], _ = p.(map[string]any)["x-ogc-role"].(string)
	}
	if roles["from"] != "primary-interval-start" || roles["to"] != "primary-interval-end" || roles["nr"] != "id" {
		t.Errorf("roles %v", roles)
	}
	paths := a.get("/openapi?f=json").wants(200).json()["paths"].(map[string]any)
	if paths["/collections/areas/items/{featureId}/versions"] == nil {
		t.Error("the API definition has no time map")
	}
	demo := serve(t, "", nil)
	if v := demo.get("/collections/kommuner").wants(200).json()["versioning"]; v != nil {
		t.Errorf("without versions: %v", v)
	}
	for path := range demo.get("/openapi?f=json").wants(200).json()["paths"].(map[string]any) {
		if strings.HasSuffix(path, "/versions") && !strings.Contains(path, "divisions_versions") {
			t.Errorf("without versions: %s", path)
		}
	}
	if b := a.get("/collections/areas?f=html&lang=en").wants(200).Body; !strings.Contains(
		string(b), "<dt>Number of versions of features</dt><dd>7</dd>") {
		t.Errorf("the page: %s", b)
	}
}

// TestLookupSelectsVersions: a point lies in the current divisions, or in those of the given day.
func TestLookupSelectsVersions(t *testing.T) {
	t.Parallel()
	a := serveVersions(t, nil)
	// squares from east to west: 1 old, 1 new, 2, 3, 4, 5.a gap, 5.a again
	for query, want := range map[string]string{
		"lon=10.74&lat=60.05": "", "lon=10.74&lat=60.05&datetime=2005-01-01": "1", "lon=10.64&lat=60.05": "1",
		"lon=10.54&lat=60.05":                     "",
		"lon=10.54&lat=60.05&datetime=2019-12-31": "2", "lon=10.54&lat=60.05&datetime=2020-01-01": "",
		"lon=10.54&lat=60.05&datetime=2019-01-01/..": "2",
	} {
		r := a.get("/lookup?collections=areas&" + query).wants(200)
		p := r.page()
		if got := strings.Join(p.ids(), " "); got != want {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
		for _, f := range p.Features {
			if l, ok := find(f.Links, "canonical", ""); ok {
				a.get(strings.TrimPrefix(l.Href, a.URL)).wants(200)
			}
		}
	}
}

// TestEndedVersionsAreKept: if data are open, caches may store a version for good that ended before the settled day.
// No other response allows that.
func TestEndedVersionsAreKept(t *testing.T) {
	t.Parallel()
	path, err := versionedFile()
	if err != nil {
		t.Fatal(err)
	}
	st, err := gpkg.Open(t.Context(), path, gpkg.Options{DataDir: t.TempDir(),
		Settings: map[string]store.Settings{"areas": {Settled: "2012-01-01"}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	a := serveStore(t, st, nil)
	for path, kept := range map[string]bool{
		"areas/items/1?datetime=2005-01-01": true, "areas/items/1.20010101": true, "areas/items/1": false,
		"areas/items/1?datetime=2012-01-01": false,
		"areas/items/2?datetime=2006-01-01": false, "buildings/items/1?datetime=2005-01-01": false,
		"areas/items/5.a?datetime=2002-01-01": true,
	} {
		if got := a.get("/collections/" + path).wants(200).Header.Get("Cache-Control"); strings.Contains(
			got, "immutable") != kept {
			t.Errorf("%s: Cache-Control %q", path, got)
		}
	}
	keyed := serveStore(t, st, func(c *config.Config) { c.Auth = "required" })
	if got := keyed.get("/collections/areas/items/1?datetime=2005-01-01", "X-API-Key", keyed.key).wants(200).Header.Get(
		"Cache-Control"); strings.Contains(got, "immutable") {
		t.Errorf("behind a key: Cache-Control %q", got)
	}
	keyed.get("/collections/areas/items/1/versions").wants(http.StatusUnauthorized)
}

// TestTilesSelectVersions: tiles contain the current versions, or those of the given day, under the ids of their
// features.
func TestTilesSelectVersions(t *testing.T) {
	t.Parallel()
	a := serveVersions(t, nil)
	for _, levels := range []bool{false, true} {
		if levels {
			a.settled("/collections/areas/tiles/WebMercatorQuad/5/9/16")
		}
		for query, want := range map[string]string{"": "1 3 5.a", "?datetime=2005-06-01": "1 2",
			"?datetime=2095-01-01": "1 3 4 5.a"} {
			r := a.get("/collections/areas/tiles/WebMercatorQuad/5/9/16" + query).wants(200)
			var got []string
			for _, id := range []string{"1", "2", "3", "4", "5.a"} {
				if strings.Contains(string(r.Body), "\x0a"+string(rune(len(id)))+id) {
					got = append(got, id)
				}
			}
			if strings.Join(got, " ") != want {
				t.Errorf("%s: %q, want %q", query, got, want)
			}
		}
	}
}

// writePast writes the municipalities of the demo: some as they are, some with an earlier version, and some that have
// ended.
func writePast(ctx context.Context, w store.Writer) error {
	path, err := demoFile()
	if err != nil {
		return err
	}
	st, err := gpkg.Open(ctx, path, gpkg.Options{DataDir: filepath.Dir(path), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	defer st.Close()
	coll, _ := st.Catalog().Collection("kommuner")
	prop := func(name string, t cql2.Type) store.Property {
		return store.Property{Name: name, Column: name, Type: t}
	}
	err = w.Define(ctx, &store.Collection{ID: "past", Table: "past", Public: true, Title: store.Text{"en": "Past"},
		Key: store.FeatureKey{Column: "fid", Type: cql2.TypeInteger},
		Properties: []store.Property{prop("nr", cql2.TypeText), prop("name", cql2.TypeText),
			prop("from", cql2.TypeDate), prop("to", cql2.TypeDate)}, TitleProperty: "name",
		Geometry:      &store.Geom{Name: "geometry", Column: "geom", Type: coll.Geometry.Type, CRS: coll.Geometry.CRS},
		Versions:      &store.Versions{ID: "nr", Start: "from", End: "to"},
		IntervalStart: "from", IntervalEnd: "to", DefaultSort: []store.Sort{{Property: "nr"}, {Property: "from"}}},
		true)
	if err != nil {
		return err
	}
	insert, err := w.Insert(ctx, "past", []string{"fid", "nr", "name", "from", "to", "geom"})
	if err != nil {
		return err
	}
	page, err := st.Page(ctx, store.Query{Collection: "kommuner", Limit: 1000})
	if err != nil {
		return err
	}
	n := int64(0)
	return st.Fetch(ctx, "kommuner", page.Rows, store.Want{Properties: []string{}}, func(f *store.Feature) error {
		spans := [][2]any{{"2000-01-01", nil}}
		switch n++; n % 3 {
		case 1:
			spans = [][2]any{{"1990-01-01", "2010-01-01"}, {"2010-01-01", nil}}
		case 2:
			spans = [][2]any{{"1980-01-01", "2015-07-01"}}
		}
		for i, span := range spans {
			if err := insert(n*10+int64(i), f.ID, fmt.Sprint(f.ID, " of ", span[0]), span[0], span[1],
				f.Geometry); err != nil {
				return err
			}
		}
		return nil
	})
}

// TestTilesOfTheFileAndOfTheDatabaseAreAlikeOnAnyDay compares tiles of now and of days of both stores, byte for byte.
func TestTilesOfTheFileAndOfTheDatabaseAreAlikeOnAnyDay(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long: the run without the race detector has it")
	}
	path, err := fillFile(filepath.Join(t.TempDir(), "past.gpkg"), writePast)
	if err != nil {
		t.Fatal(err)
	}
	a, b := serveStore(t, openGeoPackage(t, path), nil), serveStore(t, openPostGIS(t, path), nil)
	tiles := []string{"WebMercatorQuad/0/0/0", "WebMercatorQuad/4/4/8", "WebMercatorQuad/5/9/16",
		"WebMercatorQuad/7/37/67", "WebMercatorQuad/9/148/271", "WorldCRS84Quad/6/11/68"}
	differ := map[string]bool{}
	for _, tile := range tiles {
		a.settled("/collections/past/tiles/" + tile)
		b.settled("/collections/past/tiles/" + tile)
		for _, query := range []string{"", "?datetime=1985-06-01", "?datetime=2005-06-01",
			"?datetime=2010-01-01T12:00:00Z", "?datetime=2015-07-01",
			"?datetime=2005-06-01&filter=nr%20LIKE%20%273%25%27"} {
			p := "/collections/past/tiles/" + tile + query
			x, y := a.get(p), b.get(p)
			if x.StatusCode != y.StatusCode || !bytes.Equal(x.plain(), y.plain()) {
				t.Errorf("%s: %d and %d bytes, status %d and %d", p, len(x.plain()), len(y.plain()), x.StatusCode,
					y.StatusCode)
			}
			if x.StatusCode == 200 {
				differ[string(x.plain())] = true
			}
		}
	}
	if len(differ) < 3*len(tiles) {
		t.Errorf("%d different tiles prove little", len(differ))
	}
}

// TestDivisionsOfADay: on the first day of each version of the classification, the collection of divisions through
// time has the codes and names of its list. The names omit the county label behind them.
func TestDivisionsOfADay(t *testing.T) {
	t.Parallel()
	table, err := csv.NewReader(sharedtest.Open(t, "data", "lineage",
		"no-klass131-versions-1971-2024.csv.gz")).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	lists := map[string][]string{}
	label := regexp.MustCompile(` \(.*\)$`)
	for _, r := range table[1:] {
		if r[3] != "9999" {
			lists[r[1]] = append(lists[r[1]], r[3]+" "+label.ReplaceAllString(r[4], ""))
		}
	}
	if len(lists) != 29 {
		t.Fatalf("%d versions", len(lists))
	}
	a := serveHistory(t, nil)
	for day, want := range lists {
		var got []string
		for _, x := range a.get(
			"/collections/divisions_versions/items?scheme=kommune&limit=1000&properties=code,name&datetime=" +
				day).wants(200).page().Features {
			got = append(got, x.Properties["code"].(string)+" "+x.Properties["name"].(string))
		}
		slices.Sort(want)
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("%s: %d codes and names, want %d", day, len(got), len(want))
		}
	}
}

// TestMapsOfAPointAreOfTheDayAskedFor: the map of a past day draws the neighbours of that day, not the current ones.
func TestMapsOfAPointAreOfTheDayAskedFor(t *testing.T) {
	t.Parallel()
	a := serveVersions(t, nil)
	// New lies beside Old, but not in 2005; Ended lies beside New
	for at, areas := range map[string]int{"lon=10.72&datetime=2005-06-01": 1, "lon=10.62&datetime=2013-06-01": 2} {
		body := string(a.get("/lookup?lat=60.05&f=html&" + at).wants(200).Body)
		_, ground, _ := strings.Cut(body, `<g class="near">`)
		ground, _, _ = strings.Cut(ground, "</g>")
		if n := strings.Count(ground, "<path"); n != areas {
			t.Errorf("%s: %d areas in grey, want %d: %s", at, n, areas, ground)
		}
	}
}

// withoutDrawing is a vector tile as text, without the values that depend on all areas: colours and ranks.
func withoutDrawing(t *testing.T, tile []byte) string {
	t.Helper()
	layers, err := mvt.Unmarshal(tile)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, l := range layers {
		for _, f := range l.Features {
			for _, name := range []string{"color_index", "rank", "min_zoom"} {
				delete(f.Properties, name)
			}
			fmt.Fprintln(&b, l.Name, f.Geometry, f.Properties)
		}
	}
	return b.String()
}

// TestThePastStaysAsItWas: the response for a past timestamp is the same, byte for byte, after later data have been
// loaded. (A version that has got a successor links to it, as the draft requires.)
func TestThePastStaysAsItWas(t *testing.T) {
	t.Parallel()
	later := false
	st, rewrite := writtenStore(t, func(ctx context.Context, w store.Writer) error {
		return writeVersions(ctx, w, func(row []any) bool {
			return later || row[1] != "Young" && row[1] != "To come" &&
				row[1] != "Again"
		})
	})
	a := serveStore(t, st, nil)
	var paths []string
	for _, f := range []string{"json", "jsonld", "html", "csv", "geojsonseq", "gml", "kml", "topojson"} {
		paths = append(paths, "/collections/areas/items?datetime=2005-06-01&f="+f,
			"/collections/areas/items?datetime=2002-01-01T12:00:00Z&limit=1&f="+f)
	}
	for _, f := range []string{"json", "jsonld", "html"} {
		paths = append(paths, "/collections/areas/items/1?datetime=2005-06-01&f="+f,
			"/collections/areas/items/2?datetime=2006-01-01&f="+f)
	}
	paths = append(paths, "/lookup?lon=10.72&lat=60.05&datetime=2005-06-01",
		"/lookup?lon=10.72&lat=60.05&datetime=2005-06-01&f=html",
		"/collections/areas/download?f=csv&datetime=2005-06-01")
	if !onPostGIS() { // if other tests write to the cluster, tiles may be served before their levels
		paths = append(paths, "/collections/areas/tiles/WebMercatorQuad/5/9/16?datetime=2005-06-01")
	}
	ask := func() map[string]string {
		a.settled(append([]string{"/collections/areas?f=html"}, paths...)...)
		out := map[string]string{}
		for _, p := range paths {
			r := a.get(p, "Accept-Encoding", "identity").wants(200)
			if strings.Contains(p, "/tiles/") {
				out[p] = withoutDrawing(t, r.Body)
				continue
			}
			out[p] = regexp.MustCompile(`"timeStamp":"[^"]*"`).ReplaceAllString(string(r.Body), "")
		}
		return out
	}
	before := ask()
	later = true
	rewrite()
	if err := a.srv.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := a.get("/collections/areas/items?datetime=2021-01-01").wants(200).page().ids(); !slices.Contains(
		got, "3") {
		t.Fatalf("the later data are not there: %v", got)
	}
	color := regexp.MustCompile(` class="a\d"`) // the neighbours of today decide it
	for p, b := range ask() {
		if color.ReplaceAllString(b, "") != color.ReplaceAllString(before[p], "") {
			t.Errorf("%s:\n was %s\n now %s", p, before[p], b)
		}
	}
}
