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
	orderedTexts
	from []uint32 // in rows, of each text; and one more
	rows []namedRow

	spelt     orderedTexts // what texts that are spelt in several ways are but for case
	speltFrom []uint32     // in speltIDs, of each; and one more
	speltIDs  []uint32     // of the rows, of each in order
}

// namedRow is an id, and its place in the order.
type namedRow struct{ id, order uint32 }

func (t *namedTable) size() int {
	return t.orderedTexts.size() + 4*cap(t.from) + 8*cap(t.rows) + t.spelt.size() + 4*cap(t.speltFrom) + 4*cap(t.speltIDs)
}

// first returns the ids of the rows that are equal to a text but for case, where other rows of its folded text are not.
func (t *namedTable) first(text string) []uint32 {
	if s := t.spelt.find(text, false); s.to > s.from {
		return t.speltIDs[t.speltFrom[s.from]:t.speltFrom[s.to]]
	}
	return nil
}

// orderedTexts are different texts in the order of their bytes.
type orderedTexts struct {
	text []byte // one after the other
	ends []uint32
}

func (t *orderedTexts) size() int { return cap(t.text) + 4*cap(t.ends) }

// add adds a text; false where it comes before the last one, or does not fit. The last one again is not added.
func (t *orderedTexts) add(text []byte) (added, ok bool) {
	if n := len(t.ends); n > 0 {
		if order := bytes.Compare(text, t.at(n-1)); order <= 0 {
			return false, order == 0
		}
	}
	if len(t.text)+len(text) > math.MaxInt32 {
		return false, false
	}
	t.text = append(t.text, text...)
	t.ends = append(t.ends, uint32(len(t.text)))
	return true, true
}

func (t *orderedTexts) at(i int) []byte {
	if i == 0 {
		return t.text[:t.ends[0]]
	}
	return t.text[t.ends[i-1]:t.ends[i]]
}

// clipped is the same without the room that it grew into.
func (t *orderedTexts) clipped() orderedTexts {
	return orderedTexts{slices.Clone(t.text), slices.Clone(t.ends)}
}

// find returns the text, which may not be there, and with begins those that begin with it.
func (t *orderedTexts) find(text string, begins bool) span {
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
	exact     string // what comes first, if anything does, is equal to but for case
}

// namedPart returns it; false where the question asks for anything else.
func (qu *question) namedPart() (namedPart, bool) {
	if !qu.named.looked {
		qu.named.part, qu.named.is = qu.findNamed()
		qu.named.looked = true
	}
	return qu.named.part, qu.named.is
}

// knownName is what namedPart found.
type knownName struct {
	part       namedPart
	looked, is bool
}

func (qu *question) findNamed() (p namedPart, ok bool) {
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
	if p.field == nil || p.field.Search.Norm == "" || p.field.Search.Exact == "" {
		return p, false
	}
	p.exact, ok = qu.firstOf(property, p)
	return p, ok
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

// firstOf returns what rows that come first, if any do, are equal to but for case; false where that is not the same name.
func (qu *question) firstOf(property string, p namedPart) (exact string, ok bool) {
	if qu.q.First == nil {
		return "", true
	}
	x := only(qu.q.First)
	if rel, related := x.(cql2.Related); related {
		is, same := only(qu.q.Filter).(cql2.Related)
		if !same || is.Relation != rel.Relation {
			return "", false
		}
		x = only(rel.X)
	} else if p.src != qu.l.source {
		return "", false
	}
	e, ok := x.(cql2.Compare)
	if !ok || e.Op != cql2.Eq {
		return "", false
	}
	of, ok := foldedBy("exact", e.L)
	text, isText := e.R.(cql2.Text)
	return string(text), ok && isText && of == property && cql2.Norm(string(text)) == p.text
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
	qu.namedPage(t, part, p)
	return true, ctx.Err()
}

// namedPage fills the page with the rows of texts. Where First is the name itself and the text is spelt in one way, it holds for all rows or for none, so that they keep their order.
func (qu *question) namedPage(t *namedTable, part namedPart, p *store.Page) {
	rows := t.rowsOf(part)
	g := qu.gather(len(rows))
	for _, r := range rows {
		if !g.add(numbered{int64(r.order), int64(r.id)}) {
			break
		}
	}
	g.end()
	var is func(int64) bool
	if qu.q.First != nil && !g.more {
		if first := t.first(part.exact); len(first) > 0 {
			is = func(id int64) bool { _, found := slices.BinarySearch(first, uint32(id)); return found }
		}
	}
	qu.numberedPage(&g, is, p)
	if g.more {
		p.Next = qu.beyond(p.Rows[0].ID)
	}
}

// rowsOf are the rows that a part asks for, some perhaps more than once.
func (t *namedTable) rowsOf(part namedPart) []namedRow {
	s := t.find(part.text, part.begins)
	return t.rows[t.from[s.from]:t.from[s.to]]
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
	t.orderedTexts, t.from, t.rows = t.orderedTexts.clipped(), slices.Clone(t.from), slices.Clone(t.rows) // without the room that they grew into
	t.spelt, t.speltFrom, t.speltIDs = t.spelt.clipped(), slices.Clone(t.speltFrom), slices.Clone(t.speltIDs)
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
		if row.Kind(0) != kindText || row.Kind(1) != kindInt || row.Kind(2) != kindInt || id != int64(uint32(id)) || order != int64(uint32(order)) {
			return errNoRoom
		}
		text = row.Bytes(0, text)
		added, ok := t.add(text)
		if !ok {
			return errNoRoom
		}
		if added {
			t.from = append(t.from, uint32(len(t.rows)))
		}
		t.rows = append(t.rows, namedRow{uint32(id), uint32(order)})
		return m.wanted(len(t.rows))
	})
	t.from = append(t.from, uint32(len(t.rows)))
	return err
}

// spelt reads the spellings in order, and notes those of texts that have several. Each text must have as many rows as all its spellings.
func (m *namedMaker) spelt(c *conn) error {
	t, exact := m.t, quote(m.part.field.Search.Exact)
	left := make([]uint32, len(t.ends))
	for i := range left {
		left[i] = t.from[i+1] - t.from[i]
	}
	var text, next []byte
	var ids []uint32 // of the rows that are spelt as text
	n := 0
	err := c.query("SELECT "+exact+", "+quote(m.part.id)+" FROM "+m.part.src.Table+" ORDER BY "+exact, nil, func(row row) error {
		id := row.Int(1)
		if row.Kind(0) != kindText || row.Kind(1) != kindInt || id != int64(uint32(id)) {
			return errNoRoom
		}
		if next = row.Bytes(0, next); len(ids) > 0 && !bytes.Equal(text, next) {
			if err := m.spellingOf(string(text), ids, left); err != nil {
				return err
			}
			ids = ids[:0]
		}
		text, next = next, text
		ids = append(ids, uint32(id))
		n++
		return m.wanted(n)
	})
	if err == nil && len(ids) > 0 {
		err = m.spellingOf(string(text), ids, left)
	}
	if err == nil && slices.ContainsFunc(left, func(n uint32) bool { return n > 0 }) {
		return errNoRoom
	}
	t.speltFrom = append(t.speltFrom, uint32(len(t.speltIDs)))
	return err
}

// spellingOf takes the rows of one spelling from those that are left of its text, and notes them unless they are all of that.
func (m *namedMaker) spellingOf(text string, ids, left []uint32) error {
	t := m.t
	s := t.find(cql2.Norm(text), false)
	if s.to == s.from || left[s.from] < uint32(len(ids)) {
		return errNoRoom
	}
	left[s.from] -= uint32(len(ids))
	if len(ids) == int(t.from[s.to]-t.from[s.from]) {
		return nil
	}
	if added, ok := t.spelt.add([]byte(text)); !added || !ok { // another order than that of bytes
		return errNoRoom
	}
	t.speltFrom = append(t.speltFrom, uint32(len(t.speltIDs)))
	at := len(t.speltIDs)
	t.speltIDs = append(t.speltIDs, ids...)
	slices.Sort(t.speltIDs[at:])
	return nil
}
