// Package process holds the processes of the service (OGC 18-062r2): what each takes and gives, the check of what it
// is given, and its work.
//
// A Process describes itself and executes. What it is given was checked against its description before, so that
// Execute sees values of the described types only; what it gives are values, or files that it writes while it works.
// A process knows neither HTTP nor jobs: the caller passes in an Env where data come from and where progress goes,
// and ends its context when nobody wants the outputs any more.
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
	// Describe returns inputs and outputs, without links, in one of the languages nb, nn, en. Schemas are of JSON
	// Schema what check knows.
	Describe(cat *store.Catalog, lang string) ogcapi.Process
	// Execute does the work. Inputs have every default filled in. An error of kind problem.Invalid has faults with In
	// "body" and the JSON pointer of the input as Param; see Fault. Files among the outputs are written after it has
	// returned, by the same caller.
	Execute(ctx context.Context, env *Env, in Inputs) (Outputs, error)
}

// Values of ProcessSummary.JobControlOptions.
const (
	Sync    = "sync-execute"
	Async   = "async-execute"
	Dismiss = "dismiss"
)

// Env is what an execution works with. Its functions end with their context.
type Env struct {
	Catalog *store.Catalog
	Store   store.Store // its queries wait for the places of the caller
	// Snapshot holds one state of the data until the execution has ended, its files included.
	Snapshot func(context.Context) (store.Snapshot, error)
	// Open reads what an input refers to (OGC 18-062r2, 7.11.2.4): a collection of this service, or an address of the
	// allow-list.
	Open func(ctx context.Context, href string) (io.ReadCloser, string, error)
	// GeoPackage begins a new GeoPackage at a path. Nil: none can be written.
	GeoPackage func(ctx context.Context, path string, at time.Time) (store.Writer, error)
	Temp       string // folder for temporary files; "" for that of the system
	Base       string // absolute URL of the mount, without a slash at its end
	Lang       string // nb, nn or en
	// Now is the moment of the execution in the time zone of the service. It selects versions of features.
	Now time.Time
	// History is what is known of divisions through time; nil when nothing is.
	History func(context.Context) (*history.History, error)
	// Lookup answers which divisions are at a point, as GET /lookup does for the same parameters. What is wrong with
	// these is reported for the inputs of the same names.
	Lookup func(ctx context.Context, parameters url.Values) (json.RawMessage, error)
	// Divisions finds divisions for a table, of the collections that a list with commas names ("": all of areas); of
	// those with versions the ones that were valid on a day or at a moment ("": now). Points are in a CRS, x before
	// y. What is wrong with the words is reported for the inputs collections and datetime.
	Divisions func(ctx context.Context, collections, datetime string, points crs.ID) (enrich.Finder, error)
	// Neighbours lists the rows of features that share a border with one, of all times, the longest first. Not
	// covered: the collection is no coverage, so that borders are unknown.
	Neighbours func(ctx context.Context, collection, row string) (list []Neighbour, covered bool, err error)
	Waiting    bool // a client waits for the outputs
	// Progress returns how far the work is, in percent, with a short text that may be empty. It returns at once.
	Progress func(percent int, message string)
}

// Inputs are checked values by name, as JSON decodes to: string, bool, json.Number, []any, map[string]any, nil. An
// input that may occur several times is a []any. An input of a Referrer that came by reference is a Ref.
type Inputs map[string]any

// Ref is an input by reference that the process opens by itself, with Env.Open.
type Ref struct{ Href, Media string }

// Referrer is a Process that reads inputs by reference as streams. The others get them as values.
type Referrer interface {
	Refers(input string) bool
}

// Text is a text of the inputs; "" when there is none.
func (in Inputs) Text(name string) string {
	s, _ := in[name].(string)
	return s
}

// Number is a number of the inputs; false when there is none.
func (in Inputs) Number(name string) (float64, bool) {
	n, ok := in[name].(json.Number)
	if !ok {
		return 0, false
	}
	x, err := n.Float64()
	return x, err == nil
}

// Outputs are what an execution gives, by name.
type Outputs map[string]Output

// Output is a value, or a file where Write is set.
type Output struct {
	Value any    // what is marshalled as JSON
	Media string // media type; "" means application/json
	Name  string // of the file, for people; "" for none
	// Losses are what the file does not give, as format.Format has them.
	Losses []string
	// Write writes the file, once. An error means that what was written is of no use.
	Write func(ctx context.Context, w io.Writer) error
}

// Registry holds processes by id. It is immutable.
type Registry struct{ all []Process }

// NewRegistry returns a Registry that lists processes in the order given. It panics where two have one id.
func NewRegistry(all ...Process) *Registry {
	r := &Registry{all: all}
	for i, p := range all {
		if slices.ContainsFunc(all[:i], func(q Process) bool { return q.ID() == p.ID() }) {
			panic("process: two processes with the id " + p.ID())
		}
	}
	return r
}

// All lists the processes. The caller owns the slice.
func (r *Registry) All() []Process { return slices.Clone(r.all) }

// Find returns a process by id.
func (r *Registry) Find(id string) (Process, bool) {
	for _, p := range r.all {
		if p.ID() == id {
			return p, true
		}
	}
	return nil, false
}

// Standard lists the processes that need nothing but an Env.
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

// localized returns the text in a language.
func localized(lang, nb, nn, en string) string {
	switch lang {
	case "nb":
		return nb
	case "nn":
		return nn
	}
	return en
}

// pointer is a JSON pointer (RFC 6901).
func pointer(parts ...string) string {
	var b strings.Builder
	for _, p := range parts {
		b.WriteString("/" + strings.ReplaceAll(strings.ReplaceAll(p, "~", "~0"), "/", "~1"))
	}
	return b.String()
}
