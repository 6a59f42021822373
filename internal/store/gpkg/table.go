package gpkg

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"grense/internal/store"
	"grense/internal/store/sqlq"
)

// table is a table or view as SQLite describes it.
type table struct {
	name    string // as in the database's own schema
	view    bool
	rowid   string // a name of the row id that no column has; "" for views and tables without one
	columns []tableColumn
}

type tableColumn struct {
	name, declared string
	key            int  // position in the primary key, from 1; 0 when not in it
	notNull        bool // declared so
}

// readTable returns nil when there is no such table.
func readTable(c *conn, name string) (*table, error) {
	t := &table{}
	withRowid := false
	err := c.query(`SELECT name, type, wr FROM pragma_table_list(?) WHERE schema = 'main'`, []any{name}, func(r row) error {
		t.name, t.view, withRowid = r.Text(0), r.Text(1) == "view", r.Text(1) == "table" && !r.Bool(2)
		return nil
	})
	if err != nil || t.name == "" {
		return nil, err
	}
	err = c.query(`SELECT name, type, pk, "notnull" FROM pragma_table_xinfo(?) WHERE hidden <> 1`, []any{t.name}, func(r row) error {
		t.columns = append(t.columns, tableColumn{r.Text(0), r.Text(1), int(r.Int(2)), r.Bool(3)})
		return nil
	})
	if err != nil {
		return nil, err
	}
	if withRowid {
		for _, n := range [...]string{"rowid", "_rowid_", "oid"} {
			if _, ok := t.column(n); !ok {
				t.rowid = n
				break
			}
		}
	}
	return t, nil
}

// column finds a column; SQLite's names are case-insensitive.
func (t *table) column(name string) (tableColumn, bool) {
	i := slices.IndexFunc(t.columns, func(c tableColumn) bool { return strings.EqualFold(c.name, name) })
	if i < 0 {
		return tableColumn{}, false
	}
	return t.columns[i], true
}

// primaryKey returns the columns of the primary key in its order.
func (t *table) primaryKey() []tableColumn {
	var key []tableColumn
	for _, c := range t.columns {
		if c.key > 0 {
			key = append(key, c)
		}
	}
	slices.SortFunc(key, func(a, b tableColumn) int { return a.key - b.key })
	return key
}

// isRowid reports whether a column is another name of the row id.
func (t *table) isRowid(c tableColumn) bool {
	return t.rowid != "" && c.key == 1 && strings.EqualFold(c.declared, "INTEGER") && len(t.primaryKey()) == 1
}

func (t *table) quoted() string { return "main." + quote(t.name) }

func quote(name string) string { return sqlq.SQLite{}.Quote(name) }

// keyColumns returns the columns that may be the feature id, best first; "" stands for the row id. The reason tells why there is
// none.
func (t *table) keyColumns(configured string) (names []string, reason string) {
	if configured != "" {
		c, ok := t.column(configured)
		if !ok {
			return nil, fmt.Sprintf("there is no column %q for the feature id", configured)
		}
		return []string{c.name}, ""
	}
	if t.view {
		for _, n := range [...]string{"fid", "ogc_fid", "objectid", "id"} {
			if c, ok := t.column(n); ok {
				names = append(names, c.name)
			}
		}
		if len(t.columns) > 0 && !slices.Contains(names, t.columns[0].name) {
			names = append(names, t.columns[0].name)
		}
		return names, "no column of the view is unique and without null; name one as the id column"
	}
	if key := t.primaryKey(); len(key) == 1 {
		names = append(names, key[0].name)
	}
	if t.rowid != "" {
		names = append(names, "")
	}
	return names, "the primary key has several columns and there is no row id; name a unique column as the id column"
}

// contents is a row of gpkg_contents with what other tables say of it.
type contents struct {
	table, kind, title, description string
	geometry                        string // column; "" when none is registered
	geometryType                    string
	z                               bool
	srs                             srs
	changed                         time.Time // zero: not told
}

// readContents lists the layers in a stable order.
func readContents(c *conn) ([]contents, error) {
	var list []contents
	err := c.query(`SELECT table_name, data_type, identifier, description, last_change FROM gpkg_contents ORDER BY rowid`, nil, func(r row) error {
		changed, _ := time.Parse(time.RFC3339, r.Text(4)) // other programs write what they like
		list = append(list, contents{table: r.Text(0), kind: r.Text(1), title: r.Text(2), description: r.Text(3), changed: changed})
		return nil
	})
	if err != nil {
		return nil, err
	}
	if t, err := readTable(c, "gpkg_geometry_columns"); err != nil || t == nil {
		return list, err
	}
	for i := range list {
		l := &list[i]
		err := c.query(`SELECT g.column_name, g.geometry_type_name, g.z, g.srs_id, s.srs_name, s.organization, s.organization_coordsys_id, s.definition
			FROM gpkg_geometry_columns g LEFT JOIN gpkg_spatial_ref_sys s ON s.srs_id = g.srs_id WHERE lower(g.table_name) = lower(?)`,
			[]any{l.table}, func(r row) error {
				l.geometry, l.geometryType, l.z = r.Text(0), r.Text(1), r.Int(2) == 1
				l.srs = srs{id: r.Int(3), name: r.Text(4), organization: r.Text(5), code: r.Int(6), definition: r.Text(7)}
				return nil
			})
		if err != nil {
			return nil, err
		}
	}
	return list, nil
}

// geometryTypes are the GeoJSON names of GeoPackage geometry types (OGC 12-128r18, annex G).
var geometryTypes = map[string]string{
	"POINT": "Point", "LINESTRING": "LineString", "POLYGON": "Polygon", "MULTIPOINT": "MultiPoint", "MULTILINESTRING": "MultiLineString",
	"MULTIPOLYGON": "MultiPolygon", "GEOMETRYCOLLECTION": "GeometryCollection", "GEOMCOLLECTION": "GeometryCollection",
}

// columnText is what gpkg_data_columns says of a column.
type columnText struct {
	title, description string
	enum               []string
}

// readColumnTexts reads the extension Schema (OGC 12-128r18, F.9) where it is used.
func readColumnTexts(c *conn, tableName string) (map[string]columnText, error) {
	if t, err := readTable(c, "gpkg_data_columns"); err != nil || t == nil {
		return nil, err
	}
	texts := map[string]columnText{}
	constraint := map[string]string{}
	err := c.query(`SELECT column_name, coalesce(title, name), description, constraint_name FROM gpkg_data_columns WHERE lower(table_name) = lower(?)`,
		[]any{tableName}, func(r row) error {
			name := strings.ToLower(r.Text(0))
			texts[name] = columnText{title: r.Text(1), description: r.Text(2)}
			if !r.Null(3) {
				constraint[name] = r.Text(3)
			}
			return nil
		})
	if err != nil || len(constraint) == 0 {
		return texts, err
	}
	if t, err := readTable(c, "gpkg_data_column_constraints"); err != nil || t == nil {
		return texts, err
	}
	for name, rule := range constraint {
		x := texts[name]
		err := c.query(`SELECT value FROM gpkg_data_column_constraints WHERE lower(constraint_name) = lower(?) AND constraint_type = 'enum' ORDER BY rowid`,
			[]any{rule}, func(r row) error { x.enum = append(x.enum, r.Text(0)); return nil })
		if err != nil {
			return nil, err
		}
		texts[name] = x
	}
	return texts, nil
}

func textOf(s string) store.Text {
	if s == "" {
		return nil
	}
	return store.Text{"": s}
}
