package official

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"grense/internal/format/input"
)

var xmlSeeds = []string{
	`<a/>`, `<a></a>`, `<?xml version="1.0"?><a b="c" d='e"f'> x &lt;&#65;&#x41; <b/><!-- - --><c>y</c></a>`,
	"<a>\r\n<b>\r</b></a>",
	`<p:a xmlns:p="urn:x" xmlns="urn:y" p:q="1"><b xmlns=""/><p:c xmlns:p="urn:z"/></p:a>`,
	`<a><![CDATA[<x>&amp;]]></a>`, `<a b=">"/>`, `<a><?pi x?></a>`,
	`<a`, `<a>`, `</a>`, `<a></b>`, `<a/><b/>`, `x<a/>`, `<a>&nope;</a>`, `<a>&#0;</a>`, `<a>]]></a>`, `<a b=c/>`,
	`<a b/>`, `<a b="1"c="2"/>`, `<a:b/>`, `<a b="<"/>`,
	`<!DOCTYPE a><a/>`, `<a><!-- -- --></a>`, `<a><!-- `, "<a>\x00</a>", "<a>\xff</a>", `<å ø="æ">Ærlig</å>`,
	`<a  b = "1"  />`, `< a/>`, `<a>&</a>`, `<a b="&quot;&apos;&#xe5;"/>`, "\ufeff<a/>", "<a\ufeff/>",
}

func TestFaultsOfXMLHaveTheirLine(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text, want string
		line       int
	}{
		{"<a>\n<b>\n</c>\n</a>", "closed by", 3}, {"<a>\n\n<b", "cut off", 3},
		{"<a>\n<!-- \n\n -->\n&x;</a>", "&x;", 5}, {"<a>\n\x02</a>", "U+0002", 2}, {"<a>\n\n\n", "cut off", 4},
		{"<a>\n<b c='\n\n\xff'/></a>", "not UTF-8", 4}, {"<a>\n<!DOCTYPE x><b/></a>", "DOCTYPE", 2},
		{"<a>\n<x:b/></a>", `prefix "x"`, 2},
		{"<a>\n" + strings.Repeat("<b>", 70), "in each other", 2},
		{"<a>\n<b " + strings.Repeat(" c=''", 70) + "/></a>", "attributes", 2},
		{"<a xmlns='x:/StedsnavnForVanligBruk/'>\n<Sted>\n" + strings.Repeat("<b>", 70), "in each other", 3},
		{"<a xmlns='x:/StedsnavnForVanligBruk/'>\n<Sted><!DOCTYPE x>", "DOCTYPE", 2},
	} {
		g := &gmlReader{
			found:   func(int, *place) error { return nil },
			refused: func(int, string, *refusal) error { return nil },
		}
		err := g.read(t.Context(), strings.NewReader(c.text))
		if !errors.Is(err, input.ErrRefused) || !strings.Contains(err.Error(), c.want) ||
			!strings.Contains(err.Error(), fmt.Sprintf("line %d", c.line)) {
			t.Errorf("%q: %v, want %q at line %d", c.text, err, c.want, c.line)
		}
	}
}

// FuzzGML reads anything as a file of places: it must end, refuse or give places that can be stored.
func FuzzGML(f *testing.F) {
	for _, s := range xmlSeeds {
		f.Add(s)
	}
	f.Add(
		`<gml:FeatureCollection xmlns:app="/StedsnavnForVanligBruk/1" xmlns:gml="http://www.opengis.net/gml/3.2">` +
			`<gml:featureMember><app:Sted>` +
			`<app:oppdateringsdato>2020-01-01</app:oppdateringsdato><app:posisjon><gml:Polygon srsName="EPSG:4258">` +
			`<gml:exterior><gml:LinearRing><gml:posList>5 60 6 60 6 61 5 60</gml:posList>` +
			`</gml:LinearRing></gml:exterior></gml:Polygon></app:posisjon><app:stedsnavn><app:Stedsnavn>` +
			`<app:navnestatus>hovednavn</app:navnestatus><app:språk>norsk</app:språk>` +
			`<app:stedsnavnnummer>1</app:stedsnavnnummer><app:skrivemåte><app:Skrivemåte>` +
			`<app:komplettskrivemåte>Å</app:komplettskrivemåte><app:skrivemåtestatus>godkjent</app:skrivemåtestatus>` +
			`<app:skrivemåtenummer>1</app:skrivemåtenummer></app:Skrivemåte></app:skrivemåte></app:Stedsnavn>` +
			`</app:stedsnavn><app:navneobjekttype>fjell</app:navneobjekttype>` +
			`<app:stedsnummer>1</app:stedsnummer></app:Sted></gml:featureMember></gml:FeatureCollection>`,
	)
	f.Fuzz(func(t *testing.T, text string) {
		g := &gmlReader{
			found: func(_ int, p *place) error {
				if p.Number < 1 || len(p.Names) == 0 || p.Updated.IsZero() {
					t.Errorf("a place without what it needs: %+v", p)
				}
				for _, n := range p.shown() {
					if n.Best().Core == "" || len(n.Leading()) == 0 {
						t.Errorf("a name without a spelling: %+v", n)
					}
				}
				return nil
			},
			refused: func(_ int, _ string, r *refusal) error {
				if r.what == "" {
					t.Error("a refusal without a reason")
				}
				return nil
			},
		}
		_ = g.read(context.Background(), strings.NewReader(text))
	})
}
