package demo

import (
	"context"
	"fmt"

	"github.com/paulmach/orb"

	"grense/internal/geo/wkb"
	"grense/internal/store"
)

// Write defines both collections, replacing existing ones, and inserts their rows by number. It does not call Commit.
func Write(ctx context.Context, w store.Writer) error {
	set, err := Divisions()
	if err != nil {
		return err
	}
	return set.Write(ctx, w)
}

// Write is the function Write for divisions that are computed already.
func (set *Set) Write(ctx context.Context, w store.Writer) error {
	for _, c := range Collections() {
		if err := w.Define(ctx, c, true); err != nil {
			return fmt.Errorf("demo: define %s: %w", c.ID, err)
		}
	}
	fylker := table{FylkerID, []string{"nr", "navn", "geom"}}
	err := fylker.fill(ctx, w, len(set.Fylker), func(i int) ([]any, orb.MultiPolygon) {
		f := &set.Fylker[i]
		return []any{f.Nr, f.Navn}, f.Geometry
	})
	if err != nil {
		return err
	}
	kommuner := table{KommunerID, []string{"nr", "navn", "fylke_nr", "areal_km2", "geom"}}
	return kommuner.fill(ctx, w, len(set.Kommuner), func(i int) ([]any, orb.MultiPolygon) {
		k := &set.Kommuner[i]
		return []any{k.Nr, k.Navn, k.FylkeNr, int64(k.AreaKm2)}, k.Geometry
	})
}

// table is a table and its columns, the geometry last.
type table struct {
	name    string
	columns []string
}

// fill inserts n rows; row returns the values and the geometry of a row.
func (t table) fill(ctx context.Context, w store.Writer, n int, row func(i int) ([]any, orb.MultiPolygon)) error {
	insert, err := w.Insert(ctx, t.name, t.columns)
	if err != nil {
		return fmt.Errorf("demo: insert into %s: %w", t.name, err)
	}
	for i := range n {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("demo: insert into %s: %w", t.name, err)
		}
		values, shape := row(i)
		if err := insert(append(values, store.Geometry{WKB: wkb.Append(nil, shape)})...); err != nil {
			return fmt.Errorf("demo: %s %v: %w", t.name, values[0], err)
		}
	}
	return nil
}
