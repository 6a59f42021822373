package postgis

import (
	"cmp"
	"slices"

	"grense/internal/cql2"
	"grense/internal/store"
	"grense/internal/store/postgis/catalog"
	"grense/internal/store/sqlq"
)

func (d *draft) roleColumns() (instant, start, end string) {
	if s := d.settings; d.timesConfigured() {
		return s.Instant, s.IntervalStart, s.IntervalEnd
	}
	start, end = store.UsualInterval(func(name string) string {
		c, _ := d.table.Column(name)
		return c.Name
	})
	return "", start, end
}

// timesConfigured reports whether the configuration names the columns with the time of a feature.
func (d *draft) timesConfigured() bool {
	s := d.settings
	return s.Instant != "" || s.IntervalStart != "" || s.IntervalEnd != ""
}

// setRoles sets the properties with the time of a feature: by the configuration, else by our definition, else by usual
// names of columns. It returns configured columns that are not dates or timestamps.
func (d *draft) setRoles(c *store.Collection) (missing []string) {
	role := func(name string) string {
		for _, p := range c.Properties {
			if p.Column == name && (p.Type == cql2.TypeDate || p.Type == cql2.TypeTimestamp) {
				return p.Name
			}
		}
		if name != "" {
			missing = append(missing, name)
		}
		return ""
	}
	if v := d.versions; v != nil {
		if c.SetVersions(v.id, v.start, v.end, v.inclusive) == "" {
			c.Versions.Overlap = true // new rows may overlap
		}
		return nil
	}
	configured := d.own != nil && (c.Instant != "" || c.IntervalStart != "") && !c.HasUsualInterval()
	if d.own == nil || d.timesConfigured() {
		instant, start, end := d.roleColumns()
		if column := d.rangeColumn(cmp.Or(start, instant), end); column != "" {
			setRange(c, column)
			return nil
		}
		c.Instant, c.IntervalStart, c.IntervalEnd = role(instant), role(start), role(end)
		configured = d.timesConfigured() && c.Instant+c.IntervalStart+c.IntervalEnd != ""
	}
	c.SettleTimes(configured)
	return missing
}

// rangeColumn returns the range column with the time of a feature: the configured one, else the first; "" if there is
// none.
func (d *draft) rangeColumn(start, end string) string {
	for _, c := range d.table.Columns {
		named := c.Name == start && (end == "" || end == start)
		if c.IsRange() && (named || start == "") && !slices.Contains(d.settings.HiddenColumns, c.Name) {
			return c.Name
		}
	}
	return ""
}

// setRange makes a range column the time of a feature.
func setRange(c *store.Collection, column string) {
	c.Instant, c.IntervalStart, c.IntervalEnd, c.Times = "", "", "", nil
	for _, p := range c.Properties {
		switch {
		case p.Column != column:
		case p.Hidden:
			c.Timeless = p.Name
		case c.IntervalStart == "":
			c.IntervalStart = p.Name
		default:
			c.IntervalEnd = p.Name
		}
	}
}

// rangePart is a property derived from a range column.
type rangePart struct {
	store.Property
	normal string // sqlq.Field.Normal
}

// rangeParts returns the properties derived from a range column: first, last, and is-empty.
func rangeParts(c catalog.Column) []rangePart {
	t, first, last := cql2.TypeTimestamp, sqlq.PostgresFirstMoment, sqlq.PostgresLastMoment
	if c.Base == "daterange" {
		t, first, last = cql2.TypeDate, sqlq.PostgresFirstDay, sqlq.PostgresLastDay
	}
	return []rangePart{
		{store.Property{Name: c.Name + "_start", Column: c.Name, Type: t, Description: textOf(c.Comment)}, first},
		{store.Property{Name: c.Name + "_end", Column: c.Name, Type: t, Description: textOf(c.Comment)}, last},
		{store.Property{Name: c.Name + "_empty", Column: c.Name, Type: cql2.TypeBool, NotNull: true, Hidden: true},
			sqlq.PostgresEmpty},
	}
}

// addRange creates properties for a range column: the first and the last day or moment, and a hidden one that is true
// for an empty range.
func (d *draft) addRange(l *layer, col catalog.Column, taken map[string]bool) {
	for _, p := range rangeParts(col) {
		p.Name = store.Unique(p.Name, func(s string) bool {
			_, isColumn := d.table.Column(s)
			return taken[s] || isColumn
		})
		taken[p.Name] = true
		l.add(p.Property, &sqlq.Field{Column: col.Name, Type: p.Type, Normal: p.normal, Nulls: !p.Hidden})
	}
}
