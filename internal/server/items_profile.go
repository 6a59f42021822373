package server

import (
	"grense/api/ogcapi"
	"grense/internal/feature"
)

// links that a document in GeoJSON repeats: those of its header, with its profile where one was asked for.
func (c *Call) WithProfile(links []ogcapi.Link) []ogcapi.Link {
	if len(c.Values["profile"]) == 0 {
		return links
	}
	return append(links, c.profileLinks()...)
}

// jsonFG reports whether GeoJSON is written as JSON-FG, and whether with geometries in CRS84 beside places in another system.
func (c *Call) jsonFG() (is, plus bool) {
	switch c.output().profile {
	case "jsonfg":
		return true, false
	case "jsonfg-plus":
		return true, true
	}
	return false, false
}

// members gives the encoder of the features of an answer in GeoJSON.
func (c *Call) members() (MembersEncoder, error) {
	if is, plus := c.jsonFG(); is {
		return c.jsonFGEncoder(plus)
	}
	return c.encoder(c.output().skipGeometry)
}

// membersKind is the kind of the fragments that members makes.
func (c *Call) membersKind() feature.Kind {
	switch is, plus := c.jsonFG(); {
	case plus:
		return feature.KindJSONFGPlus
	case is:
		return feature.KindJSONFG
	}
	return feature.KindMembers
}

func (c *Call) jsonFGEncoder(plus bool) (*feature.JSONFG, error) {
	return feature.NewJSONFG(c.written(), feature.Options{CRS: c.output().crs, Properties: c.output().Properties, SkipGeometry: c.output().skipGeometry, Precision: c.output().precision}, plus)
}

// appendRoot appends what a document in GeoJSON says besides its features or those of its one feature, each with a comma behind it.
func (c *Call) appendRoot(dst []byte) ([]byte, error) {
	is, plus := c.jsonFG()
	if !is {
		return appendCRS(dst, c.output().crs), nil
	}
	enc, err := c.jsonFGEncoder(plus)
	if err != nil {
		return dst, err
	}
	return append(enc.AppendRoot(dst, c.Base()+"/collections/"+c.Collection.ID+"/schema", c.output().crs), ','), nil
}
