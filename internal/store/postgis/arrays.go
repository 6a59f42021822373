package postgis

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"grense/internal/cql2"
	"grense/internal/store"
	"grense/internal/store/sqlq"
)

// mostForItems is how many rows are read for the items of a column that a changed definition brings.
const mostForItems = 100_000

// setItems finds the JSON properties of a layer that hold only arrays, and the type of their elements
// (store.Property.Items). It takes the result of an earlier reading from known, by itemsName, and records results in
// found. With bounded, a column with more than mostForItems rows stays undecided.
func (d *draft) setItems(ctx context.Context, c *pgxpool.Conn, l *layer, found map[string]string) error {
	l.Properties = append([]store.Property(nil), l.Properties...) // those of a definition are shared
	for i, p := range l.Properties {
		if p.Type != cql2.TypeJSON {
			continue
		}
		name := d.itemsName(p.Column)
		items, ok := d.items[name]
		if !ok || name == "" {
			var err error
			if items, err = itemsOf(ctx, c, l.source, l.fields[i], d.bounded); err != nil {
				return err
			}
		}
		l.Properties[i].Items = items
		if name != "" {
			found[name] = items
		}
	}
	return nil
}

// itemsName returns a name of a column that is valid as long as only single rows of its table change;
// "" if that is unknown.
func (d *draft) itemsName(column string) string {
	col, ok := d.table.column(column)
	if d.table.file == 0 || !ok {
		return ""
	}
	return fmt.Sprintf("%d %d %d %q %q", d.table.oid, d.table.file, d.written.UnixMicro(), column, col.typ)
}

// itemsOf returns the JSON type of the elements of the arrays in a column; "string" when there are none,
// "" when a value is no array.
func itemsOf(ctx context.Context, c *pgxpool.Conn, s *sqlq.Source, f *sqlq.Field, bounded bool) (string, error) {
	items, arrays := "", true
	from := s.Table + " AS " + alias
	if bounded {
		var more bool
		if err := c.QueryRow(ctx, "SELECT EXISTS (SELECT 1 FROM "+from+" OFFSET $1)", mostForItems).
			Scan(&more); err != nil || more {
			return "", err
		}
	}
	err := each(ctx, c, "SELECT DISTINCT "+selectExpr(alias, f)+" FROM "+from, func(r pgx.Rows) error {
		if raw := r.RawValues()[0]; raw != nil && arrays {
			items, arrays = store.ItemType(items, raw)
		}
		return nil
	})
	switch {
	case err != nil || !arrays:
		return "", err
	case items == "":
		return "string", nil
	}
	return items, nil
}

// rowsForMembers is how many rows are looked at for what JSON objects hold.
const rowsForMembers = 10 * store.SampledValues

// membersOf returns what the objects of each property hold, from a sample; nil for properties that are no JSON.
func membersOf(ctx context.Context, c *pgxpool.Conn, l *layer) ([][]store.Member, error) {
	found := make([][]store.Member, len(l.Properties))
	for i, p := range l.Properties {
		if p.Type != cql2.TypeJSON || l.fields[i].Normal == arrayColumn {
			continue
		}
		var m store.Members
		sql := fmt.Sprintf("SELECT * FROM (SELECT %s AS x FROM %s AS %s LIMIT %d) AS s WHERE x IS NOT NULL LIMIT %d",
			selectExpr(alias, l.fields[i]), l.source.Table, alias, rowsForMembers, store.SampledValues)
		err := each(ctx, c, sql, func(r pgx.Rows) error {
			m.Add(r.RawValues()[0])
			return nil
		})
		if err != nil {
			return nil, err
		}
		found[i] = m.List()
	}
	return found, nil
}

// addMembers adds values inside JSON properties to what filters may name.
func (l *layer) addMembers(members [][]store.Member) {
	for i := range min(len(members), len(l.Properties)) {
		for _, m := range l.DeriveMembers(l.Properties[i].Name, members[i]) {
			l.source.Fields[m.Name] = l.fields[i].Member(&m)
		}
	}
}
