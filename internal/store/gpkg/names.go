package gpkg

import (
	"strconv"
	"strings"

	"grense/internal/cql2"
)

// collectionID turns the name of a layer into an id that is safe in a URL: lower case, æ, ø, å as ae, o, a, other runs as one
// underscore.
func collectionID(name string) string {
	var b strings.Builder
	run := false
	for _, r := range strings.ToLower(name) {
		s := string(r)
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '_', r == '-':
		case r == 'æ':
			s = "ae"
		case r == 'ø':
			s = "o"
		case r == 'å':
			s = "a"
		default:
			if !run {
				b.WriteByte('_')
			}
			run = true
			continue
		}
		run = false
		b.WriteString(s)
	}
	if b.Len() == 0 {
		return "_"
	}
	return b.String()
}

// unique returns id, or id with _2, _3 ... when it is taken.
func unique(id string, taken func(string) bool) string {
	for n, next := 2, id; ; n++ {
		if !taken(next) {
			return next
		}
		next = id + "_" + strconv.Itoa(n)
	}
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

// declaredType returns the type of a declared column type (OGC 12-128r18, table 1, and what other programs write); false when the
// declaration says nothing, so that the values decide.
func declaredType(declared string) (cql2.Type, bool) {
	d := strings.ToUpper(strings.TrimSpace(declared))
	if i := strings.IndexByte(d, '('); i >= 0 {
		d = strings.TrimSpace(d[:i])
	}
	switch d {
	case "BOOLEAN", "BOOL":
		return cql2.TypeBool, true
	case "TINYINT", "SMALLINT", "MEDIUMINT", "INT", "INTEGER", "BIGINT", "INT2", "INT4", "INT8", "INTEGER64", "UNSIGNED BIG INT":
		return cql2.TypeInteger, true
	case "FLOAT", "DOUBLE", "REAL", "DOUBLE PRECISION", "NUMERIC", "DECIMAL":
		return cql2.TypeNumber, true
	case "DATE":
		return cql2.TypeDate, true
	case "DATETIME", "TIMESTAMP":
		return cql2.TypeTimestamp, true
	case "TEXT", "VARCHAR", "CHARACTER", "NVARCHAR", "NCHAR", "CHAR", "CLOB", "STRING", "JSON", "UUID", "TIME":
		return cql2.TypeText, true
	}
	if affinityOf(declared) == affinityText {
		return cql2.TypeText, true
	}
	return 0, false
}
