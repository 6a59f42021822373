package survey

import (
	"cmp"
	"strings"
	"time"

	"grense/internal/cql2"
	"grense/internal/geo/crs"
	"grense/internal/store"
	"grense/internal/store/gpkg/layer"
	"grense/internal/store/gpkg/schema"
	"grense/internal/store/gpkg/sqlite"
	"grense/internal/store/sqlq"
)

// Open converts a surveyed draft to a layer; nil if the layer is refused.
func (d *Draft) Open(c *sqlite.Conn) (*layer.Layer, error) {
	sv := d.survey
	d.versions = sv.Versions
	if sv.Fault != "" {
		d.refuse("%s", sv.Fault)
		return nil, nil
	}
	if sv.KeyFault != "" {
		d.refuse("%s", sv.KeyFault)
		return nil, nil
	}
	if sv.KeyDoubt != "" {
		d.warn("%s", sv.KeyDoubt)
	}
	if d.own == nil && sv.Key == "" && sv.Parts == nil && !d.table.Numbered {
		d.warn("feature ids are row numbers that SQLite assigns and VACUUM may change; name the unique column, " +
			"or a list of columns, as id_column, " +
			"or give the table an INTEGER PRIMARY KEY")
	}
	if wrong, note := sv.Misplaced(store.Placing{CRS: d.crs, Ours: d.own != nil, Uncut: d.uncut}); wrong != "" {
		d.refuse("%s", wrong)
		return nil, nil
	} else if note != "" {
		d.warn("%s", note)
	}
	if sv.Broken > 0 {
		d.warn("%d features have a geometry that cannot be read (the first in row %s); they are served without",
			sv.Broken, sv.FirstBroken)
	}
	l := &layer.Layer{Collection: &store.Collection{
		Table: d.table.Name, Title: schema.Text(d.Title), Description: schema.Text(d.Description), Public: true,
		Modified: d.Changed, Count: sv.Count, Extent: sv.Bound,
	}, SQL: &sqlq.Source{Table: d.table.Quoted(), Fields: map[string]*sqlq.Field{}}}
	if d.own != nil {
		d.own.Describe(l.Collection)
	}
	d.setKey(l)
	var err error
	if l.SQL.Indexed, err = sqlite.IndexedColumns(c, d.table.Name); err != nil {
		return nil, err
	}
	d.setGeometry(l)
	l.Outside, l.View, l.GeometryBytes = sv.Outside, d.table.View, sv.Bytes
	l.Large = sv.Count >= layer.LargeFrom
	if !sv.Outside {
		l.Boxes = sv.Index
	}
	d.addProperties(l)
	d.setRoles(l)
	l.AddID()
	d.addMembers(l)
	if err := l.SetCollation(c); err != nil {
		return nil, err
	}
	d.setWords(l)
	if err := d.addRelations(c, l); err != nil {
		return nil, err
	}
	l.Apply(&d.settings, d.misset)
	return l, nil
}

func (d *Draft) setKey(l *layer.Layer) {
	sv := d.survey
	l.Rowid = d.rowid(sv)
	if sv.Parts != nil {
		l.Parts, l.TextID = sv.Parts, true
		l.Key = store.FeatureKey{Column: layer.PartNames(sv.Parts), Type: cql2.TypeText}
		return
	}
	name := sv.Key
	if name == "" {
		name = d.table.Rowid
		for _, col := range d.table.Columns {
			if d.table.IsRowid(col) {
				name = col.Name
			}
		}
	}
	l.Key = store.FeatureKey{Column: name, Type: cql2.TypeInteger}
	if sv.Key != "" && !sv.KeyInteger && sv.Count > 0 {
		l.Key.Type = cql2.TypeText
	}
	l.TextID = l.Key.Type == cql2.TypeText
	l.IDColumn = sqlite.Quote(name)
	if sv.Key == "" {
		l.IDColumn = d.table.Rowid
	}
	col, ok := d.table.Column(name)
	number := !l.TextID && (sv.Key == "" || ok && d.table.IsRowid(col))
	if number {
		l.Marks = sv.Marks
	}
	l.Keyed = number || !l.TextID && d.rowid(sv) == l.IDColumn
}

func (d *Draft) setGeometry(l *layer.Layer) {
	if d.Geometry == "" {
		return
	}
	sv := d.survey
	name, alias := store.GeometryName(d.Geometry, func(s string) bool { _, taken := d.table.Column(s); return taken })
	if d.own != nil && d.own.Geometry != nil {
		name, alias = d.own.Geometry.Name, d.own.Geometry.Column
	}
	l.Geometry = &store.Geom{Name: name, Alias: alias, Column: d.Geometry, Type: store.GeometryType(d.GeometryType),
		HasZ: d.HasZ || sv.Z, CRS: d.crs}
	l.SQL.Geometry = &sqlq.Geometry{
		Name: name, Column: d.Geometry, CRS: d.crs, Pad: sv.pad(d.crs), Index: sv.Index, Indexed: sv.Index != "",
		RowID: d.rowid(sv), HasNull: sv.Missing > 0,
	}
	if sv.Index != "" {
		l.SQL.Geometry.NoGeom = d.noGeom()
	}
}

// addProperties creates a property for each column except the row id and the geometry.
func (d *Draft) addProperties(l *layer.Layer) {
	taken := map[string]bool{}
	if l.Geometry != nil {
		taken[l.Geometry.Name] = true
	}
	for _, col := range d.table.Columns {
		cs := d.survey.Columns[col.Name]
		if cs == nil || d.own != nil {
			continue
		}
		t, ok := d.typeOf(col, cs)
		if !ok {
			continue
		}
		name := col.Name
		if strings.EqualFold(name, "id") && !strings.EqualFold(col.Name, d.survey.Key) {
			name += "_"
		}
		name = store.Unique(name, func(s string) bool { return taken[s] })
		taken[name] = true
		x := d.texts[strings.ToLower(col.Name)]
		p := store.Property{Name: name, Column: col.Name, Type: t, NotNull: store.Filled(cs.notNull(col), t),
			Title: schema.Text(x.Title), Description: schema.Text(x.Description), Enum: x.Enum}
		if t == cql2.TypeJSON && !cs.NotArray && cs.Int+cs.Float == 0 && cs.Text > 0 {
			p.Items = cmp.Or(cs.Items, "string")
		}
		l.Add(p, newField(col, cs, t))
		if d.survey.Key != "" && strings.EqualFold(col.Name, d.survey.Key) {
			l.Key.Property = name
		}
	}
	if d.own != nil {
		d.addOwnProperties(l)
	}
}

// roleColumns returns the columns with the instant or the interval of a feature; "" for none.
func (d *Draft) roleColumns() (instant, start, end string) {
	if v := d.versions; v != nil {
		return "", v.Start, v.End
	}
	if s := d.settings; d.timesConfigured() {
		return s.Instant, s.IntervalStart, s.IntervalEnd
	}
	start, end = store.UsualInterval(func(name string) string {
		c, _ := d.table.Column(name)
		return c.Name
	})
	return "", start, end
}

func (d *Draft) isRole(column string) bool {
	if d.own != nil {
		return false
	}
	a, b, c := d.roleColumns()
	return column != "" && (strings.EqualFold(column, a) || strings.EqualFold(column, b) ||
		strings.EqualFold(column, c))
}

// timesConfigured reports whether the configuration names the columns with the time of a feature.
func (d *Draft) timesConfigured() bool {
	s := d.settings
	return s.Instant != "" || s.IntervalStart != "" || s.IntervalEnd != ""
}

// setRoles sets the properties with the time of a feature: by the configuration, else by our definition, else by usual
// names of columns.
func (d *Draft) setRoles(l *layer.Layer) {
	d.setVersions(l)
	configured := d.own != nil && (l.Instant != "" || l.IntervalStart != "") && !l.HasUsualInterval()
	if l.Versions != nil {
		configured = true
	} else if d.own == nil || d.timesConfigured() {
		instant, start, end := d.roleColumns()
		l.Instant, l.IntervalStart, l.IntervalEnd = d.role(l, instant), d.role(l, start), d.role(l, end)
		configured = d.timesConfigured() && l.Instant+l.IntervalStart+l.IntervalEnd != ""
	}
	l.SettleTimes(configured)
	e, _ := l.During()
	ends := true
	for _, n := range e.Props() {
		first, _ := d.extreme(l, n, false)
		last, open := d.extreme(l, n, true)
		if first != nil && (l.Temporal[0] == nil || first.Before(*l.Temporal[0])) {
			l.Temporal[0] = first
		}
		if last != nil && (l.Temporal[1] == nil || last.After(*l.Temporal[1])) {
			l.Temporal[1] = last
		}
		ends = ends && (!open || n != l.IntervalEnd)
	}
	if !ends {
		l.Temporal[1] = nil
	}
}

// role returns the property of a column if it is a date or timestamp. Otherwise it warns and returns "".
func (d *Draft) role(l *layer.Layer, column string) string {
	if column == "" {
		return ""
	}
	for _, p := range l.Properties {
		if strings.EqualFold(p.Column, column) {
			if p.Type == cql2.TypeDate || p.Type == cql2.TypeTimestamp {
				return p.Name
			}
			d.misset("column %q does not hold days or moments throughout; it is not used for the parameter datetime",
				column)
			return ""
		}
	}
	d.misset("there is no column %q for the parameter datetime", column)
	return ""
}

// extreme returns the first or last moment of a property, and whether the property has nulls.
func (d *Draft) extreme(l *layer.Layer, property string, last bool) (*time.Time, bool) {
	p, ok := l.Find(property)
	if !ok {
		return nil, false
	}
	cs := d.survey.Columns[p.Column]
	if cs == nil {
		return nil, false
	}
	if !cs.Set {
		return nil, cs.Null > 0
	}
	if last {
		return &cs.Max, cs.Null > 0
	}
	return &cs.Min, cs.Null > 0
}

// place determines the reference system of a draft; false if the layer is refused.
func (d *Draft) place() bool {
	if d.Geometry == "" {
		return true
	}
	if d.SRS.Organization == "" && d.SRS.ID > 0 {
		d.refuse("srs_id %d is not in gpkg_spatial_ref_sys; set the reference system, for example with ogr2ogr -a_srs",
			d.SRS.ID)
		return false
	}
	switch {
	case d.settings.StorageCRS == 0:
	case d.SRS.ID > 0 || d.own != nil:
		d.misset("the layer states its reference system, so that storage_crs is not used")
	default:
		d.SRS = schema.SRS{ID: int64(d.settings.StorageCRS), Organization: "EPSG", Code: int64(d.settings.StorageCRS)}
	}
	id, note, ok := d.SRS.Served()
	if !ok {
		d.refuse("%s", note)
		return false
	}
	d.crs = id
	if d.own != nil && d.own.Geometry != nil && crs.Same(d.own.Geometry.CRS, id) {
		d.crs = d.own.Geometry.CRS // a GeoPackage does not distinguish CRS84 from 4326
	}
	if note != "" {
		d.warn("%s", note)
	}
	return true
}

// addMembers makes members of JSON properties available in filters.
func (d *Draft) addMembers(l *layer.Layer) {
	for i, p := range l.Properties {
		if cs := d.survey.Columns[p.Column]; cs != nil {
			for _, m := range l.DeriveMembers(p.Name, cs.Members) {
				l.SQL.Fields[m.Name] = l.Fields[i].Member(&m)
			}
		}
	}
}
