package output

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/paulmach/orb"

	"grense/internal/cql2"
	"grense/internal/feature"
	"grense/internal/geo/wkb"
	"grense/internal/store"
)

// Table stores features in a temporary file until all are known, for formats that begin with types, order or counts.
type Table struct {
	Options Options
	Cols    []Column
	shaper  *Shaper
	Scratch *Scratch
	Rows    []TableRow
	Facts   []facts // by column
	HasZ    bool    // some position has a height
	Kinds   map[wkb.Kind]bool
	Bound   orb.Bound
	Buf     []byte
	scratch []byte
}

// TableRow is the position of a feature in the temporary file; its box is empty without geometry.
type TableRow struct {
	Offset, Size int64
	Box          orb.Bound
}

// facts describes the values of a column so far.
type facts struct {
	text, Number, Integer, Boolean bool
	// some text is not a date or timestamp of the column's type in the years 1 to 9999
	undated bool
	Longest int   // bytes of the longest text
	Most    int64 // largest absolute integer
}

// Tags of values in the temporary file.
const (
	tagNull = iota
	tagText
	tagInteger
	tagNumber
	tagFalse
	tagTrue
)

// mostForeseen is the largest number of rows to allocate in advance.
const mostForeseen = 4 << 20

func NewTable(o Options, turn int) (*Table, error) {
	cols, s, err := o.Prepare(turn)
	if err != nil {
		return nil, err
	}
	s.decimals, s.heights = math.NaN(), math.NaN() // numbers of 8 bytes hold the stored values
	tmp, err := NewScratch(o.Temp)
	if err != nil {
		return nil, err
	}
	rows := make([]TableRow, 0, min(max(o.Count, 0), mostForeseen)) // growing would need several times as much
	return &Table{Options: o, Cols: cols, shaper: s, Scratch: tmp, Rows: rows, Facts: make([]facts, len(cols)),
		Kinds: map[wkb.Kind]bool{}, Bound: wkb.EmptyBound()}, nil
}

// Want returns how features must be fetched.
func (t *Table) Want() store.Want { return t.Options.Want() }

// Write stores a feature.
func (t *Table) Write(f *store.Feature) error {
	row := TableRow{Offset: t.Scratch.Size, Box: wkb.EmptyBound()}
	t.Buf = t.Buf[:0]
	for i, c := range t.Cols {
		t.Buf = t.appendValue(t.Buf, i, c, c.Value(f))
	}
	g, ok, err := t.shaper.Shape(f.Geometry.WKB)
	if err != nil {
		return fmt.Errorf("%s %q: %w", t.Options.Collection.ID, f.Public(), err)
	}
	if ok {
		row.Box = g.Bound()
		wkb.Extend(&t.Bound, row.Box.Min[0], row.Box.Min[1])
		wkb.Extend(&t.Bound, row.Box.Max[0], row.Box.Max[1])
		t.Kinds[g.Kind] = true
		t.HasZ = t.HasZ || g.Z
		t.Buf = g.appendWKB(t.Buf, g.Z)
	}
	if _, err := t.Scratch.Write(t.Buf); err != nil {
		return err
	}
	row.Size = t.Scratch.Size - row.Offset
	t.Rows = append(t.Rows, row)
	return nil
}

// appendValue appends a value with its tag and updates the facts.
func (t *Table) appendValue(dst []byte, i int, c Column, v any) []byte {
	is := &t.Facts[i]
	text := func(s string) []byte {
		is.text = true
		is.Longest = max(is.Longest, len(s))
		return append(binary.AppendUvarint(append(dst, tagText), uint64(len(s))), s...)
	}
	switch v := v.(type) {
	case string:
		if c.Type == cql2.TypeDate || c.Type == cql2.TypeTimestamp {
			at, ok := feature.Moment(v)
			is.undated = is.undated || !ok || at.Year() < 1 || at.Year() > 9999 ||
				c.Type == cql2.TypeDate && len(v) != len(time.DateOnly)
		}
		return text(v)
	case store.JSON:
		return text(string(v))
	case int64:
		is.Integer = true
		is.Most = max(is.Most, v, -max(v, -math.MaxInt64))
		return binary.AppendVarint(append(dst, tagInteger), v)
	case float64:
		is.Number = true
		return binary.LittleEndian.AppendUint64(append(dst, tagNumber), math.Float64bits(v))
	case bool:
		is.Boolean = true
		if v {
			return append(dst, tagTrue)
		}
		return append(dst, tagFalse)
	}
	return append(dst, tagNull)
}

// ValueText returns a value as text.
func ValueText(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case bool:
		return strconv.FormatBool(v)
	}
	return ""
}

// KindOf returns the type that fits all values of a column: that of the schema, or text if some value has another type.
func (t *Table) KindOf(i int) cql2.Type {
	is := t.Facts[i]
	switch typ := t.Cols[i].Type; {
	case typ == cql2.TypeInteger && !is.text && !is.Number && !is.Boolean,
		typ == cql2.TypeNumber && !is.text && !is.Boolean,
		typ == cql2.TypeBool && !is.text && !is.Number && !is.Integer:
		return typ
	case (typ == cql2.TypeDate || typ == cql2.TypeTimestamp) && !is.undated && !is.Integer && !is.Number && !is.Boolean:
		return typ
	case typ == cql2.TypeJSON:
		return typ
	}
	return cql2.TypeText
}

// Read calls fn with each stored feature in the order of Rows. The values and the WKB are valid until fn returns.
func (t *Table) Read(fn func(i int, values []any, geom []byte) error) error {
	if err := t.Scratch.W.Flush(); err != nil {
		return err
	}
	values := make([]any, len(t.Cols))
	read := func(b []byte, at int64) error { _, err := t.Scratch.f.ReadAt(b, at); return err }
	if slices.IsSortedFunc(t.Rows, func(a, b TableRow) int { return cmp.Compare(a.Offset, b.Offset) }) {
		in := bufio.NewReaderSize(io.NewSectionReader(t.Scratch.f, 0, t.Scratch.Size), FlushAt)
		read = func(b []byte, _ int64) error { _, err := io.ReadFull(in, b); return err }
	}
	for i, row := range t.Rows {
		t.scratch = slices.Grow(t.scratch[:0], int(row.Size))[:row.Size]
		if err := read(t.scratch, row.Offset); err != nil {
			return err
		}
		b := t.scratch
		for j := range values {
			values[j], b = takeValue(b)
		}
		if err := fn(i, values, b); err != nil {
			return err
		}
	}
	return nil
}

func takeValue(b []byte) (any, []byte) {
	tag := b[0]
	b = b[1:]
	switch tag {
	case tagText:
		n, w := binary.Uvarint(b)
		b = b[w:]
		return string(b[:n]), b[n:]
	case tagInteger:
		v, w := binary.Varint(b)
		return v, b[w:]
	case tagNumber:
		return math.Float64frombits(binary.LittleEndian.Uint64(b)), b[8:]
	case tagFalse, tagTrue:
		return tag == tagTrue, b
	}
	return nil, b
}

// Stored is the Shaper for geometries of a table, which are transformed already.
var Stored = &Shaper{decimals: math.NaN(), heights: math.NaN()}

// ByPlace sorts the rows along a Hilbert curve through the centres of their envelopes, those without geometry last.
func (t *Table) ByPlace() { sortByPlace(t.Rows, t.Bound) }

func sortByPlace(rows []TableRow, all orb.Bound) {
	const cells = 1 << 16
	cell := func(v, low, high float64) uint32 {
		if high <= low {
			return 0
		}
		return uint32(min(cells-1, math.Floor(cells*(v-low)/(high-low))))
	}
	type placed struct{ key, row uint32 }
	order := make([]placed, len(rows))
	for i, r := range rows {
		order[i] = placed{math.MaxUint32, uint32(i)}
		if !r.Box.IsEmpty() {
			c := r.Box.Center()
			order[i].key = hilbert(cell(c[0], all.Min[0], all.Max[0]), cell(c[1], all.Min[1], all.Max[1]))
		}
	}
	slices.SortFunc(order, func(a, b placed) int {
		return cmp.Or(cmp.Compare(a.key, b.key),
			cmp.Compare(b2i(rows[a.row].Box.IsEmpty()), b2i(rows[b.row].Box.IsEmpty())), cmp.Compare(a.row, b.row))
	})
	for i := range order { // along the cycles, in place
		first := rows[i]
		for at := uint32(i); order[at].row != at; {
			from := order[at].row
			order[at].row = at
			if from == uint32(i) {
				rows[at] = first
				break
			}
			rows[at] = rows[from]
			at = from
		}
	}
}

// b2i returns 1 for true.
func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// hilbert returns the distance along the Hilbert curve of order 16 to a cell.
func hilbert(x, y uint32) uint32 {
	var d uint32
	for s := uint32(1 << 15); s > 0; s >>= 1 {
		var rx, ry uint32
		if x&s != 0 {
			rx = 1
		}
		if y&s != 0 {
			ry = 1
		}
		d += s * s * (3*rx ^ ry)
		if ry == 0 {
			if rx == 1 {
				x, y = 1<<16-1-x, 1<<16-1-y
			}
			x, y = y, x
		}
	}
	return d
}

// OneKind returns the kind in which all geometries can be written: a multi kind if single and multi occur;
// 0 if there is none.
func (t *Table) OneKind() wkb.Kind {
	if t.Options.SkipGeometry {
		return 0
	}
	kind := t.Options.LayerKind()
	if t.Options.Collection.Geometry.Type == "LineString" && !t.Kinds[wkb.MultiLineString] {
		kind = wkb.LineString
	}
	for k := range t.Kinds {
		switch {
		case k == kind, kind >= wkb.MultiPoint && kind <= wkb.MultiPolygon && k == kind-3:
		case kind == 0 && len(t.Kinds) == 1:
			kind = k
		case kind == 0 && len(t.Kinds) == 2 && k <= wkb.Polygon && t.Kinds[k+3]:
			kind = k + 3
		default:
			return 0
		}
	}
	return kind
}
