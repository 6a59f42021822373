package schema

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"grense/internal/cql2"
	"grense/internal/geo/crs"
	"grense/internal/store"
	"grense/internal/store/gpkg/sqlite"
)

// DefinitionTable is the table for metadata of collections that GeoPackage has no place for.
const DefinitionTable = "grense_collection"

// Definition is a collection as JSON, without what can be derived from the data.
type Definition struct {
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
	Relations     []RelationDefinition `json:"relations,omitempty"`
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

// RelationDefinition is a relation as JSON.
type RelationDefinition struct {
	Name      string               `json:"name"`
	Table     string               `json:"table"`
	Owner     string               `json:"owner"`
	Key       string               `json:"key,omitempty"`
	Order     string               `json:"order,omitempty"`
	Columns   []propertyDefinition `json:"columns"`
	Relations []RelationDefinition `json:"relations,omitempty"`
}

var TypeNames = map[cql2.Type]string{
	cql2.TypeText: "text", cql2.TypeInteger: "integer", cql2.TypeNumber: "number", cql2.TypeBool: "boolean",
	cql2.TypeDate:      "date",
	cql2.TypeTimestamp: "timestamp", cql2.TypeGeometry: "geometry", cql2.TypeJSON: "json",
}

func typeNamed(name string) (cql2.Type, bool) {
	for t, n := range TypeNames {
		if n == name {
			return t, true
		}
	}
	return 0, false
}

// Define converts a collection to its definition.
func Define(x *store.Collection) *Definition {
	c := x.Folded()
	d := &Definition{
		ID: c.ID, Table: c.Table, Title: c.Title, Description: c.Description, Keywords: c.Keywords, Links: c.Links,
		Public:     c.Public,
		Key:        keyDefinition{c.Key.Column, TypeNames[c.Key.Type], c.Key.Property},
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
		out[i] = propertyDefinition{p.Name, p.Column, TypeNames[p.Type], p.Title, p.Description, p.Unit, p.Enum,
			p.CodeList, p.Ref, p.Hidden, p.Search}
	}
	return out
}

func defineRelations(rs []store.Relation) []RelationDefinition {
	var out []RelationDefinition
	for _, r := range rs {
		out = append(out, RelationDefinition{r.Name, r.Table, r.Owner, r.Key, r.Order, defineProperties(r.Columns),
			defineRelations(r.Relations)})
	}
	return out
}

// Property returns the property; false if its type is not known.
func (p propertyDefinition) Property() (store.Property, bool) {
	t, ok := typeNamed(p.Type)
	return store.Property{
		Name: p.Name, Column: p.Column, Type: t, Title: p.Title, Description: p.Description, Unit: p.Unit, Enum: p.Enum,
		CodeList: p.CodeList,
		Ref:      p.Ref, Hidden: p.Hidden, Search: p.Search,
	}, ok
}

// IsFoldedOtherwise is store.FoldedOtherwise for definitions.
func IsFoldedOtherwise(ps []propertyDefinition, rs []RelationDefinition) bool {
	return slices.ContainsFunc(ps, func(p propertyDefinition) bool { return p.Search.Old() }) ||
		slices.ContainsFunc(rs, func(r RelationDefinition) bool { return IsFoldedOtherwise(r.Columns, r.Relations) })
}

// ReadDefinitions returns the definitions by table name in lower case; none if Grense did not write the file.
func ReadDefinitions(c *sqlite.Conn) (map[string]*Definition, error) {
	t, err := sqlite.ReadTable(c, DefinitionTable)
	if err != nil || t == nil {
		return nil, err
	}
	defs := map[string]*Definition{}
	err = c.Query("SELECT id, definition FROM "+t.Quoted()+" ORDER BY rowid", nil, func(r sqlite.Row) error {
		d := &Definition{}
		if err := json.Unmarshal([]byte(r.Text(1)), d); err != nil {
			return fmt.Errorf("gpkg: definition of collection %q: %w", r.Text(0), err)
		}
		defs[strings.ToLower(d.Table)] = d
		return nil
	})
	return defs, err
}

// IsJSON reports whether a column contains JSON. d may be nil.
func (d *Definition) IsJSON(column string) bool {
	return d != nil && slices.ContainsFunc(d.Properties, func(p propertyDefinition) bool {
		return strings.EqualFold(p.Column, column) && p.Type == TypeNames[cql2.TypeJSON]
	})
}

// Describe copies the properties of the whole collection to c.
func (d *Definition) Describe(c *store.Collection) {
	c.ID, c.Title, c.Description, c.Keywords, c.Links, c.Public = d.ID, d.Title, d.Description, d.Keywords,
		d.Links, d.Public
	c.Invented, c.DefaultSort, c.TitleProperty = d.Description.MarkedInvented(), d.DefaultSort, d.TitleProperty
	c.Instant, c.IntervalStart, c.IntervalEnd = d.Instant, d.IntervalStart, d.IntervalEnd
}

// WordColumns returns the columns that the parameter q searches.
func (d *Definition) WordColumns() []string {
	if !d.Public {
		return nil
	}
	var all, made []string
	for _, p := range d.Properties {
		if p.Hidden || p.Type != TypeNames[cql2.TypeText] {
			continue
		}
		all = append(all, p.Column)
		if p.Search.Norm != "" {
			made = append(made, p.Column)
		}
	}
	if made != nil {
		return made
	}
	return all
}

// Column returns the column of a property; "" if there is none.
func (d *Definition) Column(property string) string {
	for _, p := range d.Properties {
		if p.Name == property {
			return p.Column
		}
	}
	return ""
}
