// Package problems writes errors as problem documents (RFC 9457): statuses, codes and texts of all kinds of errors.
package problems

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"grense/api/ogcapi"
	"grense/internal/apikey"
	"grense/internal/problem"
	"grense/internal/server/limit"
	"grense/internal/store"
)

// status is the HTTP status of each kind of problem.
var status = map[problem.Kind]int{
	problem.Internal:      http.StatusInternalServerError,
	problem.Invalid:       http.StatusBadRequest,
	problem.Unauthorized:  http.StatusUnauthorized,
	problem.Forbidden:     http.StatusForbidden,
	problem.NotFound:      http.StatusNotFound,
	problem.Method:        http.StatusMethodNotAllowed,
	problem.NotAcceptable: http.StatusNotAcceptable,
	problem.TooLarge:      http.StatusRequestEntityTooLarge,
	problem.MediaType:     http.StatusUnsupportedMediaType,
	problem.Timeout:       http.StatusServiceUnavailable,
	problem.Unavailable:   http.StatusServiceUnavailable,
	problem.Busy:          http.StatusServiceUnavailable,
	problem.TooMany:       http.StatusTooManyRequests,
	problem.Gone:          http.StatusGone,
	problem.Precondition:  http.StatusPreconditionFailed,
	problem.Range:         http.StatusRequestedRangeNotSatisfiable,
}

// codes are error codes by kind, which existing clients know from other servers.
var codes = map[problem.Kind]string{
	problem.Internal: "NoApplicableCode", problem.Invalid: "InvalidParameterValue",
	problem.Unauthorized: "Unauthorized", problem.Forbidden: "Forbidden", problem.NotFound: "NotFound",
	problem.Method: "MethodNotAllowed", problem.NotAcceptable: "NotAcceptable",
	problem.TooLarge: "RequestEntityTooLarge", problem.MediaType: "UnsupportedMediaType",
	problem.Timeout: "Timeout", problem.Unavailable: "ServiceUnavailable", problem.Busy: "ServiceBusy",
	problem.TooMany: "TooManyRequests", problem.Gone: "Gone", problem.Precondition: "PreconditionFailed",
	problem.Range: "RangeNotSatisfiable",
}

// details are texts for errors without one.
var details = map[problem.Kind]string{
	problem.Internal: "The server failed. The fault is logged under the instance of this document; tell the " +
		"operator that number.",
	problem.Timeout:     "The question took too long. Ask for a smaller bbox, a smaller limit or a simpler filter.",
	problem.Unavailable: "The server cannot answer now. Try again after the seconds in Retry-After.",
	problem.Busy:        "The server is busy. Try again after the seconds in Retry-After.",
	problem.TooMany:     "There were too many requests. Try again after the seconds in Retry-After.",
}

// ForeignCursor is the cure of a cursor that the server has not sent.
var ForeignCursor = problem.Sayf("take the cursor from a link next or prev, together with all other parameters of " +
	"that link")

// retryAfter is the default of Retry-After, in seconds.
const retryAfter = 5

// RetryOf returns the value of Retry-After for an error.
func RetryOf(err error) string {
	if r, ok := errors.AsType[*limit.RetryIn](err); ok {
		return r.Seconds()
	}
	return strconv.Itoa(retryAfter)
}

// Classify returns err as a problem.Error. Errors of the store and of contexts get their kind.
func Classify(err error) *problem.Error {
	var p *problem.Error
	switch {
	case errors.As(err, &p):
		return p
	case errors.Is(err, store.ErrCursor):
		return &problem.Error{Kind: problem.Invalid, Err: err,
			Faults: []problem.Fault{{In: "query", Param: "cursor", Cure: ForeignCursor.String(), Said: ForeignCursor}}}
	case errors.Is(err, store.ErrChanged):
		return problem.Of(problem.New(problem.Unavailable, err, "The data changed again and again while they were "+
			"read. Try again after the seconds in Retry-After."))
	case errors.Is(err, store.ErrBusy):
		return problem.Of(problem.New(problem.Busy, err, ""))
	case errors.Is(err, store.ErrLocked):
		return problem.Of(problem.New(problem.Unavailable, err, "Another program has locked the data. Try again "+
			"after the seconds in Retry-After."))
	case errors.Is(err, store.ErrNotWritable):
		return problem.Of(problem.New(problem.Unavailable, err,
			"The data directory of the server was deleted or is read-only, so that jobs cannot be stored. Ask "+
				"without respond-async, or tell the operator."))
	case errors.Is(err, store.ErrUnavailable):
		return problem.Of(problem.New(problem.Unavailable, err, ""))
	case errors.Is(err, context.DeadlineExceeded):
		return problem.Of(problem.New(problem.Timeout, err, ""))
	}
	return problem.Of(err)
}

// mostFaults bounds the faults in a problem, so that the response is not much longer than the request.
const mostFaults = 50

// Document returns the problem document of an error in answer to a request, which may be part of a trace. It removes
// API keys from texts of the client.
func Document(e *problem.Error, request, trace string) ogcapi.Problem {
	st := status[e.Kind]
	p := ogcapi.Problem{Type: "about:blank", Title: http.StatusText(st), Status: st, Code: codes[e.Kind],
		Instance: "urn:grense:request:" + request, TraceID: trace}
	if e.Type != "" {
		p.Type = e.Type
	}
	if e.Code != "" {
		p.Code = e.Code
	}
	if e.Kind != problem.Internal {
		p.Detail = e.Detail
		for _, f := range e.Faults[:min(len(e.Faults), mostFaults)] {
			p.Faults = append(p.Faults, ogcapi.Fault{In: f.In, Name: apikey.Redact(problem.Clip(f.Param)),
				Value: apikey.Redact(problem.Clip(f.Value)), Cure: apikey.Redact(f.Cure), Pos: f.Pos})
		}
	}
	if p.Detail == "" && len(p.Faults) > 0 {
		var b strings.Builder
		for i, f := range p.Faults {
			if i > 0 {
				b.WriteString("; ")
			}
			b.WriteString(cmp.Or(f.Name, f.In))  // the JSON pointer of a whole body is empty
			if f.In != "body" || f.Value != "" { // an empty value in a body means that it is missing
				b.WriteString("=" + strconv.Quote(f.Value))
			}
			b.WriteString(": " + f.Cure)
		}
		p.Detail = b.String()
	}
	if more := len(e.Faults) - mostFaults; more > 0 && p.Detail != "" {
		p.Detail += "; and " + strconv.Itoa(more) + " more faults"
	}
	if p.Detail == "" {
		p.Detail = details[e.Kind]
	}
	p.Detail = apikey.Redact(p.Detail)
	p.Description = p.Detail
	return p
}

// Read parses a problem document of this server, with its status, as an error of its kind.
func Read(status int, text []byte) error {
	var p ogcapi.Problem
	if json.Unmarshal(text, &p) != nil {
		p.Detail = http.StatusText(status)
	}
	e := &problem.Error{Kind: problem.Invalid, Detail: p.Detail}
	for _, k := range problem.Kinds {
		if codes[k] == p.Code {
			e.Kind = k
		}
	}
	for _, f := range p.Faults {
		e.Faults = append(e.Faults, problem.Fault{In: f.In, Param: f.Name, Value: f.Value, Cure: f.Cure, Pos: f.Pos})
	}
	return e
}

// Code returns the code that a problem document has for an error.
func Code(err error) string { return codes[Classify(err).Kind] }
