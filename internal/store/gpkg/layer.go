package gpkg

import (
	"cmp"
	"strings"
	"time"

	"grense/internal/cql2"
	"grense/internal/geo/crs"
	"grense/internal/store"
	"grense/internal/store/gpkg/sqlite"
	"grense/internal/store/sqlq"
)

// layer is a collection with what SQL statements need. It is immutable.
type layer struct {
	*store.Collection
	source  *sqlq.Source
	key     string        // quoted column with the feature id; "" if it has parts
	parts   []keyPart     // columns of a feature id with several parts
	text    bool          // the feature id is text; always so with parts
	fields  []*sqlq.Field // in the order of Collection.Properties
	bytes   int64         // total size of the geometries
	visible []int         // indexes in Collection.Properties of those that are not hidden
	boxes   string        // R-tree with an entry for each row with a geometry, as in source; "": none
	shapes  *shapeCache
	view    bool    // a view, whose rows may depend on other tables
	outside bool    // some coordinates lie outside of Collection.Extent
	rowid   string  // quoted column that identifies rows in SQLite; "" if there is none
	keyed   bool    // the feature id is the row id in the R-tree
	large   bool    // it has largeFrom features or more
	marks   []int64 // survey.Marks, if they are feature ids; nil: unknown
}

// largeFrom is the number of features from which a layer is large. Requests do not read all rows of a large layer:
// short parts of texts are searched in the index file, and the first sorted page waits for it.
const largeFrom = 1_000_000

// idExpr returns an SQL expression for the feature id. Several parts are joined.
func (l *layer) idExpr(alias string) string {
	switch {
	case l.parts != nil:
		return printedExpr(l.parts, alias)
	case l.text:
		return alias + "." + l.key + " COLLATE BINARY"
	}
	return alias + "." + l.key
}

// id returns the value of idExpr for a feature id; false if no feature can have the id.
func (l *layer) id(id string) (any, bool) {
	if l.parts != nil {
		_, ok := store.SplitID(id, l.integers())
		return id, ok
	}
	if l.text {
		return id, id != ""
	}
	n, ok := parseID(id)
	return n, ok
}

// open converts a surveyed draft to a layer; nil if the layer is refused.
func (d *draft) open(c *sqlite.Conn) (*layer, error) {
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
	l := &layer{Collection: &store.Collection{
		Table: d.table.Name, Title: textOf(d.title), Description: textOf(d.description), Public: true,
		Modified: d.changed, Count: sv.Count, Extent: sv.Bound,
	}, source: &sqlq.Source{Table: d.table.Quoted(), Fields: map[string]*sqlq.Field{}}}
	if d.own != nil {
		d.own.describe(l.Collection)
	}
	d.setKey(l)
	var err error
	if l.source.Indexed, err = sqlite.IndexedColumns(c, d.table.Name); err != nil {
		return nil, err
	}
	d.setGeometry(l)
	l.outside, l.view, l.bytes = sv.Outside, d.table.View, sv.Bytes
	l.large = sv.Count >= largeFrom
	if !sv.Outside {
		l.boxes = sv.Index
	}
	d.addProperties(l)
	d.setRoles(l)
	l.addID()
	l.addMembers(d.survey.Columns)
	if err := l.setCollation(c); err != nil {
		return nil, err
	}
	d.setWords(l)
	if err := d.addRelations(c, l); err != nil {
		return nil, err
	}
	l.Apply(&d.settings, d.misset)
	return l, nil
}

func (d *draft) setKey(l *layer) {
	sv := d.survey
	l.rowid = d.rowid(sv)
	if sv.Parts != nil {
		l.parts, l.text = sv.Parts, true
		l.Key = store.FeatureKey{Column: partNames(sv.Parts), Type: cql2.TypeText}
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
	l.text = l.Key.Type == cql2.TypeText
	l.key = sqlite.Quote(name)
	if sv.Key == "" {
		l.key = d.table.Rowid
	}
	col, ok := d.table.Column(name)
	number := !l.text && (sv.Key == "" || ok && d.table.IsRowid(col))
	if number {
		l.marks = sv.Marks
	}
	l.keyed = number || !l.text && d.rowid(sv) == l.key
}

func (d *draft) setGeometry(l *layer) {
	if d.geometry == "" {
		return
	}
	sv := d.survey
	name, alias := store.GeometryName(d.geometry, func(s string) bool { _, taken := d.table.Column(s); return taken })
	if d.own != nil && d.own.Geometry != nil {
		name, alias = d.own.Geometry.Name, d.own.Geometry.Column
	}
	l.Geometry = &store.Geom{Name: name, Alias: alias, Column: d.geometry, Type: store.GeometryType(d.geometryType),
		HasZ: d.z || sv.Z, CRS: d.crs}
	l.source.Geometry = &sqlq.Geometry{
		Name: name, Column: d.geometry, CRS: d.crs, Pad: sv.pad(d.crs), Index: sv.Index, Indexed: sv.Index != "",
		RowID: d.rowid(sv), HasNull: sv.Missing > 0,
	}
	if sv.Index != "" {
		l.source.Geometry.NoGeom = d.noGeom()
	}
}

// addProperties creates a property for each column except the row id and the geometry.
func (d *draft) addProperties(l *layer) {
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
			Title: textOf(x.title), Description: textOf(x.description), Enum: x.enum}
		if t == cql2.TypeJSON && !cs.NotArray && cs.Int+cs.Float == 0 && cs.Text > 0 {
			p.Items = cmp.Or(cs.Items, "string")
		}
		l.add(p, newField(col, cs, t))
		if d.survey.Key != "" && strings.EqualFold(col.Name, d.survey.Key) {
			l.Key.Property = name
		}
	}
	if d.own != nil {
		d.own.addProperties(l, d)
	}
}

// setCollation records whether columns may have a declared collation.
func (l *layer) setCollation(c *sqlite.Conn) error {
	s, err := c.Schema()
	if err != nil {
		return err
	}
	for _, f := range l.source.Fields {
		f.Collated = s.Collated
	}
	return nil
}

func (l *layer) add(p store.Property, f *sqlq.Field) {
	if !p.Hidden {
		l.visible = append(l.visible, len(l.Properties))
	}
	l.Properties = append(l.Properties, p)
	l.fields = append(l.fields, f)
	l.source.Fields[p.Name] = f
}

// typeOf returns the type that fits all values of a column; false if the column is not served.
func (d *draft) typeOf(col sqlite.Column, cs *columnSurvey) (cql2.Type, bool) {
	t, ok, declared := d.settle(col, cs)
	switch {
	case !ok:
		d.warn("column %q holds binary values and is left out", col.Name)
	case !declared && knownType(col.Declared):
		d.warn("column %q is declared %s but holds other values too; it is served as %s", col.Name,
			cmp.Or(d.markedJSON(col.Name), col.Declared), typeNames[t])
	}
	return t, ok
}

// declaredType returns the type by gpkg_data_columns or the declaration of a column; false if neither gives one.
func (d *draft) declaredType(col sqlite.Column) (cql2.Type, bool) {
	if d.markedJSON(col.Name) != "" {
		return cql2.TypeJSON, true
	}
	return declaredType(col.Declared)
}

// markedJSON returns "JSON" if gpkg_data_columns declares a column as JSON, else "".
func (d *draft) markedJSON(column string) string {
	if d.texts[strings.ToLower(column)].json {
		return "JSON"
	}
	return ""
}

func knownType(declared string) bool {
	_, known := declaredType(declared)
	return known
}

// settle returns the type of a column: the declared one if all values fit it, else a wider one. ok is false for binary
// values.
func (d *draft) settle(col sqlite.Column, cs *columnSurvey) (t cql2.Type, ok, asDeclared bool) {
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
		case cs.Int > 0 || cs.Float > 0 || affinityOf(col.Declared) == affinityNumber:
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

// roleColumns returns the columns with the instant or the interval of a feature; "" for none.
func (d *draft) roleColumns() (instant, start, end string) {
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

func (d *draft) isRole(column string) bool {
	if d.own != nil {
		return false
	}
	a, b, c := d.roleColumns()
	return column != "" && (strings.EqualFold(column, a) || strings.EqualFold(column, b) ||
		strings.EqualFold(column, c))
}

// timesConfigured reports whether the configuration names the columns with the time of a feature.
func (d *draft) timesConfigured() bool {
	s := d.settings
	return s.Instant != "" || s.IntervalStart != "" || s.IntervalEnd != ""
}

// setRoles sets the properties with the time of a feature: by the configuration, else by our definition, else by usual
// names of columns.
func (d *draft) setRoles(l *layer) {
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
func (d *draft) role(l *layer, column string) string {
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
func (d *draft) extreme(l *layer, property string, last bool) (*time.Time, bool) {
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
func (d *draft) place() bool {
	if d.geometry == "" {
		return true
	}
	if d.srs.organization == "" && d.srs.id > 0 {
		d.refuse("srs_id %d is not in gpkg_spatial_ref_sys; set the reference system, for example with ogr2ogr -a_srs",
			d.srs.id)
		return false
	}
	switch {
	case d.settings.StorageCRS == 0:
	case d.srs.id > 0 || d.own != nil:
		d.misset("the layer states its reference system, so that storage_crs is not used")
	default:
		d.srs = srs{id: int64(d.settings.StorageCRS), organization: "EPSG", code: int64(d.settings.StorageCRS)}
	}
	id, note, ok := d.srs.served()
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
