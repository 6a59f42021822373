// Package schema reads and writes what a GeoPackage says about its tables: contents, geometry columns, reference
// systems, column types, and our own definitions of collections.
package schema

import (
	"strings"
	"time"

	"grense/internal/store"
	"grense/internal/store/gpkg/sqlite"
)

// Contents is a row of gpkg_contents, with data from other tables.
type Contents struct {
	Table, Kind, Title, Description string
	GeometryColumn                  // the served one; zero if there is none
	Geometries                      []GeometryColumn
	Changed                         time.Time // zero: unknown
}

// GeometryColumn is a row of gpkg_geometry_columns.
type GeometryColumn struct {
	Geometry     string // name of the column
	GeometryType string
	HasZ         bool
	SRS          SRS
}

// ReadContents returns the layers in a stable order.
func ReadContents(c *sqlite.Conn) ([]Contents, error) {
	var list []Contents
	err := c.Query(`SELECT table_name, data_type, identifier, description, last_change FROM gpkg_contents `+
		`ORDER BY rowid`, nil, func(r sqlite.Row) error {
		changed, _ := time.Parse(time.RFC3339, r.Text(4)) // other programs may write anything
		list = append(list, Contents{Table: r.Text(0), Kind: r.Text(1), Title: r.Text(2), Description: r.Text(3),
			Changed: changed})
		return nil
	})
	if err != nil {
		return nil, err
	}
	if t, err := sqlite.ReadTable(c, "gpkg_geometry_columns"); err != nil || t == nil {
		return list, err
	}
	geometries := map[string][]GeometryColumn{} // by table name in lower case
	err = c.Query(
		`SELECT g.column_name, g.geometry_type_name, g.z, g.srs_id, s.srs_name, s.organization, s.organization_coordsys_id, s.definition, g.table_name
		FROM gpkg_geometry_columns g LEFT JOIN gpkg_spatial_ref_sys s ON s.srs_id = g.srs_id`, nil, func(r sqlite.Row) error {
			of := sqlite.Lower(r.Text(8))
			geometries[of] = append(geometries[of], GeometryColumn{r.Text(0), r.Text(1), r.Int(2) == 1,
				SRS{ID: r.Int(3), name: r.Text(4), Organization: r.Text(5), Code: r.Int(6), definition: r.Text(7)}})
			return nil
		})
	for i := range list {
		list[i].Geometries = geometries[sqlite.Lower(list[i].Table)]
	}
	return list, err
}

// ColumnText is a row of gpkg_data_columns.
type ColumnText struct {
	Title, Description string
	IsJSON             bool // the media type is application/json
	Enum               []string
}

// JSONType is the media type of JSON in gpkg_data_columns.
const JSONType = "application/json"

// ReadColumnTexts reads gpkg_data_columns (OGC 12-128r18, F.9), if present: by table, then by column, in lower case.
func ReadColumnTexts(c *sqlite.Conn) (map[string]map[string]ColumnText, error) {
	if t, err := sqlite.ReadTable(c, "gpkg_data_columns"); err != nil || t == nil {
		return nil, err
	}
	type place struct{ table, column string }
	texts := map[string]map[string]ColumnText{}
	constraint := map[place]string{}
	err := c.Query(`SELECT table_name, column_name, coalesce(title, name), description, constraint_name, `+
		`mime_type FROM gpkg_data_columns`, nil, func(r sqlite.Row) error {
		at := place{sqlite.Lower(r.Text(0)), strings.ToLower(r.Text(1))}
		if texts[at.table] == nil {
			texts[at.table] = map[string]ColumnText{}
		}
		texts[at.table][at.column] = ColumnText{Title: r.Text(2), Description: r.Text(3),
			IsJSON: strings.EqualFold(r.Text(5), JSONType)}
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
		x.Enum = enums[name]
		texts[at.table][at.column] = x
	}
	return texts, err
}

// Text returns a text whose language is not known; nil for "".
func Text(s string) store.Text {
	if s == "" {
		return nil
	}
	return store.Text{"": s}
}
