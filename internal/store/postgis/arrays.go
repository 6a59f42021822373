package postgis

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"grense/internal/cql2"
	"grense/internal/store"
	"grense/internal/store/postgis/catalog"
	"grense/internal/store/postgis/conn"
	"grense/internal/store/sqlq"
)

// mostForItems is the largest number of rows that are read to find the items of a new column.
const mostForItems = 100_000

// setItems finds the JSON properties of a layer that contain only arrays, and the type of their elements
// (store.Property.Items). Results of an earlier reading are in known, by itemsName; new results are added to found.
// With bounded, columns with more than mostForItems rows remain undecided.
func (d *draft) setItems(ctx context.Context, c *pgxpool.Conn, l *layer, found map[string]string) error {
	l.Properties = append([]store.Property(nil), l.Properties...) // the definition shares its slice
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

// itemsName returns a key for the content of a column that changes when the whole table is rewritten; "" if unknown.
func (d *draft) itemsName(column string) string {
	col, ok := d.table.Column(column)
	if d.table.FileNode == 0 || !ok {
		return ""
	}
	return fmt.Sprintf("%d %d %d %q %q", d.table.OID, d.table.FileNode, d.written.UnixMicro(), column, col.Printed)
}

// itemsOf returns the JSON type of the elements of all arrays in a column; "string" if there are no elements, and "" if
// a value is not an array.
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
	err := conn.Each(ctx, c, "SELECT DISTINCT "+selectExpr(alias, f)+" FROM "+from, func(r pgx.Rows) error {
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

// rowsForMembers is the number of rows that are sampled for members of JSON objects.
const rowsForMembers = 10 * store.SampledValues

// membersOf returns the members of the objects in each property, from a sample; nil for properties that are not JSON.
func membersOf(ctx context.Context, c *pgxpool.Conn, l *layer) ([][]store.Member, error) {
	found := make([][]store.Member, len(l.Properties))
	for i, p := range l.Properties {
		if p.Type != cql2.TypeJSON || l.fields[i].Normal == catalog.ArrayColumn {
			continue
		}
		var m store.Members
		sql := fmt.Sprintf("SELECT * FROM (SELECT %s AS x FROM %s AS %s LIMIT %d) AS s WHERE x IS NOT NULL LIMIT %d",
			selectExpr(alias, l.fields[i]), l.source.Table, alias, rowsForMembers, store.SampledValues)
		err := conn.Each(ctx, c, sql, func(r pgx.Rows) error {
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

// addMembers makes members of JSON properties available in filters.
func (l *layer) addMembers(members [][]store.Member) {
	for i := range min(len(members), len(l.Properties)) {
		for _, m := range l.DeriveMembers(l.Properties[i].Name, members[i]) {
			l.source.Fields[m.Name] = l.fields[i].Member(&m)
		}
	}
}
