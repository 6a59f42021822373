package server_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"grense/internal/format"
)

// TestPagesComeInEveryFormatOfFiles walks through pages of each format by the header Link.
func TestPagesComeInEveryFormatOfFiles(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	for _, f := range format.All() {
		if f.Name == "json" {
			continue
		}
		n := 0
		var sizes []int
		for address := a.URL + "/collections/fylker/items?limit=6&f=" + f.Name; address != ""; n++ {
			res, b := fetchAs(t, address, nil)
			if res.StatusCode != 200 || !strings.HasPrefix(res.Header.Get("Content-Type"), f.Media) ||
				!strings.Contains(res.Header.Get("Content-Disposition"), `"fylker`+f.Ext+`"`) ||
				(res.Header.Get("Format-Losses") != "") != (len(f.Losses) > 0) ||
				res.Header.Get("OGC-NumberMatched") != "15" || res.Header.Get("Content-Crs") == "" {
				t.Fatalf("%s: %d %v %.200s", f.Name, res.StatusCode, res.Header, b)
			}
			switch f.Name {
			case "geojsonseq":
				sizes = append(sizes, bytes.Count(b, []byte{0x1e}))
			case "ndjson":
				sizes = append(sizes, bytes.Count(b, []byte{'\n'}))
			case "csv":
				sizes = append(sizes, bytes.Count(b, []byte("\r\n"))-1)
			case "gml":
				sizes = append(sizes, bytes.Count(b, []byte("<sf:featureMember>")))
			case "kml":
				sizes = append(sizes, bytes.Count(b, []byte("<Placemark id=")))
			default:
				if len(b) < 500 {
					t.Errorf("%s: %d bytes", f.Name, len(b))
				}
			}
			address = ""
			for l := range strings.SplitSeq(res.Header.Get("Link"), ", <") {
				if href, rest, _ := strings.Cut(l, ">"); strings.Contains(rest, `rel="next"`) {
					if address = strings.TrimPrefix(href, "<"); !strings.Contains(rest, `type="`+f.Media+`"`) {
						t.Errorf("%s: the next page is told as %s", f.Name, rest)
					}
				}
			}
		}
		if n != 3 || sizes != nil && fmt.Sprint(sizes) != "[6 6 3]" {
			t.Errorf("%s: %d pages of %v features", f.Name, n, sizes)
		}
		if res, _ := fetchAs(t, a.URL+"/collections/fylker/items?limit=6",
			map[string]string{"Accept": f.Media}); !strings.HasPrefix(res.Header.Get("Content-Type"), f.Media) {
			t.Errorf("%s: by its media type comes %s", f.Name, res.Header.Get("Content-Type"))
		}
	}
	if _, b := fetchAs(t, a.URL+"/collections/fylker/items?f=csv&dialect=excel&limit=1", nil); !bytes.HasPrefix(
		b, []byte("\uFEFFid;")) {
		t.Errorf("for spreadsheets: %q", b)
	}
}

// TestTheDialectOfSpreadsheetsStatesItsLosses of a text that is no formula, on items and downloads.
func TestTheDialectOfSpreadsheetsStatesItsLosses(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	for path, want := range map[string]bool{"items?f=csv&dialect=excel": true, "download?f=csv&dialect=excel": true,
		"items?f=csv": false, "download?f=csv": false} {
		res, _ := fetchAs(t, a.URL+"/collections/fylker/"+path, nil)
		if stated := strings.Contains(res.Header.Get("Format-Losses"), "an apostrophe"); res.StatusCode != 200 ||
			stated != want {
			t.Errorf("%s: %d, the losses are %q", path, res.StatusCode, res.Header.Get("Format-Losses"))
		}
	}
}

// TestUnsupportedProfilesAreReported: it is no error (OGC 23-058r2, 13), and it is not passed over in silence.
func TestUnsupportedProfilesAreReported(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	for path, want := range map[string]bool{
		"/collections/fylker/items?f=csv&profile=jsonfg":                                      true,
		"/collections/fylker/items?f=geojsonseq&profile=jsonfg-plus":                          true,
		"/collections/fylker/items?f=html&profile=jsonfg":                                     true,
		"/collections/fylker/items?f=jsonld&profile=[ogc-profile:jsonfg]":                     true,
		"/collections/fylker/items/03?f=jsonld&profile=jsonfg":                                true,
		"/collections/fylker/download?f=gpkg&profile=rfc7946":                                 true,
		"/collections/fylker/download?f=csv&bbox=0,60,9,70&profile=jsonfg":                    true,
		"/lookup?lon=10.75&lat=59.91&f=html&profile=jsonfg":                                   true,
		"/collections/fylker/items?f=json&profile=jsonfg":                                     false,
		"/collections/fylker/items?f=json&profile=[ogc-profile:jsonfg]":                       false,
		"/collections/fylker/items?f=csv":                                                     false,
		"/collections/fylker/download?f=json&profile=jsonfg&bbox=0,60,9,70":                   false,
		"/lookup?lon=10.75&lat=59.91&profile=http://www.opengis.net/def/profile/OGC/0/jsonfg": false,
	} {
		res, b := fetchAs(t, a.URL+path, nil)
		if stated := strings.Contains(res.Header.Get("Format-Losses"), "the profile "); res.StatusCode != 200 ||
			stated != want {
			t.Errorf("%s: %d, the losses are %q: %.200s", path, res.StatusCode, res.Header.Get("Format-Losses"), b)
		}
	}
}

// TestEveryGeoJSONHasAProfile requests pages, single features and the divisions at a point with each profile.
func TestEveryGeoJSONHasAProfile(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	const base = "http://www.opengis.net/def/profile/OGC/0/"
	for _, path := range []string{"/collections/fylker/items?limit=2", "/collections/fylker/items/03?f=json",
		"/lookup?lon=10.75&lat=59.91"} {
		plain, b := fetchAs(t, a.URL+path, nil)
		if !strings.Contains(plain.Header.Get("Link"), "<"+base+`rfc7946>; rel="profile"`) ||
			bytes.Contains(b, []byte("conformsTo")) || bytes.Contains(b, []byte(`"place"`)) {
			t.Errorf("%s: %s %.200s", path, plain.Header.Get("Link"), b)
		}
		for asked, stated := range map[string]string{"rfc7946": "rfc7946", "jsonfg": "jsonfg",
			"jsonfg-plus": "jsonfg-plus", "jsonfg,rfc7946": "jsonfg", base + "jsonfg": "jsonfg"} {
			res, b := fetchAs(t, a.URL+path+"&profile="+asked, nil)
			var doc struct {
				ConformsTo []string
				Links      []struct{ Rel, Href string }
			}
			decode(t, b, &doc)
			in := false
			for _, l := range doc.Links {
				in = in || l.Rel == "profile" && l.Href == base+stated
			}
			if !in || !strings.Contains(res.Header.Get("Link"), "<"+base+stated+`>; rel="profile"`) ||
				(len(doc.ConformsTo) > 0) != (stated != "rfc7946") ||
				bytes.Contains(b, []byte(`"time":`)) != (stated != "rfc7946") {
				t.Errorf("%s&profile=%s: %s %.300s", path, asked, res.Header.Get("Link"), b)
			}
		}
		if res, _ := fetchAs(t, a.URL+path+"&profile=jsonfg,other", nil); res.StatusCode != 400 {
			t.Errorf("%s: an unknown profile is %d", path, res.StatusCode)
		}
	}
}

// TestPlaceIsInTheAskedSystemWithItsAxes compares JSON-FG with GeoJSON in the same systems.
func TestPlaceIsInTheAskedSystemWithItsAxes(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	type feature struct {
		ID              string
		Geometry, Place json.RawMessage
	}
	type doc struct {
		feature
		CoordRefSys string
		Features    []feature
	}
	for _, path := range []string{"/collections/fylker/items?f=json&limit=3", "/collections/fylker/items/46?f=json"} {
		read := func(query string) (d doc, fs []feature) {
			_, b := fetchAs(t, a.URL+path+query, nil)
			decode(t, b, &d)
			if d.Features == nil {
				return d, []feature{d.feature}
			}
			return d, d.Features
		}
		_, lonLat := read("")
		for _, code := range []string{"25833", "4258", "3035"} {
			uri := "http://www.opengis.net/def/crs/EPSG/0/" + code
			_, moved := read("&crs=" + uri)
			fg, places := read("&profile=jsonfg&crs=" + uri)
			_, both := read("&profile=jsonfg-plus&crs=" + uri)
			for i := range moved {
				if fg.CoordRefSys != uri || places[i].ID != moved[i].ID ||
					string(places[i].Place) != string(moved[i].Geometry) || string(places[i].Geometry) != "null" ||
					string(both[i].Place) != string(moved[i].Geometry) ||
					string(both[i].Geometry) != string(lonLat[i].Geometry) {
					t.Errorf("%s in %s: %s has place %.60s instead of %.60s", path, code, places[i].ID, places[i].Place,
						moved[i].Geometry)
				}
			}
		}
		if fg, fs := read("&profile=jsonfg"); fg.CoordRefSys != "" || string(fs[0].Place) != "null" ||
			string(fs[0].Geometry) != string(lonLat[0].Geometry) {
			t.Errorf("%s in CRS84: %.200s", path, fs[0].Place)
		}
	}
}
