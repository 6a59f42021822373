package gpkg

import (
	"bytes"
	"cmp"
	"context"
	"math"
	"runtime"
	"slices"
	"sort"
	"strings"

	"grense/internal/cql2"
	"grense/internal/store"
	"grense/internal/store/sqlq"
)

// spellings is the distinct folded texts of a property, in order, and the rows that have them: those of a relation by what they belong to, or
// those of the layer itself. Patterns that no ordered index serves are looked for among the texts, which are far fewer than the rows. A table
// is made when it is first asked for, in the background, where it fits Options.TypeAhead with the others; until then SQLite answers. It is
// immutable.
type spellings struct {
	text  string   // the texts, one after the other
	ends  []uint32 // of each text in text
	pairs []uint64 // of each text, pairsOf it
	rows  []spelled
}

// spelled is a row: the id that it belongs to, its place in the order, and its text. Rows are sorted by id.
type spelled struct {
	id    int64
	order int32
	text  uint32
}

func (t *spellings) size() int {
	return len(t.text) + 4*cap(t.ends) + 8*cap(t.pairs) + 16*cap(t.rows)
}

func (t *spellings) at(i int) string {
	start := uint32(0)
	if i > 0 {
		start = t.ends[i-1]
	}
	return t.text[start:t.ends[i]]
}

// pairsOf has a bit for each two bytes of a text that follow each other. A text has all bits of its parts.
func pairsOf(s string) (bits uint64) {
	for i := 1; i < len(s); i++ {
		bits |= 1 << ((uint32(s[i-1])<<8 | uint32(s[i])) * 0x9E3779B1 >> 26)
	}
	return bits
}

// textSet is a set of texts, by number.
type textSet []uint64

func (s textSet) add(i int)      { s[i>>6] |= 1 << (i & 63) }
func (s textSet) has(i int) bool { return s[i>>6]>>(i&63)&1 != 0 }

// find returns the texts for which a condition holds that isSpelled takes.
func (t *spellings) find(e cql2.Expr) textSet {
	s := make(textSet, len(t.ends)/64+1)
	join := func(list []cql2.Expr, f func(a, b uint64) uint64) {
		for i, x := range list {
			for j, bits := range t.find(x) {
				if i > 0 {
					bits = f(s[j], bits)
				}
				s[j] = bits
			}
		}
	}
	switch e := e.(type) {
	case cql2.And:
		join(e, func(a, b uint64) uint64 { return a & b })
	case cql2.Or:
		join(e, func(a, b uint64) uint64 { return a | b })
	case cql2.Not:
		for j, bits := range t.find(e.X) {
			s[j] = ^bits
		}
	case cql2.Like:
		t.like(s, e)
	}
	return s
}

// spelledPattern is a pattern of LIKE: matches have the pairs that it wants.
type spelledPattern struct {
	sqlq.Pattern
	want  uint64
	match func(text string) bool
}

func newSpelledPattern(e cql2.Like) (p spelledPattern) {
	pattern, _ := sqlq.PatternText(e.Pattern)
	p.Pattern, _ = sqlq.SplitPattern(pattern)
	p.want, p.match = pairsOf(p.Longest), cql2.LikeFolded("", pattern)
	if n := len(p.Tokens); n == 3 && p.Tokens[0].Wild == '%' && p.Tokens[1].Text != "" && p.Tokens[2].Wild == '%' {
		p.match = func(text string) bool { return strings.Contains(text, p.Longest) }
	}
	return p
}

// test returns whether a condition that isSpelled takes holds for a text, by number: for few texts it takes less time than find.
func (t *spellings) test(e cql2.Expr) func(i int) bool {
	tests := func(list []cql2.Expr) (out []func(int) bool) {
		for _, x := range list {
			out = append(out, t.test(x))
		}
		return out
	}
	switch e := e.(type) {
	case cql2.And:
		all := tests(e)
		return func(i int) bool { return !slices.ContainsFunc(all, func(f func(int) bool) bool { return !f(i) }) }
	case cql2.Or:
		some := tests(e)
		return func(i int) bool { return slices.ContainsFunc(some, func(f func(int) bool) bool { return f(i) }) }
	case cql2.Not:
		x := t.test(e.X)
		return func(i int) bool { return !x(i) }
	case cql2.Like:
		p := newSpelledPattern(e)
		return func(i int) bool { return t.pairs[i]&p.want == p.want && p.match(t.at(i)) }
	}
	return func(int) bool { return false }
}

// like adds the texts that are like a pattern.
func (t *spellings) like(s textSet, e cql2.Like) {
	p := newSpelledPattern(e)
	from, to := 0, len(t.ends)
	if p.Prefix != "" {
		from = sort.Search(to, func(i int) bool { return t.at(i) >= p.Prefix })
		to = from + sort.Search(to-from, func(i int) bool { return !strings.HasPrefix(t.at(from+i), p.Prefix) })
	}
	for i := from; i < to; i++ {
		if i&(1<<16-1) == 0 { // half a millisecond, or some where each text is looked at
			runtime.Gosched()
		}
		if t.pairs[i]&p.want == p.want && p.match(t.at(i)) {
			s.add(i)
		}
	}
}

// spelledPart is the part of a filter that spellings answer, and what they are of.
type spelledPart struct {
	x      cql2.Expr // isSpelled
	others cql2.And  // the rest of the filter
	table  string    // quoted
	norm   string    // columns, not quoted: the folded text, the id, the order ("": none)
	id     string
	order  string
	shared bool // id is not that of the layer, but what the rest of the filter, a relation, belongs to
}

// spelledPart returns the part of the filter that spellings answer; false where an ordered index serves it as well, or there is none.
func (qu *question) spelledPart() (part spelledPart, ok bool) {
	if qu.l.text || qu.q.Texts == "" && !qu.counts(qu.q) {
		return part, false
	}
	var list cql2.And
	if list, ok = qu.q.Filter.(cql2.And); !ok {
		list = cql2.And{qu.q.Filter}
	}
	by := ""
	if qu.q.Texts == "" {
		by = qu.q.SortBy[0].Property
	}
	for i, x := range list {
		src := qu.l.source
		part.id, part.order = unquoted(qu.l.key), ""
		if by != "" {
			part.order = src.Fields[by].Column
		}
		if rel, isRelated := x.(cql2.Related); isRelated {
			r := src.Relations[rel.Relation]
			if qu.q.Texts != "" || r == nil || quote(r.Key) != qu.l.key || r.Order != by {
				continue
			}
			src, x, part.id = &r.Source, rel.X, r.Owner
		}
		f := spelledField(src, x)
		if f == nil || f.Search.Norm == "" || led(f, x) || qu.q.Texts != "" && src.Fields[qu.q.Texts] != f {
			continue
		}
		part.x, part.table, part.norm = x, src.Table, f.Search.Norm
		part.others = append(list[:i:i], list[i+1:]...)
		if qu.q.Texts != "" {
			qu.shareTexts(&part)
		}
		return part, true
	}
	return part, false
}

// shareTexts lets texts be looked for in the table that serves a relation of another layer to this one, by what the spellings belong to, where the
// rest of the filter is a relation of that, too, or nothing.
func (qu *question) shareTexts(part *spelledPart) {
	key := ""
	if len(part.others) == 1 {
		if rel, ok := part.others[0].(cql2.Related); ok && qu.l.source.Relations[rel.Relation] != nil {
			key = qu.l.source.Relations[rel.Relation].Key
		}
	}
	if len(part.others) > 0 && (key == "" || quote(key) == qu.l.key) {
		return
	}
	own := part.id
	for _, l := range qu.rev.layers {
		for _, r := range l.source.Relations {
			if r.Table == part.table && r.Order != "" && (r.Owner == key || key == "" && (part.id == own || r.Owner < part.id)) {
				part.id, part.order, part.shared = r.Owner, r.Order, true
			}
		}
	}
}

func unquoted(name string) string {
	return strings.ReplaceAll(strings.TrimSuffix(strings.TrimPrefix(name, `"`), `"`), `""`, `"`)
}

// spelledField returns the property whose folded text alone a condition asks for, by patterns; nil for others.
func spelledField(src *sqlq.Source, e cql2.Expr) *sqlq.Field {
	switch e := e.(type) {
	case cql2.And:
		return spelledIn(src, e)
	case cql2.Or:
		return spelledIn(src, e)
	case cql2.Not:
		return spelledField(src, e.X)
	case cql2.Like:
		f, ok := e.X.(cql2.Func)
		if !ok || f.Name != "norm" || len(f.Args) != 1 {
			return nil
		}
		p, ok := f.Args[0].(cql2.Prop)
		pattern, isText := sqlq.PatternText(e.Pattern)
		if _, valid := sqlq.SplitPattern(pattern); !ok || !isText || !valid {
			return nil
		}
		return src.Fields[p.Name]
	}
	return nil
}

func spelledIn(src *sqlq.Source, list []cql2.Expr) (f *sqlq.Field) {
	for i, x := range list {
		of := spelledField(src, x)
		if of == nil || i > 0 && of != f {
			return nil
		}
		f = of
	}
	return f
}

// led reports whether an ordered index serves a condition: a pattern that all matches have begins with a text, or ends with one where there
// is an index of the texts from behind.
func led(f *sqlq.Field, e cql2.Expr) bool {
	switch e := e.(type) {
	case cql2.And:
		return slices.ContainsFunc(e, func(x cql2.Expr) bool { return led(f, x) })
	case cql2.Or:
		return len(e) == 1 && led(f, e[0])
	case cql2.Like:
		pattern, _ := sqlq.PatternText(e.Pattern)
		p, _ := sqlq.SplitPattern(pattern)
		return p.Prefix != "" || p.Suffix != "" && f.Search.Rev != ""
	}
	return false
}

// isSpelled reports whether spellings may answer.
func (qu *question) isSpelled() bool {
	if !qu.q.AsOf.IsZero() || !qu.isAllOrNothing() {
		return false
	}
	_, ok := qu.spelledPart()
	return ok
}

// bySpellings answers from the texts in memory; false where there is no table of them, or the rest of the filter leaves fewer rows.
func (qu *question) bySpellings(ctx context.Context, c *conn, p *store.Page) (bool, error) {
	part, _ := qu.spelledPart()
	t := qu.rev.spellings(qu.l, part)
	if t == nil {
		return false, nil
	}
	if same, err := c.unchanged(); err != nil || !same {
		return false, err
	}
	rows, ok, err := []spelled(nil), true, error(nil)
	if len(part.others) > 0 {
		rows, ok, err = qu.spelledAmong(c, t, part)
	} else {
		rows = t.all(t.find(part.x), qu.q.Limit, qu.q.Texts != "")
	}
	if err != nil || !ok {
		return false, err
	}
	if qu.q.Texts != "" {
		qu.spelledTexts(t, rows, p)
		return true, ctx.Err()
	}
	first, ok := qu.firsts(c, qu.q)
	if !ok {
		return false, nil
	}
	numbers := func(fn func(numbered) error) (err error) {
		for i := 0; i < len(rows) && err == nil; i++ {
			err = fn(numbered{int64(rows[i].order), rows[i].id})
		}
		return enough(err)
	}
	more, err := qu.allNumbers(numbers, first, p)
	if more {
		p.Next = qu.beyond(p.Rows[0].ID)
	}
	return true, cmp.Or(err, ctx.Err())
}

// all returns the rows with one of the texts; no more than show that more than most different ids have one, or with each that there are more than most rows.
func (t *spellings) all(found textSet, most int, each bool) (rows []spelled) {
	ids, last := 0, int64(math.MinInt64)
	for i, x := range t.rows {
		if i&(1<<18-1) == 0 { // half a millisecond
			runtime.Gosched()
		}
		if !found.has(int(x.text)) {
			continue
		}
		if each || x.id != last {
			if ids, last = ids+1, x.id; ids > most+1 {
				break
			}
		}
		rows = append(rows, x)
	}
	return rows
}

// spelledFew is the part of all rows up to which those that the rest of a filter leaves are read before the texts are looked at.
const spelledFew = 32

// spelledAmong returns the rows with one of the texts whose ids fulfil the rest of the filter; false where the texts leave fewer rows than that.
func (qu *question) spelledAmong(c *conn, t *spellings, part spelledPart) (rows []spelled, ok bool, err error) {
	paths := sqlq.AccessPaths(qu.l.source, alias, part.others)
	if len(paths) == 0 || paths[0].Probe.IsEmpty() { // no index serves it
		return nil, false, nil
	}
	d, err := cheapest(c, paths)
	if err != nil {
		return nil, false, err
	}
	ids, more, err := qu.spelledIDs(c, d, part, len(t.rows)/spelledFew)
	if err != nil {
		return nil, false, err
	}
	if !more {
		return t.among(ids, t.test(part.x)), true, nil
	}
	found := t.find(part.x)
	n := int64(0)
	for _, x := range t.rows {
		if found.has(int(x.text)) {
			n++
		}
	}
	if !d.Few {
		sql, args := sqlq.New(sqlq.Steady{}).Text("SELECT count(*) FROM (SELECT 1").Add(d.Probe).Text(" LIMIT ").Arg(n).Text(")").SQL()
		others, err := c.one(sql, args...)
		if err != nil || others >= n {
			return nil, false, err
		}
	}
	if ids, _, err = qu.spelledIDs(c, d, part, math.MaxInt); err != nil {
		return nil, false, err
	}
	return t.among(ids, found.has), true, nil
}

// spelledIDs returns the ids, as a part has them, that an access path gives, in order and each once; more tells that it gives more than most.
func (qu *question) spelledIDs(c *conn, d sqlq.AccessPath, part spelledPart, most int) (ids []int64, more bool, err error) {
	sql, args := "", []any(nil)
	if !part.shared {
		sql, args = qu.idsBy(d)
	} else {
		sql, args = sqlq.New(sqlq.Steady{}).Text("SELECT ", d.Owner).Add(d.Probe).SQL()
	}
	err = enough(c.query(sql, args, func(r row) error {
		if more = len(ids) > most; more {
			return errEnough
		}
		if r.Kind(0) == kindInt { // no row has another
			ids = append(ids, r.Int(0))
		}
		return nil
	}))
	slices.Sort(ids)
	return slices.Compact(ids), more, err
}

// among returns the rows of ids, which are in order, for whose texts has holds.
func (t *spellings) among(ids []int64, has func(text int) bool) (rows []spelled) {
	at := 0
	for i, id := range ids {
		if i&(1<<10-1) == 0 { // half a millisecond at most
			runtime.Gosched()
		}
		step := 1
		for at+step < len(t.rows) && t.rows[at+step].id < id {
			at, step = at+step, 2*step
		}
		near := t.rows[at:min(at+step+1, len(t.rows))]
		n, _ := slices.BinarySearchFunc(near, id, func(x spelled, id int64) int { return cmp.Compare(x.id, id) })
		for at += n; at < len(t.rows) && t.rows[at].id == id; at++ {
			if has(int(t.rows[at].text)) {
				rows = append(rows, t.rows[at])
			}
		}
	}
	return rows
}

// spelledTexts fills the page with the texts of rows.
func (qu *question) spelledTexts(t *spellings, rows []spelled, p *store.Page) {
	p.Texts = []string{}
	if len(rows) > qu.q.Limit {
		p.Next = qu.beyond(qu.idOf(rows[0].id))
		return
	}
	seen := make(textSet, len(t.ends)/64+1)
	for _, x := range rows {
		if i := int(x.text); !seen.has(i) {
			seen.add(i)
			p.Texts = append(p.Texts, t.at(i))
		}
	}
}

// spellings returns the table for a part of a filter; nil where there is none yet, and then it is begun.
func (r *revision) spellings(l *layer, part spelledPart) *spellings {
	if l.Count < typeAheadFrom {
		return nil
	}
	name := strings.Join([]string{part.table, part.norm, part.id, part.order}, "\x00")
	return begin(r, name, func(room int) (*spellings, error) { return r.makeSpellings(part, room) })
}

// makeSpellings reads the texts of rows in order; errNoRoom when they do not fit, or the revision is no longer wanted.
func (r *revision) makeSpellings(part spelledPart, room int) (*spellings, error) {
	t := &spellings{}
	order := "0"
	if part.order != "" {
		order = quote(part.order)
	}
	from := " FROM " + part.table + " WHERE " + quote(part.norm) + " IS NOT NULL"
	sql := "SELECT " + quote(part.norm) + ", " + quote(part.id) + ", " + order + from + " ORDER BY " + quote(part.norm)
	err := r.use(context.Background(), func(c *conn) error {
		if same, err := c.unchanged(); err != nil || !same {
			return errNoRoom
		}
		all, err := c.one("SELECT count(*)" + from)
		if err != nil || all > int64(room/16) {
			return cmp.Or(err, errNoRoom)
		}
		t.rows = make([]spelled, 0, all)
		var text, last []byte
		var texts strings.Builder
		n := 0
		err = c.query(sql, nil, func(row row) error {
			if n++; n&4095 == 0 && (r.refs.Load() <= 1 || t.size()+texts.Cap() > room || texts.Len() > 1<<31) {
				return errNoRoom
			}
			at := row.Int(2)
			if row.Kind(0) != kindText || row.Kind(1) != kindInt || row.Kind(2) != kindInt || int64(int32(at)) != at {
				return errNoRoom
			}
			text = row.Bytes(0, text)
			if len(t.ends) == 0 || !bytes.Equal(text, last) {
				last = append(last[:0], text...)
				texts.Write(text)
				t.ends, t.pairs = append(t.ends, uint32(texts.Len())), append(t.pairs, pairsOf(string(text)))
			}
			t.rows = append(t.rows, spelled{row.Int(1), int32(at), uint32(len(t.ends) - 1)})
			return nil
		})
		t.text = texts.String()
		return err
	})
	if err != nil {
		return nil, err
	}
	t.ends, t.pairs = slices.Clone(t.ends), slices.Clone(t.pairs) // without the room that they grew into
	slices.SortFunc(t.rows, func(a, b spelled) int { return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(a.text, b.text)) })
	return t, nil
}
