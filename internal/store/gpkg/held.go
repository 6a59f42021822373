package gpkg

import (
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"sort"
	"strings"

	"grense/internal/store"
)

// heldRows is some properties of all rows of a layer, packed. Thousands of records that lie anywhere in a register are read from it: a page of the file
// for each takes longer than all the rest of an answer. It is made in the background once enough of them were read from the file, where it fits
// Options.Columns beside what is there. It is immutable.
type heldRows struct {
	ids     []int64 // of the rows, ascending; nil: they follow first without a gap
	first   int64
	columns []heldColumn
	runs    []heldRun
	rows    int
}

// heldColumn is the values of a property. As long as they are few, rows have their numbers; those of later rows stand for themselves.
type heldColumn struct {
	values []any
	text   []byte // of later rows: each text behind its length
	plain  any    // a value of the type of later rows; nil: there are none
	width  int    // of what the last row has, in bytes; widthPlain: its value stands for itself
}

// widthPlain is the width of a number that fits, or of a place in text.
const widthPlain = 4

// heldRun is rows that have as many bytes for each column.
type heldRun struct {
	from   int // the first of them
	widths []int
	stride int
	data   []byte
}

// heldFrom is how many rows are read from the file before they are held.
const heldFrom = 500

func (t *heldRows) size() int {
	n := 8 * cap(t.ids)
	for _, c := range t.columns {
		n += cap(c.text) + 64*len(c.values)
	}
	for _, r := range t.runs {
		n += cap(r.data)
	}
	return n
}

// place returns where a row is, by its id.
func (t *heldRows) place(id int64) (int, bool) {
	if t.ids != nil {
		return slices.BinarySearch(t.ids, id)
	}
	at := id - t.first
	return int(at), id >= t.first && at < int64(t.rows)
}

// read fills b with the first n of rows, as fetcher.read does.
func (t *heldRows) read(b *batch, rev uint64, rows []store.Row) (n int, missing bool) {
	b.reset()
	for _, x := range rows[:min(len(rows), batchFeatures)] {
		id, ok := parseID(x.ID)
		at, there := t.place(id)
		if !ok || !there || x.Rev != 0 && x.Rev != rev {
			return n, true
		}
		b.ends = append(b.ends, 0)
		b.values = t.append(b.values, at)
		n++
	}
	return n, false
}

// append appends the values of a row.
func (t *heldRows) append(values []any, at int) []any {
	run := &t.runs[sort.Search(len(t.runs), func(i int) bool { return t.runs[i].from > at })-1]
	data := run.data[(at-run.from)*run.stride:]
	for i, w := range run.widths {
		c := &t.columns[i]
		switch w {
		case 1:
			values = append(values, c.values[data[0]])
		case 2:
			values = append(values, c.values[binary.LittleEndian.Uint16(data)])
		default:
			values = append(values, c.own(binary.LittleEndian.Uint32(data)))
		}
		data = data[w:]
	}
	return values
}

// own is a value that stands for itself.
func (c *heldColumn) own(code uint32) any {
	if _, ok := c.plain.(int64); ok {
		return int64(code)
	}
	n, size := binary.Uvarint(c.text[code:])
	start := int(code) + size
	text := string(c.text[start : start+int(n)])
	if _, ok := c.plain.(store.JSON); ok {
		return store.JSON(text)
	}
	return text
}

// held returns the table of what is wanted of a layer; nil where there is none, and then it is begun when enough rows have been wanted.
func (r *revision) held(f *fetcher, want store.Want, rows int) *heldRows {
	l := f.l
	if !want.NoGeometry || len(want.Properties) == 0 || l.text || l.view || f.version != nil || l.source.Leads == nil || l.Count < r.columns.limits.held {
		return nil
	}
	name := l.ID + "\x00" + strings.Join(want.Properties, "\x00") + "\x00rows"
	key := tableKey{r.rev, name}
	if t, ok := r.columns.tables.Get(key); ok {
		return t.(*heldRows)
	}
	if !r.wanted(name, rows) || !r.makeTable(name, func() error { return r.makeHeld(f, key) }) || !r.columns.limits.wait {
		return nil
	}
	t, _ := r.columns.tables.Get(key)
	h, _ := t.(*heldRows)
	return h
}

// wanted counts the rows that were wanted of what a table would hold, and reports whether they are enough to make it.
func (r *revision) wanted(name string, rows int) bool {
	r.typeAhead.mu.Lock()
	defer r.typeAhead.mu.Unlock()
	if r.columns.wanted == nil {
		r.columns.wanted = map[string]int{}
	}
	r.columns.wanted[name] += rows
	return r.columns.wanted[name] >= heldFrom || r.columns.limits.wait
}

// makeHeld reads the rows, and keeps them; an error where they cannot be kept.
func (r *revision) makeHeld(f *fetcher, key tableKey) error {
	room := r.columns.tables.Room()
	m := &heldMaker{known: make([]map[any]uint32, len(f.fields))}
	m.columns = make([]heldColumn, len(f.fields))
	b := new(batch)
	err := r.use(context.Background(), func(c *conn) error {
		if same, err := c.unchanged(); err != nil || !same || c.encoding != utf8Texts {
			return errors.Join(err, errNoRoom)
		}
		sql := f.selected + " FROM " + f.l.source.Table + " AS " + alias + " ORDER BY " + f.l.idExpr(alias)
		return c.query(sql, nil, func(row row) error {
			if m.rows&4095 == 0 && (r.refs.Load() <= 1 || m.outgrows(room, f.l.Count)) {
				return errNoRoom
			}
			b.reset()
			f.append(b, row)
			return m.add(row.Int(1+len(f.fields)), b.values)
		})
	})
	if err != nil {
		return err
	}
	t := m.heldRows.packed()
	if int64(t.size()) > room || r.refs.Load() <= 1 {
		return errNoRoom
	}
	r.columns.tables.Put(key, t, int64(t.size()))
	return nil
}

// packed is the rows without the room that they grew into.
func (t heldRows) packed() *heldRows {
	t.ids = slices.Clone(t.ids)
	for i := range t.columns {
		t.columns[i].text = slices.Clone(t.columns[i].text)
	}
	for i := range t.runs {
		t.runs[i].data = slices.Clone(t.runs[i].data)
	}
	return &t
}

// heldMaker gathers heldRows.
type heldMaker struct {
	heldRows
	known []map[any]uint32 // of each column, the numbers of values
	last  int64
	codes []uint32
}

// outgrows reports whether so many rows will take more than room, as far as those that are there tell: the first ones take more each.
func (m *heldMaker) outgrows(room int64, rows int) bool {
	size := int64(m.size())
	return size >= room || m.rows >= 1<<14 && size/2*int64(rows)/int64(m.rows) >= room
}

// add takes the next row; an error where it cannot be held.
func (m *heldMaker) add(id int64, values []any) error {
	switch {
	case m.rows == 0:
		m.first = id
	case id <= m.last:
		return errNoRoom
	case m.ids == nil && id != m.last+1:
		for i := range m.rows {
			m.ids = append(m.ids, m.first+int64(i))
		}
	}
	if m.last = id; m.ids != nil {
		m.ids = append(m.ids, id)
	}
	m.codes = m.codes[:0]
	same := len(m.runs) > 0
	for i, v := range values {
		code, ok := m.code(i, v)
		if !ok {
			return errNoRoom
		}
		m.codes = append(m.codes, code)
		same = same && m.runs[len(m.runs)-1].widths[i] == m.columns[i].width
	}
	if !same {
		run := heldRun{from: m.rows}
		for _, c := range m.columns {
			run.widths = append(run.widths, c.width)
			run.stride += c.width
		}
		m.runs = append(m.runs, run)
	}
	run := &m.runs[len(m.runs)-1]
	for i, w := range run.widths {
		var b [4]byte
		binary.LittleEndian.PutUint32(b[:], m.codes[i])
		run.data = append(run.data, b[:w]...)
	}
	m.rows++
	return nil
}

// code is what a row has for a value; false where it cannot be held.
func (m *heldMaker) code(i int, v any) (uint32, bool) {
	c := &m.columns[i]
	if _, isFloat := v.(float64); isFloat { // of which two may be equal and not the same
		return 0, false
	}
	if c.width < widthPlain {
		n, ok := m.known[i][v]
		if ok {
			return n, true
		}
		if n = uint32(len(c.values)); n < 1<<16 {
			if m.known[i] == nil {
				m.known[i] = map[any]uint32{}
			}
			m.known[i][v] = n
			if c.values = append(c.values, v); n < 1<<8 {
				c.width = 1
			} else {
				c.width = 2
			}
			return n, true
		}
		m.known[i], c.width, c.plain = nil, widthPlain, v
	}
	text := ""
	switch v := v.(type) {
	case int64:
		_, ok := c.plain.(int64)
		return uint32(v), ok && v == int64(uint32(v))
	case string:
		if _, ok := c.plain.(string); !ok {
			return 0, false
		}
		text = v
	case store.JSON:
		if _, ok := c.plain.(store.JSON); !ok {
			return 0, false
		}
		text = string(v)
	default:
		return 0, false
	}
	at := len(c.text)
	c.text = append(binary.AppendUvarint(c.text, uint64(len(text))), text...)
	return uint32(at), len(c.text) < 1<<31
}
