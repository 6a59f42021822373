package store

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/paulmach/orb"

	"grense/internal/cql2"
	"grense/internal/geo/crs"
)

// Catalog is an immutable description of the data. It does not change after the store has returned it.
type Catalog struct {
	Version     string        // changes when schema or data change; the base of every ETag
	Modified    time.Time     // of the data, as far as known
	Collections []*Collection // public and internal ones, in a stable order
	Notes       []Note        // layers that were refused or are served with a warning
	Hidden      []string      // layers of the source that the settings hide
	Bookkeeping []string      // layers that are not served because of IsBookkeeping
	Live        bool          // rows come from a database: they may change at any time without a new catalog
	// Survey reports the progress of reading a large file while the catalog is already served. Until it is done,
	// extents may be too large. nil: everything has been read.
	Survey *Survey
}

// Survey reports how much of a source has been read. It is safe for concurrent use.
type Survey struct {
	mu          sync.Mutex
	layers, all int
	rows        float64 // the part of the current layer, 0 to 1
}

// Note records how many layers have been read or, without layers, how many rows of the current layer.
func (s *Survey) Note(layers bool, done, total int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if layers {
		s.layers, s.all, s.rows = done, total, 0
	} else if total > 0 {
		s.rows = float64(done) / float64(total)
	}
}

// Done returns the part of the source that has been read, from 0 to 1; 1 for a nil Survey.
func (s *Survey) Done() float64 {
	if s == nil {
		return 1
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return min((float64(s.layers)+s.rows)/float64(max(s.all, 1)), 1)
}

// Collection returns the collection with an id. ok is false if there is none.
func (c *Catalog) Collection(id string) (*Collection, bool) {
	for _, x := range c.Collections {
		if x.ID == id {
			return x, true
		}
	}
	return nil, false
}

// Note reports a problem of one layer of the source. A refused layer has no collection.
type Note struct {
	Layer      string // the name in the source
	Collection string // of a refused layer: its id if it were served, without the number that keeps ids apart
	Refused    bool
	Setting    bool   // a setting of the configuration matches nothing
	Reason     string // a sentence, with the cure if there is one
}

// Public returns the public collections in their order.
func (c *Catalog) Public() []*Collection {
	return slices.DeleteFunc(slices.Clone(c.Collections), func(coll *Collection) bool { return !coll.Public })
}

// Areas returns the public collections of areas, those with the fewest features first.
func (c *Catalog) Areas() []*Collection {
	areas := slices.DeleteFunc(c.Public(), func(coll *Collection) bool {
		g := coll.Geometry
		return g == nil || g.Type != "Polygon" && g.Type != "MultiPolygon"
	})
	slices.SortStableFunc(areas, func(a, b *Collection) int { return a.Count - b.Count })
	return areas
}

// Refusal returns the note of the refused layer that would be served under an id.
func (c *Catalog) Refusal(id string) (Note, bool) {
	for _, n := range c.Notes {
		if n.Refused && n.Collection == id {
			return n, true
		}
	}
	return Note{}, false
}

// RequireCollections returns an error if the catalog has no collection: with the reason of each refused layer,
// or with otherwise if no layer was refused.
func (c *Catalog) RequireCollections(otherwise string) error {
	if len(c.Collections) > 0 {
		return nil
	}
	var b strings.Builder
	for _, n := range c.Notes {
		if n.Refused {
			fmt.Fprintf(&b, "\n  %s: %s", n.Layer, n.Reason)
		}
	}
	if b.Len() == 0 {
		b.WriteString(" " + otherwise)
	}
	return fmt.Errorf("no collection can be served:%s", b.String())
}

// Text is a text by language tag: "nb", "nn", "en". The key "" is the text whose language is not stated.
type Text map[string]string

// In returns the text in the language lang. It falls back to nb, en, "" (language not stated) and nn, in that order,
// and returns "" if there is no text.
func (t Text) In(lang string) string {
	for _, l := range [...]string{lang, "nb", "en", "", "nn"} {
		if s, ok := t[l]; ok {
			return s
		}
	}
	return ""
}

// Sentences that end the description of a dataset with invented content.
var (
	SchematicBorders = Text{
		"nb": "Dette er en demo: grensene er skjematiske, ikke de virkelige.",
		"nn": "Dette er ein demo: grensene er skjematiske, ikkje dei verkelege.",
		"en": "This is a demo: the borders are schematic, not the real ones.",
	}
	InventedContent = Text{
		"nb": "Alt innhold er oppdiktet, unntatt navnene på fylker og kommuner.",
		"nn": "Alt innhald er oppdikta, unnateke namna på fylke og kommunar.",
		"en": "All content is invented, except the names of counties and municipalities.",
	}
)

// MarkedInvented reports whether a description contains one of these sentences.
func (t Text) MarkedInvented() bool {
	return strings.Contains(t["nb"], SchematicBorders["nb"]) || strings.Contains(t["nb"], InventedContent["nb"])
}

// Collection describes one set of features of one schema. It implements cql2.Schema over all its
// properties and its geometry.
type Collection struct {
	ID          string // [a-z0-9_-]+
	Table       string // name in the source
	Title       Text
	Description Text
	Keywords    []string
	Links       []Link
	// whether features or borders are invented, according to the description in the source, even if the configuration
	// replaces that description
	Invented bool      `json:"-"`
	Modified time.Time `json:"-"` // time of the last write, as far as the source reports it; else zero
	Public   bool      // served as an OGC API collection; SOAP also reads collections that are not

	Key        FeatureKey // source of the feature id
	Geometry   *Geom      // nil: features have no geometry
	Properties []Property // in schema order, without the geometry
	names      map[string]int
	// Derived are properties that filters may use but responses do not contain: the feature id if no property repeats
	// it, and values inside JSON properties.
	Derived     []Property `json:"-"`
	Relations   []Relation
	DefaultSort []Sort // nil: by id

	Instant       string // role primary-instant: the property with the moment of a feature; "" when there is none
	IntervalStart string // role primary-interval-start
	IntervalEnd   string // role primary-interval-end; a null end is open
	// Times are all properties with dates or timestamps, if the time of a feature is not configured. The parameter
	// datetime then compares each of them (OGC 17-069r4, 7.15.4), also an interval recognised by the names of its
	// columns. nil: Instant, IntervalStart and IntervalEnd alone.
	Times []string
	// Timeless is a hidden property that is true if a feature has no time at all, such as an empty range. datetime
	// never selects such features. "": there is no such property.
	Timeless string

	Settled  string    // versions that ended before this day are never corrected; "": none
	Versions *Versions `json:",omitempty"` // nil: each row is a feature

	// whether changes are recorded, if configured; nil: only up to a number of features
	Changes     *bool         `json:",omitempty"`
	Codes       string        // scheme of the history whose codes the feature ids are, if configured; else ""
	Zooms       *Zooms        `json:",omitempty"` // levels of tiles that show the collection; nil: all
	PageDefault int           `json:",omitempty"` // default page size; 0: that of the service
	PageMax     int           `json:",omitempty"` // largest page; 0: that of the service
	MaxAge      time.Duration `json:"-"`          // for which responses may be used again; 0: that of the service
	Count       int           // features in all
	Extent      *orb.Bound    // CRS84, degrees, lon before lat, tight; nil if no feature has a geometry
	Temporal    [2]*time.Time // first and last moment; nil: open or unknown
	// property with the title of a feature: the configured one, else that of LikelyTitle; "" if there is none
	TitleProperty string
}

// Zooms are the first and the last level of tiles.
type Zooms struct{ Min, Max int }

// ShownAt reports whether tiles of a level show the collection.
func (c *Collection) ShownAt(zoom int) bool {
	return c.Zooms == nil || zoom >= c.Zooms.Min && zoom <= c.Zooms.Max
}

// FeatureKey describes how a feature id is stored.
type FeatureKey struct {
	Column   string    // column in the source
	Type     cql2.Type // TypeText or TypeInteger
	Property string    // the property that repeats the id; "" if the id column is not a property
}

// Geom describes the geometry of a collection.
type Geom struct {
	Name   string // property name in filters and schemas: geometry, unless a property has that name
	Alias  string // second name that filters may use: that of the column; "" if there is none
	Column string // column in the source
	Type   string // GeoJSON name of the declared type; "" if any
	HasZ   bool
	CRS    crs.ID // of the stored coordinates, served as StorageCRS
	// Geodesic means that an edge goes the short way around the globe, as in PostGIS's geography.
	Geodesic bool `json:",omitempty"`
}

// MayBePoint reports whether a feature may have a point; false for nil.
func (g *Geom) MayBePoint() bool { return g != nil && (g.Type == "Point" || g.Type == "") }

// Property describes one column of a collection or relation.
type Property struct {
	Name        string // as served
	Column      string // in the source
	Type        cql2.Type
	Title       Text
	Description Text
	Path        []string // of a value inside a JSON property: names of members, outermost first; else nil
	// of TypeJSON if every value is an array: JSON type of the elements, "any" if they differ; else ""
	Items    string
	Unit     string   // UCUM code, or ""
	Enum     []string // allowed values, if the source declares them
	CodeList string   // address of a code list, or ""
	Ref      string   // id of the collection that the values refer to, or ""
	NotNull  bool     // the source declares that every feature has a value
	Hidden   bool     // used internally in filters and orders; never output, not queryable by clients
	Search   Search
}

// Filled reports whether, by its declaration, every value of a column is served as a value and not as null. Numbers,
// dates and timestamps that JSON cannot express are served as null.
func Filled(notNull bool, t cql2.Type) bool {
	return notNull && (t == cql2.TypeText || t == cql2.TypeInteger || t == cql2.TypeBool)
}

// Search names the columns for searching a text property; "" if there is no such column.
type Search struct {
	Exact string // fold.CaseI of the text
	Norm  string // fold.Norm of the text
	Rev   string // Norm, reversed by character, for patterns that start with a wildcard
	Gram  string // full-text table with trigrams over Norm, by rowid of Texts, or else of the collection's table
	Texts string // table of the distinct texts of Norm, in a column of that name; id is the row id
	Fold  string // the fold.NormVersion of the columns; a Writer sets it
}

// Relation is a table whose rows belong to features, many to one, or many to many through a table of pairs.
type Relation struct {
	Name  string
	Table string
	Owner string // column of Table that holds the owner's value of Key
	Key   string // column of the collection's table that Owner refers to; "" means the id column
	// Order is the name of a property of the collection with distinct integers, and of a column of Table. The column
	// sorts rows as the property sorts their owners, and every row has an owner. "": there is no such order.
	Order     string
	Columns   []Property
	Relations []Relation // of the rows of Table; their Owner refers to Key in Table
}

// Link is a link that configuration adds to a collection.
type Link struct{ Href, Rel, Type, Title, Hreflang string }

// TitleIn returns the title of the collection in a language, or its id if it has none.
func (c *Collection) TitleIn(lang string) string { return cmp.Or(c.Title.In(lang), c.ID) }

// TitleIn returns the title of the property in a language, or its name if it has none.
func (p *Property) TitleIn(lang string) string { return cmp.Or(p.Title.In(lang), p.Name) }

// Canonical returns the name of the geometry for that of its column, unless a property has that name.
func (c *Collection) Canonical(name string) string {
	g := c.Geometry
	if g == nil || name == "" || name != g.Alias {
		return name
	}
	if _, taken := c.Find(name); taken {
		return name
	}
	return g.Name
}

// GeometryName returns the name of the geometry in a column without a definition, and its alias in filters:
// geometry and the column, or the column alone if something else is called geometry.
func GeometryName(column string, taken func(string) bool) (name, alias string) {
	const usual = "geometry"
	if column == usual || taken(usual) {
		return column, ""
	}
	return usual, column
}

// Property returns the type of a property, also a hidden one, or of the geometry. ok is false if there is none.
func (c *Collection) Property(name string) (cql2.Type, bool) {
	if c.Geometry != nil && c.Geometry.Name == name {
		return cql2.TypeGeometry, true
	}
	if p, ok := c.Queryable(name); ok {
		return p.Type, true
	}
	return 0, false
}

// manyProperties is the number of properties from which Find uses a map of names.
const manyProperties = 32

// IndexNames builds the map for Find if there are many properties. A store calls it once its collection is complete.
func (c *Collection) IndexNames() {
	if len(c.Properties) < manyProperties {
		return
	}
	c.names = make(map[string]int, len(c.Properties))
	for i := len(c.Properties) - 1; i >= 0; i-- { // of equal names, the first wins
		c.names[c.Properties[i].Name] = i
	}
}

// Find returns a property by name.
func (c *Collection) Find(name string) (*Property, bool) {
	// If the check fails, the properties have changed since IndexNames.
	if i, ok := c.names[name]; ok && i < len(c.Properties) && c.Properties[i].Name == name {
		return &c.Properties[i], true
	}
	for i := range c.Properties {
		if c.Properties[i].Name == name {
			return &c.Properties[i], true
		}
	}
	return nil, false
}

// IDName is the name of the feature id in filters, orders and schemas if no property repeats it.
const IDName = "id"

// DeriveID adds the feature id to Derived if no property repeats it, and reports whether it did.
// A store calls it once the key, the geometry and the properties are final.
func (c *Collection) DeriveID() bool {
	if _, taken := c.Property(IDName); taken || c.Key.Property != "" {
		return false
	}
	c.Derived = append(c.Derived, Property{Name: IDName, Column: c.Key.Column, Type: c.Key.Type, NotNull: true})
	return true
}

// Queryable returns a property that filters may name, from Properties or Derived.
func (c *Collection) Queryable(name string) (*Property, bool) {
	if p, ok := c.Find(name); ok {
		return p, true
	}
	for i := range c.Derived {
		if c.Derived[i].Name == name {
			return &c.Derived[i], true
		}
	}
	return nil, false
}

// Queryables yields all that Queryable finds: Derived, then Properties.
func (c *Collection) Queryables() iter.Seq[*Property] {
	return func(yield func(*Property) bool) {
		for _, list := range [...][]Property{c.Derived, c.Properties} {
			for i := range list {
				if !yield(&list[i]) {
					return
				}
			}
		}
	}
}

// MaxSearched is the largest number of properties that the parameter q searches.
const MaxSearched = 100

// SearchNames returns the properties that the parameter q searches: texts with search columns, else all that are not
// hidden, up to MaxSearched.
func (c *Collection) SearchNames() []string {
	var all, made []string
	for _, p := range c.Properties {
		if p.Hidden || p.Type != cql2.TypeText {
			continue
		}
		all = append(all, p.Name)
		if p.Search.Norm != "" {
			made = append(made, p.Name)
		}
	}
	if made != nil {
		all = made
	}
	return all[:min(len(all), MaxSearched)]
}

// UsualIntervals are names of columns that count as an interval without configuration,
// in lower case: first start, then end.
var UsualIntervals = [...][2]string{{"gyldigfra", "gyldigtil"}, {"valid_from", "valid_to"}}

// SettleTimes sets Times, and Instant if only one property has dates or timestamps. configured means that the
// configuration sets the roles; then Times stays nil.
func (c *Collection) SettleTimes(configured bool) {
	c.Times = nil
	if configured {
		return
	}
	for _, p := range c.Properties {
		if !p.Hidden && (p.Type == cql2.TypeDate || p.Type == cql2.TypeTimestamp) {
			c.Times = append(c.Times, p.Name)
		}
	}
	switch {
	case len(c.Times) == 1 && c.IntervalStart == "" && c.IntervalEnd == "":
		c.Instant, c.Times = c.Times[0], nil
	case len(c.Times) < 2:
		c.Times = nil
	}
}

// UsualInterval returns the columns of a table that count as an interval without configuration; "" if there are none.
// column returns the table's spelling of a name, or "" if there is no such column.
func UsualInterval(column func(name string) string) (start, end string) {
	for _, pair := range UsualIntervals {
		if start, end = column(pair[0]), column(pair[1]); start != "" && end != "" {
			return start, end
		}
	}
	return "", ""
}

// HasUsualInterval reports whether the interval of the collection has one of the usual names, and no instant is set.
func (c *Collection) HasUsualInterval() bool {
	for _, pair := range UsualIntervals {
		if strings.EqualFold(c.IntervalStart, pair[0]) && strings.EqualFold(c.IntervalEnd, pair[1]) {
			return c.Instant == ""
		}
	}
	return false
}

// During returns the filter of the parameter datetime without its bounds. ok is false if features have no time.
func (c *Collection) During() (cql2.Interval, bool) {
	e := cql2.Interval{Start: c.IntervalStart, End: c.IntervalEnd, Also: c.Times}
	if c.Instant != "" {
		e.Start, e.End = c.Instant, c.Instant
	}
	return e, e.Start != "" || e.End != "" || e.Also != nil
}

// IsDuring returns the filter of the parameter datetime; a nil bound is open. ok is false if features have no time.
func (c *Collection) IsDuring(from, to *time.Time) (cql2.Expr, bool) {
	e, ok := c.During()
	if e.From, e.To = from, to; c.Timeless == "" {
		return e, ok
	}
	return cql2.And{e, cql2.Not{X: cql2.Prop{Name: c.Timeless}}}, ok
}

// Names returns the names that filters may use: Shown, then Derived.
func (c *Collection) Names() []string {
	names := c.Shown()
	for _, p := range c.Derived {
		names = append(names, p.Name)
	}
	return names
}

// Shown lists the properties that are not hidden, then the geometry.
func (c *Collection) Shown() []string {
	names := make([]string, 0, len(c.Properties)+len(c.Derived)+1)
	for _, p := range c.Properties {
		if !p.Hidden {
			names = append(names, p.Name)
		}
	}
	if c.Geometry != nil {
		names = append(names, c.Geometry.Name)
	}
	return names
}

// Relation returns the columns of a relation as a schema for cql2.Check; ok is false if there is no such relation.
func (c *Collection) Relation(name string) (cql2.Schema, bool) { return relation(c.Relations, name) }

func relation(rs []Relation, name string) (cql2.Schema, bool) {
	for i := range rs {
		if rs[i].Name == name {
			return relationSchema{&rs[i]}, true
		}
	}
	return nil, false
}

// relationSchema is a cql2.RelationSchema over the columns of a relation.
type relationSchema struct{ r *Relation }

func (s relationSchema) Property(name string) (cql2.Type, bool) {
	for _, p := range s.r.Columns {
		if p.Name == name {
			return p.Type, true
		}
	}
	return 0, false
}

func (s relationSchema) Names() []string {
	names := make([]string, len(s.r.Columns))
	for i, p := range s.r.Columns {
		names[i] = p.Name
	}
	return names
}

func (s relationSchema) Relation(name string) (cql2.Schema, bool) {
	return relation(s.r.Relations, name)
}

// StorageCRS returns the CRS of the stored coordinates; zero without geometry.
func (c *Collection) StorageCRS() crs.ID {
	if c.Geometry == nil {
		return 0
	}
	return c.Geometry.CRS
}

// Settings is the configuration of a layer; zero values keep what the source states.
type Settings struct {
	ID          string // collection id
	Title       Text
	Description Text
	Keywords    []string
	Links       []Link
	Hidden      bool // do not serve the layer
	// columns with the feature id; unique together and not null
	IDColumns      []string
	HiddenColumns  []string
	GeometryColumn string // column with the geometry; "": the first
	Codes          string // scheme of the history that defines the feature ids, if they are codes
	// whether changes are recorded; nil: only up to a number of features
	Changes                                            *bool
	TitleProperty, Instant, IntervalStart, IntervalEnd string

	Zooms                *Zooms        `json:",omitempty"` // Collection.Zooms
	PageDefault, PageMax int           // of Collection
	MaxAge               time.Duration // of Collection
	StorageCRS           int           // EPSG code of geometries without a stated system; 0: they are refused

	ValidFrom, ValidTo string // columns with the validity of versions; the one IDColumns joins them to features
	Inclusive          bool   // ValidTo is the last day or moment of validity
	Settled            string // Collection.Settled
}

// SingleID returns the configured id column; "" if there is none, or several.
func (s Settings) SingleID() string {
	if len(s.IDColumns) == 1 {
		return s.IDColumns[0]
	}
	return ""
}

// Apply sets the texts, links and title property of a collection whose properties are known. Without a configured title
// property it uses LikelyTitle. It calls warn if the configured one does not exist.
func (c *Collection) Apply(s *Settings, warn func(format string, args ...any)) {
	if s.Title != nil {
		c.Title = s.Title
	}
	if s.Description != nil {
		c.Description = s.Description
	}
	if s.Keywords != nil {
		c.Keywords = s.Keywords
	}
	if s.Links != nil {
		c.Links = s.Links
	}
	c.Settled, c.Zooms, c.PageDefault, c.PageMax = s.Settled, s.Zooms, s.PageDefault, s.PageMax
	c.MaxAge = s.MaxAge
	if s.Codes != "" {
		c.Codes = s.Codes
	}
	if s.Changes != nil {
		c.Changes = s.Changes
	}
	if s.TitleProperty != "" {
		if p, ok := c.Find(s.TitleProperty); ok {
			c.TitleProperty = p.Name
		} else {
			warn("there is no property %q for the title", s.TitleProperty)
		}
	}
	if c.TitleProperty == "" {
		c.TitleProperty = c.LikelyTitle()
	}
}
