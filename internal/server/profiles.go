package server

import (
	"slices"
	"strings"

	"grense/api/ogcapi"
	"grense/internal/server/media"
	"grense/internal/store"
)

// profileBase is the start of the identifiers of profiles (OGC 23-058r2, 13; OGC 21-045r1, 14).
const profileBase = "http://www.opengis.net/def/profile/OGC/0/"

// profileName returns the name of a profile in a URI or a safe CURIE (OGC 23-058r2, 13, profile-param).
func profileName(id string) string {
	if name, ok := strings.CutPrefix(id, "[ogc-profile:"); ok && strings.HasSuffix(name, "]") {
		return strings.TrimSuffix(name, "]")
	}
	if rest, ok := strings.CutPrefix(id, "https://"); ok {
		id = "http://" + rest
	}
	return strings.TrimPrefix(id, profileBase)
}

// ProfileLinks returns links to the profiles of a GeoJSON response. Other representations have none.
func (c *Call) ProfileLinks() []ogcapi.Link {
	p, ok := c.Params.(Profiled)
	if c.Format.F != media.GeoJSON.F || !ok {
		return nil
	}
	name := *p.ProfileParam()
	if name == "" {
		name = profiles[0]
	}
	links := []ogcapi.Link{{Rel: "profile", Type: "text/html", Title: "Profile of this document",
		Href: profileBase + name}}
	if out, ok := c.Params.(WritesFeatures); ok && out.Output().told != "" {
		links = append(links, ogcapi.Link{Rel: "profile", Type: "text/html", Title: "How versions are features",
			Href: profileBase + out.Output().told})
	}
	return links
}

// profilesOf returns the profiles for a collection.
func profilesOf(coll *store.Collection) []string {
	if IsVersioned(coll) {
		return append(slices.Clip(profiles), versionProfiles...)
	}
	return profiles
}

// WithProfile returns the links in the body of a GeoJSON document, which include its profile if one was requested.
func (c *Call) WithProfile(links []ogcapi.Link) []ogcapi.Link {
	if len(c.Values["profile"]) == 0 {
		return links
	}
	return append(links, c.ProfileLinks()...)
}

// MembersEncoder encodes the members of GeoJSON features.
type MembersEncoder interface {
	Want() store.Want
	AppendMembers(dst []byte, f *store.Feature) ([]byte, error)
}
