package official_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"grense/internal/format/input"
	"grense/internal/ingest"
	"grense/internal/register"
	"grense/internal/register/official"
	"grense/internal/register/registertest"
)

// gmlSpelling, gmlName and gmlPlace write places as the product has them. Everything in them is invented.
type gmlSpelling struct {
	number       int
	text, status string
	other        bool // annenSkrivemåte
}

type gmlName struct {
	number                  int
	status, state, language string
	spellings               []gmlSpelling
}

type gmlPlace struct {
	number                           int
	updated, kind, priority, sorting string
	position                         string // element with the geometry
	names                            []gmlName
	kommuner                         [][4]string
	extra                            string // elements before stedsnummer
}

const gmlHead = `<?xml version="1.0" encoding="UTF-8"?>
<!-- invented -->
<gml:FeatureCollection xmlns:app="https://skjema.geonorge.no/SOSI/produktspesifikasjon/StedsnavnForVanligBruk/20231001" xmlns:gml="http://www.opengis.net/gml/3.2" gml:id="x">
`

func (p gmlPlace) String() string {
	var b strings.Builder
	fmt.Fprintf(
		&b,
		"<gml:featureMember>\n<app:Sted gml:id=\"id%d\">\n<app:identifikasjon><app:Identifikasjon>"+
			"<app:lokalId>L%d</app:lokalId></app:Identifikasjon></app:identifikasjon>\n"+
			"<app:oppdateringsdato>%s</app:oppdateringsdato>\n"+
			"<app:datauttaksdato>2026-02-01T06:30:56.496516+02:00</app:datauttaksdato>\n%s\n",
		p.number,
		p.number,
		p.updated,
		p.position,
	)
	for _, n := range p.names {
		fmt.Fprintf(
			&b,
			"<app:stedsnavn><app:Stedsnavn><app:offentligBruk>true</app:offentligBruk>"+
				"<app:navnesakstatus>%s</app:navnesakstatus><app:navnestatus>%s</app:navnestatus>"+
				"<app:språk>%s</app:språk><app:stedsnavnnummer>%d</app:stedsnavnnummer>\n",
			n.state,
			n.status,
			n.language,
			n.number,
		)
		for _, s := range n.spellings {
			outer := "skrivemåte"
			if s.other {
				outer = "annenSkrivemåte"
			}
			fmt.Fprintf(
				&b,
				"<app:%[1]s><app:Skrivemåte><app:komplettskrivemåte>%[2]s</app:komplettskrivemåte>"+
					"<app:skrivemåtestatus>%[3]s</app:skrivemåtestatus>"+
					"<app:statusdato>1999-07-01</app:statusdato><app:skrivemåtenummer>%[4]d</app:skrivemåtenummer>"+
					"</app:Skrivemåte></app:%[1]s>\n",
				outer,
				s.text,
				s.status,
				s.number,
			)
		}
		b.WriteString("</app:Stedsnavn></app:stedsnavn>\n")
	}
	fmt.Fprintf(
		&b,
		"<app:land>Norge</app:land><app:navneobjekttype>%s</app:navneobjekttype>\n<app:sortering>%s</app:sortering>"+
			"<app:språkprioritering>%s</app:språkprioritering>\n",
		p.kind,
		p.sorting,
		p.priority,
	)
	for _, k := range p.kommuner {
		fmt.Fprintf(
			&b,
			"<app:kommune><app:Kommune><app:kommunenummer>%s</app:kommunenummer><app:kommunenavn>%s</app:kommunenavn>"+
				"<app:fylkesnummer>%s</app:fylkesnummer>"+
				"<app:fylkesnavn>%s</app:fylkesnavn></app:Kommune></app:kommune>\n",
			k[0],
			k[1],
			k[2],
			k[3],
		)
	}
	fmt.Fprintf(&b, "%s<app:stedsnummer>%d</app:stedsnummer>\n</app:Sted></gml:featureMember>\n", p.extra, p.number)
	return b.String()
}

// point is a position: latitude and longitude, as the product has them.
func point(lat, lon float64) string {
	return fmt.Sprintf(
		`<app:posisjon><gml:Point srsName="urn:ogc:def:crs:EPSG::4258" srsDimension="2"><gml:pos>%.6f %.6f</gml:pos>`+
			`</gml:Point></app:posisjon>`,
		lat,
		lon,
	)
}

const norwegianFirst, samiFirst = "norsk-sørsamisk-lulesamisk-nordsamisk-kvensk",
	"sørsamisk-lulesamisk-nordsamisk-norsk-kvensk"

// invented are places with all that the product may say of one.
func invented() []gmlPlace {
	sauda, lom := [4]string{"1135", "Sauda", "11", "Rogaland"}, [4]string{"3434", "Lom", "34", "Innlandet"}
	return []gmlPlace{
		{
			number:   4711,
			updated:  "2021-06-08T18:47:51+02:00",
			kind:     "fjell",
			sorting:  "viktighetH",
			priority: norwegianFirst,
			kommuner: [][4]string{sauda, lom},
			position: `<app:multipunkt><gml:MultiPoint srsName="urn:ogc:def:crs:EPSG::4258"><gml:pointMember>` +
				`<gml:Point><gml:pos>59.5 6.25</gml:pos></gml:Point></gml:pointMember>` +
				`<gml:pointMember><gml:Point><gml:pos>59.75 6.5</gml:pos></gml:Point></gml:pointMember>` +
				`</gml:MultiPoint></app:multipunkt>`,
			names: []gmlName{
				{2, "undernavn", "ubehandlet", "norsk", []gmlSpelling{{1, "Øvre Krålefjellet", "godkjent", false}}},
				{
					1,
					"hovednavn",
					"navnesakReist",
					"norsk",
					[]gmlSpelling{{1, "Store Krålenuten", "godkjent", false},
						{2, "Store Kraalenuten", "foreslått", true}},
				},
			},
		},
		{
			number:   12,
			updated:  "2020-02-14T23:00:22+01:00",
			kind:     "topp",
			sorting:  "viktighetK",
			priority: samiFirst,
			kommuner: [][4]string{lom},
			position: point(61.636440, 8.312477),
			names: []gmlName{
				{1, "hovednavn", "ubehandlet", "norsk", []gmlSpelling{{1, "Tindeprøven", "vedtatt", false}}},
				{2, "hovednavn", "iverksattVedtak", "sørsamisk", []gmlSpelling{{1, "Prøvetjahke", "vedtatt", false}}},
			},
		},
		{
			number:   900,
			updated:  "2019-12-27T10:29:11.5+01:00",
			kind:     "adressenavn",
			sorting:  "viktighetC",
			priority: norwegianFirst,
			kommuner: [][4]string{sauda},
			position: `<app:multikurve><gml:MultiCurve srsName="urn:ogc:def:crs:EPSG::4258" srsDimension="2">` +
				`<gml:curveMember><gml:LineString><gml:posList>60.5 4.8 60.6 4.9</gml:posList></gml:LineString>` +
				`</gml:curveMember>` +
				`<gml:curveMember><gml:Curve><gml:segments><gml:LineStringSegment><gml:posList>60.6 4.9 60.7 4.9 ` +
				`60.7 5</gml:posList></gml:LineStringSegment></gml:segments></gml:Curve></gml:curveMember>` +
				`</gml:MultiCurve></app:multikurve>`,
			names: []gmlName{
				{1, "hovednavn", "ubehandlet", "norsk", []gmlSpelling{{1, "Oppdiktvegen &amp; Co", "vedtatt", false}}},
			},
			extra: "<app:vegreferanse><app:Vegreferanse><app:kommunenummer>1135</app:kommunenummer>" +
				"<app:adressekode>3157</app:adressekode></app:Vegreferanse></app:vegreferanse>\n",
		},
		{
			number:   77,
			updated:  "2023-12-29T10:26:34+01:00",
			kind:     "bruk",
			sorting:  "viktighetB",
			priority: norwegianFirst,
			kommuner: [][4]string{sauda},
			position: `<app:område><gml:Surface srsName="urn:ogc:def:crs:EPSG::4258"><gml:patches><gml:PolygonPatch>` +
				`<gml:exterior><gml:LinearRing><gml:posList>60 5 60 6 61 6 61 5 60 5</gml:posList></gml:LinearRing>` +
				`</gml:exterior>` +
				`<gml:interior><gml:LinearRing><gml:posList>60.2 5.2 60.2 5.4 60.4 5.4 60.2 5.2</gml:posList>` +
				`</gml:LinearRing></gml:interior></gml:PolygonPatch></gml:patches></gml:Surface></app:område>`,
			names: []gmlName{
				{1, "hovednavn", "ubehandlet", "norsk",
					[]gmlSpelling{{1, "Nedre <![CDATA[Prøveland]]>", "uvurdert", false}}},
			},
			extra: "<app:matrikkelreferanse><app:Matrikkelreferanse><app:matrikkelnummer><app:Matrikkelnummer>" +
				"<app:kommunenummer>1135</app:kommunenummer><app:gårdsnummer>12</app:gårdsnummer>" +
				"<app:bruksnummer>3</app:bruksnummer></app:Matrikkelnummer></app:matrikkelnummer>" +
				"</app:Matrikkelreferanse></app:matrikkelreferanse>\n",
		},
		{number: 5, updated: "2018-01-01T12:00:00Z", kind: "sund", sorting: "viktighetB", priority: norwegianFirst,
			names: []gmlName{{1, "hovednavn", "ubehandlet", "norsk",
				[]gmlSpelling{{1, "Ingensteds", "godkjent", false}}}}},
	}
}

// gmlFile is a file of places.
func gmlFile(places ...gmlPlace) string {
	var b strings.Builder
	b.WriteString(gmlHead)
	for _, p := range places {
		b.WriteString(p.String())
	}
	return b.String() + "</gml:FeatureCollection>\n"
}

// put writes a file into dir and returns its path.
func put(t testing.TB, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// imported reads files and returns the rows that they give, with the report.
func imported(t testing.TB, o official.Options, files ...string) (*registertest.Recording, official.Report) {
	t.Helper()
	r := registertest.New(true)
	im, err := official.Read(t.Context(), files, o)
	defer func() { _ = im.Close() }()
	if err == nil {
		err = register.Define(t.Context(), r, true)
	}
	if err == nil {
		err = im.Write(t.Context(), r)
	}
	if err != nil {
		t.Fatalf("%v\n%+v", err, im.Report)
	}
	return r, im.Report
}

// refusals reads files that are refused, and returns the faults with the error.
func refusals(t testing.TB, o official.Options, files ...string) ([]ingest.Fault, error) {
	t.Helper()
	var faults []ingest.Fault
	o.Fault = func(f ingest.Fault) {
		if f.Action == input.Refused {
			faults = append(faults, f)
		}
	}
	im, err := official.Read(t.Context(), files, o)
	im.Close()
	return faults, err
}
