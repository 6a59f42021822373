package selection

import (
	"net/http"
	"slices"
	"strings"

	"grense/api/ogcapi"
	"grense/internal/server"
	"grense/internal/server/media"
	"grense/internal/store"
)

var versionProfiles = []string{profileUnique, profileVersions}

// Profiles of responses with several versions of a feature. The first is the default for intervals, since clients
// expect unique ids.
const (
	profileUnique   = "versions-as-features-unique-ids"
	profileVersions = "versions-as-features"
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
func ProfileLinks(c *server.Call) []ogcapi.Link {
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
	if server.IsVersioned(coll) {
		return append(slices.Clip(profiles), versionProfiles...)
	}
	return profiles
}

// WithProfile returns the links in the body of a GeoJSON document, which include its profile if one was requested.
func WithProfile(c *server.Call, links []ogcapi.Link) []ogcapi.Link {
	if len(c.Values["profile"]) == 0 {
		return links
	}
	return append(links, ProfileLinks(c)...)
}

// MembersEncoder encodes the members of GeoJSON features.
type MembersEncoder interface {
	Want() store.Want
	AppendMembers(dst []byte, f *store.Feature) ([]byte, error)
}

// WriteLosses sets the header Format-Losses: what the format cannot hold, and a requested profile that it does not
// have, which is not an error (OGC 23-058r2, 13, profile-negotiation).
func WriteLosses(c *server.Call, h http.Header, losses ...string) {
	if p, ok := c.Params.(Profiled); ok && c.Format.F != media.GeoJSON.F && *p.ProfileParam() != "" {
		losses = append(losses, "the profile "+*p.ProfileParam()+", which f=json has")
	}
	if len(losses) > 0 {
		h.Set("Format-Losses", strings.Join(losses, "; "))
	}
}
