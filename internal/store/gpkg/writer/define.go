package writer

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"grense/internal/geo/crs"
	"grense/internal/migrate"
	"grense/internal/store"
	"grense/internal/store/gpkg/schema"
	"grense/internal/store/gpkg/sqlite"
)

// target is a collection that is being written.
type target struct {
	c     *store.Collection
	made  []string // tables that Define created, not a migration
	rowid string   // column with the row id
}

// Define creates the tables of a collection and records its metadata.
func (w *Writer) Define(ctx context.Context, c *store.Collection, replace bool) error {
	if c.ID == "" || c.Table == "" || c.Key.Column == "" {
		return fmt.Errorf("gpkg: collection %q: id, table and key column are needed", c.ID)
	}
	if c.Geometry != nil && (c.Geometry.Column == "" || !c.Geometry.CRS.Valid()) {
		return fmt.Errorf("gpkg: collection %q: the geometry needs a column and a reference system that is served",
			c.ID)
	}
	t := &target{c: c}
	err := w.define(ctx, t, replace)
	if err != nil {
		return fmt.Errorf("gpkg: collection %q: %w", c.ID, err)
	}
	w.targets = append(w.targets, t)
	return nil
}

func (w *Writer) define(ctx context.Context, t *target, replace bool) error {
	c := t.c
	known, err := w.c.One("SELECT count(*) FROM "+schema.DefinitionTable+" WHERE id = ? OR lower(table_name) = "+
		"lower(?)",
		c.ID, c.Table)
	if err != nil {
		return err
	}
	listed, err := w.c.One("SELECT count(*) FROM gpkg_contents WHERE lower(table_name) = lower(?)", c.Table)
	if err != nil {
		return err
	}
	if known+listed > 0 {
		if !replace {
			return store.ErrExists
		}
		if err := w.forget(c); err != nil {
			return err
		}
	}
	if err := w.makeTable(ctx, t, c.Table, func() string { return createCollection(c) }); err != nil {
		return err
	}
	if err := w.makeRelations(ctx, t, c.Relations); err != nil {
		return err
	}
	if err := w.register(t); err != nil {
		return err
	}
	body, err := json.Marshal(schema.Define(c))
	if err != nil {
		return err
	}
	return w.c.Exec("INSERT INTO "+schema.DefinitionTable+" (id, table_name, definition) VALUES (?, ?, ?)", c.ID,
		c.Table, string(body))
}

// forget removes the metadata of a collection and its table. makeTable then empties the tables.
func (w *Writer) forget(c *store.Collection) error {
	var tables []string
	err := w.c.Query("SELECT table_name FROM "+schema.DefinitionTable+" WHERE id = ? OR lower(table_name) = lower(?)",
		[]any{c.ID, c.Table}, func(r sqlite.Row) error {
			tables = append(tables, r.Text(0))
			return nil
		})
	if err != nil {
		return err
	}
	for _, t := range append(tables, c.Table) {
		if err := w.dropDerived(t); err != nil {
			return err
		}
		for _, sql := range [...]string{
			"DELETE FROM gpkg_geometry_columns WHERE lower(table_name) = lower(?)",
			"DELETE FROM gpkg_contents WHERE lower(table_name) = lower(?)",
			"DELETE FROM " + schema.DefinitionTable + " WHERE lower(table_name) = lower(?)",
		} {
			if err := w.c.Exec(sql, t); err != nil {
				return err
			}
		}
		if !strings.EqualFold(t, c.Table) { // the collection had another table before
			if err := w.empty(t); err != nil {
				return err
			}
		}
	}
	return nil
}

// makeTable provides an empty table: one of a migration, else a new one.
func (w *Writer) makeTable(ctx context.Context, t *target, name string, create func() string) error {
	ours, err := w.migrated(ctx, name)
	if err != nil {
		return err
	}
	if err := w.empty(name); err != nil || ours {
		return err
	}
	t.made = append(t.made, name)
	return w.c.Exec(create())
}

// empty deletes the rows of a migration's table, and drops any other table.
func (w *Writer) empty(name string) error {
	t, err := sqlite.ReadTable(w.c, name)
	if err != nil || t == nil {
		return err
	}
	if slices.ContainsFunc(w.list, func(m migrate.Migration) bool {
		return strings.Contains(strings.ToLower(m.SQL), "create table "+strings.ToLower(name)+" (")
	}) {
		return w.c.Exec("DELETE FROM " + sqlite.Quote(t.Name))
	}
	if t.View {
		return w.c.Exec("DROP VIEW " + sqlite.Quote(t.Name))
	}
	return w.c.Exec("DROP TABLE " + sqlite.Quote(t.Name))
}

func (w *Writer) makeRelations(ctx context.Context, t *target, rs []store.Relation) error {
	for _, r := range rs {
		if err := w.makeTable(ctx, t, r.Table, func() string { return createRelation(r) }); err != nil {
			return err
		}
		if err := w.makeRelations(ctx, t, r.Relations); err != nil {
			return err
		}
	}
	return nil
}

// register adds a table to the tables of the standard.
func (w *Writer) register(t *target) error {
	c := t.c
	tab, err := sqlite.ReadTable(w.c, c.Table)
	if err != nil {
		return err
	}
	if tab == nil || tab.Rowid == "" {
		return fmt.Errorf("table %q has no row id", c.Table)
	}
	t.rowid = tab.Rowid
	for _, col := range tab.Columns {
		if tab.IsRowid(col) {
			t.rowid = sqlite.Quote(col.Name)
		}
	}
	kind, srs := "attributes", any(nil)
	if c.Geometry != nil {
		kind = "features"
		id, err := w.reference(c.Geometry.CRS)
		if err != nil {
			return err
		}
		srs = id
		w.srs[strings.ToLower(c.Table)] = id
	} else if !c.Public {
		return nil // a table that other programs should not see
	}
	err = w.c.Exec(
		"INSERT INTO gpkg_contents (table_name, data_type, identifier, description, srs_id) VALUES (?, ?, ?, ?, ?)",
		c.Table, kind, c.Table, c.Description.In("nb"), srs)
	if err != nil || c.Geometry == nil {
		return err
	}
	g := c.Geometry
	z := int64(0)
	if g.HasZ {
		z = 2 // 2: Z values are optional
	}
	return w.c.Exec("INSERT INTO gpkg_geometry_columns (table_name, column_name, geometry_type_name, srs_id, z, "+
		"m) VALUES (?, ?, ?, ?, ?, 0)",
		c.Table, g.Column, schema.GeometryTypeName(g.Type), srs, z)
}

// reference returns the srs_id of a reference system. It adds the system if necessary.
func (w *Writer) reference(id crs.ID) (int64, error) {
	code := int64(id)
	if id == crs.CRS84 {
		code = int64(crs.WGS84) // longitude comes first in every GeoPackage (OGC 12-128r18, 1.1.2.1.1)
	}
	n, err := w.c.One("SELECT count(*) FROM gpkg_spatial_ref_sys WHERE srs_id = ?", code)
	if err != nil || n > 0 {
		return code, err
	}
	organization := "EPSG"
	if id.Own() {
		organization = "NONE"
	}
	return code,
		w.c.Exec(
			`INSERT INTO gpkg_spatial_ref_sys (srs_name, srs_id, organization, organization_coordsys_id, definition)
		VALUES (?, ?, ?, ?, ?)`, id.Name(), code, organization, code, id.Text())
}
