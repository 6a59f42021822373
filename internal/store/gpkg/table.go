package gpkg

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"grense/internal/store"
	"grense/internal/store/sqlq"
)

// table is a table or view as described by SQLite.
type table struct {
	name    string // as in the schema of the database
	view    bool
	rowid   string // name of the row id that no column hides; "" for views and WITHOUT ROWID tables
	columns []tableColumn
	// numbered means that a column is an alias of the row id, which is then stable.
	numbered bool
}

type tableColumn struct {
	name, declared string
	key            int  // position in the primary key, from 1; 0 if not part of it
	notNull        bool // declared NOT NULL
}

// readTable returns nil if there is no such table.
func readTable(c *conn, name string) (*table, error) {
	t := &table{}
	withRowid, sure := false, false
	if c.survey != nil {
		t.name, t.view, sure = c.survey.find(name)
		withRowid = sure && !t.view
	}
	if !sure {
		err := c.query(`SELECT name, type, wr FROM pragma_table_list(?) WHERE schema = 'main'`, []any{name},
			func(r row) error {
				t.name, t.view, withRowid = r.Text(0), r.Text(1) == "view", r.Text(1) == "table" && !r.Bool(2)
				return nil
			})
		if err != nil {
			return nil, err
		}
	}
	if t.name == "" {
		return nil, nil
	}
	err := c.query(`SELECT name, type, pk, "notnull" FROM pragma_table_xinfo(?) WHERE hidden <> 1`, []any{t.name},
		func(r row) error {
			t.columns = append(t.columns, tableColumn{r.Text(0), r.Text(1), int(r.Int(2)), r.Bool(3)})
			return nil
		})
	if err != nil {
		return nil, err
	}
	if withRowid {
		t.rowid = "rowid"
		t.numbered = slices.ContainsFunc(t.columns, t.isRowid)
		for _, n := range [...]string{"rowid", "_rowid_", "oid"} {
			if _, ok := t.column(n); !ok {
				t.rowid = n
				break
			}
		}
	}
	return t, nil
}

// column finds a column; names are case-insensitive.
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

// isRowid reports whether a column is an alias of the row id.
func (t *table) isRowid(c tableColumn) bool {
	return t.rowid != "" && c.key == 1 && strings.EqualFold(c.declared, "INTEGER") && len(t.primaryKey()) == 1
}

func (t *table) quoted() string { return "main." + quote(t.name) }

func quote(name string) string { return sqlq.SQLite{}.Quote(name) }

// usualIDs are names of columns in views that may be the feature id, in order of preference.
var usualIDs = [...]string{"fid", "ogc_fid", "objectid", "id"}

// surveyRules identifies what surveys contain. Side files with other rules are not used.
const surveyRules = "unique keys, JSON, few rows, marks"

// rowNumber in a key represents the row id.
const rowNumber = ""

// keys returns columns that may form the feature id, in order of preference. If there are none, reason says why.
func (t *table) keys(c *conn, configured []string) (keys [][]string, reason string, err error) {
	if len(configured) > 0 {
		var names []string
		for _, n := range configured {
			col, ok := t.column(n)
			if !ok {
				return nil, fmt.Sprintf("there is no column %q for the feature id; name one in id_column", n), nil
			}
			names = append(names, col.name)
		}
		return [][]string{names}, "", nil
	}
	if t.view {
		for _, n := range usualIDs {
			if col, ok := t.column(n); ok {
				keys = append(keys, []string{col.name})
			}
		}
		if len(t.columns) > 0 && !slices.ContainsFunc(keys, func(k []string) bool {
			return k[0] == t.columns[0].name
		}) {
			keys = append(keys, []string{t.columns[0].name})
		}
		return keys,
			"no column of the view is unique and without null; name one, or a list of several that are so together, " +
				"in id_column", nil
	}
	if primary := t.primaryKey(); len(primary) > 0 {
		var names []string
		for _, col := range primary {
			names = append(names, col.name)
		}
		keys = append(keys, names)
	}
	unique, err := t.uniqueKeys(c)
	keys = append(keys, unique...)
	slices.SortStableFunc(keys, func(a, b []string) int { return min(len(a), 2) - min(len(b), 2) })
	if t.rowid != "" {
		keys = append(keys, []string{rowNumber})
	}
	return keys, "no key identifies its rows, and there is no row id; name a unique column, or a list of several, " +
		"in id_column", err
}

// uniqueKeys returns the columns of unique indexes over all rows that are declared NOT NULL.
func (t *table) uniqueKeys(c *conn) (keys [][]string, err error) {
	var indexes []string
	err = c.query(`SELECT name FROM pragma_index_list(?, 'main') WHERE "unique" AND NOT partial AND origin <> 'pk' `+
		`ORDER BY seq DESC`, []any{t.name},
		func(r row) error { indexes = append(indexes, r.Text(0)); return nil })
	for _, name := range indexes {
		var key []string
		fits := true
		err := c.query("SELECT name FROM pragma_index_info(?, 'main') ORDER BY seqno", []any{name}, func(r row) error {
			col, ok := t.column(r.Text(0)) // null for an expression
			fits = fits && ok && !r.Null(0) && col.notNull
			key = append(key, col.name)
			return nil
		})
		if err != nil {
			return nil, err
		}
		if fits {
			keys = append(keys, key)
		}
	}
	return keys, err
}

// contents is a row of gpkg_contents, with data from other tables.
type contents struct {
	table, kind, title, description string
	geometryColumn                  // the served one; zero if there is none
	geometries                      []geometryColumn
	changed                         time.Time // zero: unknown
}

// geometryColumn is a row of gpkg_geometry_columns.
type geometryColumn struct {
	geometry     string // name of the column
	geometryType string
	z            bool
	srs          srs
}

// readContents returns the layers in a stable order.
func readContents(c *conn) ([]contents, error) {
	var list []contents
	err := c.query(`SELECT table_name, data_type, identifier, description, last_change FROM gpkg_contents `+
		`ORDER BY rowid`, nil, func(r row) error {
		changed, _ := time.Parse(time.RFC3339, r.Text(4)) // other programs may write anything
		list = append(list, contents{table: r.Text(0), kind: r.Text(1), title: r.Text(2), description: r.Text(3),
			changed: changed})
		return nil
	})
	if err != nil {
		return nil, err
	}
	if t, err := readTable(c, "gpkg_geometry_columns"); err != nil || t == nil {
		return list, err
	}
	geometries := map[string][]geometryColumn{} // by table name in lower case
	err = c.query(
		`SELECT g.column_name, g.geometry_type_name, g.z, g.srs_id, s.srs_name, s.organization, s.organization_coordsys_id, s.definition, g.table_name
		FROM gpkg_geometry_columns g LEFT JOIN gpkg_spatial_ref_sys s ON s.srs_id = g.srs_id`, nil, func(r row) error {
			of := lowered(r.Text(8))
			geometries[of] = append(geometries[of], geometryColumn{r.Text(0), r.Text(1), r.Int(2) == 1,
				srs{id: r.Int(3), name: r.Text(4), organization: r.Text(5), code: r.Int(6), definition: r.Text(7)}})
			return nil
		})
	for i := range list {
		list[i].geometries = geometries[lowered(list[i].table)]
	}
	return list, err
}

// geometryTypes maps GeoPackage geometry types to GeoJSON types (OGC 12-128r18, annex G).
var geometryTypes = map[string]string{
	"POINT": "Point", "LINESTRING": "LineString", "POLYGON": "Polygon", "MULTIPOINT": "MultiPoint",
	"MULTILINESTRING": "MultiLineString",
	"MULTIPOLYGON":    "MultiPolygon", "GEOMETRYCOLLECTION": "GeometryCollection",
	"GEOMCOLLECTION": "GeometryCollection",
}

// columnText is a row of gpkg_data_columns.
type columnText struct {
	title, description string
	json               bool // the media type is application/json
	enum               []string
}

// jsonType is the media type of JSON in gpkg_data_columns.
const jsonType = "application/json"

// readColumnTexts reads gpkg_data_columns (OGC 12-128r18, F.9), if present: by table, then by column, in lower case.
func readColumnTexts(c *conn) (map[string]map[string]columnText, error) {
	if t, err := readTable(c, "gpkg_data_columns"); err != nil || t == nil {
		return nil, err
	}
	type place struct{ table, column string }
	texts := map[string]map[string]columnText{}
	constraint := map[place]string{}
	err := c.query(`SELECT table_name, column_name, coalesce(title, name), description, constraint_name, `+
		`mime_type FROM gpkg_data_columns`, nil, func(r row) error {
		at := place{lowered(r.Text(0)), strings.ToLower(r.Text(1))}
		if texts[at.table] == nil {
			texts[at.table] = map[string]columnText{}
		}
		texts[at.table][at.column] = columnText{title: r.Text(2), description: r.Text(3),
			json: strings.EqualFold(r.Text(5), jsonType)}
		if !r.Null(4) {
			constraint[at] = lowered(r.Text(4))
		}
		return nil
	})
	if err != nil || len(constraint) == 0 {
		return texts, err
	}
	if t, err := readTable(c, "gpkg_data_column_constraints"); err != nil || t == nil {
		return texts, err
	}
	enums := map[string][]string{}
	err = c.query(`SELECT constraint_name, value FROM gpkg_data_column_constraints WHERE constraint_type = 'enum' `+
		`ORDER BY rowid`, nil, func(r row) error {
		name := lowered(r.Text(0))
		enums[name] = append(enums[name], r.Text(1))
		return nil
	})
	for at, name := range constraint {
		x := texts[at.table][at.column]
		x.enum = enums[name]
		texts[at.table][at.column] = x
	}
	return texts, err
}

func textOf(s string) store.Text {
	if s == "" {
		return nil
	}
	return store.Text{"": s}
}
