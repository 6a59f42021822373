package postgis

import (
	"context"
	"encoding/json"
	"math"

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
			var list []any
			arrays = json.Unmarshal(raw, &list) == nil
			for _, v := range list {
				items = common(items, elementType(v))
			}
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

// common returns the type of which values of both types are.
func common(a, b string) string {
	switch {
	case a == "" || a == "integer" && b == "number":
		return b
	case a == b || a == "number" && b == "integer":
		return a
	}
	return "any"
}

func elementType(v any) string {
	switch v := v.(type) {
	case string:
		return "string"
	case bool:
		return "boolean"
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
			return "integer"
		}
		return "number"
	}
	return "any"
}
