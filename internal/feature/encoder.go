// Package feature encodes features as GeoJSON (RFC 7946), JSON-FG, JSON-LD, CSV (RFC 4180) and well-known text.
//
// Encoders append to a buffer of the caller, directly from the stored bytes, without maps, reflection or allocation.
// Coordinates have fixed decimals: by default 7 for degrees and 2 for metres and heights, without exponents or trailing
// zeros. An encoder is created for a collection and its options; it is immutable and safe for concurrent use. After an
// error the buffer is unchanged.
//
// A geometry that crosses the antimeridian is not cut.
package feature

import (
	"fmt"
	"strconv"

	"grense/internal/geo/crs"
	"grense/internal/store"
)

// Options configure an Encoder.
type Options struct {
	CRS          crs.ID   // of coordinates in GeoJSON; the zero ID is CRS84
	Properties   []string // names in the order of output; nil: all that are not hidden, in schema order (store.Want)
	SkipGeometry bool     // write null as geometry
	Precision    *int     // decimals of x and y, 0 to MaxPrecision; nil: by the CRS
	Vocabulary   string   // URL prefix that makes a property name an identifier in JSON-LD; "": schema.org
}

// Encoder writes features of one collection. Features must have been fetched with Want.
type Encoder struct {
	coll  *store.Collection
	want  store.Want
	props []property
	geom  Geometry // in the requested CRS
	ld    linked
}

// property is a member of the object "properties".
type property struct {
	name string
	key  []byte // name as JSON, followed by a colon
}

// NewEncoder returns an encoder. It fails for an unknown property and for a CRS that is not supported.
func NewEncoder(c *store.Collection, o Options) (*Encoder, error) {
	e := &Encoder{coll: c, want: store.Want{Properties: o.Properties, NoGeometry: o.SkipGeometry || c.Geometry == nil}}
	names, err := propertyNames(c, o.Properties)
	if err != nil {
		return nil, err
	}
	for _, n := range names {
		e.props = append(e.props, property{name: n, key: append(appendString(nil, n), ':')})
	}
	if o.CRS == 0 {
		o.CRS = crs.CRS84
	}
	if !e.want.NoGeometry {
		if e.geom, err = NewGeometry(c.Geometry.CRS, o.CRS); err != nil {
			return nil, err
		}
		e.geom.setPrecision(o.Precision)
	}
	e.ld, err = newLinked(e, o.Vocabulary)
	if o.CRS == crs.CRS84 {
		e.ld.geom.setPrecision(o.Precision)
	}
	return e, err
}

// propertyNames returns the requested names; for nil, all that are not hidden.
func propertyNames(c *store.Collection, asked []string) ([]string, error) {
	if asked == nil {
		names := make([]string, 0, len(c.Properties))
		for i := range c.Properties {
			if !c.Properties[i].Hidden {
				names = append(names, c.Properties[i].Name)
			}
		}
		return names, nil
	}
	for _, n := range asked {
		if _, ok := c.Find(n); !ok {
			return nil, fmt.Errorf("feature: %s has no property %q", c.ID, n)
		}
	}
	return asked, nil
}

// Want returns how features must be fetched.
func (e *Encoder) Want() store.Want { return e.want }

// AppendGeoJSON writes a GeoJSON Feature (RFC 7946, 3.2) with the members of AppendMembers.
func (e *Encoder) AppendGeoJSON(dst []byte, f *store.Feature) ([]byte, error) {
	start := len(dst)
	dst, err := e.AppendMembers(append(dst, '{'), f)
	if err != nil {
		return dst[:start], err
	}
	return append(dst, '}'), nil
}

// AppendMembers writes the members type, properties, id and geometry, in this order, without braces, so that the caller
// may add others after a comma. Every property is present, null if it has no value. The geometry is null if it cannot
// be transformed to the requested CRS.
func (e *Encoder) AppendMembers(dst []byte, f *store.Feature) ([]byte, error) {
	start := len(dst)
	dst, err := e.AppendProperties(append(dst, `"type":"Feature",`...), f)
	if err != nil {
		return dst[:start], err
	}
	dst = append(dst, `,"geometry":`...)
	if e.want.NoGeometry || f.Geometry.IsNull() {
		return append(dst, "null"...), nil
	}
	dst, err = e.geom.AppendGeoJSON(dst, f.Geometry.WKB)
	if err != nil {
		return append(dst, "null"...), nil
	}
	return dst, nil
}

// AppendProperties writes the members properties and id of AppendMembers.
func (e *Encoder) AppendProperties(dst []byte, f *store.Feature) ([]byte, error) {
	start := len(dst)
	if err := checkValues(f, len(e.props)); err != nil {
		return dst, e.wrap(f, err)
	}
	dst = append(dst, `"properties":{`...)
	for i := range e.props {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, e.props[i].key...)
		var err error
		if dst, err = appendValue(dst, f.Values[i]); err != nil {
			return dst[:start], e.wrap(f, fmt.Errorf("property %s: %w", e.props[i].name, err))
		}
	}
	dst = append(dst, `},"id":`...)
	return appendString(dst, f.Public()), nil
}

// wrap adds the feature id to an error.
func (e *Encoder) wrap(f *store.Feature, err error) error {
	return fmt.Errorf("feature: %s %q: %w", e.coll.ID, f.Public(), err)
}

// checkValues returns an error if a feature was fetched with another Want.
func checkValues(f *store.Feature, want int) error {
	if len(f.Values) != want {
		return fmt.Errorf("%d values for %d properties", len(f.Values), want)
	}
	return nil
}

// appendValue writes a property's value as JSON.
func appendValue(dst []byte, v any) ([]byte, error) {
	switch v := v.(type) {
	case nil:
		return append(dst, "null"...), nil
	case string:
		return appendString(dst, v), nil
	case int64:
		return strconv.AppendInt(dst, v, 10), nil
	case float64:
		return appendFloat(dst, v), nil
	case bool:
		return strconv.AppendBool(dst, v), nil
	case store.JSON:
		return append(dst, v...), nil
	}
	return dst, fmt.Errorf("a value of type %T", v)
}
