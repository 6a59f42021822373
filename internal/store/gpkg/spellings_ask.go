package gpkg

import (
	"cmp"
	"context"
	"iter"
	"math"
	"slices"
	"strings"

	"grense/internal/cql2"
	"grense/internal/store"
	"grense/internal/store/gpkg/sqlite"
	"grense/internal/store/sqlq"
)

// spelledPart is the part of a filter that a spellings index answers, and the table that it is for.
type spelledPart struct {
	x      cql2.Expr // isSpelled
	others cql2.And  // rest of the filter
	table  string    // quoted
	norm   string    // unquoted columns: the folded text, the id, the order ("": none)
	id     string
	order  string
	shared bool // id is not the layer's, but that of what the rest of the filter (a relation) belongs to
}

// name returns the name of the index.
func (part *spelledPart) name() string {
	return strings.Join([]string{part.table, part.norm, part.id, part.order}, "\x00")
}

// spelledPart returns the part of the filter that spellings answer; false if there is none or an ordered index serves
// it.
func (qu *query) spelledPart() (part spelledPart, ok bool) {
	if qu.l.text || qu.all.Texts == "" && !qu.counts() {
		return part, false
	}
	var list cql2.And
	if list, ok = qu.q.Filter.(cql2.And); !ok {
		list = cql2.And{qu.q.Filter}
	}
	by := ""
	if qu.all.Texts == "" {
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
			if qu.all.Texts != "" || r == nil || sqlite.Quote(r.Key) != qu.l.key || r.Order != by {
				continue
			}
			src, x, part.id = &r.Source, rel.X, r.Owner
		}
		f := spelledField(src, x)
		if f == nil || f.Search.Norm == "" || qu.all.Texts != "" && src.Fields[qu.all.Texts] != f || led(f, x) {
			continue
		}
		part.x, part.table, part.norm = x, src.Table, f.Search.Norm
		part.others = append(list[:i:i], list[i+1:]...)
		if qu.all.Texts != "" {
			qu.shareTexts(&part)
		}
		return part, true
	}
	return part, false
}

// shareTexts makes part use the index that already serves a relation of another layer to this one, if the rest of the
// filter is a relation of the same owner, or empty.
func (qu *query) shareTexts(part *spelledPart) {
	key := ""
	if len(part.others) == 1 {
		if rel, ok := part.others[0].(cql2.Related); ok && qu.l.source.Relations[rel.Relation] != nil {
			key = qu.l.source.Relations[rel.Relation].Key
		}
	}
	if len(part.others) > 0 && (key == "" || sqlite.Quote(key) == qu.l.key) {
		return
	}
	own := part.id
	for _, l := range qu.rev.layers {
		for _, r := range l.source.Relations {
			if r.Table == part.table && r.Order != "" &&
				(r.Owner == key || key == "" && (part.id == own || r.Owner < part.id)) {
				part.id, part.order, part.shared = r.Owner, r.Order, true
			}
		}
	}
}

func unquoted(name string) string {
	return strings.ReplaceAll(strings.TrimSuffix(strings.TrimPrefix(name, `"`), `"`), `""`, `"`)
}

// spelledField returns the property if a condition only tests its folded text by patterns; else nil.
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

// led reports whether an ordered index serves a condition: a pattern has a prefix, or has a suffix and there is an
// index of reversed texts.
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

// isSpelled reports whether the strategy may apply.
func (qu *query) isSpelled() bool {
	if !qu.isAllOrNothing() {
		return false
	}
	_, ok := qu.spelledPart()
	return ok
}

// bySpellings answers the query from texts in memory. It returns false if the index is not built, or if the rest of the
// filter leaves fewer rows.
func (qu *query) bySpellings(ctx context.Context, c *sqlite.Conn, p *store.Page) (bool, error) {
	part, _ := qu.spelledPart()
	t := qu.rev.spellings(qu.l, part)
	if t == nil {
		return false, nil
	}
	if same, err := c.Unchanged(); err != nil || !same {
		return false, err
	}
	return qu.spelledPage(ctx, c, t, p)
}

// spelledPage is bySpellings with an index.
func (qu *query) spelledPage(ctx context.Context, c *sqlite.Conn, t *spellings, p *store.Page) (bool, error) {
	part, _ := qu.spelledPart()
	rows, ok, err := qu.spelledRows(c, t, part)
	if err != nil || !ok {
		return false, err
	}
	if qu.all.Texts != "" {
		qu.spelledTexts(t, part, rows)
		return true, ctx.Err()
	}
	numbers := func(fn func(numbered) error) (err error) {
		rows(func(row uint32) bool {
			err = fn(numbered{int64(t.rows[row].order), t.id(row)})
			return err == nil
		})
		return sqlite.Enough(err)
	}
	err = qu.allNumbers(numbers, p)
	return true, cmp.Or(err, ctx.Err())
}

// spelledFew: if the rest of a filter leaves fewer rows than one in this many, they are read before the texts.
const spelledFew = 32

// spelledRows returns the rows that match a part; false if the rest of the filter leaves fewer rows than the texts do.
func (qu *query) spelledRows(c *sqlite.Conn, t *spellings, part spelledPart) (rows iter.Seq[uint32], ok bool,
	err error) {
	if len(part.others) == 0 {
		return func(yield func(uint32) bool) { t.eachRow(part.x, yield) }, true, nil
	}
	paths := sqlq.AccessPaths(qu.l.source, alias, part.others)
	if len(paths) == 0 || paths[0].Probe.IsEmpty() { // no index serves the rest
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
		others := t.of(ids)
		slices.Sort(others)
		return t.among(others, t.test(part.x)), true, nil
	}
	return qu.spelledAmongMany(c, t, part, d)
}

// spelledAmongMany is spelledRows if the rest of the filter leaves many rows by an access path.
func (qu *query) spelledAmongMany(c *sqlite.Conn, t *spellings, part spelledPart,
	d sqlq.AccessPath) (rows iter.Seq[uint32], ok bool, err error) {
	found, n := t.find(part.x), int64(0)
	t.eachRow(part.x, func(uint32) bool { n++; return true })
	if !d.Few {
		sql, args := sqlq.New(sqlq.Steady{}).Text("SELECT count(*) FROM (SELECT 1").Add(d.Probe).Text(" LIMIT ").Arg(n).
			Text(")").SQL()
		others, err := c.One(sql, args...)
		if err != nil || others >= n {
			return nil, false, err
		}
	}
	ids, _, err := qu.spelledIDs(c, d, part, math.MaxInt)
	if err != nil {
		return nil, false, err
	}
	return t.among(t.of(ids), found.has), true, nil
}

// spelledIDs returns the sorted, distinct ids of an access path for a part. more means that there are more than most.
func (qu *query) spelledIDs(c *sqlite.Conn, d sqlq.AccessPath, part spelledPart,
	most int) (ids []int64, more bool, err error) {
	sql, args := "", []any(nil)
	if !part.shared {
		sql, args = qu.idsBy(d)
	} else {
		sql, args = sqlq.New(sqlq.Steady{}).Text("SELECT ", d.Owner).Add(d.Probe).SQL()
	}
	err = sqlite.Enough(c.Query(sql, args, func(r sqlite.Row) error {
		if more = len(ids) > most; more {
			return sqlite.ErrEnough
		}
		if r.Kind(0) == sqlite.KindInt { // no row has another type
			ids = append(ids, r.Int(0))
		}
		return nil
	}))
	slices.Sort(ids)
	return slices.Compact(ids), more, err
}

// spelledTexts sets the texts of rows as the result.
func (qu *query) spelledTexts(t *spellings, part spelledPart, rows iter.Seq[uint32]) {
	n, texts := 0, []uint32(nil)
	if len(part.others) == 0 {
		t.each(part.x, func(i int) bool {
			texts, n = append(texts, uint32(i)), n+int(t.from[i+1]-t.from[i])
			return n <= qu.q.Limit
		})
	} else {
		seen := make(textSet, len(t.ends)/64+1)
		for row := range rows {
			if i := t.textOf(row); !seen.has(i) {
				seen.add(i)
				texts = append(texts, uint32(i))
			}
			if n++; n > qu.q.Limit {
				break
			}
		}
	}
	if qu.more = n > qu.q.Limit; !qu.more {
		qu.texts = t.copied(texts)
	}
}

// spellings returns the index for a part of a filter. If it is not built, it returns nil and starts building it.
func (r *revision) spellings(l *layer, part spelledPart) *spellings {
	if l.Count < typeAheadFrom {
		return nil
	}
	return tableOf[*spellings](r, r.memory.typeAhead, part.name(), func() error { return r.makeSpellings(part) })
}
