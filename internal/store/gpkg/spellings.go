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

// like adds the texts that are like a pattern.
func (t *spellings) like(s textSet, e cql2.Like) {
	pattern, _ := sqlq.PatternText(e.Pattern)
	p, _ := sqlq.SplitPattern(pattern)
	match := cql2.LikeFolded("", pattern)
	if n := len(p.Tokens); n == 3 && p.Tokens[0].Wild == '%' && p.Tokens[1].Text != "" && p.Tokens[2].Wild == '%' {
		match = func(text string) bool { return strings.Contains(text, p.Longest) }
	}
	from, to := 0, len(t.ends)
	if p.Prefix != "" {
		from = sort.Search(to, func(i int) bool { return t.at(i) >= p.Prefix })
		to = from + sort.Search(to-from, func(i int) bool { return !strings.HasPrefix(t.at(from+i), p.Prefix) })
	}
	want := pairsOf(p.Longest)
	for i := from; i < to; i++ {
		if i&(1<<16-1) == 0 { // half a millisecond, or some where each text is looked at
			runtime.Gosched()
		}
		if t.pairs[i]&want == want && match(t.at(i)) {
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
		return part, true
	}
	return part, false
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
	found := t.find(part.x)
	rows, ok, err := t.all(found, qu.q.Limit), true, error(nil)
	if len(part.others) > 0 {
		rows, ok, err = qu.spelledAmong(c, t, found, part)
	}
	if err != nil || !ok {
		return false, err
	}
	if qu.q.Texts != "" {
		qu.spelledTexts(t, rows, p)
		return true, ctx.Err()
	}
	var first idSet
	if qu.q.First != nil {
		if first, ok, err = qu.firsts(c, qu.q); err != nil || !ok {
			return false, err
		}
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

// all returns the rows with one of the texts; no more than show that most different ids have one.
func (t *spellings) all(found textSet, most int) (rows []spelled) {
	ids, last := 0, int64(math.MinInt64)
	for i, x := range t.rows {
		if i&(1<<18-1) == 0 { // half a millisecond
			runtime.Gosched()
		}
		if !found.has(int(x.text)) {
			continue
		}
		if x.id != last {
			if ids, last = ids+1, x.id; ids > most+1 {
				break
			}
		}
		rows = append(rows, x)
	}
	return rows
}

// spelledAmong returns the rows with one of the texts whose ids fulfil the rest of the filter; false where the texts leave fewer rows than that.
func (qu *question) spelledAmong(c *conn, t *spellings, found textSet, part spelledPart) (rows []spelled, ok bool, err error) {
	paths := sqlq.AccessPaths(qu.l.source, alias, part.others)
	if len(paths) == 0 || paths[0].Probe.IsEmpty() { // no index serves it
		return nil, false, nil
	}
	d, err := cheapest(c, paths)
	if err != nil {
		return nil, false, err
	}
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
	sql, args := qu.idsBy(d)
	err = c.query(sql, args, func(r row) error {
		id := r.Int(0)
		at, _ := slices.BinarySearchFunc(t.rows, id, func(x spelled, id int64) int { return cmp.Compare(x.id, id) })
		for ; at < len(t.rows) && t.rows[at].id == id; at++ {
			if found.has(int(t.rows[at].text)) {
				rows = append(rows, t.rows[at])
			}
		}
		return nil
	})
	return rows, true, err
}

// spelledTexts fills the page with the texts of rows, whose ids may come more than once.
func (qu *question) spelledTexts(t *spellings, rows []spelled, p *store.Page) {
	slices.SortFunc(rows, func(a, b spelled) int { return cmp.Compare(a.id, b.id) })
	rows = slices.CompactFunc(rows, func(a, b spelled) bool { return a.id == b.id })
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
