package survey

import (
	"cmp"
	"strings"
	"time"

	"grense/internal/cql2"
	"grense/internal/store"
	"grense/internal/store/gpkg/schema"
	"grense/internal/store/gpkg/sqlite"
	"grense/internal/store/sqlq"
)

// typeOf returns the type that fits all values of a column; false if the column is not served.
func (d *Draft) typeOf(col sqlite.Column, cs *columnSurvey) (cql2.Type, bool) {
	t, ok, declared := d.settle(col, cs)
	switch {
	case !ok:
		d.warn("column %q holds binary values and is left out", col.Name)
	case !declared && knownType(col.Declared):
		d.warn("column %q is declared %s but holds other values too; it is served as %s", col.Name,
			cmp.Or(d.markedJSON(col.Name), col.Declared), schema.TypeNames[t])
	}
	return t, ok
}

// schema.DeclaredType returns the type by gpkg_data_columns or the declaration of a column; false if neither gives one.
func (d *Draft) declaredType(col sqlite.Column) (cql2.Type, bool) {
	if d.markedJSON(col.Name) != "" {
		return cql2.TypeJSON, true
	}
	return schema.DeclaredType(col.Declared)
}

// markedJSON returns "JSON" if gpkg_data_columns declares a column as JSON, else "".
func (d *Draft) markedJSON(column string) string {
	if d.texts[strings.ToLower(column)].IsJSON {
		return "JSON"
	}
	return ""
}

func knownType(declared string) bool {
	_, known := schema.DeclaredType(declared)
	return known
}

// settle returns the type of a column: the declared one if all values fit it, else a wider one. ok is false for binary
// values.
func (d *Draft) settle(col sqlite.Column, cs *columnSurvey) (t cql2.Type, ok, asDeclared bool) {
	declared, known := d.declaredType(col)
	if cs.Blob > 0 || strings.Contains(strings.ToUpper(col.Declared), "BLOB") {
		return 0, false, false
	}
	if known && (cs.Int+cs.Float+cs.Text == 0 || cs.fits(declared)) {
		switch {
		case d.isRole(col.Name) && declared == cql2.TypeText:
			return cs.roleType(), true, true
		case declared == cql2.TypeDate && cs.Clock:
			return cql2.TypeTimestamp, true, true
		}
		return declared, true, true
	}
	return cs.found(), true, false
}

// roleType returns the type of a text column in the role of a time: date or timestamp if all values fit, else text.
func (cs *columnSurvey) roleType() cql2.Type {
	switch {
	case cs.NotMoment:
		return cql2.TypeText
	case cs.Clock:
		return cql2.TypeTimestamp
	}
	return cql2.TypeDate
}

// found returns the narrowest of integer, number and text that fits all values.
func (cs *columnSurvey) found() cql2.Type {
	switch {
	case cs.Text > 0 || cs.NotFinite || cs.Int+cs.Float == 0:
		return cql2.TypeText
	case cs.Float > 0:
		return cql2.TypeNumber
	}
	return cql2.TypeInteger
}

// fits reports whether all values have type t.
func (cs *columnSurvey) fits(t cql2.Type) bool {
	switch t {
	case cql2.TypeBool:
		return cs.Text == 0 && cs.Float == 0 && !cs.NotBool
	case cql2.TypeInteger:
		return cs.Text == 0 && cs.Float == 0
	case cql2.TypeNumber:
		return cs.Text == 0 && !cs.NotFinite
	case cql2.TypeJSON:
		return !cs.NotJSON && !cs.NotFinite && !cs.NotUTF8
	case cql2.TypeDate, cql2.TypeTimestamp:
		return cs.Int == 0 && cs.Float == 0 && !cs.NotMoment
	}
	return true
}

// NotNull reports whether a column is declared NOT NULL. For columns of the primary key it also checks the values,
// since SQLite does not enforce that.
func (cs *columnSurvey) notNull(col sqlite.Column) bool {
	return col.NotNull || col.Key > 0 && cs.Null == 0
}

// newField describes to sqlq how a column is read.
func newField(col sqlite.Column, cs *columnSurvey, t cql2.Type) *sqlq.Field {
	f := &sqlq.Field{Column: col.Name, Type: t, Nulls: cs.Null > 0}
	switch t {
	case cql2.TypeText, cql2.TypeJSON:
		switch {
		case cs.NotUTF8:
			f.Normal = sqlq.NormalText
		case cs.Int > 0 || cs.Float > 0 || schema.StoresNumbers(col.Declared):
			f.Normal = sqlq.NormalCast
		}
	case cql2.TypeDate:
		if cs.NotDay {
			f.Normal = sqlq.NormalDate
		}
	case cql2.TypeTimestamp:
		f.Layout = cs.Layout
	}
	return f
}

// columnSurvey describes the values of a column. For a column that was not read it has at most whether there are nulls.
type columnSurvey struct {
	Null, Int, Float, Text, Blob int
	NotBool, NotFinite, NotUTF8  bool
	// of texts: some value is not a date or timestamp, is a timestamp, or is not of the form 2006-01-02; Layout is set
	NotMoment, Clock, NotDay, Set bool
	NotArray, NotJSON             bool           // of texts declared as JSON
	Members                       []store.Member // of texts declared as JSON
	Sampled                       bool           // Members is set
	// JSON type of the elements of all arrays; "any" if they differ, "" if there are none
	Items    string
	Layout   string    // the one of stampLayouts that all texts have
	Min, Max time.Time // of dates and timestamps, UTC; valid if Set

	members store.Members
}
