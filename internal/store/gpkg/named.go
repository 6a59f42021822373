package gpkg

import (
	"bytes"
	"cmp"
	"context"
	"math"
	"slices"
	"sort"
	"strings"

	"grense/internal/cql2"
	"grense/internal/store"
	"grense/internal/store/sqlq"
)

// A name, or how it begins, is most of what is asked of a register. So its folded texts are kept in memory in order, with the rows of each, within the memory of columns: some 16 MB for a million spellings. They are made in the
// background once some names were asked for.

// namedFrom is how many names are asked for before the table of them is made.
const namedFrom = 64

// namedTable is the folded texts of a property in order, and whose they are. It is immutable.
type namedTable struct {
	text  []byte // different ones, one after the other
	ends  []uint32
	from  []uint32 // in rows, of each text; and one more
	rows  []namedRow
	mixed textSet // texts of which some rows are equal but for case and some are not
}

// namedRow is an id, and its place in the order.
type namedRow struct{ id, order uint32 }

func (t *namedTable) size() int {
	return cap(t.text) + 4*cap(t.ends) + 4*cap(t.from) + 8*cap(t.rows) + 8*cap(t.mixed)
}

func (t *namedTable) at(i int) []byte {
	if i == 0 {
		return t.text[:t.ends[0]]
	}
	return t.text[t.ends[i-1]:t.ends[i]]
}

// find returns the text, which may not be there, and with begins those that begin with it.
func (t *namedTable) find(text string, begins bool) span {
	s := span{from: sort.Search(len(t.ends), func(i int) bool { return string(t.at(i)) >= text })}
	if begins {
		s.to = s.from + sort.Search(len(t.ends)-s.from, func(i int) bool { return !bytes.HasPrefix(t.at(s.from+i), []byte(text)) })
	} else if s.to = s.from; s.from < len(t.ends) && string(t.at(s.from)) == text {
		s.to++
	}
	return s
}

// namedPart is what a question asks for by name.
type namedPart struct {
	src       *sqlq.Source
	field     *sqlq.Field
	id, order string // columns
	text      string // folded
	begins    bool   // or what begins with it
}

// namedPart returns it; false where the question asks for anything else.
func (qu *question) namedPart() (p namedPart, ok bool) {
	if qu.l.text || qu.q.Texts != "" || !qu.counts(qu.q) {
		return p, false
	}
	by := qu.q.SortBy[0].Property
	x := only(qu.q.Filter)
	p.src, p.id, p.order = qu.l.source, unquoted(qu.l.key), qu.l.source.Fields[by].Column
	if rel, related := x.(cql2.Related); related {
		r := qu.l.source.Relations[rel.Relation]
		if r == nil || quote(r.Key) != qu.l.key || r.Order != by {
			return p, false
		}
		p.src, p.id, p.order, x = &r.Source, r.Owner, r.Order, only(rel.X)
	}
	var property string
	switch e := x.(type) {
	case cql2.Compare:
		text, isText := e.R.(cql2.Text)
		if property, ok = foldedBy("norm", e.L); !ok || !isText || e.Op != cql2.Eq {
			return p, false
		}
		p.text = string(text)
	case cql2.Like:
		pattern, isText := sqlq.PatternText(e.Pattern)
		split, valid := sqlq.SplitPattern(pattern)
		if property, ok = foldedBy("norm", e.X); !ok || !isText || !valid || len(split.Tokens) != 2 || split.Prefix == "" || split.Tokens[1].Wild != '%' || qu.q.First != nil {
			return p, false
		}
		p.text, p.begins = split.Prefix, true
	default:
		return p, false
	}
	p.field = p.src.Fields[property]
	return p, p.field != nil && p.field.Search.Norm != "" && p.field.Search.Exact != "" && qu.isFirstOf(property, p)
}

// foldedBy returns the property that a function folds.
func foldedBy(function string, e cql2.Expr) (string, bool) {
	f, ok := e.(cql2.Func)
	if !ok || f.Name != function || len(f.Args) != 1 {
		return "", false
	}
	p, ok := f.Args[0].(cql2.Prop)
	return p.Name, ok
}

// isFirstOf reports whether what comes first, if anything, is the same name but for case.
func (qu *question) isFirstOf(property string, p namedPart) bool {
	if qu.q.First == nil {
		return true
	}
	x := only(qu.q.First)
	if rel, related := x.(cql2.Related); related {
		is, same := only(qu.q.Filter).(cql2.Related)
		if !same || is.Relation != rel.Relation {
			return false
		}
		x = only(rel.X)
	} else if p.src != qu.l.source {
		return false
	}
	e, ok := x.(cql2.Compare)
	if !ok || e.Op != cql2.Eq {
		return false
	}
	of, ok := foldedBy("exact", e.L)
	text, isText := e.R.(cql2.Text)
	return ok && isText && of == property && cql2.Norm(string(text)) == p.text
}

// isNamed reports whether a question asks for all or nothing by a name alone.
func (qu *question) isNamed() bool {
	if !qu.q.AsOf.IsZero() || !qu.isAllOrNothing() {
		return false
	}
	_, ok := qu.namedPart()
	return ok
}

func (p namedPart) name() string {
	return strings.Join([]string{"named", p.src.Table, p.field.Search.Norm, p.id, p.order}, "\x00")
}

// byNames answers from the table; false where there is none.
func (qu *question) byNames(ctx context.Context, c *conn, p *store.Page) (bool, error) {
	part, _ := qu.namedPart()
	t := qu.rev.named(qu.l, part)
	if t == nil {
		return false, nil
	}
	if same, err := c.unchanged(); err != nil || !same {
		return false, err
	}
	s := t.find(part.text, part.begins)
	var first firstRows
	if s.to > s.from && t.mixed.has(s.from) {
		var ok bool
		if first, ok = qu.firsts(c, qu.q); !ok {
			return false, nil
		}
	}
	return true, cmp.Or(qu.namedPage(t, s, first, p), ctx.Err())
}

// namedPage fills the page with the rows of texts. Where First is the name itself and no text is mixed, it holds for all rows or for none, so that they keep their order.
func (qu *question) namedPage(t *namedTable, s span, first firstRows, p *store.Page) error {
	rows := t.rows[t.from[s.from]:t.from[s.to]]
	more, err := qu.allNumbers(func(fn func(numbered) error) (err error) {
		for i := 0; i < len(rows) && err == nil; i++ {
			err = fn(numbered{int64(rows[i].order), int64(rows[i].id)})
		}
		return enough(err)
	}, first, p)
	if more {
		p.Next = qu.beyond(p.Rows[0].ID)
	}
	return err
}

func (qu *question) recallNames(_ store.Cost, p *store.Page) bool {
	part, _ := qu.namedPart()
	v, ok := qu.rev.columns.tables.Get(tableKey{qu.rev.rev, part.name()})
	if !ok {
		return false
	}
	t := v.(*namedTable)
	s := t.find(part.text, part.begins)
	if t.from[s.to]-t.from[s.from] > mostRecalled || s.to > s.from && qu.q.First != nil && t.mixed.has(s.from) {
		return false
	}
	return qu.namedPage(t, s, nil, p) == nil
}

// named returns the table that a part needs; nil where there is none yet.
func (r *revision) named(l *layer, part namedPart) *namedTable {
	name := part.name()
	key := tableKey{r.rev, name}
	if t, ok := r.columns.tables.Get(key); ok {
		return t.(*namedTable)
	}
	if l.Count < typeAheadFrom || r.columns.tables.Limit() == 0 {
		return nil
	}
	if !r.often(name, namedFrom) || !r.makeTable(name, func() error { return r.makeNamed(part, key) }) || !r.columns.limits.wait {
		return nil
	}
	v, _ := r.columns.tables.Get(key)
	t, _ := v.(*namedTable)
	return t
}

// makeNamed reads the texts and whose they are, and keeps them; an error where they cannot be kept.
func (r *revision) makeNamed(part namedPart, key tableKey) error {
	m := namedMaker{t: &namedTable{}, part: part, r: r, room: int(r.columns.tables.Limit())}
	if err := r.use(context.Background(), m.read); err != nil {
		return err
	}
	t := m.t
	t.text, t.ends, t.from, t.rows = slices.Clone(t.text), slices.Clone(t.ends), slices.Clone(t.from), slices.Clone(t.rows) // without the room that they grew into
	if r.refs.Load() <= 1 || !r.columns.tables.Put(key, t, int64(t.size())) {
		return errNoRoom
	}
	return nil
}

// namedMaker makes a table of names.
type namedMaker struct {
	t    *namedTable
	part namedPart
	r    *revision
	room int
}

func (m *namedMaker) read(c *conn) error {
	if same, err := c.unchanged(); err != nil || !same {
		return cmp.Or(err, errNoRoom)
	}
	if err := m.texts(c); err != nil {
		return err
	}
	return m.spelt(c)
}

// wanted tells after some rows whether the table fits and is wanted still.
func (m *namedMaker) wanted(n int) error {
	if n&4095 == 0 && (m.r.refs.Load() <= 1 || m.t.size() > m.room) {
		return errNoRoom
	}
	return nil
}

// texts reads the folded texts in order, and whose they are.
func (m *namedMaker) texts(c *conn) error {
	t, norm := m.t, quote(m.part.field.Search.Norm)
	from := " FROM " + m.part.src.Table + " WHERE " + norm + " IS NOT NULL"
	all, err := c.one("SELECT count(*)" + from)
	if err != nil || all > int64(m.room/8) {
		return cmp.Or(err, errNoRoom)
	}
	t.rows = make([]namedRow, 0, all)
	var text []byte
	err = c.query("SELECT "+norm+", "+quote(m.part.id)+", "+quote(m.part.order)+from+" ORDER BY "+norm, nil, func(row row) error {
		id, order := row.Int(1), row.Int(2)
		if row.Kind(0) != kindText || row.Kind(1) != kindInt || row.Kind(2) != kindInt || id != int64(uint32(id)) || order != int64(uint32(order)) || len(t.text) > math.MaxInt32 {
			return errNoRoom
		}
		text = row.Bytes(0, text)
		if n := len(t.ends); n == 0 || !bytes.Equal(text, t.at(n-1)) {
			if n > 0 && bytes.Compare(text, t.at(n-1)) < 0 { // another order than that of bytes
				return errNoRoom
			}
			t.text = append(t.text, text...)
			t.ends, t.from = append(t.ends, uint32(len(t.text))), append(t.from, uint32(len(t.rows)))
		}
		t.rows = append(t.rows, namedRow{uint32(id), uint32(order)})
		return m.wanted(len(t.rows))
	})
	t.from = append(t.from, uint32(len(t.rows)))
	return err
}

// spelt notes which texts are mixed: from how often each spelling is there, which must add up.
func (m *namedMaker) spelt(c *conn) error {
	t, exact := m.t, quote(m.part.field.Search.Exact)
	t.mixed = make(textSet, len(t.ends)/64+1)
	left := make([]uint32, len(t.ends))
	for i := range left {
		left[i] = t.from[i+1] - t.from[i]
	}
	n := 0
	err := c.query("SELECT "+exact+", count(*) FROM "+m.part.src.Table+" GROUP BY "+exact, nil, func(row row) error {
		n++
		s := t.find(cql2.Norm(row.Text(0)), false)
		count := row.Int(1)
		if row.Kind(0) != kindText || s.to == s.from || int64(left[s.from]) < count {
			return errNoRoom
		}
		if count < int64(t.from[s.to]-t.from[s.from]) {
			t.mixed.add(s.from)
		}
		left[s.from] -= uint32(count)
		return m.wanted(n)
	})
	if err == nil && slices.ContainsFunc(left, func(n uint32) bool { return n > 0 }) {
		return errNoRoom
	}
	return err
}
