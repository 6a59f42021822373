package gpkg

import (
	"fmt"
	"strings"

	"grense/internal/cql2"
	"grense/internal/store"
	"grense/internal/store/gpkg/sqlite"
	"grense/internal/store/sqlq"
)

// keyPart is one of several columns that form the feature id.
type keyPart struct {
	Column  string
	Integer bool // all values are integers; otherwise texts
}

// expr returns the expression by which the part is read, compared and sorted.
func (p keyPart) expr(alias string) string {
	if p.Integer {
		return alias + "." + sqlite.Quote(p.Column)
	}
	return alias + "." + sqlite.Quote(p.Column) + " COLLATE BINARY"
}

// partNames returns the columns of a key for messages.
func partNames(parts []keyPart) string {
	names := make([]string, len(parts))
	for i, p := range parts {
		names[i] = p.Column
	}
	return strings.Join(names, ", ")
}

// printedExpr returns an SQL expression for the feature id of several parts, in the form of store.JoinID.
func printedExpr(parts []keyPart, alias string) string {
	list := make([]string, len(parts))
	for i, p := range parts {
		if list[i] = alias + "." + sqlite.Quote(p.Column); !p.Integer {
			list[i] = "replace(replace(" + list[i] + ", '~', '~0'), ';', '~1')"
		}
	}
	return "(" + strings.Join(list, " || ';' || ") + ") COLLATE BINARY"
}

// integers reports which parts of the feature id are integers.
func (l *layer) integers() []bool {
	list := make([]bool, len(l.parts))
	for i, p := range l.parts {
		list[i] = p.Integer
	}
	return list
}

// idKeys returns the keys of the order by id, one for each part.
func (l *layer) idKeys(alias string) []sqlq.Key {
	if l.parts == nil {
		return []sqlq.Key{{Expr: sqlq.Ident(l.idExpr(alias))}}
	}
	keys := make([]sqlq.Key, len(l.parts))
	for i, p := range l.parts {
		keys[i].Expr = sqlq.Ident(p.expr(alias))
	}
	return keys
}

// idValues returns the values of idKeys for a feature id; false if no feature can have the id.
func (l *layer) idValues(id string) ([]any, bool) {
	if l.parts == nil {
		v, ok := l.id(id)
		return []any{v}, ok
	}
	return store.SplitID(id, l.integers())
}

// addID makes the feature id available in filters if no property repeats it.
func (l *layer) addID() {
	if !l.DeriveID() {
		return
	}
	f := &sqlq.Field{Column: l.Key.Column, Type: l.Key.Type}
	if l.parts != nil {
		f.ID = &sqlq.ID{Text: l.idExpr, Indexed: true, Is: func(alias, id string) (sqlq.Fragment, bool) {
			values, ok := l.idValues(id)
			return sqlq.SQL("("+l.isID(alias)+")", values...), ok
		}}
	}
	l.source.Fields[store.IDName] = f
}

// addMembers makes members of JSON properties available in filters.
func (l *layer) addMembers(columns map[string]*columnSurvey) {
	for i, p := range l.Properties {
		if cs := columns[p.Column]; cs != nil {
			for _, m := range l.DeriveMembers(p.Name, cs.Members) {
				l.source.Fields[m.Name] = l.fields[i].Member(&m)
			}
		}
	}
}

// orderBy returns the sort keys for a property.
func (l *layer) orderBy(k store.Sort) ([]sqlq.Key, error) {
	f := l.source.Fields[k.Property]
	if f == nil || f.Type == cql2.TypeJSON || f.Path != nil {
		return nil, fmt.Errorf("gpkg: collection %q cannot be sorted by %q", l.ID, k.Property)
	}
	if f.ID != nil { // the order by id
		keys := l.idKeys(alias)
		for i := range keys {
			keys[i].Desc = k.Desc
		}
		return keys, nil
	}
	expr := sortExpr(f)
	if k.Norwegian && f.Type == cql2.TypeText {
		expr = "grense_nb(" + sqlq.Column(sqlq.SQLite{}, alias, f) + ")"
	}
	return []sqlq.Key{{Expr: sqlq.Ident(expr), Desc: k.Desc, Nulls: f.Nulls}}, nil
}

// isID returns the condition that a row has an id; its parameters are idValues. An index on the key serves it.
func (l *layer) isID(alias string) string {
	var b strings.Builder
	for i, k := range l.idKeys(alias) {
		if i > 0 {
			b.WriteString(" AND ")
		}
		sql, _ := sqlq.New(sqlq.SQLite{}).Add(k.Expr).SQL()
		b.WriteString(sql + " = ?")
	}
	return b.String()
}
