package official

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"
)

// xmlEvents gives what a scanner reads: "+{space}local attributes", "-", and texts, joined where comments part them.
func xmlEvents(in io.Reader) (out []string, err error) {
	s := newXMLScanner(in)
	text := ""
	flush := func() {
		if text != "" {
			out = append(out, "="+strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n"))
			text = ""
		}
	}
	for {
		if err := s.next(); err != nil {
			return out, err
		}
		switch s.kind {
		case xmlDone:
			return out, nil
		case xmlText:
			text += string(s.text)
		case xmlStart:
			flush()
			e := "+{" + s.space + "}" + s.local
			for _, a := range s.attrs {
				e += fmt.Sprintf(" %s=%q", a.name, strings.ReplaceAll(strings.ReplaceAll(string(a.value), "\r\n", "\n"), "\r", "\n"))
			}
			out = append(out, e)
		case xmlEnd:
			flush()
			out = append(out, "-{"+s.space+"}"+s.local)
		}
	}
}

// libraryEvents gives the same as package encoding/xml reads it; raw names of attributes are told from its own prefixes.
func libraryEvents(text string) (out []string, err error) {
	names, d := xml.NewDecoder(strings.NewReader(text)), xml.NewDecoder(strings.NewReader(text))
	buffer := ""
	flush := func() {
		if buffer != "" {
			out = append(out, "="+buffer)
			buffer = ""
		}
	}
	depth := 0
	for {
		t, err := d.Token()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return out, err
		}
		raw, err := names.RawToken()
		if err != nil && !errors.Is(err, io.EOF) {
			return out, err
		}
		switch t := t.(type) {
		case xml.StartElement:
			depth++
			flush()
			e := "+{" + t.Name.Space + "}" + t.Name.Local
			if r, ok := raw.(xml.StartElement); ok {
				for _, a := range r.Attr {
					name := a.Name.Local
					if a.Name.Space != "" {
						name = a.Name.Space + ":" + name
					}
					e += fmt.Sprintf(" %s=%q", name, a.Value)
				}
			}
			out = append(out, e)
		case xml.EndElement:
			if _, ok := raw.(xml.EndElement); !ok { // of an empty element, which the raw reader gives as one token here too
				return out, fmt.Errorf("out of step: %T", raw)
			}
			depth--
			flush()
			out = append(out, "-{"+t.Name.Space+"}"+t.Name.Local)
		case xml.CharData:
			if depth > 0 {
				buffer += string(t)
			}
		}
	}
}

var xmlSeeds = []string{
	`<a/>`, `<a></a>`, `<?xml version="1.0"?><a b="c" d='e"f'> x &lt;&#65;&#x41; <b/><!-- - --><c>y</c></a>`, "<a>\r\n<b>\r</b></a>",
	`<p:a xmlns:p="urn:x" xmlns="urn:y" p:q="1"><b xmlns=""/><p:c xmlns:p="urn:z"/></p:a>`, `<a><![CDATA[<x>&amp;]]></a>`, `<a b=">"/>`, `<a><?pi x?></a>`,
	`<a`, `<a>`, `</a>`, `<a></b>`, `<a/><b/>`, `x<a/>`, `<a>&nope;</a>`, `<a>&#0;</a>`, `<a>]]></a>`, `<a b=c/>`, `<a b/>`, `<a b="1"c="2"/>`, `<a:b/>`, `<a b="<"/>`,
	`<!DOCTYPE a><a/>`, `<a><!-- -- --></a>`, `<a><!-- `, "<a>\x00</a>", "<a>\xff</a>", `<å ø="æ">Ærlig</å>`, `<a  b = "1"  />`, `< a/>`, `<a>&</a>`, `<a b="&quot;&apos;&#xe5;"/>`, "\ufeff<a/>", "<a\ufeff/>",
}

// agree checks that what our scanner accepts, package encoding/xml accepts, with the same elements, attributes and texts.
func agree(t *testing.T, text string) {
	t.Helper()
	ours, err := xmlEvents(strings.NewReader(text))
	if err != nil {
		return
	}
	slow, err := xmlEvents(iotest.OneByteReader(strings.NewReader(text)))
	if err != nil || !slices.Equal(ours, slow) {
		t.Errorf("%q: read in pieces it gives %q, %v; at once %q", text, slow, err, ours)
	}
	theirs, err := libraryEvents(strings.TrimPrefix(text, "\ufeff"))
	if err != nil && strings.Contains(err.Error(), "invalid XML name") && strings.ContainsFunc(text, func(r rune) bool { return r >= utf8.RuneSelf }) {
		return // isXMLName takes all characters beyond ASCII
	}
	if err != nil {
		t.Errorf("%q: encoding/xml refuses it: %v", text, err)
	} else if !slices.Equal(ours, theirs) {
		t.Errorf("%q gives %q, with encoding/xml %q", text, ours, theirs)
	}
}

func TestXMLIsReadAsTheLibraryReadsIt(t *testing.T) {
	t.Parallel()
	accepted := 0
	for _, s := range xmlSeeds {
		agree(t, s)
		if _, err := xmlEvents(strings.NewReader(s)); err == nil {
			accepted++
		}
	}
	if accepted != 13 {
		t.Errorf("%d of the examples are accepted, want 13", accepted)
	}
}

func TestXMLFaultsHaveTheirLine(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		line int
	}{{"<a>\n<b>\n</c>\n</a>", 3}, {"<a>\n\n<b", 3}, {"<a>\n<!-- \n\n -->\n&x;</a>", 5}, {"<a>\n\x02</a>", 2}, {"<a>\n\n\n", 4}, {"\n\nx", 3},
		{"<a>\n<b c='\n\x02\n\n'/></a>", 3}, {"<a>\n<b c='\n\xff\n\n'/></a>", 3}, {"<a b='" + strings.Repeat("\n", 200_000) + "\x02'/>", 200_001},
		{`<?xml version="1.0" encoding="iso-8859-1"?><?xml version="1.0" encoding="iso-8859-1"?><a/>`, 1}, {"<a>\n<b xmlns='" + strings.Repeat("x", 2001) + "'/></a>", 2}} {
		_, err := xmlEvents(strings.NewReader(c.text))
		if bad, ok := errors.AsType[*xmlError](err); !ok || bad.line != c.line {
			t.Errorf("%q: %v, want line %d", c.text, err, c.line)
		}
	}
}

// FuzzGML reads anything as a file of places: it must end, refuse or give places that can be kept, and agree with encoding/xml.
func FuzzGML(f *testing.F) {
	for _, s := range xmlSeeds {
		f.Add(s)
	}
	f.Add(`<gml:FeatureCollection xmlns:app="/StedsnavnForVanligBruk/1" xmlns:gml="http://www.opengis.net/gml/3.2"><gml:featureMember><app:Sted>` +
		`<app:oppdateringsdato>2020-01-01</app:oppdateringsdato><app:posisjon><gml:Polygon srsName="EPSG:4258"><gml:exterior><gml:LinearRing><gml:posList>5 60 6 60 6 61 5 60</gml:posList>` +
		`</gml:LinearRing></gml:exterior></gml:Polygon></app:posisjon><app:stedsnavn><app:Stedsnavn><app:navnestatus>hovednavn</app:navnestatus><app:språk>norsk</app:språk>` +
		`<app:stedsnavnnummer>1</app:stedsnavnnummer><app:skrivemåte><app:Skrivemåte><app:komplettskrivemåte>Å</app:komplettskrivemåte><app:skrivemåtestatus>godkjent</app:skrivemåtestatus>` +
		`<app:skrivemåtenummer>1</app:skrivemåtenummer></app:Skrivemåte></app:skrivemåte></app:Stedsnavn></app:stedsnavn><app:navneobjekttype>fjell</app:navneobjekttype>` +
		`<app:stedsnummer>1</app:stedsnummer></app:Sted></gml:featureMember></gml:FeatureCollection>`)
	f.Fuzz(func(t *testing.T, text string) {
		agree(t, text)
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

func TestSorterGivesEveryRecordInOrder(t *testing.T) {
	t.Parallel()
	for _, memory := range []int{0, 4_000, 300} {
		t.Run(fmt.Sprint(memory), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			s := &externalSort{dir: dir, memory: memory}
			r := rand.New(rand.NewPCG(1, uint64(memory)))
			var want []string
			for i := range 1_500 {
				key := fmt.Sprintf("%0*d", 1+r.IntN(4), r.IntN(2_000))
				value := fmt.Sprintf("%d:%s", i, strings.Repeat("x", r.IntN(20)))
				want = append(want, key+"\x00"+value)
				if err := s.add([]byte(key), []byte(value)); err != nil {
					t.Fatal(err)
				}
			}
			var got []string
			last := ""
			err := s.each(t.Context(), func(key, value []byte) error {
				if string(key) < last {
					t.Fatalf("%q after %q", key, last)
				}
				last = string(key)
				got = append(got, last+"\x00"+string(value))
				return nil
			})
			slices.Sort(got)
			slices.Sort(want)
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("%d records, %v; want %d", len(got), err, len(want))
			}
			if err := s.close(); err != nil {
				t.Error(err)
			}
			if left, _ := os.ReadDir(dir); len(left) > 0 {
				t.Errorf("%d files are left", len(left))
			}
		})
	}
}

// BenchmarkScanner reads an invented product with our scanner and with package encoding/xml, whose tokens are asked for in the same way.
func BenchmarkScanner(b *testing.B) {
	var text strings.Builder
	text.WriteString(`<c:samling xmlns:c="urn:c" xmlns:gml="http://www.opengis.net/gml/3.2">`)
	for i := range 2000 {
		fmt.Fprintf(&text, "<c:sted gml:id=\"s.%d\">\n  <c:stedsnummer>%d</c:stedsnummer>\n  <c:navn><c:langnavn>Vårhelleren &amp; Åsen</c:langnavn><c:status>vedtatt</c:status></c:navn>\n"+
			"  <gml:Point srsName=\"urn:ogc:def:crs:EPSG::4258\"><gml:pos>59.913868 10.752245</gml:pos></gml:Point>\n</c:sted>\n", i, i)
	}
	text.WriteString("</c:samling>")
	b.Run("ours", func(b *testing.B) {
		b.SetBytes(int64(text.Len()))
		for b.Loop() {
			s := newXMLScanner(strings.NewReader(text.String()))
			for s.kind != xmlDone {
				if err := s.next(); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
	b.Run("encoding/xml", func(b *testing.B) {
		b.SetBytes(int64(text.Len()))
		for b.Loop() {
			d := xml.NewDecoder(strings.NewReader(text.String()))
			for {
				if _, err := d.Token(); err == io.EOF {
					break
				} else if err != nil {
					b.Fatal(err)
				}
			}
		}
	})
}
