package crs_test

import (
	"testing"

	"grense/internal/geo/crs"
)

func TestFactsOfEverySystem(t *testing.T) {
	t.Parallel()
	want := []struct {
		id                 crs.ID
		uri, str           string
		northFirst, degree bool
	}{
		{crs.CRS84, "http://www.opengis.net/def/crs/OGC/1.3/CRS84", "OGC:CRS84", false, true},
		{crs.WGS84, "http://www.opengis.net/def/crs/EPSG/0/4326", "EPSG:4326", true, true},
		{crs.ETRS89, "http://www.opengis.net/def/crs/EPSG/0/4258", "EPSG:4258", true, true},
		{crs.WebMercator, "http://www.opengis.net/def/crs/EPSG/0/3857", "EPSG:3857", false, false},
		{crs.UTM32, "http://www.opengis.net/def/crs/EPSG/0/25832", "EPSG:25832", false, false},
		{crs.UTM33, "http://www.opengis.net/def/crs/EPSG/0/25833", "EPSG:25833", false, false},
		{crs.UTM35, "http://www.opengis.net/def/crs/EPSG/0/25835", "EPSG:25835", false, false},
		{crs.WGS84UTM32, "http://www.opengis.net/def/crs/EPSG/0/32632", "EPSG:32632", false, false},
		{crs.WGS84UTM33, "http://www.opengis.net/def/crs/EPSG/0/32633", "EPSG:32633", false, false},
		{crs.WGS84UTM35, "http://www.opengis.net/def/crs/EPSG/0/32635", "EPSG:32635", false, false},
		{crs.LAEAEurope, "http://www.opengis.net/def/crs/EPSG/0/3035", "EPSG:3035", true, false},
		{crs.LAEANorthPole, "http://www.opengis.net/def/crs/EPSG/0/3575", "EPSG:3575", false, false},
		{3006, "http://www.opengis.net/def/crs/EPSG/0/3006", "EPSG:3006", true, false},
		{3067, "http://www.opengis.net/def/crs/EPSG/0/3067", "EPSG:3067", false, false},
		{2180, "http://www.opengis.net/def/crs/EPSG/0/2180", "EPSG:2180", true, false},
		{2154, "http://www.opengis.net/def/crs/EPSG/0/2154", "EPSG:2154", false, false},
		{3034, "http://www.opengis.net/def/crs/EPSG/0/3034", "EPSG:3034", true, false},
		{3812, "http://www.opengis.net/def/crs/EPSG/0/3812", "EPSG:3812", false, false},
	}
	if n := len(crs.Served()); n != 12 {
		t.Fatalf("%d systems are offered everywhere, want 12", n)
	}
	ids := crs.Known()
	if n := len(ids); n < 2000 {
		t.Errorf("%d systems are known", n)
	}
	for i, w := range want {
		id := w.id
		if i < 12 {
			id = ids[i]
		}
		decimals := 2
		if w.degree {
			decimals = 7
		}
		if id != w.id || id.URI() != w.uri || id.String() != w.str || id.NorthFirst() != w.northFirst ||
			id.Geographic() != w.degree ||
			id.Decimals() != decimals || id.Name() == "" || id.Domain().IsEmpty() ||
			!id.Valid() {
			t.Errorf("%v (%s, %s): not as in the register", id, id.URI(), id.Name())
		}
	}
	if none := crs.ID(0); none.URI() != "" || none.String() != "none" || none.Valid() || none.Geographic() ||
		!none.Domain().IsEmpty() {
		t.Errorf("the zero ID is not none: %q %v", none.URI(), none)
	}
	if id := crs.ID(3395); id.Valid() || id.Name() != "EPSG:3395" || id.NorthFirst() {
		t.Errorf("%v: %v", id, id.Name())
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	for _, id := range crs.Known() {
		for _, s := range []string{id.URI(), "https" + id.URI()[4:], "[" + id.String() + "]", id.String()} {
			if got, ok := crs.Parse(s); !ok || got != id {
				t.Errorf("%s: %v, %v", s, got, ok)
			}
		}
	}
	for s, want := range map[string]crs.ID{
		"urn:ogc:def:crs:EPSG::25833":                     crs.UTM33,
		"urn:ogc:def:crs:EPSG:9.8.12:4258":                crs.ETRS89,
		"URN:OGC:DEF:CRS:EPSG::4326":                      crs.WGS84,
		"urn:ogc:def:crs:OGC:1.3:CRS84":                   crs.CRS84,
		"urn:ogc:def:crs:OGC::CRS84":                      crs.CRS84,
		"http://www.opengis.net/def/crs/EPSG/9.9.1/25833": crs.UTM33,
		"http://www.opengis.net/def/crs/OGC/0/CRS84":      crs.CRS84,
		"":                                     0,
		"[]":                                   0,
		"CRS84":                                0,
		"4326":                                 0,
		"[EPSG:84]":                            0,
		"EPSG:3395":                            0,
		"EPSG:04326":                           0,
		"EPSG:-4326":                           0,
		"EPSG:4326 ":                           0,
		"[EPSG:4326":                           0,
		"OGC:CRS83":                            0,
		"http://www.opengis.net/def/crs/EPSG/": 0,
		"http://www.opengis.net/def/crs/EPSG//4326":                 0,
		"http://www.opengis.net/def/crs/EPSG/0/4326/":               0,
		"http://www.opengis.net/def/crs/EPSG/x/4326":                0,
		"http://example.com/def/crs/EPSG/0/4326":                    0,
		"urn:ogc:def:crs:EPSG:4326":                                 0,
		"http://www.opengis.net/def/crs/EPSG/0/4326?x=1":            0,
		"http://www.opengis.net/def/crs/EPSG/0/9999999999999999999": 0,
	} {
		if got, ok := crs.Parse(s); got != want && ok || ok != (want != 0) {
			t.Errorf("%q: %v, %v; want %v", s, got, ok, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"[EPSG:25833]", "urn:ogc:def:crs:OGC:1.3:CRS84",
		"http://www.opengis.net/def/crs/EPSG/0/4326", "::", "[:]"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if id, ok := crs.Parse(s); ok && !id.Valid() {
			t.Errorf("%q gives %v, which is not served", s, id)
		}
	})
}

// TestAreaIsSound goes there and back over the whole area of every system.
func TestAreaIsSound(t *testing.T) {
	t.Parallel()
	for _, id := range crs.Sampled() {
		fwd, inv := between(t, crs.CRS84, id), between(t, id, crs.CRS84)
		a := id.Area()
		for i := range 41 {
			for j := range 41 {
				lon := a.Min[0] + (a.Max[0]-a.Min[0])*float64(i)/40
				lat := a.Min[1] + (a.Max[1]-a.Min[1])*float64(j)/40
				x, y := fwd(lon, lat)
				if lon2, lat2 := inv(x, y); !(apart(lon, lat, lon2, lat2) <= bar) {
					t.Errorf("%v: %v %v comes back as %v %v", id, lon, lat, lon2, lat2)
				}
			}
		}
	}
	if !crs.ID(3395).Area().IsEmpty() {
		t.Error("EPSG:3395 has an area")
	}
}
