package gpkg

import (
	"cmp"
	"context"
	"iter"
	"math"
	"slices"

	"grense/internal/cql2"
	"grense/internal/store"
	"grense/internal/store/gpkg/layer"
	"grense/internal/store/gpkg/lexicon"
	"grense/internal/store/gpkg/sqlite"
	"grense/internal/store/sqlq"
)

// spelledPart is the part of a filter that a spellings index answers, and the table that it is for.
type spelledPart struct {
	x      cql2.Expr // isSpelled
	others cql2.And  // rest of the filter
	lexicon.Table
	shared bool // id is not the layer's, but that of what the rest of the filter (a relation) belongs to
}

// spelledPart returns the part of the filter that spellings answer; false if there is none or an ordered index serves
// it.
func (qu *query) spelledPart() (part spelledPart, ok bool) {
	if qu.l.TextID || qu.all.Texts == "" && !qu.counts() {
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
		src := qu.l.SQL
		part.ID, part.Order = sqlite.Unquote(qu.l.IDColumn), ""
		if by != "" {
			part.Order = src.Fields[by].Column
		}
		if rel, isRelated := x.(cql2.Related); isRelated {
			r := src.Relations[rel.Relation]
			if qu.all.Texts != "" || r == nil || sqlite.Quote(r.Key) != qu.l.IDColumn || r.Order != by {
				continue
			}
			src, x, part.ID = &r.Source, rel.X, r.Owner
		}
		f := lexicon.FieldOf(src, x)
		if f == nil || f.Search.Norm == "" || qu.all.Texts != "" && src.Fields[qu.all.Texts] != f ||
			lexicon.IsLed(f, x) {
			continue
		}
		part.x, part.Name, part.Norm = x, src.Table, f.Search.Norm
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
		if rel, ok := part.others[0].(cql2.Related); ok && qu.l.SQL.Relations[rel.Relation] != nil {
			key = qu.l.SQL.Relations[rel.Relation].Key
		}
	}
	if len(part.others) > 0 && (key == "" || sqlite.Quote(key) == qu.l.IDColumn) {
		return
	}
	own := part.ID
	for _, l := range qu.rev.layers {
		for _, r := range l.SQL.Relations {
			if r.Table == part.Name && r.Order != "" &&
				(r.Owner == key || key == "" && (part.ID == own || r.Owner < part.ID)) {
				part.ID, part.Order, part.shared = r.Owner, r.Order, true
			}
		}
	}
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
func (qu *query) spelledPage(ctx context.Context, c *sqlite.Conn, t *lexicon.Spellings, p *store.Page) (bool, error) {
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
			err = fn(numbered{t.Order(row), t.ID(row)})
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
func (qu *query) spelledRows(c *sqlite.Conn, t *lexicon.Spellings, part spelledPart) (rows iter.Seq[uint32], ok bool,
	err error) {
	if len(part.others) == 0 {
		return func(yield func(uint32) bool) { t.EachRow(part.x, yield) }, true, nil
	}
	paths := sqlq.AccessPaths(qu.l.SQL, layer.Alias, part.others)
	if len(paths) == 0 || paths[0].Probe.IsEmpty() { // no index serves the rest
		return nil, false, nil
	}
	d, err := cheapest(c, paths)
	if err != nil {
		return nil, false, err
	}
	ids, more, err := qu.spelledIDs(c, d, part, t.Len()/spelledFew)
	if err != nil {
		return nil, false, err
	}
	if !more {
		others := t.Of(ids)
		slices.Sort(others)
		return t.Among(others, t.Test(part.x)), true, nil
	}
	return qu.spelledAmongMany(c, t, part, d)
}

// spelledAmongMany is spelledRows if the rest of the filter leaves many rows by an access path.
func (qu *query) spelledAmongMany(c *sqlite.Conn, t *lexicon.Spellings, part spelledPart,
	d sqlq.AccessPath) (rows iter.Seq[uint32], ok bool, err error) {
	found, n := t.Find(part.x), int64(0)
	t.EachRow(part.x, func(uint32) bool { n++; return true })
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
	return t.Among(t.Of(ids), found.Has), true, nil
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
func (qu *query) spelledTexts(t *lexicon.Spellings, part spelledPart, rows iter.Seq[uint32]) {
	if len(part.others) == 0 {
		qu.texts, qu.more = t.TextsLike(part.x, qu.q.Limit)
	} else {
		qu.texts, qu.more = t.TextsOfRows(rows, qu.q.Limit)
	}
}

// spellings returns the index for a part of a filter. If it is not built, it returns nil and starts building it. The
// index must fit into Options.TypeAhead.
func (r *revision) spellings(l *layer.Layer, part spelledPart) *lexicon.Spellings {
	if l.Count < typeAheadFrom {
		return nil
	}
	return tableOf[*lexicon.Spellings](r, r.memory.typeAhead, part.Key(),
		func() error { return r.makeSpellings(part) })
}

// makeSpellings builds the index of a part and caches it.
func (r *revision) makeSpellings(part spelledPart) error {
	room := int(r.memory.typeAhead.Room())
	wanted := r.isWanted
	m := lexicon.NewBuilder(part.Table, room, wanted)
	err := r.use(context.Background(), func(c *sqlite.Conn) error {
		if same, err := c.Unchanged(); err != nil || !same {
			return errNoRoom
		}
		return m.Read(c)
	})
	if err != nil {
		return err
	}
	t, err := m.Finish()
	if err != nil {
		return err
	}
	return r.put(r.memory.typeAhead, part.Key(), t, t.Size())
}
