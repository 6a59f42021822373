package features

import (
	"grense/internal/feature"
	"grense/internal/server/selection"
)

// jsonFG reports whether GeoJSON is written as JSON-FG, and whether geometries in CRS84 stand beside places in
// another system.
func (c *call) jsonFG() (is, plus bool) {
	switch c.Output().Profile {
	case "jsonfg":
		return true, false
	case "jsonfg-plus":
		return true, true
	}
	return false, false
}

// members returns the encoder of features in GeoJSON.
func (c *call) members() (selection.MembersEncoder, error) {
	if is, plus := c.jsonFG(); is {
		return c.jsonFGEncoder(plus)
	}
	return c.encoder(c.Output().SkipGeometry)
}

// membersKind returns the kind of the fragments of members.
func (c *call) membersKind() feature.Kind {
	switch is, plus := c.jsonFG(); {
	case plus:
		return feature.KindJSONFGPlus
	case is:
		return feature.KindJSONFG
	}
	return feature.KindMembers
}

func (c *call) jsonFGEncoder(plus bool) (*feature.JSONFG, error) {
	return feature.NewJSONFG(c.written(),
		feature.Options{CRS: c.Output().Crs, Properties: c.Output().Properties, SkipGeometry: c.Output().SkipGeometry,
			Precision: c.Output().Precision}, plus)
}

// appendRoot appends the members of a GeoJSON document besides its features, or besides those of its one feature,
// each with a comma after it.
func (c *call) appendRoot(dst []byte) ([]byte, error) {
	is, plus := c.jsonFG()
	if !is {
		return appendCRS(dst, c.Output().Crs), nil
	}
	enc, err := c.jsonFGEncoder(plus)
	if err != nil {
		return dst, err
	}
	return append(enc.AppendRoot(dst, c.Base()+"/collections/"+c.Collection.ID+"/schema", c.Output().Crs), ','), nil
}
