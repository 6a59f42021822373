// Package media holds the representations of resources, and chooses the one and the language that a request asks for.
package media

import (
	"mime"
	"strconv"
	"strings"

	"grense/internal/problem"
)

// Format is a representation of a resource.
type Format struct {
	F       string   // value of the parameter f
	Alias   string   // another value of f
	Media   string   // media type of responses
	Also    []string // further media types that Accept may name
	Charset bool     // written with charset=utf-8
	Schema  string   // schema in the API definition; "": that of the route if F is json, else none
	Binary  bool     // the content is not text
}

// ContentType returns the value of the header Content-Type.
func (r Format) ContentType() string {
	if r.Charset {
		return r.Media + "; charset=utf-8"
	}
	return r.Media
}

// Representations. Also are media types that Accept may name.
var (
	JSON    = Format{F: "json", Media: "application/json"}
	JSONLD  = Format{F: "jsonld", Media: "application/ld+json", Schema: "linkedData"}
	HTML    = Format{F: "html", Media: "text/html", Charset: true}
	GeoJSON = Format{F: "json", Media: "application/geo+json",
		Also: []string{"application/json", "application/vnd.geo+json"}, Alias: "geojson"}
	GeoJSONLD = Format{F: "jsonld", Media: "application/ld+json", Schema: "linkedData"}
	CSV       = Format{F: "csv", Media: "text/csv", Charset: true}
	Lines     = Format{F: "ndjson", Media: "application/x-ndjson"}
	PNG       = Format{F: "png", Media: "image/png"}
	Schema    = Format{F: "json", Media: "application/schema+json", Also: []string{"application/json"}}
	MVT       = Format{F: "mvt", Media: "application/vnd.mapbox-vector-tile",
		Also: []string{"application/x-protobuf", "application/vnd.mapbox-vector-tile+protobuf"}, Alias: "pbf",
		Binary: true}
	LinkFormat = Format{F: "linkformat", Media: "application/link-format"}
	TileJSON   = Format{F: "tilejson", Media: "application/vnd.mapbox.tile+json", Schema: "tileJSON"}
	Style      = Format{F: "json", Media: "application/vnd.mapbox.style+json", Also: []string{"application/json"},
		Alias: "mapbox"}
	XSD     = Format{F: "xsd", Media: "application/xml", Also: []string{"text/xml"}} // of the features as GML
	OpenAPI = Format{F: "json", Media: "application/vnd.oai.openapi+json;version=3.0",
		Also: []string{"application/vnd.oai.openapi+json", "application/openapi+json", "application/json"}}
	YAML = Format{F: "yaml", Media: "application/vnd.oai.openapi;version=3.0",
		Also: []string{"application/yaml", "application/x-yaml", "text/yaml"}, Alias: "yml"}
)

// Representations of feeds (RFC 4287; JSON Feed 1.1).
var (
	Atom     = Format{F: "atom", Media: "application/atom+xml", Charset: true}
	JSONFeed = Format{F: "jsonfeed", Media: "application/feed+json", Schema: "jsonFeed"}
)

// Negotiate chooses a representation: f overrides Accept; without Accept, or with */*, it is the first (OGC 19-072,
// 7.6; RFC 9110, 12.5.1). It returns an error of kind NotAcceptable if none is acceptable, and Invalid for an unknown
// f.
func Negotiate(f string, hasF bool, accept []string, reps []Format) (r Format, err error) {
	if hasF {
		for _, r := range reps {
			if strings.EqualFold(f, r.F) || r.Alias != "" && strings.EqualFold(f, r.Alias) {
				return r, nil
			}
		}
		return reps[0], problem.Invalidf("f", f, "use one of %s", formatNames(reps))
	}
	ranges := parseAccept(accept)
	if len(ranges) == 0 {
		return reps[0], nil
	}
	best, bestQ, bestRank := -1, 0, 0
	for i := range reps {
		q, rank := quality(reps[i], ranges)
		if q > bestQ || q == bestQ && q > 0 && rank < bestRank {
			best, bestQ, bestRank = i, q, rank
		}
	}
	if best < 0 {
		return reps[0], problem.New(problem.NotAcceptable, nil, "none of the media types in Accept is offered; use f "+
			"with one of %s, or accept one of %s", formatNames(reps), mediaNames(reps))
	}
	return reps[best], nil
}

// mediaRange is an element of Accept. q is in thousandths.
type mediaRange struct {
	media string // "type/subtype", "type/*" or "*/*", in lower case
	q     int
}

// maxAccept bounds the elements of Accept that are parsed.
const maxAccept = 64

// parseAccept parses Accept. It ignores elements that are not media ranges (RFC 9110, 12.5.1).
func parseAccept(values []string) []mediaRange {
	var out []mediaRange
	for _, v := range values {
		for e := range strings.SplitSeq(v, ",") {
			if e = strings.TrimSpace(e); e == "" || len(out) == maxAccept {
				continue
			}
			media, params, err := mime.ParseMediaType(e)
			if err != nil && media == "" || !strings.Contains(media, "/") {
				if e != "*" {
					continue
				}
				media = "*/*"
			}
			q := 1000
			if s, ok := params["q"]; ok {
				x, err := strconv.ParseFloat(s, 64)
				if err != nil || !(x >= 0 && x <= 1) {
					continue
				}
				q = int(x * 1000)
			}
			out = append(out, mediaRange{media: media, q: q})
		}
	}
	return out
}

// quality returns the weight of r in thousandths, by the most specific matching range, and the position of that range.
func quality(r Format, ranges []mediaRange) (q, rank int) {
	specific := -1
	for i, m := range ranges {
		s := -1
		switch {
		case m.media == "*/*":
			s = 0
		case strings.HasSuffix(m.media, "/*"):
			if strings.HasPrefix(r.Media, m.media[:len(m.media)-1]) {
				s = 1
			}
		case r.is(m.media):
			s = 2
		}
		if s > specific {
			specific, q, rank = s, m.q, i
		}
	}
	return q, rank
}

// is reports whether media, without parameters, names this representation.
func (r Format) is(media string) bool {
	own, _, _ := strings.Cut(r.Media, ";")
	if media == own {
		return true
	}
	for _, a := range r.Also {
		if a == media {
			return true
		}
	}
	return false
}

func formatNames(reps []Format) string {
	names := make([]string, len(reps))
	for i, r := range reps {
		names[i] = r.F
	}
	return strings.Join(names, ", ")
}

func mediaNames(reps []Format) string {
	names := make([]string, len(reps))
	for i, r := range reps {
		names[i] = r.Media
	}
	return strings.Join(names, ", ")
}

// WantsPage reports whether an error is shown as a page: with f=html, or if f names no representation and Accept
// prefers text/html to JSON.
func WantsPage(f string, accept []string) bool {
	switch strings.ToLower(f) {
	case HTML.F:
		return true
	case JSON.F, JSONLD.F, CSV.F, YAML.F, GeoJSON.Alias, YAML.Alias, Atom.F, JSONFeed.F:
		return false
	}
	r, err := Negotiate("", false, accept, []Format{JSON, HTML})
	return err == nil && r.F == "html"
}
