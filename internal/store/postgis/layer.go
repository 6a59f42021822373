package postgis

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"grense/internal/cql2"
	"grense/internal/geo/crs"
	"grense/internal/geo/wkb"
	"grense/internal/store"
	"grense/internal/store/postgis/catalog"
	"grense/internal/store/postgis/conn"
	"grense/internal/store/sqlq"
)

// layer is a collection with what SQL statements need. It is immutable, except for its caches.
type layer struct {
	*store.Collection
	source    *sqlq.Source
	table     *catalog.Table
	parts     []keyPart       // columns of the feature id
	text      bool            // the feature id is text; always so with several parts
	sure      bool            // an index guarantees that ids are unique
	srid      int             // of all geometries
	stored    string          // column.stored of the geometry
	anySystem bool            // the geometry column may have any reference system
	stateExpr string          // stateOf(alias)
	xmin      bool            // stateExpr is the system column xmin
	rev       uint64          // version of the definition
	run       *conn.ServerRun // part of row revisions; nil: not used
	fields    []*sqlq.Field
	visible   []int               // indexes in Collection.Properties of those that are not hidden
	unique    map[string]bool     // properties that are unique and never null
	byID      []key               // sort keys of the order by id
	idOrder   []sqlq.Key          // the same for sqlq
	beside    string              // neighboursStatement
	plain     bool                // a table or a materialised view
	beyond    sync.Map            // properties with an unservable value that has been reported
	warn      func(column string) // called by reportBeyond; may be nil
}

// draft is a table while it is being opened.
type draft struct {
	table    *catalog.Table
	settings store.Settings
	own      *store.Collection // our definition, if the table is ours
	written  time.Time         // when own was written
	geometry catalog.Column    // zero: none
	srid     int
	crs      crs.ID
	shift    bool // the database transforms geometries from srid to crs
	curable  bool // refused because of its rows; opening is tried again later
	assigned bool // geometries have no SRID; settings.StorageCRS gives it
	notes    []store.Note
	items    map[string]string // earlier results of setItems, by itemsName
	bounded  bool              // columns were read before, so new ones are bounded
	measured *survey           // earlier survey of the same geometries; nil: none
	stored   bool              // measured comes from the file; the table will be read again later
	progress func(rows int)    // called regularly while reading
	versions *versionColumns   // nil: rows are features
	uncut    bool              // Options.Uncut
}

func (d *draft) refuse(format string, a ...any) {
	own := ""
	if d.own != nil {
		own = d.own.ID
	}
	id := store.CollectionID(cmp.Or(d.settings.ID, own, d.table.Name))
	d.notes = append(d.notes, store.Note{Layer: d.table.Layer(), Collection: id, Refused: true,
		Reason: fmt.Sprintf(format, a...)})
}

// refuseRows is refuse because of rows: opening is tried again, and succeeds once the rows are correct.
func (d *draft) refuseRows(format string, a ...any) {
	d.curable = true
	d.refuse(format, a...)
}

func (d *draft) warn(format string, a ...any) {
	d.notes = append(d.notes, store.Note{Layer: d.table.Layer(), Reason: fmt.Sprintf(format, a...)})
}

// misset adds a warning about a setting that does not fit the source.
func (d *draft) misset(format string, a ...any) {
	d.notes = append(d.notes, store.Note{Layer: d.table.Layer(), Setting: true, Reason: fmt.Sprintf(format, a...)})
}

func (d *draft) refused() bool {
	return slices.ContainsFunc(d.notes, func(n store.Note) bool { return n.Refused })
}

// findGeometry selects the geometry column: the configured one, else the first that is not hidden. There may be none.
func (d *draft) findGeometry() {
	wanted := d.settings.GeometryColumn
	if d.own != nil && d.own.Geometry != nil {
		wanted = d.own.Geometry.Column
	}
	var found []catalog.Column
	for _, c := range d.table.Columns {
		if c.IsGeometry() && !slices.Contains(d.settings.HiddenColumns, c.Name) {
			found = append(found, c)
		}
	}
	at := slices.IndexFunc(found, func(c catalog.Column) bool { return wanted == "" || c.Name == wanted })
	if at >= 0 {
		d.geometry = found[at]
	}
	switch {
	case d.own != nil:
	case wanted != "" && at < 0:
		d.refuse("there is no column %q with a geometry that is served; name another one in geometry_column", wanted)
	case wanted == "" && len(found) > 1:
		for _, c := range found[1:] {
			d.warn("column %q is left out: %q is the geometry; geometry_column chooses another one", c.Name,
				d.geometry.Name)
		}
	}
}

// place determines the reference system.
func (d *draft) place(ctx context.Context, c *pgxpool.Conn) error {
	if d.srid = d.geometry.SRID; d.srid == 0 && d.geometry.Base == "geometry" {
		srids, err := d.foundSRIDs(ctx, c)
		if err != nil {
			return err
		}
		switch {
		case len(srids) > 1:
			d.refuseRows("geometries are in several reference systems (SRID %d and %d); give the column one, "+
				"with ALTER TABLE ... TYPE geometry(Geometry, SRID)", srids[0], srids[1])
			return nil
		case len(srids) == 1:
			d.srid = srids[0]
		case d.own != nil && d.own.Geometry != nil:
			d.crs = d.own.Geometry.CRS
			return nil
		}
	} else if d.srid == 0 {
		d.srid = 4326
	}
	authority, code := "EPSG", d.settings.StorageCRS
	switch {
	case d.srid == 0 && code > 0:
		d.assigned = true
	case code > 0:
		d.misset("the table states its reference system, SRID %d, so that storage_crs is not used", d.srid)
	case d.srid == 0:
		d.refuse("the reference system is not known (SRID 0); name it in storage_crs, as EPSG:25833, or set one, " +
			"with ALTER TABLE ... TYPE geometry(Geometry, SRID) USING ST_SetSRID(...)")
		return nil
	}
	text := ""
	if !d.assigned {
		var err error
		if authority, code, text, err = catalog.SystemOf(ctx, c, d.srid); err != nil {
			return err
		}
	}
	id, note, wrong := crs.ID(0), "", "unknown"
	if authority == "EPSG" || code == 900913 {
		id, note, wrong = crs.FromEPSG(code)
	}
	if wrong != "" && text != "" { // identified by its parameters
		id, note, wrong = crs.FromText(text)
	}
	switch {
	case d.own != nil && d.own.Geometry != nil && crs.Same(d.own.Geometry.CRS, crs.ID(code)):
		d.crs = d.own.Geometry.CRS // both have SRID 4326
	case wrong == "":
		if d.crs = id; note != "" {
			d.warn("%s", note)
		}
	case authority == "EPSG":
		why, to := crs.Unserved(code)
		if to == crs.ETRS89 && !d.assigned {
			d.crs, d.shift = to, true
			d.shifted(code)
			return nil
		}
		d.refuse("%s (SRID %d); serve a view with ST_Transform(%s, %d)", why, d.srid, d.geometry.Name, int(to))
	default:
		d.refuse("the reference system %s:%d (SRID %d) is not served; serve a view with ST_Transform(%s, 4326)",
			authority, code, d.srid, d.geometry.Name)
	}
	return nil
}

// shifted makes the database transform the geometries, since their EPSG system uses another datum than ours.
func (d *draft) shifted(code int) {
	before, after := d.transform()
	expr := before + quote(d.geometry.Name) + after
	d.warn("EPSG:%d is transformed by PostGIS to %v, as exactly as the grids allow that its PROJ has; "+
		"for boxes to use an index, let its owner run: CREATE INDEX ON %s USING gist (%s)",
		code, d.crs, d.table.Quoted(), expr)
}

// transform returns sqlq.Geometry.Before and After. They replace circular arcs by lines first, in metres, since an arc
// is not an arc in another system.
func (d *draft) transform() (before, after string) {
	switch {
	case d.assigned:
		return "ST_SetSRID(", fmt.Sprintf(", %d)", catalog.SRID(d.crs))
	case !d.shift:
		return "", ""
	}
	before, after = "ST_Transform(", fmt.Sprintf(", %d)", catalog.SRID(d.crs))
	switch strings.TrimRight(strings.ToUpper(d.geometry.GeometryType), "ZM") {
	case "POINT", "LINESTRING", "POLYGON", "MULTIPOINT", "MULTILINESTRING", "MULTIPOLYGON":
		return before, after
	}
	return before + "ST_CurveToLine(", fmt.Sprintf(", %v, 1, 1)", wkb.ChordMetres) + after
}

// keyColumns returns the columns of the feature id and whether an index guarantees that they are unique. If there are
// none, reason says why.
func (d *draft) keyColumns() (names []string, sure bool, reason string) {
	if v := d.versions; v != nil && v.keyed && d.own == nil {
		return []string{v.id, v.start}, true, ""
	}
	configured := d.settings.IDColumns
	if d.versions != nil {
		configured = nil
	}
	if len(configured) == 0 && d.own != nil {
		configured = []string{d.own.Key.Column}
	}
	if len(configured) > 0 {
		for _, n := range configured {
			if _, ok := d.table.Column(n); !ok {
				return nil, false, fmt.Sprintf("there is no column %q for the feature id; name one in id_column", n)
			}
		}
		return configured, d.isUnique(names...), ""
	}
	if len(d.table.Keys) > 0 {
		return d.table.Keys[0], true, ""
	}
	const cure = "; name the column whose values are unique and without null, or a list of several columns, in " +
		"id_column"
	switch d.table.Kind {
	case 'v':
		return nil, false, "it is a view that does not show each row of one table with the whole of its primary key" +
			cure
	case 'm':
		return nil, false, "no unique index identifies its rows; create one with CREATE UNIQUE INDEX, or name the " +
			"column that is unique and without null in id_column"
	case 'f':
		return nil, false, "a foreign table has no primary key" + cure
	}
	return nil, false, "there is no primary key, and no unique index over columns that are declared NOT NULL, " +
		"for all of its rows" + cure
}

// isUnique reports whether an index guarantees that these columns identify rows.
func (d *draft) isUnique(names ...string) bool {
	return slices.ContainsFunc(d.table.Keys, func(k []string) bool {
		return !slices.ContainsFunc(k, func(n string) bool { return !slices.Contains(names, n) })
	})
}

func (d *draft) open(sv *survey) *layer {
	t := d.table
	l := &layer{
		Collection: &store.Collection{Table: t.Layer(), Title: textOf(t.Comment), Public: true},
		source:     &sqlq.Source{Table: t.Quoted(), Fields: map[string]*sqlq.Field{}, Indexed: t.Ordered},
		table:      t,
		xmin:       t.Whole && strings.IndexByte("rpm", t.Kind) >= 0,
		srid:       d.srid,
		plain:      t.Kind == 'r' || t.Kind == 'm',
	}
	if d.own != nil {
		c := *d.own
		if l.Collection = &c; d.geometry.Name == "" {
			c.Geometry = nil
		}
	}
	l.Count, l.Extent, l.Temporal, l.Modified = sv.Count, sv.Bound, sv.Temporal, d.written
	l.Key = store.FeatureKey{Column: strings.Join(sv.Key, ", "), Type: cql2.TypeText}
	l.parts, l.sure = keyParts(t, sv.Key), sv.Sure
	if len(l.parts) == 1 && l.parts[0].integer {
		l.Key.Type = cql2.TypeInteger
	}
	if d.own != nil {
		l.Key.Property = d.own.Key.Property
	}
	l.text = l.Key.Type == cql2.TypeText
	d.setGeometry(l, sv)
	if d.own != nil {
		d.addOwn(l)
	} else {
		d.addProperties(l)
	}
	for _, name := range d.setRoles(l.Collection) {
		d.misset("there is no column %q of days or moments for the parameter datetime", name)
	}
	l.source.Versions = l.Versions
	l.Apply(&d.settings, d.misset)
	for _, p := range l.parts {
		k := p.key(alias)
		l.byID, l.idOrder = append(l.byID, k), append(l.idOrder, k.Key)
	}
	l.addID()
	l.stateExpr = l.stateOf(alias)
	l.beside = l.neighboursStatement()
	l.unique = map[string]bool{}
	for n, f := range l.source.Fields {
		asStored := f.Type == cql2.TypeInteger || f.Type == cql2.TypeText &&
			(f.Normal == "" || f.Normal == sqlq.PostgresCollate)
		l.unique[n] = asStored && f.IsColumn() && !f.Nulls && !t.Nullable && d.isUnique(f.Column)
	}
	return l
}

func (d *draft) setGeometry(l *layer, sv *survey) {
	if d.geometry.Name == "" {
		return
	}
	g := store.Geom{Column: d.geometry.Name,
		Type: store.GeometryType(strings.TrimRight(strings.ToUpper(d.geometry.GeometryType), "ZM")), CRS: d.crs}
	if d.own != nil && d.own.Geometry != nil {
		g.Name, g.Alias, g.Type = d.own.Geometry.Name, g.Column, d.own.Geometry.Type
	} else {
		g.Name, g.Alias = store.GeometryName(g.Column, func(s string) bool {
			_, taken := d.table.Column(s)
			return taken
		})
	}
	l.stored, l.anySystem = d.geometry.TypeModifier, d.geometry.SRID == 0 && d.geometry.Base == "geometry"
	before, after := d.transform()
	g.HasZ = sv.Z || strings.Contains(strings.ToUpper(d.geometry.GeometryType), "Z") ||
		d.geometry.Dims == 3 && !strings.HasSuffix(strings.ToUpper(d.geometry.GeometryType), "M")
	g.Geodesic = d.geometry.Base == "geography"
	l.Geometry = &g
	l.source.Geometry = &sqlq.Geometry{Name: g.Name, Column: g.Column, CRS: d.crs, Pad: sv.pad(d.crs), HasNull: true,
		Indexed: slices.Contains(d.table.Indexed, g.Column) && before == "", HasEmpty: sv.Empty > 0,
		HasBroken: sv.Broken > 0, Geography: d.geometry.Base == "geography", Before: before, After: after}
}

// wkb returns an expression for the stored geometry of rows called alias, or elsewhere.
func (l *layer) wkb(alias string) string {
	x := alias + "." + quote(l.Geometry.Column)
	if l.source.Geometry.Geography {
		x += "::geometry"
	}
	system := "ST_SRID(" + x + ")"
	x = l.source.Geometry.Before + x + l.source.Geometry.After
	return fmt.Sprintf("CASE WHEN %s <> %d THEN '%s'::bytea ELSE ST_AsBinary(%s) END", system, l.srid, elsewhere, x)
}

// addProperties creates a property for each column except the geometry.
func (d *draft) addProperties(l *layer) {
	taken := map[string]bool{}
	ranges := ""
	if l.Geometry != nil {
		taken[l.Geometry.Name] = true
	}
	for _, col := range d.table.Columns {
		if col.IsGeometry() || d.leftOut(col, l) {
			continue
		}
		t, ok := col.Type()
		if !ok {
			d.warn("column %q of type %s is left out", col.Name, col.Printed)
			continue
		}
		name := col.Name
		isKey := len(l.parts) == 1 && col.Name == l.parts[0].name
		if col.IsRange() && !isKey {
			d.addRange(l, col, taken)
			if ranges != "" && !d.timesConfigured() {
				d.warn("of the ranges, %q is the time of a feature; roles (interval_start: %s) choose another one",
					ranges, col.Name)
			}
			ranges = cmp.Or(ranges, col.Name)
			continue
		}
		if strings.EqualFold(name, "id") && !isKey {
			name += "_"
		}
		name = store.Unique(name, func(s string) bool { return taken[s] })
		taken[name] = true
		if isKey {
			l.Key.Property = name
		}
		f := col.Field(t)
		f.Nulls = !store.Filled(col.NotNull, t)
		l.add(store.Property{Name: name, Column: col.Name, Type: t, NotNull: !f.Nulls, Title: textOf(col.Comment)}, f)
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

// leftOut reports whether a column does not become a property: it is hidden, or it is a serial number that an import
// tool added, which is the feature id and has no other meaning.
func (d *draft) leftOut(col catalog.Column, l *layer) bool {
	running := col.Name == "fid" || col.Name == "ogc_fid"
	return slices.Contains(d.settings.HiddenColumns, col.Name) || running && len(l.parts) == 1 && l.parts[0].integer &&
		col.Name == l.parts[0].name
}

// addOwn creates the properties and relations of a definition of ours.
func (d *draft) addOwn(l *layer) {
	l.Properties = slices.DeleteFunc(slices.Clone(l.Properties), func(p store.Property) bool {
		// the definition shares its slice
		return slices.Contains(d.settings.HiddenColumns, p.Column)
	})
	l.source.Fields, l.fields = ownFields(l.Properties, d.table)
	for i, p := range l.Properties {
		col, _ := d.table.Column(p.Column)
		l.Properties[i].NotNull = col.NotNull
		if !p.Hidden {
			l.visible = append(l.visible, i)
		}
	}
}

func ownFields(ps []store.Property, t *catalog.Table) (map[string]*sqlq.Field, []*sqlq.Field) {
	byName := map[string]*sqlq.Field{}
	var list []*sqlq.Field
	for _, p := range ps {
		col, _ := t.Column(p.Column)
		f := &sqlq.Field{Column: p.Column, Type: p.Type, Nulls: !col.NotNull, Stored: col.Field(p.Type).Stored,
			Search: sqlq.SearchColumns{Exact: p.Search.Exact, Norm: p.Search.Norm, Rev: p.Search.Rev}}
		byName[p.Name] = f
		list = append(list, f)
	}
	return byName, list
}

// relations describes the relations of a definition of ours to the compiler; a Key of "" means defaultKey.
func relations(list []store.Relation, defaultKey string, tables map[string]*catalog.Table) (
	map[string]*sqlq.Relation, error) {
	byName := map[string]*sqlq.Relation{}
	for _, x := range list {
		t := tables[x.Table]
		if t == nil {
			return nil, fmt.Errorf("relation %q has no table %q that the role may read", x.Name, x.Table)
		}
		r := &sqlq.Relation{Source: sqlq.Source{Table: t.Quoted(), Indexed: t.Ordered}, Owner: x.Owner, Key: x.Key}
		if r.Key == "" {
			r.Key = defaultKey
		}
		r.Fields, _ = ownFields(x.Columns, t)
		var err error
		if r.Relations, err = relations(x.Relations, "id", tables); err != nil {
			return nil, err
		}
		byName[x.Name] = r
	}
	return byName, nil
}

func (l *layer) add(p store.Property, f *sqlq.Field) {
	if !p.Hidden {
		l.visible = append(l.visible, len(l.Properties))
	}
	l.Properties = append(l.Properties, p)
	l.fields = append(l.fields, f)
	l.source.Fields[p.Name] = f
}

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

// reportBeyond reports, once for each column, that a value cannot be served.
func (l *layer) reportBeyond(column string) {
	if _, reported := l.beyond.LoadOrStore(column, true); !reported && l.warn != nil {
		l.warn(column)
	}
}

func textOf(s string) store.Text {
	if s == "" {
		return nil
	}
	return store.Text{"": s}
}

// pad is store.EdgePad, but at least 1 km, since rows are live and later edges may be longer.
func (sv *survey) pad(id crs.ID) float64 {
	least := 1000.0
	if id.Geographic() {
		least /= math.Pi / 180 * 6371e3
	}
	return store.EdgePad(id, max(sv.LongestEdge, least), sv.Bound, sv.Outside)
}
