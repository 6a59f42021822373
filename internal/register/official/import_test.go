package official_test

import (
	"archive/zip"
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/paulmach/orb"
	"github.com/paulmach/orb/project"

	"grense/internal/format/input"
	"grense/internal/geo/crs"
	"grense/internal/register"
	"grense/internal/register/official"
	"grense/internal/register/registertest"
	"grense/internal/store"
	"grense/internal/store/gpkg"
)

// texts gives columns of the rows of a table, each row joined by bars.
func texts(t *testing.T, r *registertest.Recording, table string, columns ...string) []string {
	t.Helper()
	var out []string
	r.Each(t, table, func(get func(string) any) {
		var row []string
		for _, c := range columns {
			v := get(c)
			if tm, ok := v.(interface{ Format(string) string }); ok {
				v = tm.Format("2006-01-02T15:04:05Z")
			}
			row = append(row, fmt.Sprint(v))
		}
		out = append(out, strings.Join(row, "|"))
	})
	return out
}

func TestImportKeepsWhatTheProductSays(t *testing.T) {
	t.Parallel()
	r, report := imported(t, official.Options{}, put(t, t.TempDir(), "a.gml", gmlFile(invented()...)))
	for _, c := range []struct {
		table   string
		columns string
		want    []string
	}{
		{"sted", "id stedsnummer visningsnavn stedsnavn navneobjekttype navneobjektgruppe navneobjekthovedgruppe land",
			[]string{
				"5|5|Ingensteds|Ingensteds|sund|ferskvannskontur|ferskvann|NO",
				"12|12|Prøvetjahke – Tindeprøven|Prøvetjahke|topp|høyder|terreng|NO",
				"77|77|Nedre Prøveland|Nedre Prøveland|bruk|gardsbebyggelse|bebyggelse|NO",
				"900|900|Oppdiktvegen & Co|Oppdiktvegen & Co|adressenavn|veg|infrastruktur|NO",
				"4711|4711|Store Krålenuten|Store Krålenuten|fjell|høyder|terreng|NO"}},
		{"sted", "stedstatus kommunenummer kommuner fylkesnummer spraakprioritering sortering1 lokal_id oppdatert rang",
			[]string{
				"aktiv||[]||" + norwegianFirst + "|viktighetB|L5|2018-01-01T12:00:00Z|4",
				`aktiv|3434|["3434"]|34|` + samiFirst + "|viktighetK|L12|2020-02-14T22:00:22Z|1",
				`aktiv|1135|["1135"]|11|` + norwegianFirst + "|viktighetB|L77|2023-12-29T09:26:34Z|5",
				`aktiv|1135|["1135"]|11|` + norwegianFirst + "|viktighetC|L900|2019-12-27T09:29:11Z|3",
				`aktiv|1135|["1135","3434"]|11|` + norwegianFirst + "|viktighetH|L4711|2021-06-08T16:47:51Z|2"}},
		{"sted_kommune", "sted_id kommunenummer rang navneobjekttype", []string{"12|3434|1|topp", "77|1135|5|bruk",
			"900|1135|3|adressenavn", "4711|1135|2|fjell", "4711|3434|2|fjell"}},
		{"stedsnavn", "id stedsnavnnummer stedsnavn skrivemaater navnestatus navnesakstatus spraak skrivemaatestatus " +
			"beste_skrivemaate_id rang", []string{
			"5001|1|Ingensteds|Ingensteds|hovednavn|ubehandlet|nor|godkjent|5001001|6",
			"12001|1|Tindeprøven|Tindeprøven|hovednavn|ubehandlet|nor|vedtatt|12001001|1",
			"12002|2|Prøvetjahke|Prøvetjahke|hovednavn|iverksattVedtak|sma|vedtatt|12002001|2",
			"77001|1|Nedre Prøveland|Nedre Prøveland|hovednavn|ubehandlet|nor|uvurdert|77001001|7",
			"900001|1|Oppdiktvegen & Co|Oppdiktvegen & Co|hovednavn|ubehandlet|nor|vedtatt|900001001|5",
			"4711001|1|Store Krålenuten|Store Krålenuten|hovednavn|navnesakReist|nor|godkjent|4711001001|3",
			"4711002|2|Øvre Krålefjellet|Øvre Krålefjellet|undernavn|ubehandlet|nor|godkjent|4711002001|4"}},
		{"skrivemaate", "id langnavn kasustype skrivemaatestatus skrivemaatestatusdato prioritert norm rang", []string{
			"5001001|Ingensteds|nevneform|godkjent|1999-07-01|true|ingensteds|7",
			"12001001|Tindeprøven|nevneform|vedtatt|1999-07-01|true|tindeproven|1",
			"12002001|Prøvetjahke|nominativ|vedtatt|1999-07-01|true|provetjahke|2",
			"77001001|Nedre Prøveland|nevneform|uvurdert|1999-07-01|true|nedre proveland|8",
			"900001001|Oppdiktvegen & Co|nevneform|vedtatt|1999-07-01|true|oppdiktvegen & co|6",
			"4711001001|Store Krålenuten|nevneform|godkjent|1999-07-01|true|store kralenuten|3",
			"4711001002|Store Kraalenuten|nevneform|foreslått|1999-07-01|false|store kralenuten|4",
			"4711002001|Øvre Krålefjellet|nevneform|godkjent|1999-07-01|true|ovre kralefjellet|5"}},
		{"vegreferanse", "sted_id kommunenummer adressekode", []string{"900|1135|3157"}},
		{"matrikkel_sted", "sted_id kommunenummer gaardsnummer bruksnummer festenummer seksjonsnummer stedsnavn rang",
			[]string{"77|1135|12|3|0|0|Nedre Prøveland|5"}},
		{"matrikkel_stedsnavn", "stedsnavn_id gaardsnummer bruksnummer rang", []string{"77001|12|3|7"}},
		{"matrikkel_skrivemaate", "skrivemaate_id gaardsnummer bruksnummer rang", []string{"77001001|12|3|8"}},
	} {
		if got := texts(t, r, c.table, strings.Fields(c.columns)...); !slices.Equal(got, c.want) {
			t.Errorf("%s (%s):\n%s\nwant\n%s", c.table, c.columns, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
	}
	if report.Read != 5 || report.Places != 5 || report.Names != 7 || report.Spellings != 8 || report.NoPlace != 1 ||
		len(report.Groups)+len(report.Codes)+report.Refused+report.Twice != 0 {
		t.Errorf("report %+v", report)
	}
	if s := report.Extracted.Format("2006-01-02T15:04:05Z"); s != "2026-02-01T04:30:56Z" {
		t.Errorf("taken %s", s)
	}
}

// positions gives the positions of each place in longitude and latitude, by its number.
func positionsOf(t *testing.T, r *registertest.Recording) map[int64]orb.Geometry {
	t.Helper()
	out := map[int64]orb.Geometry{}
	r.Each(t, "sted", func(get func(string) any) {
		g, err := get("geom").(store.Geometry).Orb()
		if err != nil {
			t.Fatal(err)
		}
		out[get("id").(int64)] = g
	})
	return out
}

// near reports whether two geometries are of one kind and equal to a millimetre.
func near(a, b orb.Geometry) bool {
	var list [2][]orb.Point
	for i, g := range []orb.Geometry{a, b} {
		if g == nil {
			continue
		}
		var walk func(v reflect.Value)
		walk = func(v reflect.Value) {
			if p, ok := v.Interface().(orb.Point); ok {
				list[i] = append(list[i], p)
				return
			}
			for k := range v.Len() {
				walk(v.Index(k))
			}
		}
		walk(reflect.ValueOf(g))
	}
	return reflect.TypeOf(a) == reflect.TypeOf(b) && slices.EqualFunc(list[0], list[1], func(p, q orb.Point) bool {
		return math.Abs(p[0]-q[0]) < 1e-3 && math.Abs(p[1]-q[1]) < 1e-3
	})
}

// to33 brings longitude and latitude to the system of the register.
func to33(t *testing.T, g orb.Geometry) orb.Geometry {
	t.Helper()
	fn, err := crs.Between(crs.ETRS89, register.StorageCRS)
	if err != nil {
		t.Fatal(err)
	}
	point := func(p orb.Point) orb.Point { x, y := fn(p[0], p[1]); return orb.Point{x, y} }
	if g == nil {
		return nil
	}
	return project.Geometry(g, point)
}

func TestImportReadsGeometries(t *testing.T) {
	t.Parallel()
	want := map[int64]orb.Geometry{
		5:    nil,
		12:   orb.Point{8.312477, 61.636440},
		4711: orb.MultiPoint{{6.25, 59.5}, {6.5, 59.75}},
		900:  orb.MultiLineString{{{4.8, 60.5}, {4.9, 60.6}}, {{4.9, 60.6}, {4.9, 60.7}, {5, 60.7}}},
		77: orb.Polygon{
			{{5, 60}, {6, 60}, {6, 61}, {5, 61}, {5, 60}},
			{{5.2, 60.2}, {5.4, 60.4}, {5.4, 60.2}, {5.2, 60.2}},
		},
	}
	r, _ := imported(t, official.Options{}, put(t, t.TempDir(), "a.gml", gmlFile(invented()...)))
	for id, g := range positionsOf(t, r) {
		if w := to33(t, want[id]); !near(g, w) {
			t.Errorf("%d: %v, want %v", id, g, w)
		}
	}
}

// One point in every system that is served, and in every way to write it.
func TestImportTakesEverySystem(t *testing.T) {
	t.Parallel()
	const lon, lat = 10.75, 59.91
	want := to33(t, orb.Point{lon, lat})
	try := func(name, element string, want orb.Geometry) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := invented()[1]
			p.position = "<app:posisjon>" + element + "</app:posisjon>"
			r, _ := imported(t, official.Options{}, put(t, t.TempDir(), "a.gml", gmlFile(p)))
			if g := positionsOf(t, r)[12]; !near(g, want) {
				t.Errorf("%v, want %v", g, want)
			}
		})
	}
	for _, id := range crs.Served() {
		fn, err := crs.Between(crs.ETRS89, id)
		if err != nil {
			t.Fatal(err)
		}
		x, y := fn(lon, lat)
		a, b := x, y
		if id.NorthFirst() {
			a, b = y, x
		}
		code := fmt.Sprintf("urn:ogc:def:crs:EPSG::%d", int(id))
		if id == crs.CRS84 {
			code = "urn:ogc:def:crs:OGC:1.3:CRS84"
		}
		try(id.String(), fmt.Sprintf(`<gml:Point srsName="%s"><gml:pos>%.9f %.9f</gml:pos></gml:Point>`, code, a, b),
			want)
		try(id.String()+" by URI",
			fmt.Sprintf(`<gml:Point srsName="%s"><gml:pos>%.9f %.9f</gml:pos></gml:Point>`, id.URI(), a, b), want)
	}
	try("short code", `<gml:Point srsName="EPSG:4258"><gml:pos>10.75 59.91</gml:pos></gml:Point>`, want)
	try("short code of GML 2",
		`<gml:Point srsName="http://www.opengis.net/gml/srs/epsg.xml#4258"><gml:coordinates>10.75,`+
			`59.91</gml:coordinates></gml:Point>`,
		want)
	try("taken as CRS84",
		`<gml:Point srsName="urn:ogc:def:crs:EPSG::4937" srsDimension="3"><gml:pos>59.91 10.75 120.5</gml:pos>`+
			`</gml:Point>`,
		want)
	try("coordinates", `<gml:Point srsName="EPSG:4258"><gml:coordinates>10.75,59.91</gml:coordinates></gml:Point>`,
		want)
	try("height",
		`<gml:Point srsName="urn:ogc:def:crs:EPSG::4258" srsDimension="3"><gml:pos>59.91 10.75 120.5</gml:pos>`+
			`</gml:Point>`,
		want)
	try(
		"heights of a line",
		`<gml:LineString srsName="urn:ogc:def:crs:EPSG::4258" srsDimension="3"><gml:posList>59.91 10.75 1 59.92 `+
			`10.76 2</gml:posList></gml:LineString>`,
		to33(t, orb.LineString{{10.75, 59.91}, {10.76, 59.92}}),
	)
	try("old line",
		`<gml:LineString srsName="EPSG:4258"><gml:coordinates>10.75,59.91 10.76,59.92</gml:coordinates>`+
			`</gml:LineString>`,
		to33(t, orb.LineString{{10.75, 59.91}, {10.76, 59.92}}))
	try(
		"system of the members",
		`<gml:MultiPoint><gml:pointMember><gml:Point srsName="urn:ogc:def:crs:EPSG::4258"><gml:pos>59.91 `+
			`10.75</gml:pos></gml:Point></gml:pointMember></gml:MultiPoint>`,
		to33(t, orb.MultiPoint{{10.75, 59.91}}),
	)
	try(
		"curve of one segment",
		`<gml:Curve srsName="EPSG:25833"><gml:segments><gml:LineStringSegment><gml:posList>250000 6650000 250000 `+
			`6650100</gml:posList></gml:LineStringSegment></gml:segments></gml:Curve>`,
		orb.LineString{{250000, 6650000}, {250000, 6650100}},
	)
	try(
		"ring of parts",
		`<gml:Polygon srsName="EPSG:4258"><gml:exterior><gml:Ring><gml:curveMember><gml:LineString><gml:posList>5 60 `+
			`5 61 6 61</gml:posList></gml:LineString></gml:curveMember>`+
			`<gml:curveMember><gml:LineString><gml:posList>6 61 6 60 5 60</gml:posList></gml:LineString>`+
			`</gml:curveMember></gml:Ring></gml:exterior></gml:Polygon>`,
		to33(t, orb.Polygon{{{5, 60}, {6, 60}, {6, 61}, {5, 61}, {5, 60}}}),
	)
	try(
		"multi-surface",
		`<gml:MultiSurface srsName="EPSG:4258"><gml:surfaceMember><gml:Polygon><gml:exterior><gml:LinearRing>`+
			`<gml:posList>5 60 6 60 6 61 5 60</gml:posList></gml:LinearRing></gml:exterior></gml:Polygon>`+
			`</gml:surfaceMember></gml:MultiSurface>`,
		to33(t, orb.MultiPolygon{{{{5, 60}, {6, 60}, {6, 61}, {5, 60}}}}),
	)
}

// The same places as GML, as rows of CSV and as GeoJSON give the same register.
func TestEveryFormGivesTheSameRegister(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var places []gmlPlace
	for _, p := range invented() {
		if strings.Contains(p.position, "gml:pos>") && p.number != 4711 { // rows of CSV have points here
			p.extra = ""
			places = append(places, p)
		}
	}
	p := places[0]
	p.number, p.position, p.names = 55, point(60.25, 9.5), invented()[0].names
	p.kommuner = p.kommuner[:1]
	places = append(places, p)

	type feature struct {
		Type       string         `json:"type"`
		Properties map[string]any `json:"properties"`
		Geometry   map[string]any `json:"geometry"`
	}
	var rows strings.Builder
	var features []feature
	rows.WriteString(
		"lokalId;oppdateringsdato;datauttaksdato;språk;navnestatus;navnesakstatus;stedsnavnnummer;komplettskrivemåte;" +
			"skrivemåtestatus;statusdato;skrivemåtenummer;prioritert;land;" +
			"navneobjekttype;sortering;språkprioritering;kommunenummer;kommunenavn;fylkesnummer;fylkesnavn;" +
			"stedsnummer;lon;lat\n",
	)
	for _, p := range places {
		var lat, lon float64
		if _, err := fmt.Sscanf(p.position[strings.Index(p.position, "<gml:pos>")+9:], "%f %f", &lat,
			&lon); err != nil {
			t.Fatal(err)
		}
		all := feature{
			"Feature",
			map[string]any{
				"lokalId":           fmt.Sprintf("L%d", p.number),
				"oppdateringsdato":  p.updated,
				"datauttaksdato":    "2026-02-01T06:30:56.496516+02:00",
				"land":              "Norge",
				"navneobjekttype":   p.kind,
				"sortering":         p.sorting,
				"språkprioritering": p.priority,
				"kommunenummer":     p.kommuner[0][0],
				"kommunenavn":       p.kommuner[0][1],
				"fylkesnummer":      p.kommuner[0][2],
				"fylkesnavn":        p.kommuner[0][3],
				"stedsnummer":       p.number,
			},
			map[string]any{"type": "Point", "coordinates": []float64{lon, lat}},
		}
		lists := map[string][]any{}
		for _, n := range p.names {
			for _, s := range n.spellings {
				fmt.Fprintf(&rows,
					"L%d;%s;2026-02-01T06:30:56.496516+02:00;%s;%s;%s;%d;%s;%s;1999-07-01;%d;%t;Norge;%s;%s;%s;%s;"+
						"%d;%v;%v\n",
					p.number, p.updated, n.language, n.status, n.state, n.number, s.text, s.status, s.number, !s.other,
					p.kind, p.sorting, p.priority, strings.Join(p.kommuner[0][:], ";"), p.number, lon, lat)
				for k, v := range map[string]any{"språk": n.language, "navnestatus": n.status,
					"navnesakstatus": n.state, "stedsnavnnummer": n.number, "komplettskrivemåte": s.text,
					"skrivemåtestatus": s.status, "statusdato": "1999-07-01", "skrivemåtenummer": s.number,
					"prioritert": !s.other} {
					lists[k] = append(lists[k], v)
				}
			}
		}
		for k, v := range lists {
			all.Properties[k] = v
		}
		features = append(features, all)
	}
	document, err := json.Marshal(map[string]any{"type": "FeatureCollection", "features": features})
	if err != nil {
		t.Fatal(err)
	}
	want, _ := imported(t, official.Options{}, put(t, dir, "a.gml", gmlFile(places...)))
	for _, file := range []string{put(t, dir, "a.csv", rows.String()), put(t, dir, "a.geojson", string(document))} {
		got, report := imported(t, official.Options{}, file)
		if len(report.Groups) > 0 {
			t.Errorf("%s: %+v", filepath.Base(file), report.Groups)
		}
		for table := range want.Sums {
			if got.Sums[table] != want.Sums[table] {
				t.Errorf("%s: table %s differs:\n%v\nwant\n%v", filepath.Base(file), table, got.Rows[table],
					want.Rows[table])
			}
		}
	}
}

// packed writes a file of the given form.
func packed(t *testing.T, dir, form, text string) string {
	t.Helper()
	var b bytes.Buffer
	switch form {
	case "gml":
		b.WriteString(text)
	case "gml.gz":
		z := gzip.NewWriter(&b)
		if _, err := z.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		z.Close()
	case "zip":
		z := zip.NewWriter(&b)
		for name, body := range map[string]string{"Basisdata.gml": text, "lesmeg.txt": "Les meg"} {
			f, err := z.Create(name)
			if err != nil {
				t.Fatal(err)
			}
			f.Write([]byte(body))
		}
		z.Close()
	case "xml": // in an older encoding, with a byte order of lines of its own
		b.WriteString(strings.Replace(text, "UTF-8", "ISO-8859-1", 1))
		latin := make([]byte, 0, b.Len())
		for _, r := range b.String() {
			latin = append(latin, byte(r))
		}
		b.Reset()
		b.Write(latin)
	}
	return put(t, dir, "fil."+form, b.String())
}

func TestImportReadsPackedFiles(t *testing.T) {
	t.Parallel()
	places := invented()
	want, _ := imported(t, official.Options{}, packed(t, t.TempDir(), "gml", gmlFile(places...)))
	for _, form := range []string{"gml.gz", "zip", "xml"} {
		got, _ := imported(t, official.Options{}, packed(t, t.TempDir(), form, gmlFile(places...)))
		if !reflect.DeepEqual(got.Sums, want.Sums) {
			t.Errorf("%s gives other rows", form)
		}
	}
}

// The files of counties, in any order, give the register of the country, to the byte; a place of two files is taken
// once.
func TestOrderOfFilesMakesNoDifference(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long: the run without the race detector has it")
	}
	dir := t.TempDir()
	p := invented()
	older, newer := p[1], p[1]
	older.updated = "2011-02-14T23:00:22+01:00"
	older.names = []gmlName{{1, "hovednavn", "ubehandlet", "norsk",
		[]gmlSpelling{{1, "Gamlenavnet", "godkjent", false}}}}
	a := put(t, dir, "a.gml", gmlFile(p[0], older, p[2]))
	b := put(t, dir, "b.gml", gmlFile(p[3], newer))
	c := put(t, dir, "c.gml", gmlFile(p[2], p[4]))
	want, _ := imported(t, official.Options{}, put(t, dir, "all.gml", gmlFile(p...)))
	var first []byte
	for _, files := range [][]string{{a, b, c}, {c, b, a}, {b, a, c}} {
		got, report := imported(t, official.Options{}, files...)
		if !reflect.DeepEqual(got.Sums, want.Sums) {
			t.Errorf("%v give other rows than one file", files)
		}
		if report.Twice != 2 || report.Read != 7 || report.Places != 5 || len(report.Groups) != 2 {
			t.Errorf("%v: report %+v", files, report)
		}
		path := filepath.Join(t.TempDir(), "register.gpkg")
		im, err := official.Read(t.Context(), files, official.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer im.Close()
		w, err := gpkg.CreateDated(t.Context(), path, im.Dated())
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		if err := cmp.Or(register.Define(t.Context(), w, true), im.Write(t.Context(), w),
			w.Commit(t.Context())); err != nil {
			t.Fatal(err)
		}
		bytesNow, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = bytesNow
		} else if !bytes.Equal(first, bytesNow) {
			t.Errorf("%v: the file differs", files)
		}
	}
}

func TestImportRefusesPlacesOneByOne(t *testing.T) {
	t.Parallel()
	good := invented()[1].String()
	for _, c := range []struct{ name, old, new, want string }{
		{"no number", "<app:stedsnummer>12</app:stedsnummer>", "", "stedsnummer is missing"},
		{"number too large", "<app:stedsnummer>12<", "<app:stedsnummer>9007199254740993<", "9007199254740993"},
		{"number no number", "<app:stedsnummer>12<", "<app:stedsnummer>tolv<", "tolv"},
		{"no update", "<app:oppdateringsdato>2020-02-14T23:00:22+01:00</app:oppdateringsdato>", "", "oppdateringsdato"},
		{"bad update", "2020-02-14T23:00:22+01:00", "14. februar", "14. februar"},
		{"update beyond the years", "2020-02-14T23:00:22+01:00", "9999-12-31T23:59:59-05:00", "9999-12-31"},
		{"bad day", "<app:statusdato>1999-07-01", "<app:statusdato>1999-13-01", "1999-13-01"},
		{"no type", "<app:navneobjekttype>topp</app:navneobjekttype>", "", "navneobjekttype"},
		{"bad code", "<app:navneobjekttype>topp<", "<app:navneobjekttype>topp; drop table<", "drop table"},
		{"no language", "<app:språk>norsk</app:språk>", "", "spraak"},
		{"no text", "Tindeprøven", " ", "komplettskrivemåte"},
		{"long text", "Tindeprøven", strings.Repeat("å", 201), "200 characters"},
		{"names of one number", "<app:stedsnavnnummer>2<", "<app:stedsnavnnummer>1<", "stedsnavnnummer 1"},
		{"name beyond numbers", "<app:stedsnavnnummer>2<", "<app:stedsnavnnummer>1000<", "1000"},
		{"bad municipality", "<app:kommunenummer>3434<", "<app:kommunenummer>34345<", "34345"},
		{"system unknown", "EPSG::4258", "EPSG::99999", "99999"},
		{"no system", ` srsName="urn:ogc:def:crs:EPSG::4258"`, "", "srsName"},
		{"no coordinate", "61.636440 8.312477", "61.636440 øst", "øst"},
		{"one coordinate", "61.636440 8.312477", "61.636440", "1 numbers"},
		{"infinite", "61.636440 8.312477", "Inf 8", "no number of a place"},
		{"not on earth", "61.636440 8.312477", "161.636440 8.312477", "161.63644"},
		{"arc", "gml:Point", "gml:Arc", "type Arc"},
		{"open ring", `<gml:Point srsName="urn:ogc:def:crs:EPSG::4258" srsDimension="2"><gml:pos>61.636440 ` +
			`8.312477</gml:pos></gml:Point>`,
			`<gml:Polygon srsName="EPSG:4258"><gml:exterior><gml:LinearRing><gml:posList>8 61 9 61 9 62 8 ` +
				`62</gml:posList></gml:LinearRing></gml:exterior></gml:Polygon>`, "not closed"},
		{"two outer rings", `<gml:Point srsName="urn:ogc:def:crs:EPSG::4258" srsDimension="2"><gml:pos>61.636440 ` +
			`8.312477</gml:pos></gml:Point>`,
			`<gml:Polygon srsName="EPSG:4258">` +
				strings.Repeat(`<gml:exterior><gml:LinearRing><gml:posList>8 61 9 61 9 62 8 61</gml:posList>`+
					`</gml:LinearRing></gml:exterior>`, 2) + `</gml:Polygon>`, "two exterior rings"},
		{"a gap", `<gml:Point srsName="urn:ogc:def:crs:EPSG::4258" srsDimension="2"><gml:pos>61.636440 ` +
			`8.312477</gml:pos></gml:Point>`,
			`<gml:CompositeCurve srsName="EPSG:4258"><gml:curveMember><gml:LineString><gml:posList>8 61 9 ` +
				`61</gml:posList></gml:LineString></gml:curveMember>` +
				`<gml:curveMember><gml:LineString><gml:posList>9 62 8 62</gml:posList></gml:LineString>` +
				`</gml:curveMember></gml:CompositeCurve>`, "do not follow each other"},
		{"kinds together", `<gml:Point srsName="urn:ogc:def:crs:EPSG::4258" srsDimension="2"><gml:pos>61.636440 ` +
			`8.312477</gml:pos></gml:Point>`,
			`<gml:MultiGeometry srsName="EPSG:4258"><gml:geometryMember><gml:Point><gml:pos>8 61</gml:pos>` +
				`</gml:Point></gml:geometryMember>` +
				`<gml:geometryMember><gml:LineString><gml:posList>9 62 8 62</gml:posList></gml:LineString>` +
				`</gml:geometryMember></gml:MultiGeometry>`, "one kind is read"},
		{"two systems", `<gml:Point srsName="urn:ogc:def:crs:EPSG::4258" srsDimension="2"><gml:pos>61.636440 ` +
			`8.312477</gml:pos></gml:Point>`,
			`<gml:LineString srsName="urn:ogc:def:crs:EPSG::4258"><gml:pos>61.6 8.3</gml:pos><gml:pos ` +
				`srsName="EPSG:25832">463000 6830000</gml:pos></gml:LineString>`, "two reference systems"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			bad := strings.ReplaceAll(good, c.old, c.new)
			if bad == good {
				t.Fatal("nothing was changed")
			}
			if c.old != "Tindeprøven" && strings.Count(good, c.old) > 2 {
				t.Fatal("too much was changed")
			}
			bad = strings.Replace(bad, `gml:id="id12"`, `gml:id="ille"`, 1)
			file := put(t, t.TempDir(), "a.gml",
				gmlHead+invented()[0].String()+bad+invented()[2].String()+"</gml:FeatureCollection>")
			faults, err := refusals(t, official.Options{}, file)
			if !errors.Is(err, input.ErrRefused) || len(faults) != 1 {
				t.Fatalf("error %v, faults %v", err, faults)
			}
			f, lines := faults[0], strings.Count(gmlHead+invented()[0].String(), "\n")
			if !strings.Contains(f.Reason, c.want) || f.Line != lines+2 || f.Feature != 2 ||
				f.File != file || f.ID == "" {
				t.Errorf("%+v; want %q in line %d", f, c.want, lines+2)
			}
			r, report := imported(t, official.Options{SkipRefused: true}, file)
			if ids := texts(t, r, "sted", "id"); !slices.Equal(ids, []string{"900", "4711"}) || report.Refused != 1 ||
				report.Read != 3 ||
				report.Places != 2 {
				t.Errorf("without it: %v, report %+v", ids, report)
			}
		})
	}
}

func TestImportRefusesFiles(t *testing.T) {
	t.Parallel()
	good := gmlFile(invented()...)
	for _, c := range []struct{ name, file, text, want string }{
		{"cut off", "a.gml", good[:len(good)/2], "cut off"},
		{"wrong end tag", "a.gml", strings.Replace(good, "</app:Sted>", "</app:Stad>", 1), "closed by </Stad>"},
		{"document type", "a.gml", strings.Replace(good, "<!-- invented -->",
			`<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]>`, 1), "line 2: a document type"},
		{"entity", "a.gml", strings.Replace(good, "Tindeprøven", "&xxe;", 1), "&xxe;"},
		{"depth", "a.gml", strings.Replace(good, "<app:land>", strings.Repeat("<app:land>", 100), 1), "in each other"},
		{"attributes", "a.gml", strings.Replace(good, `gml:id="x"`, manyAttributes(100), 1), "attributes"},
		{"prefix", "a.gml", strings.Replace(good, "xmlns:app=", "xmlns:opp=", 1), `prefix "app"`},
		{"UTF-8", "a.gml", strings.Replace(good, "Tindeprøven", "Tindepr\xf8ven", 1), "not UTF-8"},
		{"control character", "a.gml", strings.Replace(good, "Tindeprøven", "Tind\x01", 1), "U+0001"},
		{"other encoding", "a.gml", strings.Replace(good, "UTF-8", "UTF-16", 1), "save the file as UTF-8"},
		{"no places", "a.gml", strings.ReplaceAll(good, "StedsnavnForVanligBruk", "Bygninger"), "holds no places"},
		{"nothing", "a.gml", "", "no XML"},
		{"old register", "a.geojson", `{"type":"FeatureCollection","features":[{"type":"Feature",` +
			`"properties":{"enh_ssr_id":1,"enh_snavn":"Prøve"},"geometry":null}]}`, "1 place was refused"},
		{"other ending", "a.docx", "x", "are not read"},
		{"CSV without a reference", "a.csv", "stedsnummer,x,y\n1,2,3\n", "--crs"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := refusals(t, official.Options{}, put(t, t.TempDir(), c.file, c.text))
			if !errors.Is(err, input.ErrRefused) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v; want %q", err, c.want)
			}
		})
	}
}

// What a message says about a file is short, and steers no terminal.
func TestImportFaultsArePrintable(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "a.zip")
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	w, err := z.Create("../\x1b[31m.csv")
	if err == nil {
		_, err = fmt.Fprintf(
			w,
			"stedsnummer,komplettskrivemåte,navneobjekttype,oppdateringsdato,lon,lat\n\"1\n\x1b[31m\",Prøve,fjell,"+
				"2020-01-01,5,60\n%s,Prøve,fjell,2020-01-01,5,60\n",
			strings.Repeat("7", 1000),
		)
	}
	if err := errors.Join(err, z.Close(), os.WriteFile(file, b.Bytes(), 0o600)); err != nil {
		t.Fatal(err)
	}
	faults, err := refusals(t, official.Options{CRS: crs.CRS84}, file)
	if !errors.Is(err, input.ErrRefused) || len(faults) != 2 {
		t.Fatalf("error %v, faults %v", err, faults)
	}
	for _, f := range faults {
		if text := f.File + f.ID + f.Reason; strings.ContainsAny(text, "\x1b\n") || len(f.ID) == 0 || len(f.ID) > 80 {
			t.Errorf("%q", text)
		}
	}
}

func manyAttributes(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, " a%d='x'", i)
	}
	return b.String()
}

func TestImportListsUnknownCodes(t *testing.T) {
	t.Parallel()
	places := invented()
	places[1].kind, places[2].kind = "Topp", "heisveg"
	places[3].kommuner = [][4]string{{"1145", "Bokn", "11", "Rogaland"}, {"0716", "Prøveby", "07", "Gamlefylket"}}
	places[4].names[0].spellings[0].status = "omstridt"
	r, report := imported(t, official.Options{}, put(t, t.TempDir(), "a.gml", gmlFile(places...)))
	var got []string
	for _, c := range report.Codes {
		got = append(got, fmt.Sprintf("%s %s %d %s %s", c.List, c.Value, c.Count, c.Near, c.First.ID))
	}
	want := []string{
		"fylke 07 1  77",
		"kommune 0716 1  77",
		"navneobjekttype Topp 1 topp 12",
		"navneobjekttype heisveg 1  900",
		"skrivemaatestatus omstridt 1  5",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	rows := texts(t, r, "kode", "liste", "verdi", "navn_nb", "forelder")
	for _, row := range []string{"kommune|0716|Prøveby|07", "fylke|07|Gamlefylket|<nil>",
		"navneobjekttype|heisveg|heisveg|<nil>"} {
		if !slices.Contains(rows, row) {
			t.Errorf("the code lists lack %s", row)
		}
	}
	if got := texts(t, r, "skrivemaate", "sted_id", "skrivemaatestatus"); got[0] != "5|omstridt" {
		t.Errorf("the status is not kept: %s", got[0])
	}
}
