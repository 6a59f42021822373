package sqlite

import (
	"slices"
	"strings"

	"grense/internal/store/sqlq"
)

// Table is a table or view as described by SQLite.
type Table struct {
	Name    string // as in the schema of the database
	View    bool
	Rowid   string // name of the row id that no column hides; "" for views and WITHOUT ROWID tables
	Columns []Column
	// Numbered means that a column is an alias of the row id, which is then stable.
	Numbered bool
}

// Column is a column of a table as described by SQLite.
type Column struct {
	Name, Declared string
	Key            int  // position in the primary key, from 1; 0 if not part of it
	NotNull        bool // declared NOT NULL
}

// ReadTable describes a table or view of the main database. It returns nil if there is no such table.
func ReadTable(c *Conn, name string) (*Table, error) {
	t := &Table{}
	withRowid, sure := false, false
	if c.frozen != nil {
		t.Name, t.View, sure = c.frozen.find(name)
		withRowid = sure && !t.View
	}
	if !sure {
		err := c.Query(`SELECT name, type, wr FROM pragma_table_list(?) WHERE schema = 'main'`, []any{name},
			func(r Row) error {
				t.Name, t.View, withRowid = r.Text(0), r.Text(1) == "view", r.Text(1) == "table" && !r.Bool(2)
				return nil
			})
		if err != nil {
			return nil, err
		}
	}
	if t.Name == "" {
		return nil, nil
	}
	err := c.Query(`SELECT name, type, pk, "notnull" FROM pragma_table_xinfo(?) WHERE hidden <> 1`, []any{t.Name},
		func(r Row) error {
			t.Columns = append(t.Columns, Column{r.Text(0), r.Text(1), int(r.Int(2)), r.Bool(3)})
			return nil
		})
	if err != nil {
		return nil, err
	}
	if withRowid {
		t.Rowid = "rowid"
		t.Numbered = slices.ContainsFunc(t.Columns, t.IsRowid)
		for _, n := range [...]string{"rowid", "_rowid_", "oid"} {
			if _, ok := t.Column(n); !ok {
				t.Rowid = n
				break
			}
		}
	}
	return t, nil
}

// Column finds a column; names are case-insensitive.
func (t *Table) Column(name string) (Column, bool) {
	i := slices.IndexFunc(t.Columns, func(c Column) bool { return strings.EqualFold(c.Name, name) })
	if i < 0 {
		return Column{}, false
	}
	return t.Columns[i], true
}

// PrimaryKey returns the columns of the primary key in its order.
func (t *Table) PrimaryKey() []Column {
	var key []Column
	for _, c := range t.Columns {
		if c.Key > 0 {
			key = append(key, c)
		}
	}
	slices.SortFunc(key, func(a, b Column) int { return a.Key - b.Key })
	return key
}

// IsRowid reports whether a column is an alias of the row id.
func (t *Table) IsRowid(c Column) bool {
	return t.Rowid != "" && c.Key == 1 && strings.EqualFold(c.Declared, "INTEGER") && len(t.PrimaryKey()) == 1
}

// Quoted returns the name of the table in statements.
func (t *Table) Quoted() string { return "main." + Quote(t.Name) }

// Quote returns an identifier in statements.
func Quote(name string) string { return sqlq.SQLite{}.Quote(name) }

// Unquote is the inverse of Quote. It returns other names as they are.
func Unquote(name string) string {
	return strings.ReplaceAll(strings.TrimSuffix(strings.TrimPrefix(name, `"`), `"`), `""`, `"`)
}

// UniqueKeys returns the columns of unique indexes over all rows that are declared NOT NULL.
func (t *Table) UniqueKeys(c *Conn) (keys [][]string, err error) {
	var indexes []string
	err = c.Query(`SELECT name FROM pragma_index_list(?, 'main') WHERE "unique" AND NOT partial AND origin <> 'pk' `+
		`ORDER BY seq DESC`, []any{t.Name},
		func(r Row) error { indexes = append(indexes, r.Text(0)); return nil })
	for _, name := range indexes {
		var key []string
		fits := true
		err := c.Query("SELECT name FROM pragma_index_info(?, 'main') ORDER BY seqno", []any{name}, func(r Row) error {
			col, ok := t.Column(r.Text(0)) // null for an expression
			fits = fits && ok && !r.Null(0) && col.NotNull
			key = append(key, col.Name)
			return nil
		})
		if err != nil {
			return nil, err
		}
		if fits {
			keys = append(keys, key)
		}
	}
	return keys, err
}

// IndexedColumns returns the first columns of all indexes of a table over all rows, including those that SQLite creates
// for constraints.
func IndexedColumns(c *Conn, table string) (map[string]bool, error) {
	m := map[string]bool{}
	s, err := c.Schema()
	if name := Lower(table); err != nil || s.plain[name] != "" && !s.indexed[name] {
		return m, err
	}
	err = c.Query(`SELECT (SELECT name FROM pragma_index_info(i.name, 'main') WHERE seqno = 0) FROM `+
		`pragma_index_list(?1, 'main') AS i WHERE NOT i.partial`,
		[]any{table}, func(r Row) error {
			m[r.Text(0)] = true // "" for an expression, which matches no column
			return nil
		})
	return m, err
}

// Leads returns for each first column the first index of a table that covers all rows.
func Leads(c *Conn, table string) (map[string]string, error) {
	m := map[string]string{}
	s, err := c.Schema()
	if err != nil {
		return nil, err
	}
	names := s.indexes[Lower(table)]
	if len(names) == 0 {
		return m, nil
	}
	first := map[string]string{} // first column by index
	err = c.Query(`SELECT i.name, (SELECT name FROM pragma_index_info(i.name) WHERE seqno = 0) FROM `+
		`pragma_index_list(?) AS i WHERE NOT i.partial`,
		[]any{table}, func(r Row) error {
			first[r.Text(0)] = r.Text(1)
			return nil
		})
	for _, name := range names {
		if column, whole := first[name]; whole {
			m[column] = name
		}
	}
	return m, err
}
