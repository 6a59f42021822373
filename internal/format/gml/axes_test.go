package gml_test

import (
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"grense/internal/format/input"
	"grense/internal/geo/crs"
	"grense/internal/ingest"
	"grense/internal/ingest/ingesttest"
	"grense/internal/store"
)

// stating is a name of a reference system and the order that it means.
type stating struct {
	name       string
	northFirst bool
}

// placesGML has a point with a height and an area, the same places in the system of each name.
func placesGML(names ...stating) string {
	var text strings.Builder
	text.WriteString(
		`<gml:FeatureCollection xmlns:gml="http://www.opengis.net/gml/3.2" xmlns:t="http://t.example/" gml:id="c">`)
	for i, s := range names {
		order := func(positions string) string {
			part := strings.Fields(positions)
			for i := 0; s.northFirst && i+1 < len(part); i += 2 {
				part[i], part[i+1] = part[i+1], part[i]
			}
			return strings.Join(part, " ")
		}
		const member = `<gml:featureMember><t:P gml:id="p%d"><t:geom><gml:%s srsName="%s"%s</t:geom></t:P>` +
			`</gml:featureMember>`
		fmt.Fprintf(&text, member, 2*i+1, "Point", s.name, ` srsDimension="3"><gml:pos>`+order("133.375 -23.25")+
			` 5</gml:pos></gml:Point>`)
		fmt.Fprintf(&text, member, 2*i+2, "Polygon", s.name, `><gml:exterior><gml:LinearRing><gml:posList>`+
			order("10.5 59.5 11 59.5 11 60.25 10.5 59.5")+
			`</gml:posList></gml:LinearRing></gml:exterior></gml:Polygon>`)
	}
	return text.String() + `</gml:FeatureCollection>`
}

func texts(t *testing.T, features []ingesttest.Feature) (list []string) {
	t.Helper()
	for _, f := range features {
		g, err := store.Geometry{WKB: f.WKB}.Orb()
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, fmt.Sprint(f.ID, g))
	}
	return list
}

// TestGMLHasTheAxesOfTheSystemThatItStates, whatever the order is of the one as which its coordinates are taken.
func TestGMLHasTheAxesOfTheSystemThatItStates(t *testing.T) {
	t.Parallel()
	ogr, _ := exec.LookPath("ogr2ogr")
	some := 0
	for code := range 33000 {
		if id, _, wrong := crs.FromEPSG(code); wrong != "" || !id.Geographic() {
			continue
		}
		some++
		t.Run(fmt.Sprint(code), func(t *testing.T) {
			t.Parallel()
			n := fmt.Sprint(code)
			names := []stating{
				{"urn:ogc:def:crs:EPSG::" + n, true}, {"http://www.opengis.net/def/crs/EPSG/0/" + n, true},
				{"EPSG:" + n, false}, {"http://www.opengis.net/gml/srs/epsg.xml#" + n, false},
				{"urn:ogc:def:crs:EPSG:9.8.6:" + n, true}, {"https://www.opengis.net/def/crs/EPSG/0/" + n, true},
				{"epsg:" + n, false},
			}
			_, all := ingesttest.ImportText(t, "a.gml", placesGML(names...), ingesttest.Into)
			got := texts(t, all)
			_, all = ingesttest.ImportText(t, "a.gml",
				placesGML(slices.Repeat([]stating{{"http://www.opengis.net/def/crs/OGC/1.3/CRS84", false}},
					len(names))...), ingesttest.Into)
			if want := texts(t, all); !slices.Equal(got, want) {
				t.Errorf("%v, not %v", got, want)
			}
			if ogr == "" {
				return
			}
			for _, s := range names[:2] {
				out, err := exec.Command(ogr, "-f", "CSV", "/vsistdout/",
					ingesttest.WriteFile(t, "a.gml", placesGML(s)), "-lco", "GEOMETRY=AS_WKT").Output()
				if err != nil || !strings.Contains(string(out), "(133.375 -23.25") ||
					!strings.Contains(string(out), "(10.5 59.5") {
					t.Errorf("GDAL has other positions with %s: %v\n%s", s.name, err, out)
				}
			}
		})
	}
	if some < 29 {
		t.Errorf("%d systems", some)
	}
}

// TestGMLInASystemThatIsNotKnownHasTheAxesOfThatWhichIsStated with --crs: latitude first where it is of degrees, as in
// EPSG.
func TestGMLInASystemThatIsNotKnownHasTheAxesOfThatWhichIsStated(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		as         crs.ID
		northFirst bool
	}{
		"urn:ogc:def:crs:EPSG::4230":                 {crs.ETRS89, true},
		"http://www.opengis.net/def/crs/EPSG/0/4230": {crs.CRS84, true},
		"EPSG:4230": {crs.ETRS89, false},
		"http://www.opengis.net/gml/srs/epsg.xml#4230":  {crs.ETRS89, false},
		"urn:ogc:def:crs:EPSG::4937":                    {crs.ETRS89, true},
		"urn:ogc:def:crs:EPSG::4979":                    {crs.CRS84, true},
		"urn:ogc:def:crs:OGC:1.3:CRS84":                 {crs.ETRS89, false},
		"urn:ogc:def:crs:EPSG::25833":                   {crs.WGS84, false},
		"":                                              {crs.ETRS89, false},
		"urn:ogc:def:crs,crs:EPSG::4258,crs:EPSG::5941": {crs.ETRS89, true},
	} {
		plan, err := ingest.Survey(t.Context(),
			ingesttest.Open(t, ingesttest.WriteFile(t, "a.gml", placesGML(stating{name, c.northFirst})), c.as).Layers,
			ingesttest.Into, ingest.Watch{})
		if err != nil {
			t.Errorf("%s as %v: %v", name, c.as, err)
			continue
		}
		got := texts(t, ingesttest.Features(t, ingesttest.Write(t, plan), ingesttest.Into.Collection))
		if want := []string{"p1[133.375 -23.25]",
			"p2[[[10.5 59.5] [11 59.5] [11 60.25] [10.5 59.5]]]"}; !slices.Equal(got, want) {
			t.Errorf("%s as %v: %v", name, c.as, got)
		}
	}
	_, err := ingesttest.Survey(t, "a.gml", placesGML(stating{"urn:ogc:def:crs:EPSG::4230", true}), ingesttest.Into)
	if !errors.Is(err, input.ErrRefused) {
		t.Errorf("without --crs: %v", err)
	}
}
