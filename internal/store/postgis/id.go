package postgis

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"

	"grense/internal/cql2"
	"grense/internal/store"
	"grense/internal/store/postgis/catalog"
	"grense/internal/store/postgis/conn"
	"grense/internal/store/sqlq"
)

// keyPart is a column of the feature id.
type keyPart struct {
	name    string // name of the column
	column  string // quoted name
	base    string // name of the type without schema
	integer bool
	field   *sqlq.Field // for its value as text
}

func keyParts(t *catalog.Table, names []string) []keyPart {
	var out []keyPart
	for _, n := range names {
		col, _ := t.Column(n)
		f := col.Field(cql2.TypeText)
		out = append(out, keyPart{n, quote(n), col.Base, col.IsInteger(), &sqlq.Field{Normal: sqlq.PostgresText,
			Stored: f.Stored, Indexes: f.Indexes, Declared: f.Declared}})
	}
	return out
}

// expr returns the expression for sorting by the part.
func (p keyPart) expr(alias string) string {
	x := alias + "." + p.column
	if p.integer {
		return x
	}
	switch p.field.Stored {
	case sqlq.StoredCodePoint, sqlq.StoredUTF8, sqlq.StoredUUID:
		return x
	}
	return "(" + x + `::text COLLATE "C")`
}

// sel returns the expression for reading the part. It fails at the server if an integer column has become another type.
func (p keyPart) sel(alias string) string {
	if p.integer {
		return "(" + alias + "." + p.column + " + 0::bigint)"
	}
	return alias + "." + p.column + "::text"
}

// key returns the part as a sort key.
func (p keyPart) key(alias string) key {
	k := key{Key: sqlq.Key{Expr: sqlq.Ident(p.expr(alias))}, sel: p.sel(alias), typ: cql2.TypeText,
		uuid: p.field.Stored == sqlq.StoredUUID}
	if p.integer {
		k.typ = cql2.TypeInteger
	}
	return k
}

// printed returns the feature id for the values of its parts, each int64 or string. A single part is its text or
// number. Since no URL can contain an empty id, "" becomes ~, and a text that begins with ~ gets another ~. Several
// parts are joined by store.JoinID.
func printed(parts []any) string {
	if len(parts) == 1 {
		switch x := parts[0].(type) {
		case int64:
			return strconv.FormatInt(x, 10)
		case string:
			return printedText(x)
		}
		return ""
	}
	return store.JoinID(parts)
}

func printedText(s string) string {
	if s == "" || s[0] == '~' {
		return "~" + s
	}
	return s
}

// id returns the values of the parts of a feature id; false if no feature can have the id.
func (l *layer) id(id string) ([]any, bool) {
	if !l.text {
		n, ok := parseInteger(id)
		return []any{n}, ok
	}
	if len(l.parts) == 1 {
		if strings.HasPrefix(id, "~") {
			if id = id[1:]; id != "" && id[0] != '~' {
				return nil, false
			}
		} else if id == "" {
			return nil, false
		}
		return []any{id}, l.parts[0].takes(id)
	}
	integers := make([]bool, len(l.parts))
	for i, p := range l.parts {
		integers[i] = p.integer
	}
	out, ok := store.SplitID(id, integers)
	for i, v := range out {
		if text, is := v.(string); is && !l.parts[i].takes(text) {
			return nil, false
		}
	}
	return out, ok
}

// takes reports whether the part, which is not an integer, can have a value.
func (p keyPart) takes(s string) bool {
	return conn.Storable(s) && (p.field.Stored != sqlq.StoredUUID || sqlq.IsUUID(s))
}

// list returns the type of the array in which values of the part are looked up, and the expression that is compared
// with it. An index on the column serves the comparison.
func (p keyPart) list(alias string) (column, typ string) {
	column = alias + "." + p.column
	switch p.base {
	case "int2", "int4", "int8":
		return column, "bigint[]"
	case "text", "varchar", "bpchar":
		if p.field.Indexes&sqlq.IndexCodePoint != 0 && p.base != "bpchar" {
			column = "(" + column + ` COLLATE "C")`
		}
		return column, p.base + "[]"
	case "uuid":
		return column, "text[]::uuid[]"
	}
	return column + "::text", "text[]"
}

// equals returns the condition that the part has a value. An index on the column serves it.
func (p keyPart) equals(alias string, value any) sqlq.Fragment {
	exact := sqlq.SQL(p.expr(alias)+" = ?", value)
	if p.integer {
		return exact
	}
	served, same, ok := sqlq.PostgreSQL{}.Range(alias+"."+p.column, p.field, "=", value)
	switch {
	case !ok:
		return exact
	case same:
		return served
	}
	return sqlq.Cat(served, sqlq.Ident(" AND "), exact)
}

// addID makes the feature id available in filters if no property repeats it.
func (l *layer) addID() {
	if !l.DeriveID() {
		return
	}
	f := &sqlq.Field{Column: l.Key.Column, Type: l.Key.Type}
	if l.text {
		f.ID = &sqlq.ID{Text: l.printedExpr, Is: l.isID, Indexed: l.sure}
	}
	l.source.Fields[store.IDName] = f
}

// isID returns the condition that a row has an id; false if no row can have it.
func (l *layer) isID(alias, id string) (sqlq.Fragment, bool) {
	values, ok := l.id(id)
	if !ok {
		return sqlq.Fragment{}, false
	}
	parts := make([]sqlq.Fragment, len(l.parts))
	for i, p := range l.parts {
		parts[i] = p.equals(alias, values[i])
	}
	return sqlq.Cat(sqlq.Ident("("), sqlq.Join(" AND ", parts...), sqlq.Ident(")")), true
}

// printedExpr returns an SQL expression for the feature id as text.
func (l *layer) printedExpr(alias string) string {
	x := l.idText(alias)
	if len(l.parts) == 1 {
		x = "CASE WHEN " + x + " = '' OR starts_with(" + x + ", '~') THEN '~' ELSE '' END || " + x
	}
	return "((" + x + `) COLLATE "C")`
}

// oneOf returns the condition that the id is in the arrays of parts $1, $2 ...
func (l *layer) oneOf() string {
	if len(l.parts) == 1 {
		column, typ := l.parts[0].list(alias)
		return column + " = ANY ($1::" + typ + ")"
	}
	var columns, lists, names []string
	for i, p := range l.parts {
		column, typ := p.list(alias)
		n := strconv.Itoa(i + 1)
		columns, lists, names = append(columns, column), append(lists, "$"+n+"::"+typ), append(names, "k"+n)
	}
	return "(" + strings.Join(columns, ", ") + ") IN (SELECT " + strings.Join(names, ", ") + " FROM unnest(" +
		strings.Join(lists, ", ") + ") AS k(" + strings.Join(names, ", ") + "))"
}

// lists returns the arguments of oneOf.
func (l *layer) lists(ids [][]any) []any {
	out := make([]any, len(l.parts))
	for i, p := range l.parts {
		if p.integer {
			list := make([]int64, len(ids))
			for j, id := range ids {
				list[j] = id[i].(int64)
			}
			out[i] = list
			continue
		}
		list := make([]string, len(ids))
		for j, id := range ids {
			list[j] = id[i].(string)
		}
		out[i] = list
	}
	return out
}

// idText returns an SQL expression for the feature id: the value of a single part, else the text.
func (l *layer) idText(alias string) string {
	if len(l.parts) == 1 {
		return l.parts[0].sel(alias)
	}
	var list []string
	for _, p := range l.parts {
		x := p.sel(alias) + "::text"
		if !p.integer {
			x = "replace(replace(" + x + ", '~', '~0'), ';', '~1')"
		}
		list = append(list, x)
	}
	return "(" + strings.Join(list, " || ';' || ") + ")"
}

// printed converts a column of idText to the feature id; "" for null.
func (l *layer) printed(raw []byte) string {
	switch {
	case raw == nil:
		return ""
	case !l.text:
		return strconv.FormatInt(int64(binary.BigEndian.Uint64(raw)), 10)
	case len(l.parts) == 1:
		return printedText(string(raw))
	}
	return string(raw)
}

// revisionExpr returns an SQL expression for the revision of a row: the transaction that wrote it (xmin) or, if that is
// not available, a hash of its content. With xmin it is null if the table no longer has the columns of the layer.
func (l *layer) revisionExpr(alias string) string {
	if l.xmin && l.table.Schema == catalog.OwnSchema { // an import replaces such tables as a whole
		return alias + ".xmin"
	}
	if l.xmin {
		return fmt.Sprintf("CASE (%s) WHEN %s THEN %s.xmin END", l.table.ColumnsSumSQL(),
			cmp.Or(l.table.ColumnsSum, "0"), alias)
	}
	var list []string
	for _, f := range l.fields {
		list = append(list, valueExpr(alias, f))
	}
	if l.Geometry != nil {
		list = append(list, "md5("+l.wkb(alias)+")")
	}
	if list == nil {
		return "0::bigint"
	}
	return "hashtextextended(ROW(" + strings.Join(list, ", ") + ")::text, 0)"
}

// revision combines the result of revisionExpr with the version of the definitions and the run of the server, since
// another run may reuse transaction numbers. It is never 0.
func (l *layer) revision(raw []byte) (uint64, error) {
	if raw == nil {
		return 0, l.changed("its columns are others")
	}
	state := l.rev
	if l.run != nil {
		state ^= l.run.Load()
	}
	if l.xmin {
		state ^= uint64(binary.BigEndian.Uint32(raw))
	} else {
		state ^= binary.BigEndian.Uint64(raw)
	}
	return max(state, 1), nil
}
