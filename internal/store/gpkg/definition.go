package gpkg

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"grense/internal/cql2"
	"grense/internal/geo/crs"
	"grense/internal/store"
	"grense/internal/store/gpkg/layer"
	"grense/internal/store/gpkg/sqlite"
	"grense/internal/store/sqlq"
)

// definitionTable is the table for metadata of collections that GeoPackage has no place for.
const definitionTable = "grense_collection"

// definition is a collection as JSON, without what can be derived from the data.
type definition struct {
	ID            string               `json:"id"`
	Table         string               `json:"table"`
	Title         store.Text           `json:"title,omitempty"`
	Description   store.Text           `json:"description,omitempty"`
	Keywords      []string             `json:"keywords,omitempty"`
	Links         []store.Link         `json:"links,omitempty"`
	Public        bool                 `json:"public"`
	Key           keyDefinition        `json:"key"`
	Geometry      *geomDefinition      `json:"geometry,omitempty"`
	Properties    []propertyDefinition `json:"properties"`
	Relations     []relationDefinition `json:"relations,omitempty"`
	DefaultSort   []store.Sort         `json:"defaultSort,omitempty"`
	Instant       string               `json:"instant,omitempty"`
	IntervalStart string               `json:"intervalStart,omitempty"`
	IntervalEnd   string               `json:"intervalEnd,omitempty"`
	Versions      *versionsDefinition  `json:"versions,omitempty"`
	TitleProperty string               `json:"titleProperty,omitempty"`
}

type keyDefinition struct {
	Column   string `json:"column"`
	Type     string `json:"type"`
	Property string `json:"property,omitempty"`
}

// versionsDefinition contains names of properties.
type versionsDefinition struct {
	ID        string `json:"id"`
	Start     string `json:"start"`
	End       string `json:"end"`
	Inclusive bool   `json:"inclusive,omitempty"`
}

type geomDefinition struct {
	Name   string `json:"name"`
	Column string `json:"column"`
	Type   string `json:"type,omitempty"`
	HasZ   bool   `json:"z,omitempty"`
	CRS    crs.ID `json:"crs"`
}

type propertyDefinition struct {
	Name        string       `json:"name"`
	Column      string       `json:"column"`
	Type        string       `json:"type"`
	Title       store.Text   `json:"title,omitempty"`
	Description store.Text   `json:"description,omitempty"`
	Unit        string       `json:"unit,omitempty"`
	Enum        []string     `json:"enum,omitempty"`
	CodeList    string       `json:"codeList,omitempty"`
	Ref         string       `json:"ref,omitempty"`
	Hidden      bool         `json:"hidden,omitempty"`
	Search      store.Search `json:"search,omitzero"`
}

type relationDefinition struct {
	Name      string               `json:"name"`
	Table     string               `json:"table"`
	Owner     string               `json:"owner"`
	Key       string               `json:"key,omitempty"`
	Order     string               `json:"order,omitempty"`
	Columns   []propertyDefinition `json:"columns"`
	Relations []relationDefinition `json:"relations,omitempty"`
}

var typeNames = map[cql2.Type]string{
	cql2.TypeText: "text", cql2.TypeInteger: "integer", cql2.TypeNumber: "number", cql2.TypeBool: "boolean",
	cql2.TypeDate:      "date",
	cql2.TypeTimestamp: "timestamp", cql2.TypeGeometry: "geometry", cql2.TypeJSON: "json",
}

func typeNamed(name string) (cql2.Type, bool) {
	for t, n := range typeNames {
		if n == name {
			return t, true
		}
	}
	return 0, false
}

// define converts a collection to its definition.
func define(x *store.Collection) *definition {
	c := x.Folded()
	d := &definition{
		ID: c.ID, Table: c.Table, Title: c.Title, Description: c.Description, Keywords: c.Keywords, Links: c.Links,
		Public:     c.Public,
		Key:        keyDefinition{c.Key.Column, typeNames[c.Key.Type], c.Key.Property},
		Properties: defineProperties(c.Properties), Relations: defineRelations(c.Relations), DefaultSort: c.DefaultSort,
		Instant: c.Instant, IntervalStart: c.IntervalStart, IntervalEnd: c.IntervalEnd, TitleProperty: c.TitleProperty,
	}
	if v := c.Versions; v != nil {
		d.Versions = &versionsDefinition{v.ID, v.Start, v.End, v.Inclusive}
	}
	if g := c.Geometry; g != nil {
		d.Geometry = &geomDefinition{g.Name, g.Column, g.Type, g.HasZ, g.CRS}
	}
	return d
}

func defineProperties(ps []store.Property) []propertyDefinition {
	out := make([]propertyDefinition, len(ps))
	for i, p := range ps {
		out[i] = propertyDefinition{p.Name, p.Column, typeNames[p.Type], p.Title, p.Description, p.Unit, p.Enum,
			p.CodeList, p.Ref, p.Hidden, p.Search}
	}
	return out
}

func defineRelations(rs []store.Relation) []relationDefinition {
	var out []relationDefinition
	for _, r := range rs {
		out = append(out, relationDefinition{r.Name, r.Table, r.Owner, r.Key, r.Order, defineProperties(r.Columns),
			defineRelations(r.Relations)})
	}
	return out
}

func (p propertyDefinition) property() (store.Property, bool) {
	t, ok := typeNamed(p.Type)
	return store.Property{
		Name: p.Name, Column: p.Column, Type: t, Title: p.Title, Description: p.Description, Unit: p.Unit, Enum: p.Enum,
		CodeList: p.CodeList,
		Ref:      p.Ref, Hidden: p.Hidden, Search: p.Search,
	}, ok
}

// foldedOtherwise is store.FoldedOtherwise for definitions.
func foldedOtherwise(ps []propertyDefinition, rs []relationDefinition) bool {
	return slices.ContainsFunc(ps, func(p propertyDefinition) bool { return p.Search.Old() }) ||
		slices.ContainsFunc(rs, func(r relationDefinition) bool { return foldedOtherwise(r.Columns, r.Relations) })
}

// readDefinitions returns the definitions by table name in lower case; none if Grense did not write the file.
func readDefinitions(c *sqlite.Conn) (map[string]*definition, error) {
	t, err := sqlite.ReadTable(c, definitionTable)
	if err != nil || t == nil {
		return nil, err
	}
	defs := map[string]*definition{}
	err = c.Query("SELECT id, definition FROM "+t.Quoted()+" ORDER BY rowid", nil, func(r sqlite.Row) error {
		d := &definition{}
		if err := json.Unmarshal([]byte(r.Text(1)), d); err != nil {
			return fmt.Errorf("gpkg: definition of collection %q: %w", r.Text(0), err)
		}
		defs[strings.ToLower(d.Table)] = d
		return nil
	})
	return defs, err
}

// isJSON reports whether a column contains JSON. d may be nil.
func (d *definition) isJSON(column string) bool {
	return d != nil && slices.ContainsFunc(d.Properties, func(p propertyDefinition) bool {
		return strings.EqualFold(p.Column, column) && p.Type == typeNames[cql2.TypeJSON]
	})
}

// describe copies the properties of the whole collection to c.
func (d *definition) describe(c *store.Collection) {
	c.ID, c.Title, c.Description, c.Keywords, c.Links, c.Public = d.ID, d.Title, d.Description, d.Keywords,
		d.Links, d.Public
	c.Invented, c.DefaultSort, c.TitleProperty = d.Description.MarkedInvented(), d.DefaultSort, d.TitleProperty
	c.Instant, c.IntervalStart, c.IntervalEnd = d.Instant, d.IntervalStart, d.IntervalEnd
}

// addProperties creates the properties in the definition. If another program has removed a column or stored other
// types, the property is left out or gets a wider type, with a warning.
func (d *definition) addProperties(l *layer.Layer, dr *draft) {
	l.Key.Property = d.Key.Property
	for _, x := range d.Properties {
		p, ok := x.property()
		col, found := dr.table.Column(p.Column)
		if slices.Contains(dr.settings.HiddenColumns, p.Column) {
			continue
		}
		if !ok || !found {
			dr.warn("property %q is left out: there is no column %q of type %q", x.Name, x.Column, x.Type)
			continue
		}
		cs := dr.survey.Columns[col.Name]
		if cs == nil { // the row id is not surveyed
			cs = &columnSurvey{}
		}
		if cs.Blob > 0 || !cs.fits(p.Type) {
			dr.warn("property %q holds values that are not of type %s; it is served as text", p.Name, x.Type)
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
func (d *draft) addRelations(c *sqlite.Conn, l *layer.Layer) (err error) {
	if d.own == nil {
		return nil
	}
	l.Relations, l.SQL.Relations, err = d.relations(c, d.own.Relations, l.Key.Column)
	if err == nil {
		l.SQL.Leads, err = sqlite.Leads(c, d.table.Name)
	}
	return err
}

func (d *draft) relations(c *sqlite.Conn, defs []relationDefinition,
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
			p, ok := pd.property()
			col, found := t.Column(p.Column)
			if !ok || !found {
				d.warn("column %q of relation %q is left out: there is none of type %q", pd.Column, x.Name, pd.Type)
				continue
			}
			f := &sqlq.Field{Column: col.Name, Type: p.Type, Nulls: true}
			if p.Type == cql2.TypeDate && !strings.EqualFold(col.Declared, columnType(p.Type)) {
				f.Normal = sqlq.NormalDate // our Writer stores dates in the normal form
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
