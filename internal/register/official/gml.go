package official

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/paulmach/orb"

	"grense/internal/geo/crs"
	"grense/internal/geo/wkb"
	"grense/internal/ingest"
)

// maxPlaceNodes and maxPlaceBytes bound the elements and the text of one place.
const (
	maxPlaceNodes = 200_000
	maxPlaceBytes = 32 << 20
)

// gmlNode is an element of a place. Nodes are kept in one slice that is used again; links are indexes, 0 for none.
type gmlNode struct {
	name           string // folded: see foldName
	text           []byte // without children's
	line           int
	reference      string // srsName
	dimension      int    // srsDimension; 0: not stated
	child, sibling int
	last           int // child
}

// gmlReader reads places from the GML of the product StedsnavnForVanligBruk, or of the complete register: every element Sted of such a
// namespace, however it is packed.
type gmlReader struct {
	xml    *xmlScanner
	names  map[string]string // folded names of elements
	id     string            // gml:id of the place
	nodes  []gmlNode
	memory []byte // of texts
	// systems are names of reference systems, so that each is kept once.
	systems map[string]string
	// reference is the system that the collection states for all that is in it (OGC 07-036, 9.10); "" where it does not.
	reference string
	other     int // members of other kinds
	found     func(line int, p *place) error
	refused   func(line int, id string, r *refusal) error
}

// isPlaceSpace tells the namespaces of the products.
func isPlaceSpace(uri string) bool {
	return strings.Contains(uri, "/StedsnavnForVanligBruk/") || strings.Contains(uri, "/produktspesifikasjon/Stedsnavn/")
}

// read reads to the end. Faults of single places go to refused, those of the XML come back.
func (g *gmlReader) read(ctx context.Context, in io.Reader) error {
	g.xml, g.names, g.systems = newXMLScanner(in), map[string]string{}, map[string]string{}
	for n := 0; ; n++ {
		if n&1023 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if err := g.xml.next(); err != nil {
			return err
		}
		switch {
		case g.xml.kind == xmlDone:
			return nil
		case g.xml.kind != xmlStart:
		case g.xml.local == "Envelope" && len(g.xml.stack) == 3:
			for _, a := range g.xml.attrs {
				if string(a.name) == "srsName" {
					g.reference = string(a.value)
				}
			}
		case g.xml.local == "Sted" && isPlaceSpace(g.xml.space):
			if err := g.place(); err != nil {
				return err
			}
		case len(g.xml.stack) == 3 && !strings.HasPrefix(g.xml.space, "http://www.opengis.net/"):
			g.other++
		}
	}
}

// place reads one place, whose start tag was read.
func (g *gmlReader) place() error {
	line := g.xml.from
	if err := g.tree(); err != nil {
		return err
	}
	p, r := g.convert()
	if r != nil {
		return g.refused(line, g.label(), r)
	}
	return g.found(line, p)
}

// label names the place in a message.
func (g *gmlReader) label() string {
	for _, n := range [...]int{g.find(1, "stedsnummer"), g.find(1, "identifikasjon", "identifikasjon", "lokalid")} {
		if n != 0 && len(g.nodes[n].text) > 0 {
			return short(trimXML(g.nodes[n].text))
		}
	}
	return g.id
}

// tree reads the element that was begun into nodes; the element itself is node 1.
func (g *gmlReader) tree() error {
	g.nodes, g.memory, g.id = append(g.nodes[:0], gmlNode{}), g.memory[:0], ""
	if cap(g.memory) > 4<<20 {
		g.memory = nil
	}
	var open []int
	begin := func() error {
		if len(g.nodes) > maxPlaceNodes {
			return g.xml.fail("a place with more than %d elements", maxPlaceNodes)
		}
		n := gmlNode{name: g.folded(g.xml.local), line: g.xml.from}
		for _, a := range g.xml.attrs {
			switch string(a.name) {
			case "srsName":
				n.reference = g.system(a.value)
			case "srsDimension":
				n.dimension, _ = strconv.Atoi(string(a.value))
			case "gml:id":
				if len(open) == 0 {
					g.id = short(a.value)
				}
			}
		}
		at := len(g.nodes)
		if len(open) > 0 {
			parent := &g.nodes[open[len(open)-1]]
			if parent.child == 0 {
				parent.child = at
			} else {
				g.nodes[parent.last].sibling = at
			}
			parent.last = at
		}
		g.nodes = append(g.nodes, n)
		open = append(open, at)
		return nil
	}
	if err := begin(); err != nil {
		return err
	}
	for len(open) > 0 {
		if err := g.xml.next(); err != nil {
			return err
		}
		switch g.xml.kind {
		case xmlStart:
			if err := begin(); err != nil {
				return err
			}
		case xmlEnd:
			open = open[:len(open)-1]
		case xmlText:
			if err := g.addText(open[len(open)-1]); err != nil {
				return err
			}
		}
	}
	return nil
}

// addText adds the text that was read to a node.
func (g *gmlReader) addText(at int) error {
	n, text := &g.nodes[at], g.xml.text
	if len(n.text) == 0 && len(trimXML(text)) == 0 {
		return nil
	}
	if len(g.memory)+len(text)+len(n.text) > maxPlaceBytes {
		return g.xml.fail("a place with more than %d MB of text", maxPlaceBytes>>20)
	}
	from := len(g.memory)
	g.memory = append(append(g.memory, n.text...), text...)
	n.text = g.memory[from:len(g.memory):len(g.memory)]
	return nil
}

func trimXML(b []byte) []byte {
	for len(b) > 0 && isXMLSpace(b[0]) {
		b = b[1:]
	}
	for len(b) > 0 && isXMLSpace(b[len(b)-1]) {
		b = b[:len(b)-1]
	}
	return b
}

// folded returns the folded form of an element's name.
func (g *gmlReader) folded(local string) string {
	f, ok := g.names[local]
	if !ok {
		f = foldName(local)
		g.names[local] = f
	}
	return f
}

// system returns the name of a reference system. One that is too long to be any is cut, and refused as unknown.
func (g *gmlReader) system(name []byte) string {
	if s, ok := g.systems[string(name)]; ok {
		return s
	}
	s := string(name)
	if len(s) > maxSystemName {
		s = short(name)
	}
	if len(g.systems) < 1000 {
		g.systems[s] = s
	}
	return s
}

// maxSystemName bounds the name of a reference system, in bytes.
const maxSystemName = 500

// foldName brings names of elements, columns and properties to one form: lower case, æ ø å as ae oe aa, letters and digits only.
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

// find follows names from a node; 0 where there is no such element.
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

// value is the text of the first child of one of the names; "" where there is none.
func (g *gmlReader) value(at int, names ...string) string {
	if c := g.first(at, names...); c != 0 {
		return string(trimXML(g.nodes[c].text))
	}
	return ""
}

// inside returns the elements of a type within the properties of a node of that name: of <skrivemåte><Skrivemåte>, the inner ones.
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

// convert makes a place of the nodes.
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
		b.kommune(g.value(k, "kommunenummer"), g.value(k, "kommunenavn"), g.value(k, "fylkesnummer"), g.value(k, "fylkesnavn"))
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

// unit reads a cadastral reference. Versions of the product put the number into an element of its own or not.
func (g *gmlReader) unit(b *builder, at int) {
	inner := at
	if n := g.first(at, "matrikkelnummer"); n != 0 {
		inner = n
		if m := g.first(n, "matrikkelnummer"); m != 0 {
			inner = m
		}
	}
	b.unit(g.value(inner, "kommunenummer", "matrikkelkommune", "kommune"), g.value(inner, "gaardsnummer", "gardsnummer", "gnr"),
		g.value(inner, "bruksnummer", "bnr"), g.value(inner, "festenummer", "fnr"), g.value(inner, "seksjonsnummer", "snr"), g.value(at, "tilleggsopplysning"))
}

// positions are the properties that hold geometry, the one that tells most first. A place has one of them.
var positions = [...]string{"omraade", "multiomraade", "flate", "senterlinje", "multikurve", "kurve", "multipunkt", "posisjon", "representasjonspunkt"}

// position reads the first geometry of those that there are.
func (g *gmlReader) position(b *builder) {
	for _, name := range positions {
		at := g.first(1, name)
		if at == 0 {
			continue
		}
		at = g.nodes[at].child
		if at == 0 {
			continue
		}
		s := &gmlShape{g: g}
		var err error
		if g.reference != "" {
			err = s.system(g.reference)
		}
		if err == nil {
			err = s.geometry(at, 0)
		}
		if err == nil && s.crs == 0 {
			err = errors.New("no reference system (srsName) is stated")
		}
		if err != nil {
			b.refuse(refusedPosition, "line %d: %v", g.nodes[at].line, err)
			return
		}
		wkb, err := s.finish()
		b.position(s.crs, wkb, err)
		return
	}
}

// gmlShape collects the parts of one geometry (OGC 07-036, 10 and 11): points, lines, polygons.
type gmlShape struct {
	g         *gmlReader
	crs       crs.ID
	swap      bool
	dimension int
	points    orb.MultiPoint
	lines     orb.MultiLineString
	polygons  orb.MultiPolygon
	many      bool
	begun     bool // a position was read
}

var errKinds = errors.New("a geometry of points and lines or areas together; one kind is read")

// reference takes the reference system that an element states, for itself and what is in it.
func (s *gmlShape) reference(at int) error {
	n := &s.g.nodes[at]
	if n.dimension > 0 {
		s.dimension = n.dimension
	}
	if n.reference == "" {
		return nil
	}
	return s.system(n.reference)
}

// system takes the name of a reference system. Its form tells the order of axes (see ingest.NorthFirst).
func (s *gmlShape) system(name string) error {
	id, _, wrong := ingest.Reference(name)
	if wrong != "" {
		return errors.New(wrong)
	}
	swap := ingest.NorthFirst(name, 0)
	if s.begun && (s.crs != id || s.swap != swap) {
		return fmt.Errorf("one geometry in two reference systems, the second %v", id)
	}
	s.crs, s.swap = id, swap
	return nil
}

func (s *gmlShape) geometry(at, depth int) error {
	if depth > 16 {
		return errors.New("geometries too deep in each other")
	}
	n := &s.g.nodes[at]
	if err := s.reference(at); err != nil {
		return err
	}
	switch n.name {
	case "point":
		list, err := s.coordinates(at)
		if err != nil {
			return err
		}
		if len(list) != 1 {
			return fmt.Errorf("a point of %d positions", len(list))
		}
		s.points = append(s.points, list[0])
		return nil
	case "multipoint":
		s.many = true
		return s.inner(n, depth, "pointmember", "pointmembers")
	case "linestring", "linestringsegment":
		list, err := s.coordinates(at)
		if err == nil && len(list) < 2 {
			err = fmt.Errorf("a line of %d positions", len(list))
		}
		s.lines = append(s.lines, list)
		return err
	case "curve":
		from := len(s.lines)
		if err := s.inner(n, depth, "segments"); err != nil {
			return err
		}
		s.join(from)
		return nil
	case "compositecurve":
		from := len(s.lines)
		if err := s.inner(n, depth, "curvemember"); err != nil {
			return err
		}
		s.join(from)
		return nil
	case "multicurve", "multilinestring":
		s.many = true
		return s.inner(n, depth, "curvemember", "curvemembers", "linestringmember")
	case "surface":
		return s.inner(n, depth, "patches")
	case "multisurface", "multipolygon", "compositesurface":
		s.many = true
		return s.inner(n, depth, "surfacemember", "surfacemembers", "polygonmember")
	case "polygon", "polygonpatch", "rectangle":
		return s.polygon(at, depth)
	}
	return fmt.Errorf("a geometry %s, which is not read (points, lines and areas of straight lines are)", short([]byte(n.name)))
}

// inner reads the geometries in those children of n that have one of the names.
func (s *gmlShape) inner(n *gmlNode, depth int, names ...string) error {
	for c := n.child; c != 0; c = s.g.nodes[c].sibling {
		if !slices.Contains(names, s.g.nodes[c].name) {
			continue
		}
		for d := s.g.nodes[c].child; d != 0; d = s.g.nodes[d].sibling {
			if err := s.geometry(d, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// join makes one line of those from on, where each begins at the end of the one before.
func (s *gmlShape) join(from int) {
	joined := s.lines[:from]
	for _, l := range s.lines[from:] {
		if n := len(joined); n > from && joined[n-1][len(joined[n-1])-1] == l[0] {
			joined[n-1] = append(joined[n-1], l[1:]...)
		} else {
			joined = append(joined, l)
		}
	}
	s.lines = joined
}

func (s *gmlShape) polygon(at, depth int) error {
	var rings orb.Polygon
	for c := s.g.nodes[at].child; c != 0; c = s.g.nodes[c].sibling {
		switch s.g.nodes[c].name {
		case "exterior", "interior", "outerboundaryis", "innerboundaryis":
		default:
			continue
		}
		r := s.g.nodes[c].child
		if r == 0 {
			continue
		}
		list, err := s.ring(r, depth)
		if err != nil {
			return err
		}
		if len(rings) > 0 && (s.g.nodes[c].name == "exterior" || s.g.nodes[c].name == "outerboundaryis") {
			return errors.New("an area with two exterior rings")
		}
		rings = append(rings, list)
	}
	if len(rings) == 0 {
		return errors.New("an area without a ring")
	}
	for i, r := range rings { // the outer one against the clock
		if (wkb.RingArea(r) < 0) == (i == 0) {
			slices.Reverse(r)
		}
	}
	s.polygons = append(s.polygons, rings)
	return nil
}

func (s *gmlShape) ring(at, depth int) (orb.Ring, error) {
	var list orb.LineString
	var err error
	switch s.g.nodes[at].name {
	case "linearring":
		list, err = s.coordinates(at)
	case "ring":
		part := &gmlShape{g: s.g, crs: s.crs, swap: s.swap, dimension: s.dimension}
		for c := s.g.nodes[at].child; c != 0 && err == nil; c = s.g.nodes[c].sibling {
			if d := s.g.nodes[c].child; d != 0 {
				err = part.geometry(d, depth+1)
			}
		}
		if s.begun = s.begun || part.begun; err == nil {
			part.join(0)
		}
		if err == nil && (part.crs != s.crs || part.swap != s.swap) {
			err = errors.New("a ring whose parts have a reference system of their own")
		}
		if err == nil && len(part.lines) != 1 {
			err = errors.New("a ring whose parts do not follow each other")
		}
		if err == nil {
			list = part.lines[0]
		}
	default:
		err = fmt.Errorf("a ring of kind %s, which is not read", short([]byte(s.g.nodes[at].name)))
	}
	if err != nil {
		return nil, err
	}
	if len(list) < 4 || list[0] != list[len(list)-1] {
		return nil, errors.New("a ring that is not closed, or has fewer than four positions")
	}
	return orb.Ring(list), nil
}

// coordinates reads pos, posList or coordinates of an element. Heights are left out.
func (s *gmlShape) coordinates(at int) (list orb.LineString, err error) {
	if err := s.reference(at); err != nil {
		return nil, err
	}
	for c := s.g.nodes[at].child; c != 0; c = s.g.nodes[c].sibling {
		n := &s.g.nodes[c]
		switch n.name {
		case "pos", "poslist":
			dimension := s.dimension
			if n.dimension > 0 {
				dimension = n.dimension
			}
			if err := s.reference(c); err != nil {
				return nil, err
			}
			if list, err = s.numbers(list, n.text, dimension, n.name == "pos"); err != nil {
				return nil, err
			}
		case "coordinates":
			text := strings.Map(func(r rune) rune {
				if r == ',' {
					return ' '
				}
				return r
			}, string(n.text))
			if list, err = s.numbers(list, []byte(text), 2, false); err != nil {
				return nil, err
			}
		}
	}
	return list, nil
}

// numbers appends positions of text: dimension ordinates each, 0 for two; one position alone says by itself how many it has.
func (s *gmlShape) numbers(list orb.LineString, text []byte, dimension int, single bool) (orb.LineString, error) {
	fields := strings.Fields(string(text))
	if single && (len(fields) == 2 || len(fields) == 3) {
		dimension = len(fields)
	}
	if dimension == 0 {
		dimension = 2
	}
	if dimension != 2 && dimension != 3 || len(fields)%dimension != 0 || len(fields) == 0 {
		return nil, fmt.Errorf("%d coordinates, for positions of %d", len(fields), dimension)
	}
	s.begun = true
	for i := 0; i < len(fields); i += dimension {
		var p orb.Point
		for k := range p {
			v, err := strconv.ParseFloat(fields[i+k], 64)
			if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
				return nil, fmt.Errorf("%q is not a coordinate", short([]byte(fields[i+k])))
			}
			p[k] = v
		}
		if s.swap {
			p[0], p[1] = p[1], p[0]
		}
		list = append(list, p)
	}
	return list, nil
}

// finish returns the geometry as WKB, in the system of the file; nil where it is empty or has parts of different kinds.
func (s *gmlShape) finish() ([]byte, error) {
	kinds := b2i(len(s.points) > 0) + b2i(len(s.lines) > 0) + b2i(len(s.polygons) > 0)
	if kinds > 1 {
		return nil, errKinds
	}
	g := orb.Geometry(nil)
	switch {
	case len(s.points) == 1 && !s.many:
		g = s.points[0]
	case len(s.points) > 0:
		g = s.points
	case len(s.lines) == 1 && !s.many:
		g = s.lines[0]
	case len(s.lines) > 0:
		g = s.lines
	case len(s.polygons) == 1 && !s.many:
		g = s.polygons[0]
	case len(s.polygons) > 0:
		g = s.polygons
	default:
		return nil, nil
	}
	return wkb.Append(nil, g), nil
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}
