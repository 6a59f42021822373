package survey

import (
	"fmt"
	"slices"
	"strings"

	"grense/internal/store/gpkg/layer"
	"grense/internal/store/gpkg/sqlite"
)

// usualIDs are names of columns in views that may be the feature id, in order of preference.
var usualIDs = [...]string{"fid", "ogc_fid", "objectid", "id"}

// surveyRules identifies what surveys contain. Side files with other rules are not used.
const surveyRules = "unique keys, JSON, few rows, marks"

// rowNumber in a key represents the row id.
const rowNumber = ""

// keysOf returns columns that may form the feature id, in order of preference. If there are none, reason says why.
func keysOf(c *sqlite.Conn, t *sqlite.Table, configured []string) (keys [][]string, reason string, err error) {
	if len(configured) > 0 {
		var names []string
		for _, n := range configured {
			col, ok := t.Column(n)
			if !ok {
				return nil, fmt.Sprintf("there is no column %q for the feature id; name one in id_column", n), nil
			}
			names = append(names, col.Name)
		}
		return [][]string{names}, "", nil
	}
	if t.View {
		for _, n := range usualIDs {
			if col, ok := t.Column(n); ok {
				keys = append(keys, []string{col.Name})
			}
		}
		if len(t.Columns) > 0 && !slices.ContainsFunc(keys, func(k []string) bool {
			return k[0] == t.Columns[0].Name
		}) {
			keys = append(keys, []string{t.Columns[0].Name})
		}
		return keys,
			"no column of the view is unique and without null; name one, or a list of several that are so together, " +
				"in id_column", nil
	}
	if primary := t.PrimaryKey(); len(primary) > 0 {
		var names []string
		for _, col := range primary {
			names = append(names, col.Name)
		}
		keys = append(keys, names)
	}
	unique, err := t.UniqueKeys(c)
	keys = append(keys, unique...)
	slices.SortStableFunc(keys, func(a, b []string) int { return min(len(a), 2) - min(len(b), 2) })
	if t.Rowid != "" {
		keys = append(keys, []string{rowNumber})
	}
	return keys, "no key identifies its rows, and there is no row id; name a unique column, or a list of several, " +
		"in id_column", err
}

// chooseKey selects the column with the feature id: unique, not null, and all values integers or all texts.
func (d *Draft) chooseKey(c *sqlite.Conn, sv *layerSurvey) error {
	var err error
	if sv.Versions, sv.KeyFault, err = d.findVersions(c); err != nil || sv.KeyFault != "" {
		return err
	}
	d.versions = sv.Versions
	configured := d.settings.IDColumns
	if d.versions != nil {
		configured = nil // versions have ids of their own
	}
	if len(configured) == 0 && d.own != nil {
		configured = []string{d.own.Key.Column}
	}
	keys, reason, err := keysOf(c, d.table, configured)
	if err != nil {
		return err
	}
	if d.versions != nil && d.table.Rowid != "" { // versions are identified by row ids
		keys = slices.DeleteFunc(keys, func(k []string) bool { return len(k) > 1 })
	}
	sv.KeyFault = reason
	for _, k := range keys {
		integers, fault, err := d.checkKey(c, k)
		if err != nil {
			return err
		}
		if fault == "" {
			sv.setKey(k, integers)
			return nil
		}
		if len(configured) > 0 {
			sv.KeyFault = fault + "; name another column, or a list of several, in id_column"
		} else if !d.table.View {
			sv.KeyDoubt = fault + "; the row number is the id"
		}
	}
	return nil
}

// setKey records the columns of the feature id, and which of them are integers.
func (sv *layerSurvey) setKey(columns []string, integers []bool) {
	if sv.KeyFault = ""; len(columns) == 1 {
		sv.Key, sv.KeyInteger = columns[0], integers[0]
	} else {
		sv.Parts = make([]layer.Part, len(columns))
		for i, name := range columns {
			sv.Parts[i] = layer.Part{Column: name, Integer: integers[i]}
		}
	}
	if sv.Key != rowNumber || sv.Parts != nil {
		sv.KeyDoubt = "" // another key is as good
	}
}

// checkKey reports which columns of a key are integers, and why they cannot form the feature id; "" if they can.
func (d *Draft) checkKey(c *sqlite.Conn, key []string) (integers []bool, fault string, err error) {
	integers = make([]bool, len(key))
	if len(key) == 1 {
		if col, ok := d.table.Column(key[0]); !ok || d.table.IsRowid(col) {
			return []bool{true}, "", nil // the row id
		}
	}
	for i, name := range key {
		if integers[i], fault, err = d.checkColumn(c, name, len(key) > 1); fault != "" || err != nil {
			return nil, fault, err
		}
	}
	columns, groups := make([]string, len(key)), make([]string, len(key))
	for i, name := range key {
		columns[i], groups[i] = sqlite.Quote(name), sqlite.Quote(name)+" COLLATE BINARY"
	}
	err = c.Query("SELECT "+strings.Join(columns, " || ';' || ")+", count(*) FROM "+d.table.Quoted()+" GROUP BY "+
		strings.Join(groups, ", ")+
		" HAVING count(*) > 1 LIMIT 1", nil, func(r sqlite.Row) error {
		fault = fmt.Sprintf("%s cannot be the feature id: the value %q occurs %d times", columnNames(key),
			r.Text(0), r.Int(1))
		return nil
	})
	return integers, fault, err
}

// checkColumn reports whether a column of a key is an integer, and why it cannot be part of a feature id.
func (d *Draft) checkColumn(c *sqlite.Conn, name string, part bool) (integer bool, fault string, err error) {
	q := sqlite.Quote(name)
	filled := " AND " + q + " <> ''"
	if part {
		filled = ""
	}
	var rows, ints, texts int64
	err = c.Query("SELECT count(*), count(CASE typeof("+q+") WHEN 'integer' THEN 1 END), count(CASE WHEN typeof("+q+
		") = 'text'"+filled+" THEN 1 END) FROM "+d.table.Quoted(), nil, func(r sqlite.Row) error {
		rows, ints, texts = r.Int(0), r.Int(1), r.Int(2)
		return nil
	})
	if err == nil && rows != ints && rows != texts {
		fault = fmt.Sprintf("column %q cannot be the feature id: %d of %d values are null, empty, or neither all "+
			"text nor all whole numbers",
			name, rows-max(ints, texts), rows)
	}
	return rows == ints && rows > 0, fault, err
}

// columnNames lists columns in a message.
func columnNames(names []string) string {
	if len(names) == 1 {
		return fmt.Sprintf("column %q", names[0])
	}
	return fmt.Sprintf("columns %q together", strings.Join(names, ", "))
}
