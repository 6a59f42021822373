package gml_test

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/paulmach/orb"
	"github.com/paulmach/orb/planar"

	"grense/internal/format/input"
	"grense/internal/ingest/ingesttest"
	"grense/internal/store"
)

// gmlText is a collection of features of the type k, whose properties are given.
func gmlText(features ...string) string {
	var b strings.Builder
	b.WriteString(`<gml:FeatureCollection xmlns:gml="http://www.opengis.net/gml/3.2" xmlns:app="http://x" ` +
		`xmlns:xlink="http://www.w3.org/1999/xlink" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">`)
	for _, f := range features {
		b.WriteString("<gml:featureMember><app:k>" + f + "</app:k></gml:featureMember>\n")
	}
	return b.String() + "</gml:FeatureCollection>"
}

func TestNestedElementsOfGMLBecomeProperties(t *testing.T) {
	t.Parallel()
	name := func(language, text string) string {
		if language != "" {
			language = "<gn:language>" + language + "</gn:language>"
		}
		return "<app:name><gn:GeographicalName>" + language +
			`<gn:nativeness xsi:nil="true"/><gn:spelling><gn:SpellingOfName><gn:text>` + text +
			"</gn:text></gn:SpellingOfName></gn:spelling></gn:GeographicalName></app:name>"
	}
	const place = `<app:inspireId><base:Identifier><base:localId>7</base:localId></base:Identifier></app:inspireId>
		<app:country><gmd:Country codeListValue="NO">Norge</gmd:Country></app:country><app:language><gmd:LanguageCode codeListValue="nor"/></app:language>
		<app:validTime><gml:TimePeriod><gml:beginPosition>2020-01-01</gml:beginPosition></gml:TimePeriod></app:validTime>
		<app:from><app:Day><app:value>1</app:value></app:Day></app:from><app:to><app:Day><app:value>2</app:value><app:unit><app:Unit><app:value>d</app:value></app:Unit></app:unit></app:Day></app:to>
		<app:upper xlink:href="#9"/><app:nothing xsi:nil="true"/><app:inner><app:Part><app:place><gml:Point><gml:pos>1 2</gml:pos></gml:Point></app:place></app:Part></app:inner>`
	plan, have := ingesttest.ImportText(t, "a.gml", gmlText(
		place+name("nor", "Oslo"),
		place+name("", "Kautokeino")+name("sme", "Guovdageaidnu")+"<app:tag>a</app:tag><app:tag>b</app:tag>",
		"<app:tag>c</app:tag>"), ingesttest.Into)
	first := map[string]any{"inspireId_localId": int64(7), "country": "Norge", "language": "nor",
		"validTime_beginPosition": "2020-01-01", "from_value": int64(1),
		"to_value": int64(2), "to_unit_value": "d", "upper": "#9", "nothing": nil,
		"name_language": store.JSON(`["nor"]`), "name_text": store.JSON(`["Oslo"]`), "tag": nil}
	if !reflect.DeepEqual(have[0].Values, first) {
		t.Errorf("%v", have[0].Values)
	}
	for property, want := range map[string]any{"name_language": store.JSON(`[null,"sme"]`),
		"name_text": store.JSON(`["Kautokeino","Guovdageaidnu"]`), "tag": store.JSON(`["a","b"]`)} {
		if have[1].Values[property] == nil || !reflect.DeepEqual(have[1].Values[property], want) {
			t.Errorf("%s: %v", property, have[1].Values[property])
		}
	}
	if !reflect.DeepEqual(have[2].Values["tag"], store.JSON(`["c"]`)) {
		t.Errorf("%v", have[2].Values)
	}
	if _, noted := ingesttest.Find(plan.Report, input.Warning, `the geometries in "inner" are left out`); !noted {
		t.Errorf("%v", plan.Report.Faults)
	}
}

func TestDeepElementsOfGMLAreRefused(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("<app:a>", 200) + strings.Repeat("</app:a>", 200)
	plan, err := ingesttest.Survey(t, "a.gml", gmlText(deep), ingesttest.Into)
	if _, ok := ingesttest.Find(plan.Report, input.Refused, "more than 100 deep"); err == nil || !ok {
		t.Errorf("%v %v", err, plan.Report.Faults)
	}
}

func TestArcsOfGMLBecomeLines(t *testing.T) {
	t.Parallel()
	curve := func(segments string) string {
		return `<gml:Curve srsName="urn:ogc:def:crs:EPSG::25833"><gml:segments>` + segments +
			`</gml:segments></gml:Curve>`
	}
	ring := func(segments string) string {
		return `<gml:Polygon srsName="urn:ogc:def:crs:EPSG::25833"><gml:exterior><gml:Ring><gml:curveMember>` +
			strings.Replace(curve(segments), ` srsName="urn:ogc:def:crs:EPSG::25833"`, "", 1) +
			`</gml:curveMember></gml:Ring></gml:exterior></gml:Polygon>`
	}
	const half = `<gml:Arc><gml:posList>250000 6650000 250100 6650100 250200 6650000</gml:posList></gml:Arc>`
	for name, c := range map[string]struct {
		geometry     string
		length, area float64
	}{
		"Arc": {curve(half), 100 * math.Pi, 0},
		"Arc of points": {
			curve(`<gml:Arc><gml:pos>250000 6650000</gml:pos><gml:pos>250100 6650100</gml:pos><gml:pos>250200 ` +
				`6650000</gml:pos></gml:Arc>`), 100 * math.Pi, 0},
		"ArcString": {
			curve(`<gml:ArcString><gml:posList>250000 6650000 250100 6650100 250200 6650000 250300 6649900 250400 ` +
				`6650000</gml:posList></gml:ArcString>`), 200 * math.Pi, 0},
		"Arc and line": {
			curve(half + `<gml:LineStringSegment><gml:posList>250200 6650000 250200 6649900</gml:posList>` +
				`</gml:LineStringSegment>`), 100*math.Pi + 100, 0},
		"Circle": {
			curve(`<gml:Circle><gml:posList>250000 6650000 250100 6650100 250100 6649900</gml:posList></gml:Circle>`),
			200 * math.Pi, 0},
		"half a disc": {
			ring(half + `<gml:LineStringSegment><gml:posList>250200 6650000 250000 6650000</gml:posList>` +
				`</gml:LineStringSegment>`), 100*math.Pi + 200, 1e4 * math.Pi / 2},
		"a disc": {
			ring(`<gml:Circle><gml:posList>250000 6650000 250100 6650100 250200 6650000</gml:posList></gml:Circle>`),
			200 * math.Pi, 1e4 * math.Pi},
		"Arc with heights": {
			curve(`<gml:Arc><gml:posList srsDimension="3">250000 6650000 1 250100 6650100 2 250200 6650000 ` +
				`3</gml:posList></gml:Arc>`), 100 * math.Pi, 0},
		"in a MultiSurface": {`<gml:MultiSurface srsName="urn:ogc:def:crs:EPSG::25833"><gml:surfaceMember>` +
			ring(`<gml:Circle><gml:posList>250000 6650000 250100 6650100 250200 6650000</gml:posList></gml:Circle>`) +
			`</gml:surfaceMember></gml:MultiSurface>`, 200 * math.Pi, 1e4 * math.Pi},
	} {
		_, have := ingesttest.ImportText(t, "a.gml", gmlText("<app:geometry>"+c.geometry+"</app:geometry>"),
			ingesttest.Into)
		g, err := store.Geometry{WKB: have[0].WKB}.Orb()
		if err != nil {
			t.Fatal(err)
		}
		if length := planar.Length(g); math.Abs(length-c.length) > 0.02 {
			t.Errorf("%s: length %v, want %v", name, length, c.length)
		}
		if area := planar.Area(g); math.Abs(area-c.area) > 1 {
			t.Errorf("%s: area %v, want %v", name, area, c.area)
		}
	}
	_, have := ingesttest.ImportText(t, "a.gml",
		gmlText(`<app:geometry><gml:Curve srsName="urn:ogc:def:crs:EPSG::4258"><gml:segments><gml:Arc>`+
			`<gml:posList>60 10 60.1 10.1 60 10.2</gml:posList></gml:Arc></gml:segments></gml:Curve></app:geometry>`),
		ingesttest.Into)
	if g, err := (store.Geometry{WKB: have[0].WKB}).Orb(); err != nil || g.Bound().Max.Y() < 60.0999 ||
		g.Bound().Max != (orb.Point{10.2, g.Bound().Max.Y()}) {
		t.Errorf("%v %v", g, err)
	}
	for what, segment := range map[string]string{
		"Arc with 2 positions":       `<gml:Arc><gml:posList>0 0 1 1</gml:posList></gml:Arc>`,
		"ArcString with 4 positions": `<gml:ArcString><gml:posList>0 0 1 1 2 0 3 1</gml:posList></gml:ArcString>`,
		"Circle with 0 positions":    `<gml:Circle><gml:posList></gml:posList></gml:Circle>`,
		"lie on a line":              `<gml:Circle><gml:posList>0 0 1 1 2 2</gml:posList></gml:Circle>`,
		"CircleByCenterPoint":        `<gml:CircleByCenterPoint><gml:pos>0 0</gml:pos></gml:CircleByCenterPoint>`,
	} {
		plan, err := ingesttest.Survey(t, "a.gml", gmlText("<app:geometry>"+curve(segment)+"</app:geometry>"),
			ingesttest.Into)
		if _, ok := ingesttest.Find(plan.Report, input.Refused, what); err == nil || !ok {
			t.Errorf("%s: %v %v", what, err, plan.Report.Faults)
		}
	}
}

func TestGeometriesOfGMLThatSaySeveralThingsAreRefused(t *testing.T) {
	t.Parallel()
	const ring = `<gml:exterior><gml:LinearRing><gml:posList>10 60 11 60 11 61 10 60</gml:posList></gml:LinearRing>` +
		`</gml:exterior>`
	for what, c := range map[string]struct{ geometry, want string }{
		"two outer rings": {`<gml:Polygon srsName="EPSG:4258">` + ring + ring + `</gml:Polygon>`, "two exterior rings"},
		"two systems": {`<gml:LineString srsName="EPSG:4258"><gml:pos>10 60</gml:pos><gml:pos ` +
			`srsName="EPSG:25833">250000 6650000</gml:pos></gml:LineString>`,
			"two reference systems"},
		"two orders of axes": {`<gml:LineString srsName="EPSG:4258"><gml:pos>10 60</gml:pos><gml:pos ` +
			`srsName="urn:ogc:def:crs:EPSG::4258">60 11</gml:pos></gml:LineString>`,
			"two reference systems"},
	} {
		plan, err := ingesttest.Survey(t, "a.gml", gmlText("<app:geometry>"+c.geometry+"</app:geometry>"),
			ingesttest.Into)
		if _, ok := ingesttest.Find(plan.Report, input.Refused, c.want); err == nil || !ok {
			t.Errorf("%s: %v %v", what, err, plan.Report.Faults)
		}
	}
	_, have := ingesttest.ImportText(t, "a.gml",
		gmlText(`<app:geometry><gml:LineString srsName="EPSG:4258"><gml:pos>10 60</gml:pos>`+
			`<gml:pos srsName="http://www.opengis.net/gml/srs/epsg.xml#4258">11 61</gml:pos></gml:LineString>`+
			`</app:geometry>`), ingesttest.Into)
	if g := texts(t, have); len(g) != 1 || !strings.HasSuffix(g[0], "[[10 60] [11 61]]") {
		t.Errorf("one system by two names: %v", g)
	}
}
