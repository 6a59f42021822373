package postgis

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"grense/internal/cql2"
	"grense/internal/store"
	"grense/internal/store/sqlq"
)

// setItems finds out which JSON properties of a layer hold arrays only, and of what (store.Property.Items).
func setItems(ctx context.Context, c *pgxpool.Conn, l *layer) error {
	l.Properties = append([]store.Property(nil), l.Properties...) // those of a definition are shared
	for i, p := range l.Properties {
		if p.Type != cql2.TypeJSON {
			continue
		}
		items, err := itemsOf(ctx, c, l.source, l.fields[i])
		if err != nil {
			return err
		}
		l.Properties[i].Items = items
	}
	return nil
}

// itemsOf returns the JSON type of the elements of the arrays in a column; "string" when there are none, "" when a value is no array.
func itemsOf(ctx context.Context, c *pgxpool.Conn, s *sqlq.Source, f *sqlq.Field) (string, error) {
	items, arrays := "", true
	err := each(ctx, c, "SELECT DISTINCT "+selectExpr(alias, f)+" FROM "+s.Table+" AS "+alias, func(r pgx.Rows) error {
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
