// Package process implements the processes of the service (OGC 18-062r2): their descriptions, the validation of their
// inputs, and their execution.
//
// A Process describes and executes itself. The caller validates the inputs against the description first, so Execute
// only receives values of the described types. It returns values, or files that are written as they are produced. A
// process has no access to HTTP or jobs: the caller passes an Env that provides data and receives progress, and cancels
// the context when the outputs are no longer needed.
package process

import (
	"context"
	"encoding/json"
	"io"
	"net/url"
	"slices"
	"strings"
	"time"

	"grense/api/ogcapi"
	"grense/internal/enrich"
	"grense/internal/geo/crs"
	"grense/internal/history"
	"grense/internal/store"
)

// Process is one process. It is safe for concurrent use.
type Process interface {
	ID() string
	// Describe returns the inputs and outputs, without links, in the language nb, nn or en. Its schemas use only the
	// keywords that checker supports.
	Describe(cat *store.Catalog, lang string) ogcapi.Process
	// Execute executes the process. Inputs have their default values filled in. For an invalid input it returns an
	// error of kind problem.Invalid, as Fault does: with In "body" and the JSON pointer of the input as Param. Files
	// among the outputs are written after Execute has returned, by the same caller.
	Execute(ctx context.Context, env *Env, in Inputs) (Outputs, error)
}

// Values of ProcessSummary.JobControlOptions.
const (
	Sync    = "sync-execute"
	Async   = "async-execute"
	Dismiss = "dismiss"
)

// Env is the environment of an execution. Its functions end when their context does.
type Env struct {
	Catalog *store.Catalog
	Store   store.Store // its queries count towards the limit of concurrent queries of the caller
	// Snapshot returns a snapshot of the data, which remains valid until the execution and the writing of its files
	// have ended.
	Snapshot func(context.Context) (store.Snapshot, error)
	// Open opens what an input refers to (OGC 18-062r2, 7.11.2.4): a collection of this service, or a URL of the
	// allow-list.
	Open func(ctx context.Context, href string) (io.ReadCloser, string, error)
	// GeoPackage creates a GeoPackage at a path. It is nil if GeoPackages cannot be written.
	GeoPackage func(ctx context.Context, path string, at time.Time) (store.Writer, error)
	Temp       string // directory for temporary files; "" for that of the system
	Base       string // absolute URL of the mount point, without a trailing slash
	Lang       string // nb, nn or en
	// Now is the time of the execution in the time zone of the service. It selects versions of features.
	Now time.Time
	// History returns the history of divisions. It is nil if there is none.
	History func(context.Context) (*history.History, error)
	// Lookup returns the divisions at a point, as GET /lookup does for the same parameters. It reports invalid
	// parameters as faults of the inputs with the same names.
	Lookup func(ctx context.Context, parameters url.Values) (json.RawMessage, error)
	// Divisions returns a Finder for the named collections, separated by commas; "" means all collections of areas. If
	// they have versions, it finds those valid on the day or at the time datetime; "" means now. The Finder receives
	// points in the CRS points, x before y. Invalid arguments are reported as faults of the inputs collections and
	// datetime.
	Divisions func(ctx context.Context, collections, datetime string, points crs.ID) (enrich.Finder, error)
	// Neighbours returns the features that share a border with the feature of a row, regardless of when they are valid,
	// the longest border first. covered is false if the collection is not a coverage and its borders are not known.
	Neighbours func(ctx context.Context, collection, row string) (list []Neighbour, covered bool, err error)
	Waiting    bool // a client waits for the outputs
	// Progress reports the progress in percent, with a short message, which may be empty. It does not block.
	Progress func(percent int, message string)
}

// Inputs are the validated inputs by name, as encoding/json decodes them: string, bool, json.Number, []any,
// map[string]any or nil. An input that may occur several times is a []any. If the process is a Referrer, an input
// passed by reference is a Ref.
type Inputs map[string]any

// Ref is an input passed by reference, which the process opens with Env.Open.
type Ref struct{ Href, Media string }

// Referrer is implemented by a Process that reads inputs passed by reference as streams. Other processes get their
// contents as values.
type Referrer interface {
	Refers(input string) bool
}

// Text returns an input that is a text; "" if it is absent.
func (in Inputs) Text(name string) string {
	s, _ := in[name].(string)
	return s
}

// Number returns an input that is a number; false if it is absent.
func (in Inputs) Number(name string) (float64, bool) {
	n, ok := in[name].(json.Number)
	if !ok {
		return 0, false
	}
	x, err := n.Float64()
	return x, err == nil
}

// Outputs are the outputs of an execution by name.
type Outputs map[string]Output

// Output is a value or, if Write is set, a file.
type Output struct {
	Value any    // encoded as JSON
	Media string // media type; "" means application/json
	Name  string // file name; "" for none
	// Losses describes what the file format cannot represent, as format.Format does.
	Losses []string
	// Write writes the file. It may be called once. If it fails, what it has written must be discarded.
	Write func(ctx context.Context, w io.Writer) error
}

// Registry holds processes by id. It is immutable.
type Registry struct{ all []Process }

// NewRegistry returns a Registry with the processes in the given order. It panics if two have the same id.
func NewRegistry(all ...Process) *Registry {
	r := &Registry{all: all}
	for i, p := range all {
		if slices.ContainsFunc(all[:i], func(q Process) bool { return q.ID() == p.ID() }) {
			panic("process: two processes with the id " + p.ID())
		}
	}
	return r
}

// All returns all processes. The caller owns the slice.
func (r *Registry) All() []Process { return slices.Clone(r.all) }

// Find returns the process with an id; false if there is none.
func (r *Registry) Find(id string) (Process, bool) {
	for _, p := range r.all {
		if p.ID() == id {
			return p, true
		}
	}
	return nil, false
}

// Standard returns the processes that need only an Env.
func Standard() []Process {
	return append(
		[]Process{
			echo{},
			distinct{},
			locatePoint{},
			enrichTable{},
			joinTable{},
			neighbours{},
			translateCodes{},
			harmoniseSeries{},
		},
		exports()...)
}

// localized returns the text in a language: nb, nn or en.
func localized(lang, nb, nn, en string) string {
	switch lang {
	case "nb":
		return nb
	case "nn":
		return nn
	}
	return en
}

// pointer returns the JSON pointer (RFC 6901) made of parts.
func pointer(parts ...string) string {
	var b strings.Builder
	for _, p := range parts {
		b.WriteString("/" + strings.ReplaceAll(strings.ReplaceAll(p, "~", "~0"), "/", "~1"))
	}
	return b.String()
}
