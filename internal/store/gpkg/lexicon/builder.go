package lexicon

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"grense/internal/store/gpkg/sqlite"
)

// Table is a table with folded texts, each of which belongs to an id and a position in an order.
type Table struct {
	Name  string // quoted
	Norm  string // unquoted columns: the folded text, the id, the order ("": none)
	ID    string
	Order string
}

// Key returns a name for the index.
func (t *Table) Key() string {
	return strings.Join([]string{t.Name, t.Norm, t.ID, t.Order}, "\x00")
}

// Builder builds Spellings. NewBuilder creates one.
type Builder struct {
	from       Table
	room       int
	wanted     func() bool
	t          *Spellings
	most       int64 // greatest id
	texts      strings.Builder
	text, last []byte
}

// NewBuilder returns a builder for an index of at most room bytes. It gives up when wanted returns false.
func NewBuilder(from Table, room int, wanted func() bool) *Builder {
	return &Builder{from: from, room: room, wanted: wanted, t: &Spellings{}}
}

// Read reads all texts.
func (m *Builder) Read(c *sqlite.Conn) error {
	t := m.t
	order := "0"
	if m.from.Order != "" {
		order = sqlite.Quote(m.from.Order)
	}
	id, norm := sqlite.Quote(m.from.ID), sqlite.Quote(m.from.Norm)
	from := " FROM " + m.from.Name + " WHERE " + norm + " IS NOT NULL"
	sql := "SELECT " + norm + ", " + id + ", " + order + from + " ORDER BY " + norm
	least, err := c.One("SELECT min(" + id + ") FROM " + m.from.Name)
	most, err2 := c.One("SELECT max(" + id + ") FROM " + m.from.Name)
	all, err3 := c.One("SELECT count(*)" + from)
	if err := cmp.Or(err, err2, err3); err != nil || all > int64(m.room/16) {
		return cmp.Or(err, errNoRoom)
	}
	t.base, t.rows = least, make([]spelled, 0, all)
	if uint64(most-least)>>32 != 0 {
		t.high = make([]uint32, 0, all)
	}
	m.most = most
	n := 0
	err = c.Query(sql, nil, func(row sqlite.Row) error {
		if n++; n&4095 == 0 && (!m.wanted() || t.Size()+m.texts.Cap()+8*len(t.rows) > m.room ||
			m.texts.Len() > 1<<31) {
			// byID, and memory to sort it
			return errNoRoom
		}
		return m.add(row)
	})
	t.text = m.texts.String()
	return err
}

// Finish returns the index after all texts were read.
func (m *Builder) Finish() (*Spellings, error) {
	t := m.t
	// without spare capacity
	t.ends, t.from = slices.Clone(t.ends), append(slices.Clone(t.from), uint32(len(t.rows)))
	t.countTexts()
	t.sort()
	if t.grams = newGrams(t.text, t.ends, m.room-t.Size()); t.grams == nil {
		return nil, errNoRoom
	}
	return t, nil
}

func (m *Builder) add(row sqlite.Row) error {
	t := m.t
	at := row.Int(2)
	if row.Kind(0) != sqlite.KindText || row.Kind(1) != sqlite.KindInt || row.Kind(2) != sqlite.KindInt ||
		int64(int32(at)) != at {
		return errNoRoom
	}
	id := row.Int(1)
	if id < t.base || id > m.most {
		return errNoRoom
	}
	m.text = row.Bytes(0, m.text)
	if len(t.ends) == 0 || !bytes.Equal(m.text, m.last) {
		m.last = append(m.last[:0], m.text...)
		m.texts.Write(m.text)
		t.ends, t.from = append(t.ends, uint32(m.texts.Len())), append(t.from, uint32(len(t.rows)))
	}
	beyond := uint64(id - t.base)
	t.rows = append(t.rows, spelled{uint32(beyond), int32(at)})
	if t.high != nil {
		t.high = append(t.high, uint32(beyond>>32))
	}
	return nil
}

// sort builds byID.
func (t *Spellings) sort() {
	t.byID = make([]uint32, len(t.rows))
	for i := range t.byID {
		t.byID[i] = uint32(i)
	}
	slices.SortFunc(t.byID, func(a, b uint32) int { return cmp.Or(cmp.Compare(t.ID(a), t.ID(b)), cmp.Compare(a, b)) })
}
