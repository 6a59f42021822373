package server

import (
	"slices"
	"strings"

	"grense/api/ogcapi"
	"grense/internal/feature"
	"grense/internal/store"
)

// profileBase begins the identifiers of profiles (OGC 23-058r2, 13; OGC 21-045r1, 14).
const profileBase = "http://www.opengis.net/def/profile/OGC/0/"

// profileName is what a profile is called: its identifier may come as an address, or as a safe CURIE of the register of profiles (OGC 23-058r2, 13, profile-param).
func profileName(id string) string {
	if name, ok := strings.CutPrefix(id, "[ogc-profile:"); ok && strings.HasSuffix(name, "]") {
		return strings.TrimSuffix(name, "]")
	}
	if rest, ok := strings.CutPrefix(id, "https://"); ok {
		id = "http://" + rest
	}
	return strings.TrimPrefix(id, profileBase)
}

// profileLinks tell the profile of an answer in GeoJSON. Other representations have none.
func (c *Call) profileLinks() []ogcapi.Link {
	p, ok := c.Params.(profiled)
	if c.Format.F != AsGeoJSON.F || !ok {
		return nil
	}
	name := *p.ToldProfile()
	if name == "" {
		name = profiles[0]
	}
	links := []ogcapi.Link{{Rel: "profile", Type: "text/html", Title: "Profile of this document", Href: profileBase + name}}
	if out, ok := c.Params.(writesFeatures); ok && out.output().told != "" {
		links = append(links, ogcapi.Link{Rel: "profile", Type: "text/html", Title: "How versions are features", Href: profileBase + out.output().told})
	}
	return links
}

// profileNames are the profiles that the call's collection has.
func (c *Call) profileNames() []string {
	if IsVersioned(c.Collection) {
		return append(slices.Clip(profiles), versionProfiles...)
	}
	return profiles
}

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

// MembersEncoder writes the members of features as GeoJSON.
type MembersEncoder interface {
	Want() store.Want
	AppendMembers(dst []byte, f *store.Feature) ([]byte, error)
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
