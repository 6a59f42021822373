package gpkg

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"grense/internal/store"
	"grense/internal/store/gpkg/file"
	"grense/internal/store/gpkg/gpb"
	"grense/internal/store/gpkg/schema"
	"grense/internal/store/gpkg/sqlite"
)

// Tables reads the rows of a file that package writer wrote, in stored form, even if its collections are refused. It is
// not safe for concurrent use.
type Tables struct {
	c    *sqlite.Conn
	defs map[string]*schema.Definition
}

// OpenTables opens the file at path. The caller must call Close.
func OpenTables(path string) (*Tables, error) {
	src, err := file.Inspect(path)
	if err != nil {
		return nil, err
	}
	if err := src.Close(); err != nil {
		return nil, err
	}
	c, err := sqlite.Open(path, sqlite.ReadOnly)
	if err != nil {
		return nil, src.Explain(err)
	}
	t := &Tables{c: c}
	if t.defs, err = schema.ReadDefinitions(c); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return t, nil
}

// Close closes the file.
func (t *Tables) Close() error { return t.c.Close() }

// Description returns the description of a table's collection; false if there is no such collection.
func (t *Tables) Description(table string) (store.Text, bool) {
	d, ok := t.defs[strings.ToLower(table)]
	if !ok {
		return nil, false
	}
	return d.Description, true
}

// OldFold reports whether search columns of some collection were filled by older folding rules.
func (t *Tables) OldFold() bool {
	for _, d := range t.defs {
		if schema.IsFoldedOtherwise(d.Properties, d.Relations) {
			return true
		}
	}
	return false
}

// Each calls fn with each row of a table, in the order of row ids. Values are nil, int64, float64, string or
// store.Geometry, and valid until fn returns. For columns that the table lacks they are nil.
func (t *Tables) Each(ctx context.Context, table string, columns []string, fn func(values []any) error) error {
	tab, err := sqlite.ReadTable(t.c, table)
	if err != nil || tab == nil {
		return err
	}
	exprs := slices.Clone(columns)
	for i, name := range columns {
		exprs[i] = "NULL"
		if col, ok := tab.Column(name); ok {
			exprs[i] = sqlite.Quote(col.Name)
		}
	}
	order := ""
	if tab.Rowid != "" {
		order = " ORDER BY " + tab.Rowid
	}
	t.c.Interrupt(ctx)
	defer t.c.Interrupt(context.Background())
	values := make([]any, len(columns))
	return t.c.Query("SELECT "+strings.Join(exprs, ", ")+" FROM "+tab.Quoted()+order, nil, func(r sqlite.Row) error {
		for i := range values {
			values[i] = r.Any(i)
			if b, ok := values[i].([]byte); ok {
				g, _, state := gpb.Read(b)
				if state == gpb.Broken {
					return fmt.Errorf("gpkg: table %q, column %q: a value is no geometry", table, columns[i])
				}
				values[i] = store.Geometry{WKB: g}
			}
		}
		return fn(values)
	})
}
