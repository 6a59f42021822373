package official

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strings"

	"grense/internal/format/gml"
	"grense/internal/format/input"
	"grense/internal/geo/crs"
	"grense/internal/geo/wkb"
)

// Limits of the reader. Real places have some hundred elements, nested ten deep.
const (
	maxXMLDepth      = 64
	maxXMLAttributes = 64 // per element
	maxPlaceNodes    = 200_000
	maxPlaceBytes    = 32 << 20
)

// gmlNode is an element of a place. All nodes are in one slice, which is reused; links are indexes, and 0 means none.
type gmlNode struct {
	name           string // as folded by foldName
	text           string // without the text of children
	line           int
	geometry       gml.Geometry // of elements with geometry
	wrong          string       // reason why the geometry is refused
	child, sibling int
	last           int // last child
}

// gmlReader reads places from GML of the product StedsnavnForVanligBruk, or of the complete register: every element
// Sted in one of their namespaces, wherever it occurs.
type gmlReader struct {
	xml   *gml.Decoder
	names map[string]string // cache of folded element names
	id    string            // gml:id of the current place
	nodes []gmlNode
	// reference is the CRS that the collection declares for all of its members (OGC 07-036, 9.10); "" if it does not.
	reference string
	other     int // members that are not places
	found     func(line int, p *place) error
	refused   func(line int, id string, r *refusal) error
}

// isPlaceSpace reports whether uri is a namespace of the products.
func isPlaceSpace(uri string) bool {
	return strings.Contains(uri, "/StedsnavnForVanligBruk/") ||
		strings.Contains(uri, "/produktspesifikasjon/Stedsnavn/")
}

// read reads the whole file. Faults of single places go to refused; invalid XML is returned as an error.
func (g *gmlReader) read(ctx context.Context, in io.Reader) error {
	g.xml, g.names = gml.NewDecoder(in, maxPlaceBytes), map[string]string{}
	some := false
	for depth, n := 0, 0; ; n++ {
		if n&1023 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		g.xml.Again()
		t, err := g.xml.Token()
		switch {
		case errors.Is(err, io.EOF) && some:
			return nil
		case errors.Is(err, io.EOF):
			return input.Refuse("the file holds no XML")
		case err != nil:
			return g.xml.Wrong(err)
		}
		switch t := t.(type) {
		case xml.Directive:
			return g.declaration()
		case xml.EndElement:
			depth--
		case xml.StartElement:
			some = true
			if err := g.check(t, depth); err != nil {
				return err
			}
			if t.Name.Local == "Sted" && isPlaceSpace(t.Name.Space) {
				if err := g.place(t); err != nil {
					return err
				}
				continue
			}
			if depth++; depth == 3 {
				g.member(t)
			}
		}
	}
}

func (g *gmlReader) declaration() error {
	return input.Refuse(
		"line %d: a document type (DOCTYPE) or another declaration; none is read, for safety: remove it",
		g.xml.Line(),
	)
}

// check refuses an element that no place has. depth is the number of open elements around it.
func (g *gmlReader) check(e xml.StartElement, depth int) error {
	switch {
	case depth >= maxXMLDepth:
		return input.Refuse("line %d: more than %d elements in each other", g.xml.Line(), maxXMLDepth)
	case len(e.Attr) > maxXMLAttributes:
		return input.Refuse("line %d: more than %d attributes", g.xml.Line(), maxXMLAttributes)
	case e.Name.Space != "" && !strings.ContainsAny(e.Name.Space, ":/"):
		// // package xml leaves an unbound prefix unresolved
		return input.Refuse("line %d: the prefix %q is not bound to a namespace", g.xml.Line(), short(e.Name.Space))
	}
	return nil
}

// member handles an element in a member of the collection that is not a place.
func (g *gmlReader) member(e xml.StartElement) {
	switch {
	case e.Name.Local == "Envelope":
		g.reference = attribute(e, "srsName")
	case !strings.HasPrefix(e.Name.Space, "http://www.opengis.net/"):
		g.other++
	}
}

func attribute(e xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// place reads one place after its start tag.
func (g *gmlReader) place(e xml.StartElement) error {
	line := g.xml.Line()
	g.id = short(attribute(e, "id"))
	if err := g.tree(e); err != nil {
		return err
	}
	p, r := g.convert()
	if r != nil {
		return g.refused(line, g.label(), r)
	}
	return g.found(line, p)
}

// label returns a description of the current place for a message.
func (g *gmlReader) label() string {
	for _, n := range [...]int{g.find(1, "stedsnummer"), g.find(1, "identifikasjon", "identifikasjon", "lokalid")} {
		if n != 0 && len(g.nodes[n].text) > 0 {
			return short(strings.Trim(g.nodes[n].text, xmlSpace))
		}
	}
	return g.id
}

// tree reads the element with the start tag e into nodes, as node 1.
func (g *gmlReader) tree(e xml.StartElement) error {
	g.nodes = append(g.nodes[:0], gmlNode{})
	open := []int{g.begin(0, e)}
	for len(open) > 0 {
		t, err := g.xml.Token()
		if err != nil {
			return g.xml.Wrong(err)
		}
		last := open[len(open)-1]
		switch t := t.(type) {
		case xml.Directive:
			return g.declaration()
		case xml.StartElement:
			if err := g.check(t, len(open)+2); err != nil {
				return err
			}
			if len(g.nodes) > maxPlaceNodes {
				return input.Refuse("line %d: a place with more than %d elements", g.xml.Line(), maxPlaceNodes)
			}
			at := g.begin(last, t)
			if len(open) != 2 || !slices.Contains(positions[:], g.nodes[last].name) {
				open = append(open, at)
				continue
			}
			if g.nodes[at].geometry, g.nodes[at].wrong, err = g.xml.Geometry(t, g.reference); err != nil {
				return err
			}
		case xml.EndElement:
			open = open[:len(open)-1]
		case xml.CharData:
			if n := &g.nodes[last]; n.text != "" || len(bytes.Trim(t, xmlSpace)) > 0 {
				n.text += string(t)
			}
		}
	}
	return nil
}

// begin adds an element as a child of a node; 0 for none.
func (g *gmlReader) begin(parent int, e xml.StartElement) int {
	at := len(g.nodes)
	g.nodes = append(g.nodes, gmlNode{name: g.folded(e.Name.Local), line: g.xml.Line()})
	if p := &g.nodes[parent]; parent > 0 {
		if p.child == 0 {
			p.child = at
		} else {
			g.nodes[p.last].sibling = at
		}
		p.last = at
	}
	return at
}

// xmlSpace is the white space in XML.
const xmlSpace = " \t\r\n"

// folded returns the folded name of an element.
func (g *gmlReader) folded(local string) string {
	f, ok := g.names[local]
	if !ok {
		f = foldName(local)
		g.names[local] = f
	}
	return f
}

// foldName normalises the names of elements, columns and properties: lower case, æ ø å as ae oe aa, and only letters
// and digits.
func foldName(s string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(s) {
		switch {
		case r == 'æ':
			b.WriteString("ae")
		case r == 'ø':
			b.WriteString("oe")
		case r == 'å':
			b.WriteString("aa")
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			b.WriteRune(r)
		}
	}
	return b.String()
}

// find follows a path of element names from a node; 0 if there is no such element.
func (g *gmlReader) find(at int, path ...string) int {
	for _, name := range path {
		at = g.first(at, name)
		if at == 0 {
			return 0
		}
	}
	return at
}

func (g *gmlReader) first(at int, names ...string) int {
	for c := g.nodes[at].child; c != 0; c = g.nodes[c].sibling {
		if slices.Contains(names, g.nodes[c].name) {
			return c
		}
	}
	return 0
}

// value returns the text of the first child with one of the names; "" if there is none.
func (g *gmlReader) value(at int, names ...string) string {
	if c := g.first(at, names...); c != 0 {
		return strings.Trim(g.nodes[c].text, xmlSpace)
	}
	return ""
}

// inside returns the objects within the properties of a node with the given name: for <skrivemåte><Skrivemåte>, the
// inner elements.
func (g *gmlReader) inside(at int, property string) (list []int) {
	for c := g.nodes[at].child; c != 0; c = g.nodes[c].sibling {
		if g.nodes[c].name != property {
			continue
		}
		for d := g.nodes[c].child; d != 0; d = g.nodes[d].sibling {
			list = append(list, d)
		}
	}
	return list
}

// convert converts the nodes to a place.
func (g *gmlReader) convert() (*place, *refusal) {
	b := &builder{place: &place{}}
	p := b.place
	p.Number = b.integer("stedsnummer", g.value(1, "stedsnummer"), 1, maxNumber)
	p.LocalID = b.text("lokalId", g.value(g.find(1, "identifikasjon", "identifikasjon"), "lokalid"), false)
	b.times(g.value(1, "oppdateringsdato"), g.value(1, "datauttaksdato"), g.value(1, "registreringsdato", "registrert"))
	p.Type = b.code("navneobjekttype", g.value(1, "navneobjekttype"), true)
	p.Group = b.code("navneobjektgruppe", g.value(1, "navneobjektgruppe"), false)
	p.MainGroup = b.code("navneobjekthovedgruppe", g.value(1, "navneobjekthovedgruppe"), false)
	p.Status = b.code("stedstatus", g.value(1, "stedstatus"), false)
	p.Land = b.code("land", g.value(1, "land"), false)
	p.Priority = b.code("spraakprioritering", g.value(1, "spraakprioritering"), false)
	p.Authority = b.code("vedtaksmyndighet", g.value(1, "vedtaksmyndighet"), false)
	p.Sort1 = b.code("sortering1", g.value(1, "sortering", "sortering1", "sortering1kode"), false)
	p.Sort2 = b.code("sortering2", g.value(1, "sortering2", "sortering2kode"), false)
	p.General = b.boolean("avAllmennInteresse", g.value(1, "avallmenninteresse"))
	for _, k := range g.inside(1, "kommune") {
		b.kommune(g.value(k, "kommunenummer"), g.value(k, "kommunenavn"), g.value(k, "fylkesnummer"),
			g.value(k, "fylkesnavn"))
	}
	for _, n := range g.inside(1, "stedsnavn") {
		g.name(b, n)
	}
	for _, m := range g.inside(1, "matrikkelreferanse") {
		g.unit(b, m)
	}
	for _, v := range g.inside(1, "vegreferanse") {
		b.road(g.value(v, "kommunenummer"), g.value(v, "adressekode"))
	}
	if b.refusal == nil {
		g.position(b)
	}
	return b.done()
}

func (g *gmlReader) name(b *builder, at int) {
	n := placeName{
		Number:   int(b.integer("stedsnavnnummer", g.value(at, "stedsnavnnummer"), 1, maxPart)),
		Status:   b.code("navnestatus", g.value(at, "navnestatus"), true),
		State:    b.code("navnesakstatus", g.value(at, "navnesakstatus"), false),
		Language: b.code("spraak", g.value(at, "spraak"), true),
		Origin:   b.code("spraak", g.value(at, "opphavsspraak"), false),
		Exonym:   b.boolean("eksonym", g.value(at, "eksonym")),
	}
	for _, kind := range [...]string{"skrivemaate", "annenskrivemaate"} {
		for _, s := range g.inside(at, kind) {
			n.Spellings = append(n.Spellings, placeSpelling{
				Number:    int(b.integer("skrivemåtenummer", g.value(s, "skrivemaatenummer"), 1, maxPart)),
				Text:      b.name("komplettskrivemåte", g.value(s, "komplettskrivemaate", "langnavn")),
				Status:    b.code("skrivemaatestatus", g.value(s, "skrivemaatestatus"), true),
				Date:      b.day("statusdato", g.value(s, "statusdato")),
				Preferred: kind == "skrivemaate",
			})
		}
	}
	b.add(n)
}

// unit reads a cadastral reference. In some versions of the product, the numbers are in an element of their own.
func (g *gmlReader) unit(b *builder, at int) {
	inner := at
	if n := g.first(at, "matrikkelnummer"); n != 0 {
		inner = n
		if m := g.first(n, "matrikkelnummer"); m != 0 {
			inner = m
		}
	}
	b.unit(
		g.value(inner, "kommunenummer", "matrikkelkommune", "kommune"),
		g.value(inner, "gaardsnummer", "gardsnummer", "gnr"),
		g.value(inner, "bruksnummer", "bnr"),
		g.value(inner, "festenummer", "fnr"),
		g.value(inner, "seksjonsnummer", "snr"),
		g.value(at, "tilleggsopplysning"),
	)
}

// positions are the properties with geometry, the most detailed first. A place has one of them.
var positions = [...]string{
	"omraade",
	"multiomraade",
	"flate",
	"senterlinje",
	"multikurve",
	"kurve",
	"multipunkt",
	"posisjon",
	"representasjonspunkt",
}

// position reads the first of the geometries.
func (g *gmlReader) position(b *builder) {
	for _, name := range positions {
		at := g.find(1, name)
		if at = g.nodes[at].child; at == 0 {
			continue
		}
		n := &g.nodes[at]
		id, geometry, wrong := plane(n.geometry, n.wrong)
		if wrong != "" {
			b.refuse(refusedPosition, "line %d: %s", n.line, wrong)
			return
		}
		b.position(id, geometry, nil)
		return
	}
}

// plane returns the CRS of a geometry and its WKB without heights; nil if it is empty. wrong is the reason if the
// geometry is refused.
func plane(g gml.Geometry, wrong string) (crs.ID, []byte, string) {
	switch {
	case wrong != "":
		return 0, nil, wrong
	case g.Broken:
		return 0, nil, "a line or a ring whose parts do not follow each other"
	case g.System == "":
		return 0, nil, "no reference system (srsName) is stated"
	}
	id, _, wrong := input.Reference(g.System)
	if wrong != "" {
		return 0, nil, wrong
	}
	geometry, kind, wrong := input.Plane(g.WKB)
	if wrong == "" && kind == wkb.Collection {
		wrong = "a geometry of points and lines or areas together; one kind is read"
	}
	return id, geometry, wrong
}
