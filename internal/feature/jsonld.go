package feature

import (
	"net/url"
	"strings"

	"grense/internal/geo/crs"
	"grense/internal/store"
)

// linked holds what JSON-LD needs in addition to GeoJSON. Features are schema.org places and GeoSPARQL features:
//
// {"@context":…, "@type":["Place","gsp:Feature"], "@id":address, "identifier":id, "name":…, PROPERTY:…,
//
//	"geo":{"@type":"GeoCoordinates","latitude":…,"longitude":…},
//	"gsp:hasGeometry":{"@type":"gsp:Geometry","gsp:asWKT":…,"gsp:asGeoJSON":…}}
//
// Only points have geo. Properties without a value are omitted, since JSON-LD drops null.
type linked struct {
	geom    Geometry // always CRS84, the default of GeoSPARQL literals
	context []byte   // @context of an item
	title   int      // index of the title property; -1: none
	keys    [][]byte // by property; nil: another member has the value
}

// taken are the terms that our JSON-LD documents use in items and lists. A property with such a name would hide a
// member or change its meaning, since the terms of a context apply to all nodes below it.
var taken = map[string]bool{
	// members
	"name": true, "identifier": true, "geo": true, "latitude": true, "longitude": true, "numberOfItems": true,
	"itemListElement": true,
	"Place":           true, "GeoCoordinates": true, "ItemList": true, // types
	"gsp": true,
}

// unfit reports whether the name of a property cannot be its term. A term must not be empty, and must not look like a
// keyword or an IRI (JSON-LD 1.1 API, 4.2.2, steps 2, 5 and 14).
func unfit(name string) bool {
	return name == "" || name[0] == '@' || strings.ContainsAny(name, ":/") || taken[name]
}

// madeTerms returns terms for the properties whose names are unfit: ":" and "/" become "_", and "_" is appended until
// the term is unique. They do not depend on the requested properties. nil if all names fit.
func madeTerms(c *store.Collection) map[string]string {
	var made map[string]string
	var used map[string]bool
	for i := range c.Properties {
		name := c.Properties[i].Name
		if !unfit(name) {
			continue
		}
		if made == nil {
			made, used = map[string]string{}, map[string]bool{}
			for k := range c.Properties {
				used[c.Properties[k].Name] = true
			}
		}
		term := strings.NewReplacer(":", "_", "/", "_").Replace(name)
		for used[term] || taken[term] {
			term += "_"
		}
		made[name], used[term] = term, true
	}
	return made
}

const (
	schemaOrg = "https://schema.org/"
	geoSPARQL = "http://www.opengis.net/ont/geosparql#"
)

// Context returns the @context of JSON-LD documents: the vocabulary schema.org, and GeoSPARQL as gsp. The caller owns
// it.
func Context() map[string]string {
	return map[string]string{"@vocab": schemaOrg, "gsp": geoSPARQL}
}

func newLinked(e *Encoder, vocabulary string) (linked, error) {
	l := linked{title: -1}
	l.context = append(l.context, `"@context":{"@vocab":"`+schemaOrg+`","gsp":"`+geoSPARQL+`"`...)
	made := madeTerms(e.coll)
	for i, p := range e.props {
		if p.name == e.coll.TitleProperty {
			l.title = i
		}
		if p.name == e.coll.TitleProperty && p.name == "name" {
			l.keys = append(l.keys, nil)
			continue
		}
		term := p.name
		if t, ok := made[term]; ok {
			term = t
		}
		key := append(appendString(nil, term), ':')
		l.keys = append(l.keys, key)
		if vocabulary != "" {
			l.context = append(append(l.context, ','), key...)
			l.context = appendString(l.context, vocabulary+url.PathEscape(p.name))
		}
	}
	l.context = append(l.context, '}')
	if e.want.NoGeometry {
		return l, nil
	}
	var err error
	l.geom, err = NewGeometry(e.coll.Geometry.CRS, crs.CRS84)
	return l, err
}

// AppendJSONLD writes a feature as a JSON-LD document; address becomes its @id.
func (e *Encoder) AppendJSONLD(dst []byte, f *store.Feature, address string) ([]byte, error) {
	start := len(dst)
	out, err := e.appendNode(append(e.AppendJSONLDContext(append(dst, '{')), ','), f, address)
	if err != nil {
		return dst[:start], err
	}
	return out, nil
}

// AppendJSONLDContext writes the @context for nodes of features.
func (e *Encoder) AppendJSONLDContext(dst []byte) []byte { return append(dst, e.ld.context...) }

// AppendJSONLDNode writes a complete feature as an element of a list in a document with the context of
// AppendJSONLDContext.
func (e *Encoder) AppendJSONLDNode(dst []byte, f *store.Feature, address string) ([]byte, error) {
	start := len(dst)
	out, err := e.appendNode(append(dst, '{'), f, address)
	if err != nil {
		return dst[:start], err
	}
	return out, nil
}

// appendNode writes the members of a node except the context, and its end.
func (e *Encoder) appendNode(dst []byte, f *store.Feature, address string) ([]byte, error) {
	start := len(dst)
	if err := checkValues(f, len(e.props)); err != nil {
		return dst, e.wrap(f, err)
	}
	dst = append(dst, `"@type":["Place","gsp:Feature"],`...)
	dst, err := e.appendPlace(dst, f, address)
	if err != nil {
		return dst[:start], err
	}
	for i, key := range e.ld.keys {
		if f.Values[i] == nil || key == nil {
			continue
		}
		dst = append(append(dst, ','), key...)
		v, isJSON := f.Values[i].(store.JSON)
		if isJSON { // otherwise its members would be nodes
			dst = append(append(append(dst, `{"@type":"@json","@value":`...), v...), '}')
		} else if dst, err = appendValue(dst, f.Values[i]); err != nil {
			return dst[:start], e.wrap(f, err)
		}
	}
	if !e.want.NoGeometry && !f.Geometry.IsNull() {
		dst = e.ld.appendGeometry(dst, f.Geometry.WKB)
	}
	return append(dst, '}'), nil
}

// appendGeometry writes the member gsp:hasGeometry; nothing if the geometry cannot be transformed to CRS84.
func (l *linked) appendGeometry(dst, geometry []byte) []byte {
	start := len(dst)
	dst, err := l.geom.AppendWKT(
		append(dst, `,"gsp:hasGeometry":{"@type":"gsp:Geometry","gsp:asWKT":{"@type":"gsp:wktLiteral","@value":"`...),
		geometry,
	)
	if err == nil {
		dst, err = l.geom.appendQuoted(append(dst, `"},"gsp:asGeoJSON":{"@type":"gsp:geoJSONLiteral","@value":"`...),
			geometry)
	}
	if err != nil {
		return dst[:start]
	}
	return append(dst, `"}}`...)
}

// AppendJSONLDItem writes a short form of a feature as an element of a list in a document with Context: address, id and
// name, and the location of a point.
func (e *Encoder) AppendJSONLDItem(dst []byte, f *store.Feature, address string) ([]byte, error) {
	start := len(dst)
	if err := checkValues(f, len(e.props)); err != nil {
		return dst, e.wrap(f, err)
	}
	dst, err := e.appendPlace(append(dst, `{"@type":"Place",`...), f, address)
	if err != nil {
		return dst[:start], err
	}
	return append(dst, '}'), nil
}

// appendPlace writes the members @id, identifier, name and geo.
func (e *Encoder) appendPlace(dst []byte, f *store.Feature, address string) ([]byte, error) {
	dst = appendString(append(dst, `"@id":`...), address)
	dst = appendString(append(dst, `,"identifier":`...), f.Public())
	if i := e.ld.title; i >= 0 && f.Values[i] != nil {
		var err error
		if dst, err = appendValue(append(dst, `,"name":`...), f.Values[i]); err != nil {
			return dst, e.wrap(f, err)
		}
	}
	if e.want.NoGeometry || f.Geometry.IsNull() {
		return dst, nil
	}
	if p, ok := e.ld.geom.location(f.Geometry.WKB); ok {
		d := e.ld.geom.decimals
		dst = appendFixed(append(dst, `,"geo":{"@type":"GeoCoordinates","latitude":`...), p[1], d)
		dst = append(appendFixed(append(dst, `,"longitude":`...), p[0], d), '}')
	}
	return dst, nil
}
