package writer

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"grense/internal/cql2"
	"grense/internal/geo/wkb"
	"grense/internal/store"
	"grense/internal/store/gpkg/gpb"
	"grense/internal/store/gpkg/rtree"
	"grense/internal/store/gpkg/schema"
	"grense/internal/store/gpkg/sqlite"
)

// finish builds what is derived from the rows of a collection: indexes, extent, count, and full-text tables.
func (w *Writer) finish(t *target) error {
	c := t.c
	if c.Geometry != nil {
		if err := w.buildIndex(t); err != nil {
			return err
		}
	}
	if err := w.markJSON(c); err != nil {
		return err
	}
	if err := w.searchIndexes(t, c.Table, c.Properties); err != nil {
		return err
	}
	if err := w.relationIndexes(t, c.Relations); err != nil {
		return err
	}
	if c.Versions != nil {
		if err := w.versionIndex(c); err != nil {
			return err
		}
	}
	if !w.dated.IsZero() {
		if err := w.c.Exec("UPDATE gpkg_contents SET last_change = ? WHERE table_name = ?",
			w.dated.UTC().Format("2006-01-02T15:04:05.000Z"), c.Table); err != nil {
			return err
		}
	}
	return w.countFeatures(t)
}

// schemaTables creates the tables of the extension Schema (OGC 12-128r18, F.9).
var schemaTables = []string{
	`CREATE TABLE IF NOT EXISTS gpkg_data_columns (
  table_name TEXT NOT NULL,
  column_name TEXT NOT NULL,
  name TEXT,
  title TEXT,
  description TEXT,
  mime_type TEXT,
  constraint_name TEXT,
  CONSTRAINT pk_gdc PRIMARY KEY (table_name, column_name),
  CONSTRAINT gdc_tn UNIQUE (table_name, name)
)`,
	`CREATE TABLE IF NOT EXISTS gpkg_data_column_constraints (
  constraint_name TEXT NOT NULL,
  constraint_type TEXT NOT NULL,
  value TEXT,
  min NUMERIC,
  min_is_inclusive BOOLEAN,
  max NUMERIC,
  max_is_inclusive BOOLEAN,
  description TEXT,
  CONSTRAINT gdcc_ntv UNIQUE (constraint_name, constraint_type, value)
)`,
	`INSERT INTO gpkg_extensions SELECT name, NULL, 'gpkg_schema', 'http://www.geopackage.org/spec120/#extension_schema', 'read-write' FROM sqlite_schema
		WHERE name IN ('gpkg_data_columns', 'gpkg_data_column_constraints')
		AND NOT EXISTS (SELECT 1 FROM gpkg_extensions WHERE extension_name = 'gpkg_schema' AND table_name = name)`,
}

// markJSON declares JSON columns in the way that GDAL and QGIS understand. It skips tables that other programs do not
// see as layers.
func (w *Writer) markJSON(c *store.Collection) error {
	isJSON := func(p store.Property) bool { return p.Type == cql2.TypeJSON }
	if !c.Public || !slices.ContainsFunc(c.Properties, isJSON) {
		return nil
	}
	if err := w.c.ExecAll(schemaTables); err != nil {
		return err
	}
	for _, p := range c.Properties {
		if !isJSON(p) {
			continue
		}
		if err := w.c.Exec("INSERT OR REPLACE INTO gpkg_data_columns (table_name, column_name, "+
			"mime_type) VALUES (?, ?, ?)", c.Table, p.Column, schema.JSONType); err != nil {
			return err
		}
	}
	return nil
}

// versionIndex creates the index for versions by feature, and for the versions of a day in the order of features.
func (w *Writer) versionIndex(c *store.Collection) error {
	var columns []string
	for _, n := range [...]string{c.Versions.ID, c.Versions.Start, c.Versions.End} {
		p, _ := c.Find(n)
		columns = append(columns, sqlite.Quote(p.Column))
	}
	return w.c.Exec("CREATE INDEX IF NOT EXISTS " + sqlite.Quote("index_"+c.Table+"_versions") + " ON " +
		sqlite.Quote(c.Table) +
		" (" + strings.Join(columns, ", ") + ")")
}

// buildIndex fills the R-tree (OGC 12-128r18, F.3) and stores the extent.
func (w *Writer) buildIndex(t *target) error {
	name, col := t.c.Table, t.c.Geometry.Column
	tree := "rtree_" + name + "_" + col
	if err := w.c.Exec("CREATE VIRTUAL TABLE " + sqlite.Quote(tree) +
		" USING rtree(id, minx, maxx, miny, maxy)"); err != nil {
		return err
	}
	all := wkb.EmptyBound()
	var buf []byte
	cells := rtree.NewSorter(filepath.Dir(w.path))
	defer cells.Close()
	err := w.c.Query("SELECT "+t.rowid+", "+sqlite.Quote(col)+" FROM "+sqlite.Quote(name), nil,
		func(r sqlite.Row) error {
			if r.Null(1) {
				return nil
			}
			buf = r.Bytes(1, buf)
			_, in, state := gpb.Read(buf)
			if state != gpb.Fine {
				return nil
			}
			all = all.Union(in.Bound)
			cells.Add(rtree.NewCell(r.Int(0), in.Bound))
			return nil
		})
	if err == nil {
		err = rtree.Write(w.c, filepath.Dir(w.path), tree, cells)
	}
	if err != nil {
		return err
	}
	if !all.IsEmpty() {
		err := w.c.Exec("UPDATE gpkg_contents SET min_x = ?, min_y = ?, max_x = ?, max_y = ? WHERE table_name = ?",
			all.Min[0], all.Min[1], all.Max[0], all.Max[1], name)
		if err != nil {
			return err
		}
	}
	for _, sql := range indexTriggers(name, col, t.rowid) {
		if err := w.c.Exec(sql); err != nil {
			return err
		}
	}
	return w.c.Exec(`INSERT INTO gpkg_extensions (table_name, column_name, extension_name, definition, scope)
		VALUES (?, ?, 'gpkg_rtree_index', 'http://www.geopackage.org/spec120/#extension_rtree', 'write-only')`, name,
		col)
}

// indexTriggers returns triggers that update the R-tree when other programs write. They use functions that every
// GeoPackage writer must provide.
func indexTriggers(table, column, id string) []string {
	tree := "rtree_" + table + "_" + column
	named := func(suffix string) string { return sqlite.Quote(tree + suffix) }
	replace := strings.NewReplacer("<t>", sqlite.Quote(table), "<c>", sqlite.Quote(column), "<i>", id, "<tree>",
		sqlite.Quote(tree),
		"<insert>", named("_insert"), "<update1>", named("_update1"), "<update2>", named("_update2"), "<update3>",
		named("_update3"),
		"<update4>", named("_update4"), "<delete>", named("_delete"),
		"<row>",
		"(NEW."+id+", ST_MinX(NEW."+sqlite.Quote(column)+"), ST_MaxX(NEW."+sqlite.Quote(column)+"), ST_MinY(NEW."+
			sqlite.Quote(column)+"), ST_MaxY(NEW."+sqlite.Quote(column)+"))",
		"<shape>", "(NEW."+sqlite.Quote(column)+" NOTNULL AND NOT ST_IsEmpty(NEW."+sqlite.Quote(column)+"))",
		"<none>", "(NEW."+sqlite.Quote(column)+" ISNULL OR ST_IsEmpty(NEW."+sqlite.Quote(column)+"))")
	templates := []string{
		`CREATE TRIGGER <insert> AFTER INSERT ON <t> WHEN <shape> BEGIN INSERT OR REPLACE INTO <tree> VALUES ` +
			`<row>; END`,
		`CREATE TRIGGER <update1> AFTER UPDATE OF <c> ON <t> WHEN OLD.<i> = NEW.<i> AND <shape> BEGIN INSERT OR ` +
			`REPLACE INTO <tree> VALUES <row>; END`,
		`CREATE TRIGGER <update2> AFTER UPDATE OF <c> ON <t> WHEN OLD.<i> = NEW.<i> AND <none> BEGIN DELETE FROM ` +
			`<tree> WHERE id = OLD.<i>; END`,
		`CREATE TRIGGER <update3> AFTER UPDATE ON <t> WHEN OLD.<i> != NEW.<i> AND <shape>
  BEGIN DELETE FROM <tree> WHERE id = OLD.<i>; INSERT OR REPLACE INTO <tree> VALUES <row>; END`,
		`CREATE TRIGGER <update4> AFTER UPDATE ON <t> WHEN OLD.<i> != NEW.<i> AND <none> BEGIN DELETE FROM <tree> ` +
			`WHERE id IN (OLD.<i>, NEW.<i>); END`,
		`CREATE TRIGGER <delete> AFTER DELETE ON <t> WHEN OLD.<c> NOT NULL BEGIN DELETE FROM <tree> WHERE id = ` +
			`OLD.<i>; END`,
	}
	for i, s := range templates {
		templates[i] = replace.Replace(s)
	}
	return templates
}

// countFeatures stores the number of features in the table that GDAL uses, and creates GDAL's triggers for it.
func (w *Writer) countFeatures(t *target) error {
	name := t.c.Table
	listed, err := w.c.One("SELECT count(*) FROM gpkg_contents WHERE table_name = ?", name)
	if err != nil || listed == 0 {
		return err
	}
	have, err := sqlite.ReadTable(w.c, "gpkg_ogr_contents")
	if err != nil || have == nil {
		return err
	}
	text := "'" + strings.ReplaceAll(name, "'", "''") + "'" // a table name; triggers have no parameters
	for _, sql := range [...]string{
		"INSERT OR REPLACE INTO gpkg_ogr_contents SELECT " + text + ", count(*) FROM " + sqlite.Quote(name),
		"CREATE TRIGGER " + sqlite.Quote("trigger_insert_feature_count_"+name) + " AFTER INSERT ON " +
			sqlite.Quote(name) +
			" BEGIN UPDATE gpkg_ogr_contents SET feature_count = feature_count + 1 WHERE lower(table_name) = lower(" +
			text + "); END",
		"CREATE TRIGGER " + sqlite.Quote("trigger_delete_feature_count_"+name) + " AFTER DELETE ON " +
			sqlite.Quote(name) +
			" BEGIN UPDATE gpkg_ogr_contents SET feature_count = feature_count - 1 WHERE lower(table_name) = lower(" +
			text + "); END",
	} {
		if err := w.c.Exec(sql); err != nil {
			return err
		}
	}
	return nil
}

// dropDerived removes what finish has built, before rows are written again.
func (w *Writer) dropDerived(table string) error {
	var drop []string
	err := w.c.Query(
		`SELECT type, name FROM sqlite_schema WHERE (type = 'trigger' AND lower(tbl_name) = lower(?1) AND (name LIKE 'rtree%' OR name LIKE 'trigger%'
		OR name LIKE 'gpkg%')) OR (type = 'table' AND lower(name) IN (SELECT lower('rtree_' || table_name || '_' ||
			column_name) FROM gpkg_geometry_columns
		WHERE lower(table_name) = lower(?1)))`, []any{table}, func(r sqlite.Row) error {
			drop = append(drop, "DROP "+strings.ToUpper(r.Text(0))+" "+sqlite.Quote(r.Text(1)))
			return nil
		})
	if err != nil {
		return err
	}
	if err := w.c.ExecAll(drop); err != nil {
		return err
	}
	for _, t := range [...]string{"gpkg_extensions", "gpkg_ogr_contents", "gpkg_data_columns"} {
		if have, err := sqlite.ReadTable(w.c, t); err != nil {
			return err
		} else if have == nil {
			continue
		}
		if err := w.c.Exec("DELETE FROM "+t+" WHERE lower(table_name) = lower(?)", table); err != nil {
			return err
		}
	}
	return nil
}

func (t *target) isMade(table string) bool { return slices.Contains(t.made, table) }

// searchIndexes creates indexes on the search columns of tables outside the migrations, and fills full-text tables.
func (w *Writer) searchIndexes(t *target, table string, ps []store.Property) error {
	for _, p := range ps {
		if t.isMade(table) {
			for _, col := range [...]string{p.Search.Exact, p.Search.Norm, p.Search.Rev} {
				if col == "" {
					continue
				}
				if err := w.c.Exec("CREATE INDEX IF NOT EXISTS " + sqlite.Quote("index_"+table+"_"+col) + " ON " +
					sqlite.Quote(table) + " (" + sqlite.Quote(col) + ")"); err != nil {
					return err
				}
			}
		}
		if p.Search.Gram == "" {
			continue
		}
		if err := w.gram(table, p.Search); err != nil {
			return fmt.Errorf("full text of %q: %w", p.Name, err)
		}
	}
	return nil
}

// gram fills a full-text table of trigrams. It creates the table if necessary.
func (w *Writer) gram(table string, s store.Search) error {
	if w.filled[s.Gram] { // several relations may share a table
		return nil
	}
	w.filled[s.Gram] = true
	name := sqlite.Quote(s.Gram)
	have, err := sqlite.ReadTable(w.c, s.Gram)
	if err != nil {
		return err
	}
	if s.Texts != "" {
		if err := w.makeTexts(s); err != nil {
			return err
		}
	}
	if have == nil && s.Texts != "" {
		if err := w.c.Exec("CREATE VIRTUAL TABLE " + name + " USING fts5(" + sqlite.Quote(s.Norm) +
			", content='', columnsize=0, detail=none, tokenize='trigram')"); err != nil {
			return err
		}
	} else if have == nil {
		text := "'" + strings.ReplaceAll(table, "'", "''") + "'"
		err := w.c.Exec("CREATE VIRTUAL TABLE " + name + " USING fts5(" + sqlite.Quote(s.Norm) + ", content=" + text +
			", content_rowid='rowid', columnsize=0, tokenize='trigram')")
		if err != nil {
			return err
		}
	}
	if s.Texts == "" {
		return w.c.Exec("INSERT INTO " + name + "(" + name + ") VALUES ('rebuild')")
	}
	texts, norm := sqlite.Quote(s.Texts), sqlite.Quote(s.Norm)
	return w.c.ExecAll([]string{
		"INSERT INTO " + name + "(" + name + ") VALUES ('delete-all')",
		"DELETE FROM " + texts,
		"INSERT INTO " + texts + " (" + norm + ") SELECT DISTINCT " + norm + " FROM " + sqlite.Quote(table) +
			" WHERE " +
			norm + " IS NOT NULL ORDER BY " + norm,
		"INSERT INTO " + name + " (rowid, " + norm + ") SELECT rowid, " + norm + " FROM " + texts + " ORDER BY rowid",
	})
}

// makeTexts creates a table of distinct texts if necessary.
func (w *Writer) makeTexts(s store.Search) error {
	have, err := sqlite.ReadTable(w.c, s.Texts)
	if err != nil || have != nil {
		return err
	}
	return w.c.Exec("CREATE TABLE " + sqlite.Quote(s.Texts) + " (id INTEGER PRIMARY KEY NOT NULL, " +
		sqlite.Quote(s.Norm) +
		" TEXT NOT NULL)")
}

func (w *Writer) relationIndexes(t *target, rs []store.Relation) error {
	for _, r := range rs {
		if t.isMade(r.Table) {
			if err := w.c.Exec("CREATE INDEX IF NOT EXISTS " + sqlite.Quote("index_"+r.Table+"_"+r.Owner) + " ON " +
				sqlite.Quote(r.Table) + " (" + sqlite.Quote(r.Owner) + ")"); err != nil {
				return err
			}
		}
		if err := w.searchIndexes(t, r.Table, r.Columns); err != nil {
			return err
		}
		if err := w.relationIndexes(t, r.Relations); err != nil {
			return err
		}
	}
	return nil
}
