package postgis

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"grense/internal/cql2"
	"grense/internal/store"
	"grense/internal/store/sqlq"
	"grense/internal/wkb"
)

// How many features are read at once: at first, at most, and half as many when they held more than so many bytes of geometry.
const (
	firstPortion = 100
	mostPortion  = 1000
	portionBytes = 2 << 20
)

// Fetch calls fn for each row in the order asked.
func (s *Store) Fetch(ctx context.Context, collection string, rows []store.Row, want store.Want, fn func(*store.Feature) error) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.leave()
	l, err := s.current.Load().layer(collection)
	if err != nil {
		return err
	}
	f, err := newFetcher(l, want)
	if err != nil {
		return err
	}
	size := firstPortion
	if !f.geometry {
		size = mostPortion
	}
	for len(rows) > 0 {
		portion := rows[:min(len(rows), size)]
		if err := s.retry(ctx, func(c *pgxpool.Conn) error { return f.read(ctx, c, portion) }); err != nil {
			return err
		}
		for i, row := range portion {
			x := &f.features[f.same[i]]
			switch {
			case row.Rev != 0 && (x.ID == "" || x.Rev != row.Rev):
				return fmt.Errorf("postgis: feature %q of collection %q: %w", row.ID, collection, store.ErrChanged)
			case x.ID == "" && want.SkipMissing:
				continue
			case x.ID == "":
				return fmt.Errorf("postgis: feature %q of collection %q: %w", row.ID, collection, store.ErrNotFound)
			}
			feature := *x
			if err := fn(&feature); err != nil {
				return err
			}
		}
		if size = min(2*size, mostPortion); f.bytes > portionBytes {
			size = max(len(portion)/2, 1)
		}
		rows = rows[len(portion):]
	}
	return ctx.Err()
}

// fetcher reads features of one layer.
type fetcher struct {
	l        *layer
	types    []cql2.Type
	geometry bool
	sql      string
	features []store.Feature // of the last portion, by the place of their id there; without an ID where there is none
	same     []int           // for each id of the portion, the place at which it stands first
	bytes    int             // of its geometries
	last     []any           // of each property, the text that was read last: many rows repeat it
}

func newFetcher(l *layer, want store.Want) (*fetcher, error) {
	f := &fetcher{l: l, geometry: l.Geometry != nil && !want.NoGeometry}
	var fields []*sqlq.Field
	if want.Properties == nil {
		for _, i := range l.visible {
			fields = append(fields, l.fields[i])
		}
	}
	for _, n := range want.Properties {
		x := l.source.Fields[n]
		if x == nil {
			return nil, fmt.Errorf("postgis: collection %q has no property %q: %w", l.ID, n, store.ErrNotFound)
		}
		fields = append(fields, x)
	}
	id := "::bigint, "
	if l.text {
		id = "::text, "
	}
	b := sqlq.New(sqlq.PostgreSQL{}).Text("SELECT ", alias, ".", l.key, id)
	if l.xmin {
		b.Text(alias, ".xmin")
	} else {
		b.Text("0")
	}
	if f.geometry {
		b.Text(", ", l.wkb(alias))
	}
	for _, x := range fields {
		b.Text(", ", selectExpr(alias, x))
		f.types = append(f.types, x.Type)
	}
	b.Text(" FROM ", l.source.Table, " AS ", alias, " WHERE ", l.oneOf())
	f.sql, _ = b.SQL()
	f.last = make([]any, len(f.types))
	return f, nil
}

// oneOf is the condition that the id is one of the list $1, such that an index over the column serves.
func (l *layer) oneOf() string {
	column := alias + "." + l.key
	switch l.keyType {
	case "int2", "int4", "int8":
		return column + " = ANY ($1::bigint[])"
	case "text", "varchar", "bpchar":
		return column + " = ANY ($1::" + l.keyType + "[])"
	}
	return column + "::text = ANY ($1::text[])"
}

// read fills features with those of rows that exist.
func (f *fetcher) read(ctx context.Context, c *pgxpool.Conn, rows []store.Row) error {
	f.features, f.same, f.bytes = make([]store.Feature, len(rows)), make([]int, len(rows)), 0
	if f.l.text {
		at, keys := make(map[string]int, len(rows)), make([]string, 0, len(rows))
		for i, row := range rows {
			first, seen := at[row.ID]
			if !seen {
				first, at[row.ID] = i, i
				if _, ok := f.l.id(row.ID); ok {
					keys = append(keys, row.ID)
				}
			}
			f.same[i] = first
		}
		return one(ctx, c, f.sql, []any{keys}, func(r pgx.Rows) error {
			raw := r.RawValues()
			if i, ok := at[string(raw[0])]; ok {
				f.fill(&f.features[i], rows[i].ID, raw)
			}
			return nil
		})
	}
	at, keys := make(map[int64]int, len(rows)), make([]int64, 0, len(rows))
	for i, row := range rows {
		f.same[i] = i
		v, ok := f.l.id(row.ID)
		if !ok {
			continue
		}
		first, seen := at[v.(int64)]
		if !seen {
			first, at[v.(int64)] = i, i
			keys = append(keys, v.(int64))
		}
		f.same[i] = first
	}
	return one(ctx, c, f.sql, []any{keys}, func(r pgx.Rows) error {
		raw := r.RawValues()
		if i, ok := at[int64(binary.BigEndian.Uint64(raw[0]))]; ok {
			f.fill(&f.features[i], rows[i].ID, raw)
		}
		return nil
	})
}

// fill reads a row.
func (f *fetcher) fill(x *store.Feature, id string, raw [][]byte) {
	x.ID, x.Rev = id, f.l.rev
	if f.l.xmin {
		x.Rev = f.l.revision(binary.BigEndian.Uint32(raw[1]))
	}
	raw = raw[2:]
	if f.geometry {
		if b := present(raw[0]); b != nil {
			x.Geometry.WKB = append([]byte(nil), b...)
			f.bytes += len(b)
		}
		raw = raw[1:]
	}
	x.Values = make([]any, len(f.types))
	for i, t := range f.types {
		x.Values[i] = f.value(i, raw[i], t)
	}
}

func (f *fetcher) value(i int, raw []byte, t cql2.Type) any {
	if raw == nil {
		return nil
	}
	switch t {
	case cql2.TypeText:
		if s, ok := f.last[i].(string); !ok || s != string(raw) {
			f.last[i] = string(raw)
		}
		return f.last[i]
	case cql2.TypeJSON:
		if s, ok := f.last[i].(store.JSON); !ok || string(s) != string(raw) {
			f.last[i] = store.JSON(raw)
		}
		return f.last[i]
	}
	return decode(raw, t)
}

// present returns a geometry that has a position; else nil.
func present(b []byte) []byte {
	if in, err := wkb.Check(b); err != nil || in.Positions == 0 {
		return nil
	}
	return b
}
