package server

import (
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"grense/internal/cql2"
	"grense/internal/problem"
)

// Parameters that a filter in the body replaces.
const (
	paramFilter     = "filter"
	paramFilterLang = "filter-lang"
)

// filterMedia are the media types of a filter in the body: CQL2 JSON (OGC 21-065r2, 8).
var filterMedia = []string{"application/json", "application/cql2+json"}

// ReadsFilter reports whether a request to the route has a filter in its body. It means the same as GET with the
// parameter filter, but proxies allow bodies to be longer than addresses.
func (rt *Route) ReadsFilter(r *http.Request) bool { return r.Method == http.MethodPost && rt.Asks }

// readFilter reads the filter in the body of a request.
func readFilter(r *http.Request) (string, error) {
	media, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	charset := strings.ToLower(params["charset"])
	if err != nil || media != filterMedia[0] && media != filterMedia[1] || charset != "" && charset != "utf-8" {
		return "", problem.New(problem.MediaType, err, "send the filter as CQL2 JSON, with Content-Type %s; other "+
			"conditions stand in the address", strings.Join(filterMedia, " or "))
	}
	if e := r.Header.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
		return "", problem.New(problem.MediaType, nil, "send the filter without Content-Encoding")
	}
	b, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, cql2.MaxBytes))
	if err != nil {
		if _, ok := err.(*http.MaxBytesError); ok {
			return "", problem.New(problem.TooLarge, err, "a filter has at most %d bytes", cql2.MaxBytes)
		}
		return "", problem.New(problem.Invalid, err, "the body ends before it is whole; send it again")
	}
	if len(b) == 0 {
		return "", &problem.Error{Kind: problem.Invalid, Faults: []problem.Fault{
			{In: "body", Param: "filter",
				Cure: `send CQL2 JSON, for instance {"op":"=","args":[{"property":"name"},"value"]}`}}}
	}
	return string(b), nil
}

// takeFilter adds the filter of the body to the query parameters, so that links repeat it.
func takeFilter(values url.Values, filter string) (faults []problem.Fault) {
	for _, name := range [...]string{paramFilter, paramFilterLang} {
		if v, ok := values[name]; ok && (name == paramFilter || len(v) != 1 || v[0] != "cql2-json") {
			faults = append(faults, problem.Fault{In: "query", Param: name, Value: problem.Clip(First(v)),
				Cure: fmt.Sprintf("leave %s out of the address; the filter stands in the body, as CQL2 JSON", name)})
		}
	}
	values.Set(paramFilter, filter)
	values.Set(paramFilterLang, "cql2-json")
	return faults
}
