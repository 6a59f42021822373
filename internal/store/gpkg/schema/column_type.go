package schema

import (
	"fmt"
	"strings"

	"grense/internal/cql2"
)

// ColumnType returns the declared type of a column.
func ColumnType(t cql2.Type) string {
	switch t {
	case cql2.TypeInteger:
		return "INTEGER"
	case cql2.TypeNumber:
		return "DOUBLE"
	case cql2.TypeBool:
		return "BOOLEAN"
	case cql2.TypeDate:
		return "DATE"
	case cql2.TypeTimestamp:
		return "DATETIME"
	case cql2.TypeText, cql2.TypeJSON:
		return "TEXT"
	}
	panic(fmt.Sprintf("gpkg: no column type for %v", t))
}

// GeometryTypeName returns the geometry type of GeoPackage for a type of GeoJSON.
func GeometryTypeName(geoJSON string) string {
	for name, n := range geometryTypes {
		if n == geoJSON && name != "GEOMCOLLECTION" {
			return name
		}
	}
	return "GEOMETRY"
}

// geometryTypes maps GeoPackage geometry types to GeoJSON types (OGC 12-128r18, annex G).
var geometryTypes = map[string]string{
	"POINT": "Point", "LINESTRING": "LineString", "POLYGON": "Polygon", "MULTIPOINT": "MultiPoint",
	"MULTILINESTRING": "MultiLineString",
	"MULTIPOLYGON":    "MultiPolygon", "GEOMETRYCOLLECTION": "GeometryCollection",
	"GEOMCOLLECTION": "GeometryCollection",
}

// affinity is the type affinity of a column (SQLite data types, 3.1).
type affinity uint8

const (
	affinityNone affinity = iota
	affinityText
	affinityNumber
)

func affinityOf(declared string) affinity {
	d := strings.ToUpper(declared)
	switch {
	case strings.Contains(d, "INT"):
		return affinityNumber
	case strings.Contains(d, "CHAR"), strings.Contains(d, "CLOB"), strings.Contains(d, "TEXT"):
		return affinityText
	case d == "", strings.Contains(d, "BLOB"):
		return affinityNone
	}
	return affinityNumber
}

// StoresNumbers reports whether a declared type makes SQLite store texts that look like numbers as numbers.
func StoresNumbers(declared string) bool { return affinityOf(declared) == affinityNumber }

// DeclaredType converts a declared column type (OGC 12-128r18, table 1, and what other programs write). It returns
// false if the declaration does not determine a type; then the values do.
func DeclaredType(declared string) (cql2.Type, bool) {
	d := strings.ToUpper(strings.TrimSpace(declared))
	if i := strings.IndexByte(d, '('); i >= 0 {
		d = strings.TrimSpace(d[:i])
	}
	switch d {
	case "BOOLEAN", "BOOL":
		return cql2.TypeBool, true
	case "TINYINT", "SMALLINT", "MEDIUMINT", "INT", "INTEGER", "BIGINT", "INT2", "INT4", "INT8", "INTEGER64",
		"UNSIGNED BIG INT":
		return cql2.TypeInteger, true
	case "FLOAT", "DOUBLE", "REAL", "DOUBLE PRECISION", "NUMERIC", "DECIMAL":
		return cql2.TypeNumber, true
	case "DATE":
		return cql2.TypeDate, true
	case "DATETIME", "TIMESTAMP":
		return cql2.TypeTimestamp, true
	case "TEXT", "VARCHAR", "CHARACTER", "NVARCHAR", "NCHAR", "CHAR", "CLOB", "STRING", "UUID", "TIME":
		return cql2.TypeText, true
	case "JSON":
		return cql2.TypeJSON, true
	}
	if affinityOf(declared) == affinityText {
		return cql2.TypeText, true
	}
	return 0, false
}
