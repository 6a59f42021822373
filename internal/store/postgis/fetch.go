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
)

// How many features are read at once: at first, at most, and half as many when they held more than so many bytes of geometry.
const (
	firstPortion = 100
	mostPortion  = 1000
	portionBytes = 2 << 20
)

// Fetch calls fn for each id in the order asked.
func (s *Store) Fetch(ctx context.Context, collection string, ids []string, want store.Want, fn func(*store.Feature) error) error {
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
	for size := firstPortion; len(ids) > 0; {
		portion := ids[:min(len(ids), size)]
		if err := s.retry(ctx, func(c *pgxpool.Conn) error { return f.read(ctx, c, portion) }); err != nil {
			return err
		}
		for _, id := range portion {
			x := f.features[id]
			if x == nil {
				return fmt.Errorf("postgis: feature %q of collection %q: %w", id, collection, store.ErrNotFound)
			}
			feature := *x
			if err := fn(&feature); err != nil {
				return err
			}
		}
		if size = min(2*size, mostPortion); f.bytes > portionBytes {
			size = max(len(portion)/2, 1)
		}
		ids = ids[len(portion):]
	}
	return ctx.Err()
}

// fetcher reads features of one layer.
type fetcher struct {
	l        *layer
	types    []cql2.Type
	geometry bool
	sql      string
	features map[string]*store.Feature // of the last batch
	bytes    int                       // of its geometries
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
	b := sqlq.New(sqlq.PostgreSQL{}).Text("SELECT ", alias, ".", l.key, "::text, ")
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

// read fills features with those of ids that exist.
func (f *fetcher) read(ctx context.Context, c *pgxpool.Conn, ids []string) error {
	var texts []string
	var numbers []int64
	for _, id := range ids {
		if v, ok := f.l.id(id); ok && f.l.text {
			texts = append(texts, id)
		} else if ok {
			numbers = append(numbers, v.(int64))
		}
	}
	f.features, f.bytes = make(map[string]*store.Feature, len(ids)), 0
	var keys any = texts
	if !f.l.text {
		keys = numbers
	}
	b := newBatch(ctx)
	b.queue(f.sql, []any{keys}, func(r pgx.Rows) error {
		x := f.feature(r.RawValues())
		f.features[x.ID] = x
		return nil
	})
	return b.send(ctx, c)
}

func (f *fetcher) feature(raw [][]byte) *store.Feature {
	x := &store.Feature{ID: string(raw[0]), Rev: f.l.rev}
	if f.l.xmin {
		x.Rev = f.l.revision(binary.BigEndian.Uint32(raw[1]))
	}
	raw = raw[2:]
	if f.geometry {
		if wkb := present(raw[0]); wkb != nil {
			x.Geometry.WKB = append([]byte(nil), wkb...)
			f.bytes += len(wkb)
		}
		raw = raw[1:]
	}
	x.Values = make([]any, len(f.types))
	for i, t := range f.types {
		x.Values[i] = decode(raw[i], t)
		if s, ok := x.Values[i].(string); ok && t == cql2.TypeJSON {
			x.Values[i] = store.JSON(s)
		}
	}
	return x
}

// present returns a geometry that has a position; else nil. More bytes than a few empty parts take have one.
func present(wkb []byte) []byte {
	if len(wkb) > 256 {
		return wkb
	}
	if _, ok, err := (store.Geometry{WKB: wkb}).Bound(); err == nil && !ok {
		return nil
	}
	return wkb
}
