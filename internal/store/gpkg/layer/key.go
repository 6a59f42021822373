package layer

import (
	"fmt"
	"strings"

	"grense/internal/cql2"
	"grense/internal/store"
	"grense/internal/store/gpkg/sqlite"
	"grense/internal/store/sqlq"
)

// Part is one of several columns that form the feature id.
type Part struct {
	Column  string
	Integer bool // all values are integers; otherwise texts
}

// expr returns the expression by which the part is read, compared and sorted.
func (p Part) expr(alias string) string {
	if p.Integer {
		return alias + "." + sqlite.Quote(p.Column)
	}
	return alias + "." + sqlite.Quote(p.Column) + " COLLATE BINARY"
}

// PartNames returns the columns of a key for messages.
func PartNames(parts []Part) string {
	names := make([]string, len(parts))
	for i, p := range parts {
		names[i] = p.Column
	}
	return strings.Join(names, ", ")
}

// printedExpr returns an SQL expression for the feature id of several parts, in the form of store.JoinID.
func printedExpr(parts []Part, alias string) string {
	list := make([]string, len(parts))
	for i, p := range parts {
		if list[i] = alias + "." + sqlite.Quote(p.Column); !p.Integer {
			list[i] = "replace(replace(" + list[i] + ", '~', '~0'), ';', '~1')"
		}
	}
	return "(" + strings.Join(list, " || ';' || ") + ") COLLATE BINARY"
}

// integers reports which parts of the feature id are integers.
func (l *Layer) integers() []bool {
	list := make([]bool, len(l.Parts))
	for i, p := range l.Parts {
		list[i] = p.Integer
	}
	return list
}

// IDKeys returns the keys of the order by id, one for each part.
func (l *Layer) IDKeys(alias string) []sqlq.Key {
	if l.Parts == nil {
		return []sqlq.Key{{Expr: sqlq.Ident(l.IDExpr(alias))}}
	}
	keys := make([]sqlq.Key, len(l.Parts))
	for i, p := range l.Parts {
		keys[i].Expr = sqlq.Ident(p.expr(alias))
	}
	return keys
}

// IDValues returns the values of IDKeys for a feature id; false if no feature can have the id.
func (l *Layer) IDValues(id string) ([]any, bool) {
	if l.Parts == nil {
		v, ok := l.IDValue(id)
		return []any{v}, ok
	}
	return store.SplitID(id, l.integers())
}

// AddID makes the feature id available in filters if no property repeats it.
func (l *Layer) AddID() {
	if !l.DeriveID() {
		return
	}
	f := &sqlq.Field{Column: l.Key.Column, Type: l.Key.Type}
	if l.Parts != nil {
		f.ID = &sqlq.ID{Text: l.IDExpr, Indexed: true, Is: func(alias, id string) (sqlq.Fragment, bool) {
			values, ok := l.IDValues(id)
			return sqlq.SQL("("+l.isID(alias)+")", values...), ok
		}}
	}
	l.SQL.Fields[store.IDName] = f
}

// OrderBy returns the sort keys for a property.
func (l *Layer) OrderBy(k store.Sort) ([]sqlq.Key, error) {
	f := l.SQL.Fields[k.Property]
	if f == nil || f.Type == cql2.TypeJSON || f.Path != nil {
		return nil, fmt.Errorf("gpkg: collection %q cannot be sorted by %q", l.ID, k.Property)
	}
	if f.ID != nil { // the order by id
		keys := l.IDKeys(Alias)
		for i := range keys {
			keys[i].Desc = k.Desc
		}
		return keys, nil
	}
	expr := sortExpr(f)
	if k.Norwegian && f.Type == cql2.TypeText {
		expr = "grense_nb(" + sqlq.Column(sqlq.SQLite{}, Alias, f) + ")"
	}
	return []sqlq.Key{{Expr: sqlq.Ident(expr), Desc: k.Desc, Nulls: f.Nulls}}, nil
}

// isID returns the condition that a row has an id; its parameters are IDValues. An index on the key serves it.
func (l *Layer) isID(alias string) string {
	var b strings.Builder
	for i, k := range l.IDKeys(alias) {
		if i > 0 {
			b.WriteString(" AND ")
		}
		sql, _ := sqlq.New(sqlq.SQLite{}).Add(k.Expr).SQL()
		b.WriteString(sql + " = ?")
	}
	return b.String()
}

// Cost returns the class of a query that SQLite answers from the file alone.
func (l *Layer) Cost(q store.Query) store.Cost {
	return sqlq.Cost(sqlq.SQLite{}, l.SQL, l.Key.Column, q)
}

func sortExpr(f *sqlq.Field) string {
	e := sqlq.Column(sqlq.SQLite{}, Alias, f)
	if f.Type == cql2.TypeText {
		e += " COLLATE BINARY"
	}
	return e
}
