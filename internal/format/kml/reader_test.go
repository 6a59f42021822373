package kml_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"grense/internal/format/input"
	"grense/internal/format/kml"
	"grense/internal/store"
)

// sink records what a reader reports.
type sink struct{ records, faults []string }

func (s *sink) Record(r *input.Record) error {
	var b strings.Builder
	b.WriteString(r.ID.Text)
	for _, f := range append(r.Fields, r.Extra...) {
		fmt.Fprintf(&b, " %s=%s", f.Name, f.Value.AppendJSON(nil))
	}
	if r.Shape != nil {
		g, err := store.Geometry{WKB: r.Shape.Append(nil)}.Orb()
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, " %s %v", g.GeoJSONType(), g)
		if r.Shape.HasZ {
			fmt.Fprintf(&b, " first height %v", r.Shape.XYZ[2])
		}
	}
	s.records = append(s.records, strings.TrimSpace(b.String()))
	return nil
}

func (s *sink) Fault(at input.Place, of bool, a input.Action, reason string) {
	s.faults = append(s.faults, fmt.Sprintf("%d %s: %s", at.Line, a, reason))
}
func (s *sink) Reference(input.Place, string) {}
func (s *sink) Fields([]string)               {}

// read reads a document around some elements.
func read(t *testing.T, elements string) *sink {
	t.Helper()
	return readText(t, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"+
		`<kml xmlns="http://www.opengis.net/kml/2.2" xmlns:gx="http://www.google.com/kml/ext/2.2"><Document>`+elements+
		`</Document></kml>`)
}

func readText(t *testing.T, text string) *sink {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.kml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := input.NewFile(path, input.Limits{}.WithDefaults())
	if err != nil {
		t.Fatal(err)
	}
	layers, err := kml.Layers(t.Context(), f, input.Options{})
	if err != nil || len(layers) != 1 {
		t.Fatalf("%v, %d layers", err, len(layers))
	}
	s := &sink{}
	if err := layers[0].Reader.Read(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestPlacemarksBecomeFeatures(t *testing.T) {
	t.Parallel()
	const schema = `<Schema id="s"><SimpleField name="n" type="int"/><SimpleField name="d" type="double"/>` +
		`<SimpleField name="b" type="bool"/><SimpleField name="t" type="string"/></Schema>`
	for name, c := range map[string]struct{ elements, want string }{
		"name and description": {`<Placemark id="p1"><name> Å &amp; B </name><description><![CDATA[<b>x</b>]]>` +
			`</description></Placemark>`, `p1 name="Å & B" description="<b>x</b>"`},
		"in folders": {`<Folder><name>f</name><Folder><Placemark id="p"><styleUrl>#x</styleUrl><LookAt>` +
			`<range>1</range></LookAt></Placemark></Folder></Folder>`, `p`},
		"data": {`<Placemark><ExtendedData><Data name="kode"><displayName>Kode</displayName><value>0301</value>` +
			`</Data><Data name="tom"><value/></Data></ExtendedData></Placemark>`,
			`kode="0301" tom=null`},
		"typed data": {schema + `<Placemark><ExtendedData><SchemaData schemaUrl="#s"><SimpleData ` +
			`name="n">7</SimpleData><SimpleData name="d">1.5</SimpleData>` +
			`<SimpleData name="b">1</SimpleData><SimpleData name="t">7</SimpleData></SchemaData></ExtendedData>` +
			`</Placemark>`, `n=7 d=1.5 b=true t="7"`},
		"a value of another type": {schema + `<Placemark><ExtendedData><SchemaData schemaUrl="#s"><SimpleData ` +
			`name="n">x</SimpleData></SchemaData></ExtendedData></Placemark>`, `n="x"`},
		"properties before name": {`<Placemark id="q"><name>n</name><ExtendedData><Data name="name"><value>v</value>` +
			`</Data><Data name="id"><value>1</value></Data></ExtendedData></Placemark>`, `name="v" id="1"`},
		"a moment": {`<Placemark><TimeStamp><when>2024-01-31</when></TimeStamp></Placemark>`,
			`time="2024-01-31"`},
		"a period": {`<Placemark><TimeSpan><begin>2024</begin><end>2025-06</end></TimeSpan></Placemark>`,
			`time_start="2024" time_end="2025-06"`},
		"another namespace": {`<x:Placemark xmlns:x="http://earth.google.com/kml/2.1" id="o"/>`, `o`},
	} {
		s := read(t, c.elements)
		if len(s.records) != 1 || s.records[0] != c.want || len(s.faults) > 0 {
			t.Errorf("%s: %q, want %q; faults %q", name, s.records, c.want, s.faults)
		}
	}
}

func TestGeometriesAreRead(t *testing.T) {
	t.Parallel()
	point := func(s string) string { return `<Point><coordinates>` + s + `</coordinates></Point>` }
	line := func(s string) string {
		return `<LineString><tessellate>1</tessellate><coordinates>` + s + `</coordinates></LineString>`
	}
	ring := func(name, s string) string {
		return `<` + name + `><LinearRing><coordinates>` + s + `</coordinates></LinearRing></` + name + `>`
	}
	polygon := `<Polygon>` + ring("innerBoundaryIs", "11,61 12,61 12,62 11,61") +
		ring("outerBoundaryIs", "10,60 14,60 14,64 10,64 10,60") + `</Polygon>`
	for geometry, want := range map[string]string{
		point("10,60"):             "Point [10 60]",
		point("\n 10.5,60.25,0\n"): "Point [10.5 60.25]",
		point("10,60,7"):           "Point [10 60] first height 7",
		point(""):                  "",
		line("10,60 11,61,5"):      "LineString [[10 60] [11 61]]",
		line("10,60,4\n11,61,5"):   "LineString [[10 60] [11 61]] first height 4",
		polygon: "Polygon [[[10 60] [14 60] [14 64] [10 64] [10 60]] [[11 61] [12 62] [12 " +
			"61] [11 61]]]",
		`<MultiGeometry/>`: "",
		`<MultiGeometry>` + point("1,2") + point("3,4") + `</MultiGeometry>`: "MultiPoint [[1 2] [3 4]]",
		`<MultiGeometry>` + line("1,2 3,4") + line("5,6 7,8") +
			`</MultiGeometry>`: "MultiLineString [[[1 2] [3 4]] [[5 6] [7 8]]]",
		`<MultiGeometry>` + polygon + `</MultiGeometry>`: "MultiPolygon [[[[10 60] [14 60] " +
			"[14 64] [10 64] [10 60]] [[11 61] [12 62] [12 61] [11 61]]]]",
		`<MultiGeometry>` + point("1,2") + line("5,6 7,8") +
			`</MultiGeometry>`: "GeometryCollection [[1 2] [[5 6] [7 8]]]",
		`<LinearRing><coordinates>1,2 3,4 5,7 1,2</coordinates></LinearRing>`: "LineString [[1 2] [3 4] " +
			"[5 7] [1 2]]",
	} {
		s := read(t, "<Placemark>"+geometry+"</Placemark>")
		if len(s.records) != 1 || s.records[0] != want {
			t.Errorf("%s: %q, want %q; faults %q", geometry, s.records, want, s.faults)
		}
	}
}

func TestWhatIsNoKMLIsRefusedWithACure(t *testing.T) {
	t.Parallel()
	const after = `<Placemark id="next"><Point><coordinates>1,2</coordinates></Point></Placemark>`
	for elements, want := range map[string]string{
		`<Placemark><Point><coordinates>10 60</coordinates></Point>` +
			`</Placemark>`: "write longitude,latitude",
		`<Placemark><Point><coordinates>10,x</coordinates></Point>` +
			`</Placemark>`: `"10,x" is not a position`,
		`<Placemark><Point><coordinates>1,2 3,4</coordinates></Point>` +
			`</Placemark>`: "a Point of 2 positions",
		`<Placemark><Model><Link/></Model>` +
			`</Placemark>`: "ogr2ogr makes simple ones",
		`<Placemark><gx:Track><when>2024</when></gx:Track></Placemark>`: "type Track",
		`<Placemark><Polygon><outerBoundaryIs><Point/></outerBoundaryIs></Polygon>` +
			`</Placemark>`: "where a LinearRing should be",
		`<Placemark><Polygon>` +
			strings.Repeat(`<outerBoundaryIs><LinearRing><coordinates>1,2 3,4 5,7 1,2</coordinates></LinearRing>`+
				`</outerBoundaryIs>`, 2) + `</Polygon></Placemark>`: "two outer boundaries",
		`<Placemark>` + strings.Repeat("<MultiGeometry>", 60) + strings.Repeat("</MultiGeometry>", 60) +
			`</Placemark>`: "too deep",
		`<Placemark><MultiGeometry><Polygon><outerBoundaryIs><LinearRing><coordinates>a</coordinates></LinearRing>` +
			`</outerBoundaryIs></Polygon><Point><coordinates>1,2</coordinates></Point></MultiGeometry>` +
			`</Placemark>`: `"a" is not a position`,
	} {
		s := read(t, elements+after)
		if len(s.faults) != 1 || !strings.Contains(s.faults[0], "refused: ") || !strings.Contains(s.faults[0], want) {
			t.Errorf("%s: %q, want %q", elements, s.faults, want)
		}
		if n := len(s.records); n != 2 || s.records[1] != "next Point [1 2]" { // reading goes on behind it
			t.Errorf("%s: %q", elements, s.records)
		}
	}
	for text, want := range map[string]string{
		`<kml><Document><Placemark>`:  "cut off at line 1",
		"<kml>\n<Document></kml>":     "line 2: this is not well-formed XML",
		`<FeatureCollection/>`:        "not kml; if this is GML",
		``:                            "cut off",
		strings.Repeat("<kml>", 2000): "more than 1000 deep",
		`<?xml version="1.0" encoding="UTF-16"?><kml/>`: "save the file as UTF-8",
	} {
		s := readText(t, text)
		if len(s.faults) != 1 || !strings.Contains(s.faults[0], want) {
			t.Errorf("%.40q: %q, want %q", text, s.faults, want)
		}
	}
}

func TestWhatIsLeftOutOfKMLIsTold(t *testing.T) {
	t.Parallel()
	for elements, want := range map[string]string{
		`<NetworkLink><Link><href>b.kml</href></Link></NetworkLink>`: "NetworkLink",
		`<GroundOverlay/>`: "images",
		`<Placemark><Point><coordinates>1,2</coordinates></Point><Point><coordinates>3,4</coordinates></Point>` +
			`</Placemark>`: "MultiGeometry holds several",
		`<Placemark><LineString><coordinates>1,2,3 4,5</coordinates></LineString></Placemark>`: "heights of geometries",
		`<Placemark><ExtendedData><Data name="a"><value>1</value></Data><Data name="a"><value>2</value></Data>` +
			`</ExtendedData></Placemark>`: `the property "a" stands several times`,
		`<Placemark><ExtendedData><x:a xmlns:x="x">1</x:a></ExtendedData></Placemark>`: "other vocabularies",
	} {
		s := read(t, elements+elements)
		if len(s.faults) != 1 || !strings.Contains(s.faults[0], "warning: ") || !strings.Contains(s.faults[0], want) {
			t.Errorf("%s: %q, want %q", elements, s.faults, want)
		}
	}
}
