package gpkg

import (
	"bytes"
	"context"
	"runtime"
	"slices"
	"strings"

	"grense/internal/cql2"
	"grense/internal/store"
	"grense/internal/store/sqlq"
)

// foldedTexts is all texts of a property, their case folded, to look for a part of them: CASEI(navn) LIKE CASEI('%vik%'). SQLite calls a
// function for each row; here one pass over the bytes finds all. A table is made when it is first asked for, in the background,
// where it fits Options.TypeAhead with the others; until then SQLite answers. It is immutable.
type foldedTexts struct {
	text []byte   // the texts by id, each with a zero byte after it
	ends []uint32 // of each text in text, its zero byte
	ids  []int64
}

func (t *foldedTexts) size() int { return cap(t.text) + 4*cap(t.ends) + 8*cap(t.ids) }

// find returns the rows whose text holds the part, by id.
func (t *foldedTexts) find(part string) (rows []entry) {
	p := []byte(part)
	for at := 0; ; {
		i := bytes.Index(t.text[at:], p)
		if i < 0 {
			return rows
		}
		n, _ := slices.BinarySearch(t.ends, uint32(at+i))
		if rows = append(rows, entry{t.ids[n], cql2.True}); len(rows)%1024 == 0 { // 0.2 ms
			runtime.Gosched() // as query does
		}
		at = int(t.ends[n]) + 1
	}
}

// foldedPart takes CASEI(property) LIKE '%part%' apart, where the part is folded and has no wildcards.
func foldedPart(e cql2.Expr) (property, part string, ok bool) {
	like, ok := only(e).(cql2.Like)
	if !ok {
		return "", "", false
	}
	f, ok := like.X.(cql2.Func)
	if !ok || f.Name != "casei" || len(f.Args) != 1 {
		return "", "", false
	}
	p, ok := f.Args[0].(cql2.Prop)
	if !ok {
		return "", "", false
	}
	pattern, ok := sqlq.PatternText(like.Pattern)
	if !ok || len(pattern) < 3 || pattern[0] != '%' || pattern[len(pattern)-1] != '%' {
		return "", "", false
	}
	part = pattern[1 : len(pattern)-1]
	return p.Name, part, !strings.ContainsAny(part, "%_\\\x00")
}

// isFoldedPart reports whether a question asks for a part of a text alone, in the order by id.
func (qu *question) isFoldedPart() bool {
	return qu.l.keyed && len(qu.keys) == 1 && qu.foldedField() != nil
}

// foldedField returns the property of which a part is asked for; nil when the filter is another.
func (qu *question) foldedField() *sqlq.Field {
	property, _, ok := foldedPart(qu.q.Filter)
	if f := qu.l.source.Fields[property]; ok && f != nil && f.Type == cql2.TypeText && f.IsColumn() {
		return f
	}
	return nil
}

// byFoldedPart answers from the texts in memory; false where there is no table of them.
func (qu *question) byFoldedPart(ctx context.Context, c *conn, p *store.Page) (bool, error) {
	t := qu.rev.folded(qu.l, qu.foldedField())
	if t == nil {
		return false, nil
	}
	if same, err := c.unchanged(); err != nil || !same {
		return false, err
	}
	_, part, _ := foldedPart(qu.q.Filter)
	rows := &candidates{c: c, l: qu.l, rows: t.find(part)}
	err := rows.page(ctx, qu, p)
	return err == nil, err
}

// hasFolded reports whether the table of a property is there.
func (r *revision) hasFolded(l *layer, f *sqlq.Field) bool {
	_, ok := r.typeAhead.tables.Get(tableKey{r.rev, foldedName(l, f)})
	return ok
}

func foldedName(l *layer, f *sqlq.Field) string { return l.ID + "\x00" + f.Column }

// folded returns the table of a property; nil where there is none yet, and then it is begun.
func (r *revision) folded(l *layer, f *sqlq.Field) *foldedTexts {
	if l.Count < typeAheadFrom {
		return nil
	}
	return begin(r, foldedName(l, f), func(room int) (*foldedTexts, error) { return r.makeFolded(l, f, room) })
}

// makeFolded reads the texts of a property; errNoRoom when they do not fit, or the revision is no longer wanted.
func (r *revision) makeFolded(l *layer, f *sqlq.Field, room int) (*foldedTexts, error) {
	t := &foldedTexts{}
	err := r.use(context.Background(), func(c *conn) error {
		if same, err := c.unchanged(); err != nil || !same {
			return errNoRoom
		}
		table := l.source.Table
		if l.narrow != "" {
			table = l.narrow
		}
		id, column := l.idExpr(alias), sqlq.Column(sqlq.SQLite{}, alias, f)
		n := 0
		return c.query("SELECT "+id+", "+column+" FROM "+table+" AS "+alias+" ORDER BY "+id, nil, func(row row) error {
			if n++; n&4095 == 0 && (r.refs.Load() <= 1 || t.size() > room || len(t.text) > 1<<31) {
				return errNoRoom
			}
			if row.Kind(1) != kindText {
				if row.Kind(1) == kindNull {
					return nil
				}
				return errNoRoom
			}
			text, _ := cql2.Fold("casei", row.Text(1))
			t.text = append(append(t.text, text...), 0)
			t.ends, t.ids = append(t.ends, uint32(len(t.text)-1)), append(t.ids, row.Int(0))
			return nil
		})
	})
	t.text, t.ends, t.ids = slices.Clip(t.text), slices.Clip(t.ends), slices.Clip(t.ids)
	return t, err
}
