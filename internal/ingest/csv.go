package ingest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/peterstace/simplefeatures/geom"
	"golang.org/x/text/encoding/unicode"

	"grense/internal/geo/crs"
	"grense/internal/geo/wkb"
	"grense/internal/store"
)

// maxRow bounds the bytes of one row of CSV.
const maxRow = 64 << 20

// csvReader reads CSV (RFC 4180) with a header, split by comma, semicolon, tab or bar. Points come from a pair of columns, any geometry
// from a column of well-known text (OGC 06-103r4, 7).
type csvReader struct {
	open   func() (io.ReadCloser, error)
	memory memory
}

// noCoordinates is the note on a table that has no geometry.
const noCoordinates = "there are no columns with coordinates, so that features have no geometry; if there should be, name the columns lon and lat, x and y, or wkt"

// Names of columns with coordinates, in lower case, best first.
var (
	wktNames  = []string{"wkt", "geometry_wkt", "geom_wkt", "the_geom", "geom", "geometry", "wkt_geom", "shape"}
	pairNames = [][2]string{{"lon", "lat"}, {"lng", "lat"}, {"long", "lat"}, {"longitude", "latitude"}, {"lengdegrad", "breddegrad"}, {"x", "y"},
		{"easting", "northing"}, {"east", "north"}, {"øst", "nord"}, {"ost", "nord"}, {"utm_x", "utm_y"}, {"x_koordinat", "y_koordinat"}}
)

// degreePairs is how many of pairNames say that they are degrees.
const degreePairs = 5

// rowBudget ends a row that never ends.
type rowBudget struct {
	in   io.Reader
	left int
}

func (b *rowBudget) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, refusal("a row of more than %d MB; is a quotation mark never closed?", maxRow>>20)
	}
	n, err := b.in.Read(p)
	b.left -= n
	return n, err
}

// quotedLines doubles the carriage return of a line end within quotes: encoding/csv takes one away.
type quotedLines struct {
	in     io.Reader
	quoted bool
	last   byte
	chunk  [4096]byte
	buf    []byte // what out is part of
	out    []byte
}

func (q *quotedLines) Read(p []byte) (n int, err error) {
	if len(q.out) == 0 {
		n, err = q.in.Read(q.chunk[:])
		q.buf = q.buf[:0]
		for _, c := range q.chunk[:n] {
			if c == '"' {
				q.quoted = !q.quoted
			}
			if c == '\n' && q.last == '\r' && q.quoted {
				q.buf = append(q.buf, '\r')
			}
			q.buf, q.last = append(q.buf, c), c
		}
		q.out = q.buf
	}
	n = copy(p, q.out)
	q.out = q.out[n:]
	if len(q.out) > 0 {
		return n, nil
	}
	return n, err
}

// csvTable is what the header tells.
type csvTable struct {
	memory  memory
	names   []string
	wkt     int // column; -1 without
	x, y    int // columns; -1 without
	degrees bool
	comma   bool // decimal commas may stand in coordinates
}

// isFlat reports whether the header has no columns with coordinates. A header that cannot be read is left to the survey.
func (c *csvReader) isFlat() (bool, error) {
	in, err := c.open()
	if err != nil {
		return false, err
	}
	defer in.Close()
	r, _ := csvRows(in)
	row, err := r.Read()
	var t csvTable
	return err == nil && t.headed(row) == "" && !t.located(), nil
}

// csvRows begins to read rows; the budget must be refilled for each.
func csvRows(in io.Reader) (*csv.Reader, *rowBudget) {
	budget := &rowBudget{in: in, left: maxRow}
	text := bufio.NewReaderSize(budget, 64<<10)
	head, _ := text.Peek(4096)
	if bytes.HasPrefix(head, []byte("\xff\xfe")) || bytes.HasPrefix(head, []byte("\xfe\xff")) {
		text = bufio.NewReaderSize(unicode.UTF16(unicode.LittleEndian, unicode.ExpectBOM).NewDecoder().Reader(text), 64<<10)
		head, _ = text.Peek(4096)
	}
	if bytes.HasPrefix(head, []byte("\xef\xbb\xbf")) {
		text.Discard(3)
		head = head[3:]
	}
	r := csv.NewReader(&quotedLines{in: text})
	r.ReuseRecord = true
	r.Comma = delimiter(head)
	return r, budget
}

func (c *csvReader) read(ctx context.Context, out sink) error {
	in, err := c.open()
	if err != nil {
		return err
	}
	defer in.Close()
	r, budget := csvRows(in)
	t, ok, err := header(r, out)
	if err != nil || !ok {
		return c.failed(err, out)
	}
	if !t.located() {
		out.fault(place{1, 1}, false, Warning, noCoordinates)
	}
	t.memory = c.memory
	out.fields(t.properties())
	if t.degrees {
		out.reference(place{1, 1}, "OGC:CRS84")
	}
	for n := 0; ; n++ {
		if n&1023 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		budget.left = maxRow
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return c.failed(err, out)
		}
		line, _ := r.FieldPos(0)
		if err := out.record(t.record(row, line, out)); err != nil {
			return err
		}
	}
}

// failed tells a fault of the content to out.
func (c *csvReader) failed(err error, out sink) error {
	if bad, ok := errors.AsType[*csv.ParseError](err); ok {
		reason := bad.Err.Error()
		if errors.Is(err, csv.ErrFieldCount) {
			reason = "the row has more or fewer fields than the header"
		}
		out.fault(place{bad.Line, bad.Column}, false, Refused, reason)
		return nil
	}
	return err
}

// delimiter guesses the separator by the first line.
func delimiter(head []byte) rune {
	line, _, _ := bytes.Cut(head, []byte("\n"))
	best, most := ',', 0
	for _, d := range ",;\t|" {
		n, quoted := 0, false
		for _, c := range line {
			if c == '"' {
				quoted = !quoted
			} else if rune(c) == d && !quoted {
				n++
			}
		}
		if n > most {
			best, most = d, n
		}
	}
	return best
}

// header reads the first row; false when a fault was told.
func header(r *csv.Reader, out sink) (t csvTable, ok bool, err error) {
	row, err := r.Read()
	refuse := func(reason string) (csvTable, bool, error) {
		out.fault(place{1, 1}, false, Refused, reason)
		return t, false, nil
	}
	if errors.Is(err, io.EOF) {
		return refuse("the file is empty")
	}
	if err != nil {
		return t, false, err
	}
	if wrong := t.headed(row); wrong != "" {
		return refuse(wrong)
	}
	t.comma = r.Comma != ','
	return t, true, nil
}

// located reports whether the table has columns with coordinates.
func (t *csvTable) located() bool { return t.x >= 0 || t.wkt >= 0 }

// headed takes the names of the columns, and finds those with coordinates; wrong tells why it cannot.
func (t *csvTable) headed(row []string) (wrong string) {
	if len(row) > maxNames {
		return fmt.Sprintf("more than %d columns", maxNames)
	}
	var low []string
	for i, name := range row {
		name = strings.TrimSpace(name)
		if !utf8.ValidString(name) {
			return "the header is not UTF-8; save the file as UTF-8"
		}
		if name == "" {
			name = "column_" + strconv.Itoa(i+1)
		}
		if slices.Contains(t.names, name) {
			return "the column " + strconv.Quote(name) + " stands in the header twice"
		}
		t.names = append(t.names, strings.Clone(name))
		low = append(low, strings.ToLower(name))
	}
	t.wkt, t.x, t.y = -1, -1, -1
	for _, name := range wktNames {
		if i := slices.Index(low, name); i >= 0 && t.wkt < 0 {
			t.wkt = i
		}
	}
	for i, p := range pairNames {
		x, y := slices.Index(low, p[0]), slices.Index(low, p[1])
		if x >= 0 && y >= 0 && t.x < 0 {
			t.x, t.y, t.degrees = x, y, i < degreePairs
		}
	}
	if t.x >= 0 { // numbers need no guess about what is in them
		t.wkt = -1
	}
	return ""
}

// properties are the names of the columns that are not coordinates.
func (t *csvTable) properties() []string {
	var names []string
	for i, n := range t.names {
		if i != t.wkt && i != t.x && i != t.y {
			names = append(names, n)
		}
	}
	return names
}

// record makes a feature of a row. Columns with coordinates become the geometry and are no properties.
func (t *csvTable) record(row []string, line int, out sink) *record {
	rec := &record{at: place{line, 1}}
	refuse := func(reason string) {
		rec.refused = true
		out.fault(rec.at, true, Refused, reason)
	}
	for i, s := range row {
		switch {
		case !utf8.ValidString(s):
			refuse("the text in column " + strconv.Quote(t.names[i]) + " is not UTF-8; save the file as UTF-8")
		case i == t.wkt || i == t.x || i == t.y:
		case s == "":
			rec.fields = append(rec.fields, field{t.names[i], value{kind: null}})
		default:
			rec.fields = append(rec.fields, field{t.names[i], value{untyped, strings.Clone(s)}})
		}
	}
	if rec.refused {
		return rec
	}
	at := func(i int) string {
		if i < 0 {
			return ""
		}
		return row[i]
	}
	t.locate(rec, [3]string{at(t.wkt), at(t.x), at(t.y)}, out)
	return rec
}

// locate makes the geometry of a record of the texts in the columns with coordinates: well-known text, x and y.
func (t *csvTable) locate(rec *record, at [3]string, out sink) {
	refuse := func(reason string) {
		rec.refused = true
		out.fault(rec.at, true, Refused, reason)
	}
	if t.wkt >= 0 {
		s, notes, wrong := t.text(at[0], rec.at, out)
		if rec.shape = s; wrong != "" {
			refuse(wrong)
		}
		for _, n := range notes {
			out.fault(rec.at, true, n.action, n.reason)
		}
		return
	}
	x, y := strings.TrimSpace(at[1]), strings.TrimSpace(at[2])
	if x == "" && y == "" {
		return
	}
	rec.shape = &shape{kind: point}
	fx, okx := t.coordinate(x)
	fy, oky := t.coordinate(y)
	if !okx || !oky {
		refuse(fmt.Sprintf("%q, %q are not coordinates", shorten(x), shorten(y)))
	}
	rec.shape.add(fx, fy, 0)
}

// coordinate reads a decimal number, with a decimal comma where that cannot be a separator.
func (t *csvTable) coordinate(s string) (float64, bool) {
	if t.comma && strings.Count(s, ",") == 1 && !strings.Contains(s, ".") {
		s = strings.Replace(s, ",", ".", 1)
	}
	if _, ok := numberSyntax([]byte(strings.TrimPrefix(s, "+"))); !ok {
		return 0, false
	}
	f, err := strconv.ParseFloat(s, 64)
	return f, err == nil
}

// text reads well-known text, which may begin with SRID=n;
func (t *csvTable) text(s string, at place, out sink) (*shape, []note, string) {
	s = strings.TrimSpace(s)
	system := ""
	if rest, ok := strings.CutPrefix(s, "SRID="); ok {
		system, s, _ = strings.Cut(rest, ";")
		out.reference(at, "EPSG:"+system)
	}
	if s == "" {
		return nil, nil, ""
	}
	if nesting(s) > maxNesting {
		return nil, nil, fmt.Sprintf("well-known text with more than %d brackets in each other", maxNesting)
	}
	if wrong := t.memory.positions(strings.Count(s, ",") + 1); wrong != "" {
		return nil, nil, wrong
	}
	if hasCurves(s) {
		return t.curves(s, system)
	}
	g, err := geom.UnmarshalWKT(s, geom.NoValidate{})
	if err != nil {
		return nil, nil, unread + shorten(err.Error())
	}
	return normalize(g)
}

const unread = "not well-known text of a geometry that is read: "

// curves reads well-known text of types that GeoJSON lacks, as lines. Where no system is known yet, the numbers tell whether they are degrees.
func (t *csvTable) curves(s, srid string) (*shape, []note, string) {
	b, measured, err := curvesOf(s)
	if err != nil {
		return nil, nil, unread + err.Error()
	}
	chord := wkb.ChordMetres
	if x, y, ok := wkb.First(b); ok && math.Abs(x) <= 360 && math.Abs(y) <= 90 {
		chord = wkb.ChordDegrees
	}
	if code, err := strconv.Atoi(srid); err == nil && crs.ID(code).Valid() {
		chord = store.Chord(crs.ID(code))
	}
	b, in, err := wkb.Lines(b, chord)
	if err != nil {
		return nil, nil, unread + err.Error()
	}
	if wrong := t.memory.positions(in.Positions); wrong != "" {
		return nil, nil, wrong
	}
	g, err := geom.UnmarshalWKB(b, geom.NoValidate{})
	if err != nil {
		return nil, nil, unread + shorten(err.Error())
	}
	shape, notes, wrong := normalize(g)
	if measured {
		notes = append(notes, note{Warning, "measures (M) are left out"})
	}
	return shape, notes, wrong
}

// nesting counts how deep brackets lie in each other; the parser of the library is recursive and has no bound.
func nesting(s string) (deepest int) {
	depth := 0
	for i := range len(s) {
		switch s[i] {
		case '(':
			depth++
			deepest = max(deepest, depth)
		case ')':
			depth--
		}
	}
	return deepest
}

// note is a fault of a geometry whose place the caller knows.
type note struct {
	action Action
	reason string
}

// normalize brings a geometry into the form in which it is stored; nil when it is empty.
func normalize(g geom.Geometry) (*shape, []note, string) {
	s, err := fromSimple(g)
	if err != nil {
		return nil, nil, err.Error()
	}
	if s.isEmpty() {
		return nil, nil, ""
	}
	notes := s.tidy()
	if s.isEmpty() {
		return nil, notes, ""
	}
	if c := g.CoordinatesType(); c == geom.DimXYM || c == geom.DimXYZM {
		notes = append(notes, note{Warning, "measures (M) are left out"})
	}
	return &s, notes, ""
}

// tidy drops what is too short, closes rings and turns them. The geometry may be empty afterwards.
func (s *shape) tidy() (notes []note) {
	closed, dropped := s.check()
	if dropped > 0 {
		notes = append(notes, note{Dropped, shortPart})
	}
	if closed > 0 {
		notes = append(notes, note{Repaired, closedRing})
	}
	s.orient() // neither WKT nor GeoPackage says how rings run
	return notes
}
