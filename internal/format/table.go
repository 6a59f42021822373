package format

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

// table keeps features in a temporary file until all are known: for formats whose types, order or counts come first in the file.
type table struct {
	o       Options
	cols    []column
	shaper  *shaper
	tmp     *scratch
	rows    []tableRow
	facts   []facts // by column
	z       bool    // some position has a height
	kinds   map[wkb.Kind]bool
	bound   orb.Bound
	buf     []byte
	scratch []byte
}

// tableRow is where a feature stands in the temporary file; its box is empty when it has no geometry.
type tableRow struct {
	offset, size int64
	box          orb.Bound
}

// facts are what the values of a column have been so far.
type facts struct {
	text, number, integer, boolean bool
	undated                        bool  // some text is no date or instant of the column's type between the years 1 and 9999
	longest                        int   // bytes of the longest text
	most                           int64 // of absolute integers
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

// mostForeseen is for how many features there is room from the beginning.
const mostForeseen = 4 << 20

func newTable(o Options, turn int) (*table, error) {
	cols, s, err := o.prepare(turn)
	if err != nil {
		return nil, err
	}
	s.decimals, s.heights = math.NaN(), math.NaN() // numbers of 8 bytes carry what is stored
	tmp, err := newScratch(o.Temp)
	if err != nil {
		return nil, err
	}
	rows := make([]tableRow, 0, min(max(o.Count, 0), mostForeseen)) // growing would take several times as much
	return &table{o: o, cols: cols, shaper: s, tmp: tmp, rows: rows, facts: make([]facts, len(cols)), kinds: map[wkb.Kind]bool{}, bound: wkb.EmptyBound()}, nil
}

// Want is what features must be fetched with.
func (t *table) Want() store.Want { return t.o.want() }

// Write keeps a feature.
func (t *table) Write(f *store.Feature) error {
	row := tableRow{offset: t.tmp.size, box: wkb.EmptyBound()}
	t.buf = t.buf[:0]
	for i, c := range t.cols {
		t.buf = t.appendValue(t.buf, i, c, c.value(f))
	}
	g, ok, err := t.shaper.shape(f.Geometry.WKB)
	if err != nil {
		return fmt.Errorf("%s %q: %w", t.o.Collection.ID, f.Public(), err)
	}
	if ok {
		row.box = g.bound()
		wkb.Extend(&t.bound, row.box.Min[0], row.box.Min[1])
		wkb.Extend(&t.bound, row.box.Max[0], row.box.Max[1])
		t.kinds[g.Kind] = true
		t.z = t.z || g.Z
		t.buf = g.appendWKB(t.buf, g.Z)
	}
	if _, err := t.tmp.Write(t.buf); err != nil {
		return err
	}
	row.size = t.tmp.size - row.offset
	t.rows = append(t.rows, row)
	return nil
}

// appendValue appends a value with its tag, and learns of it.
func (t *table) appendValue(dst []byte, i int, c column, v any) []byte {
	is := &t.facts[i]
	text := func(s string) []byte {
		is.text = true
		is.longest = max(is.longest, len(s))
		return append(binary.AppendUvarint(append(dst, tagText), uint64(len(s))), s...)
	}
	switch v := v.(type) {
	case string:
		if c.Type == cql2.TypeDate || c.Type == cql2.TypeTimestamp {
			at, ok := feature.Moment(v)
			is.undated = is.undated || !ok || at.Year() < 1 || at.Year() > 9999 || c.Type == cql2.TypeDate && len(v) != len(time.DateOnly)
		}
		return text(v)
	case store.JSON:
		return text(string(v))
	case int64:
		is.integer = true
		is.most = max(is.most, v, -max(v, -math.MaxInt64))
		return binary.AppendVarint(append(dst, tagInteger), v)
	case float64:
		is.number = true
		return binary.LittleEndian.AppendUint64(append(dst, tagNumber), math.Float64bits(v))
	case bool:
		is.boolean = true
		if v {
			return append(dst, tagTrue)
		}
		return append(dst, tagFalse)
	}
	return append(dst, tagNull)
}

// valueText is a value as text.
func valueText(v any) string {
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

// kindOf is the type in which all values of a column can be written: that of the schema, or text where some value is of another type.
func (t *table) kindOf(i int) cql2.Type {
	is := t.facts[i]
	switch typ := t.cols[i].Type; {
	case typ == cql2.TypeInteger && !is.text && !is.number && !is.boolean, typ == cql2.TypeNumber && !is.text && !is.boolean,
		typ == cql2.TypeBool && !is.text && !is.number && !is.integer:
		return typ
	case (typ == cql2.TypeDate || typ == cql2.TypeTimestamp) && !is.undated && !is.integer && !is.number && !is.boolean:
		return typ
	case typ == cql2.TypeJSON:
		return typ
	}
	return cql2.TypeText
}

// read calls fn with each feature that was kept, in the order of rows. The values and the WKB are valid until fn returns.
func (t *table) read(fn func(i int, values []any, geom []byte) error) error {
	if err := t.tmp.w.Flush(); err != nil {
		return err
	}
	values := make([]any, len(t.cols))
	read := func(b []byte, at int64) error { _, err := t.tmp.f.ReadAt(b, at); return err }
	if slices.IsSortedFunc(t.rows, func(a, b tableRow) int { return cmp.Compare(a.offset, b.offset) }) {
		in := bufio.NewReaderSize(io.NewSectionReader(t.tmp.f, 0, t.tmp.size), flushAt)
		read = func(b []byte, _ int64) error { _, err := io.ReadFull(in, b); return err }
	}
	for i, row := range t.rows {
		t.scratch = slices.Grow(t.scratch[:0], int(row.size))[:row.size]
		if err := read(t.scratch, row.offset); err != nil {
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

// stored reads geometries that a table kept: they are transformed already.
var stored = &shaper{decimals: math.NaN(), heights: math.NaN()}

// byPlace puts the rows in the order of a Hilbert curve through the middles of their envelopes, those without geometry last.
func (t *table) byPlace() { sortByPlace(t.rows, t.bound) }

func sortByPlace(rows []tableRow, all orb.Bound) {
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
		if !r.box.IsEmpty() {
			c := r.box.Center()
			order[i].key = hilbert(cell(c[0], all.Min[0], all.Max[0]), cell(c[1], all.Min[1], all.Max[1]))
		}
	}
	slices.SortFunc(order, func(a, b placed) int {
		return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(b2i(rows[a.row].box.IsEmpty()), b2i(rows[b.row].box.IsEmpty())), cmp.Compare(a.row, b.row))
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

// b2i is 1 for true.
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
