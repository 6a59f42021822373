package gpkg

import (
	"strings"
	"time"

	"grense/internal/store"
	"grense/internal/store/gpkg/sqlite"
)

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
func readContents(c *sqlite.Conn) ([]contents, error) {
	var list []contents
	err := c.Query(`SELECT table_name, data_type, identifier, description, last_change FROM gpkg_contents `+
		`ORDER BY rowid`, nil, func(r sqlite.Row) error {
		changed, _ := time.Parse(time.RFC3339, r.Text(4)) // other programs may write anything
		list = append(list, contents{table: r.Text(0), kind: r.Text(1), title: r.Text(2), description: r.Text(3),
			changed: changed})
		return nil
	})
	if err != nil {
		return nil, err
	}
	if t, err := sqlite.ReadTable(c, "gpkg_geometry_columns"); err != nil || t == nil {
		return list, err
	}
	geometries := map[string][]geometryColumn{} // by table name in lower case
	err = c.Query(
		`SELECT g.column_name, g.geometry_type_name, g.z, g.srs_id, s.srs_name, s.organization, s.organization_coordsys_id, s.definition, g.table_name
		FROM gpkg_geometry_columns g LEFT JOIN gpkg_spatial_ref_sys s ON s.srs_id = g.srs_id`, nil, func(r sqlite.Row) error {
			of := sqlite.Lower(r.Text(8))
			geometries[of] = append(geometries[of], geometryColumn{r.Text(0), r.Text(1), r.Int(2) == 1,
				srs{id: r.Int(3), name: r.Text(4), organization: r.Text(5), code: r.Int(6), definition: r.Text(7)}})
			return nil
		})
	for i := range list {
		list[i].geometries = geometries[sqlite.Lower(list[i].table)]
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
func readColumnTexts(c *sqlite.Conn) (map[string]map[string]columnText, error) {
	if t, err := sqlite.ReadTable(c, "gpkg_data_columns"); err != nil || t == nil {
		return nil, err
	}
	type place struct{ table, column string }
	texts := map[string]map[string]columnText{}
	constraint := map[place]string{}
	err := c.Query(`SELECT table_name, column_name, coalesce(title, name), description, constraint_name, `+
		`mime_type FROM gpkg_data_columns`, nil, func(r sqlite.Row) error {
		at := place{sqlite.Lower(r.Text(0)), strings.ToLower(r.Text(1))}
		if texts[at.table] == nil {
			texts[at.table] = map[string]columnText{}
		}
		texts[at.table][at.column] = columnText{title: r.Text(2), description: r.Text(3),
			json: strings.EqualFold(r.Text(5), jsonType)}
		if !r.Null(4) {
			constraint[at] = sqlite.Lower(r.Text(4))
		}
		return nil
	})
	if err != nil || len(constraint) == 0 {
		return texts, err
	}
	if t, err := sqlite.ReadTable(c, "gpkg_data_column_constraints"); err != nil || t == nil {
		return texts, err
	}
	enums := map[string][]string{}
	err = c.Query(`SELECT constraint_name, value FROM gpkg_data_column_constraints WHERE constraint_type = 'enum' `+
		`ORDER BY rowid`, nil, func(r sqlite.Row) error {
		name := sqlite.Lower(r.Text(0))
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
