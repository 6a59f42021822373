package postgis

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"grense/internal/cql2"
	"grense/internal/geo/crs"
	"grense/internal/store"
	"grense/internal/store/postgis/catalog"
	"grense/internal/store/postgis/conn"
	"grense/internal/store/sqlq"
)

// layer is a collection with what SQL statements need. It is immutable, except for its caches.
type layer struct {
	*store.Collection
	source      *sqlq.Source
	table       *catalog.Table
	parts       []keyPart       // columns of the feature id
	text        bool            // the feature id is text; always so with several parts
	sure        bool            // an index guarantees that ids are unique
	srid        int             // of all geometries
	stored      string          // column.stored of the geometry
	anySystem   bool            // the geometry column may have any reference system
	revisionSQL string          // revisionExpr(alias)
	xmin        bool            // revisionSQL is the system column xmin
	rev         uint64          // version of the definition
	run         *conn.ServerRun // part of row revisions; nil: not used
	fields      []*sqlq.Field
	visible     []int               // indexes in Collection.Properties of those that are not hidden
	unique      map[string]bool     // properties that are unique and never null
	byID        []key               // sort keys of the order by id
	idOrder     []sqlq.Key          // the same for sqlq
	beside      string              // neighboursStatement
	plain       bool                // a table or a materialised view
	beyond      sync.Map            // properties with an unservable value that has been reported
	warn        func(column string) // called by reportBeyond; may be nil
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
	l.revisionSQL = l.revisionExpr(alias)
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
