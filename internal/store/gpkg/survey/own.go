package survey

import (
	"cmp"
	"slices"
	"strings"

	"grense/internal/cql2"
	"grense/internal/store"
	"grense/internal/store/gpkg/layer"
	"grense/internal/store/gpkg/schema"
	"grense/internal/store/gpkg/sqlite"
	"grense/internal/store/sqlq"
)

// addOwnProperties creates the properties in the definition. If another program has removed a column or stored other
// types, the property is left out or gets a wider type, with a warning.
func (d *Draft) addOwnProperties(l *layer.Layer) {
	l.Key.Property = d.own.Key.Property
	for _, x := range d.own.Properties {
		p, ok := x.Property()
		col, found := d.table.Column(p.Column)
		if slices.Contains(d.settings.HiddenColumns, p.Column) {
			continue
		}
		if !ok || !found {
			d.warn("property %q is left out: there is no column %q of type %q", x.Name, x.Column, x.Type)
			continue
		}
		cs := d.survey.Columns[col.Name]
		if cs == nil { // the row id is not surveyed
			cs = &columnSurvey{}
		}
		if cs.Blob > 0 || !cs.fits(p.Type) {
			d.warn("property %q holds values that are not of type %s; it is served as text", p.Name, x.Type)
			p.Type = cql2.TypeText
		}
		if p.Type == cql2.TypeJSON && !cs.NotArray {
			p.Items = cmp.Or(cs.Items, "string")
		}
		p.NotNull = cs.notNull(col)
		f := newField(col, cs, p.Type)
		f.Search = sqlq.SearchColumns{Exact: p.Search.Exact, Norm: p.Search.Norm, Rev: p.Search.Rev,
			Gram: p.Search.Gram, Texts: p.Search.Texts}
		l.Add(p, f)
	}
}

// addRelations creates the relations in the definition.
func (d *Draft) addRelations(c *sqlite.Conn, l *layer.Layer) (err error) {
	if d.own == nil {
		return nil
	}
	l.Relations, l.SQL.Relations, err = d.relations(c, d.own.Relations, l.Key.Column)
	if err == nil {
		l.SQL.Leads, err = sqlite.Leads(c, d.table.Name)
	}
	return err
}

func (d *Draft) relations(c *sqlite.Conn, defs []schema.RelationDefinition,
	key string) ([]store.Relation, map[string]*sqlq.Relation, error) {
	var list []store.Relation
	byName := map[string]*sqlq.Relation{}
	for _, x := range defs {
		t, err := sqlite.ReadTable(c, x.Table)
		if err != nil {
			return nil, nil, err
		}
		if t == nil {
			d.warn("relation %q is left out: there is no table %q", x.Name, x.Table)
			continue
		}
		rel := store.Relation{Name: x.Name, Table: t.Name, Owner: x.Owner, Key: x.Key, Order: x.Order}
		s := &sqlq.Relation{Source: sqlq.Source{Table: t.Quoted(), Fields: map[string]*sqlq.Field{}},
			Owner: x.Owner, Key: x.Key}
		if s.Key == "" {
			s.Key = key
		}
		if _, ok := t.Column(x.Order); ok && d.isReady() { // otherwise another program may have changed the rows
			s.Order = x.Order
		}
		if s.Indexed, err = sqlite.IndexedColumns(c, t.Name); err != nil {
			return nil, nil, err
		}
		for _, pd := range x.Columns {
			p, ok := pd.Property()
			col, found := t.Column(p.Column)
			if !ok || !found {
				d.warn("column %q of relation %q is left out: there is none of type %q", pd.Column, x.Name, pd.Type)
				continue
			}
			f := &sqlq.Field{Column: col.Name, Type: p.Type, Nulls: true}
			if p.Type == cql2.TypeDate && !strings.EqualFold(col.Declared, schema.ColumnType(p.Type)) {
				f.Normal = sqlq.NormalDate // our writer stores dates in the normal form
			}
			f.Search = sqlq.SearchColumns{Exact: p.Search.Exact, Norm: p.Search.Norm, Rev: p.Search.Rev,
				Gram: p.Search.Gram, Texts: p.Search.Texts}
			rel.Columns = append(rel.Columns, p)
			s.Fields[p.Name] = f
		}
		if rel.Relations, s.Relations, err = d.relations(c, x.Relations, "rowid"); err != nil {
			return nil, nil, err
		}
		list = append(list, rel)
		byName[x.Name] = s
	}
	return list, byName, nil
}
