package catalog

import (
	"grense/internal/cql2"
	"grense/internal/store/sqlq"
)

// Column is a column of a table.
type Column struct {
	Name          string
	Printed, Base string // its type as printed, and the type's name without schema; of a domain, that of its base type
	Category      string // typcategory of Base
	declared      string // Base for use in statements
	number        int16
	NotNull       bool
	collation     byte         // one of the collation constants; 0: none
	indexes       sqlq.Indexes // indexes in other orders than that of the column
	Comment       string
	GeometryType  string // declared type of a geometry or geography
	SRID, Dims    int
	TypeModifier  string // of a geometry or geography: type and modifier, which contains the SRID
}

// What is known about the collation of a column.
const (
	collationCodePoint = 'c' // by code point, and the server knows it
	collationUTF8      = 'u' // C.UTF-8 of the C library: by code point, but the server does not know it
	collationEqual     = 'd' // deterministic: only identical texts are equal
	collationRoughly   = 'n' // nondeterministic
)

// IsGeometry reports whether a column holds geometries or geographies.
func (c Column) IsGeometry() bool { return c.Base == "geometry" || c.Base == "geography" }

// IsRange reports whether a column has ranges of dates or timestamps.
func (c Column) IsRange() bool {
	return c.Base == "daterange" || c.Base == "tstzrange" || c.Base == "tsrange"
}

// declaredAs returns the name of a column's type if reading its values needs it, else "".
func (c Column) declaredAs(t cql2.Type) string {
	switch {
	case t == cql2.TypeText && c.Base != "text" && c.Base != "varchar", t == cql2.TypeJSON && c.Category != "A":
		return c.declared
	}
	return ""
}

// IsInteger reports whether a column holds integers of any size.
func (c Column) IsInteger() bool { return c.Base == "int2" || c.Base == "int4" || c.Base == "int8" }

// Type returns the type of a column as served; false if the column is not served.
func (c Column) Type() (cql2.Type, bool) {
	switch c.Base {
	case "int2", "int4", "int8":
		return cql2.TypeInteger, true
	case "float4", "float8", "numeric":
		return cql2.TypeNumber, true
	case "bool":
		return cql2.TypeBool, true
	case "date":
		return cql2.TypeDate, true
	case "timestamp", "timestamptz":
		return cql2.TypeTimestamp, true
	case "json", "jsonb":
		return cql2.TypeJSON, true
	case "bytea", "raster", "xml":
		return 0, false
	}
	if c.Category == "A" {
		return cql2.TypeJSON, true
	}
	return cql2.TypeText, true
}

// normal returns the conversion (sqlq.Field.Normal) that comparing a column needs.
func (c Column) normal(t cql2.Type) string {
	switch t {
	case cql2.TypeText:
		switch {
		case c.Base != "text" && c.Base != "varchar":
			return sqlq.PostgresText
		case !c.IsByCodePoint():
			return sqlq.PostgresCollate
		}
	case cql2.TypeNumber:
		switch c.Base {
		case "float4":
			return sqlq.PostgresSingle
		case "numeric":
			return sqlq.PostgresNumeric
		}
		return sqlq.PostgresNumber
	case cql2.TypeDate:
		return sqlq.PostgresDay
	case cql2.TypeTimestamp:
		return sqlq.PostgresStamp
	case cql2.TypeJSON:
		if c.Category == "A" {
			return ArrayColumn
		}
	}
	return ""
}

// IsByCodePoint reports whether texts of a column compare by code point.
func (c Column) IsByCodePoint() bool {
	return (c.Base == "text" || c.Base == "varchar") && (c.collation == collationCodePoint ||
		c.collation == collationUTF8)
}

// StoredAs returns how texts of a column compare in the database.
func (c Column) StoredAs(t cql2.Type) sqlq.Stored {
	switch {
	case t != cql2.TypeText:
	case c.Base == "text" || c.Base == "varchar":
		return map[byte]sqlq.Stored{collationCodePoint: sqlq.StoredCodePoint, collationUTF8: sqlq.StoredUTF8,
			collationEqual:   sqlq.StoredEqual,
			collationRoughly: sqlq.StoredRoughly}[c.collation]
	case c.Base == "bpchar" && c.collation != collationRoughly:
		return sqlq.StoredPadded
	case c.Base == "citext":
		return sqlq.StoredRoughly
	case c.Base == "uuid":
		return sqlq.StoredUUID
	case c.Category == "E":
		return sqlq.StoredEnum
	}
	return sqlq.StoredOther
}

// Field returns a column as the compiler of filters sees it, served as a type.
func (c Column) Field(t cql2.Type) *sqlq.Field {
	return &sqlq.Field{Column: c.Name, Type: t, Normal: c.normal(t), Nulls: !c.NotNull, Stored: c.StoredAs(t),
		Indexes: c.indexes, Declared: c.declaredAs(t)}
}

// ArrayColumn as Field.Normal marks a column of arrays, which is served as JSON and not compared in SQL.
const ArrayColumn = "array"

// OrderExpr returns the expression of an index on a column that sorts its values, none of which is null.
func OrderExpr(column string, f *sqlq.Field) string {
	if f.Type == cql2.TypeText && f.Stored != sqlq.StoredUUID {
		return sqlq.PostgreSQL{}.Normal(column, f)
	}
	return column
}
