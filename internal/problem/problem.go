// Package problem classifies errors once, so that each protocol can render them in its own way:
// RFC 9457 documents for the OGC API, faults for SOAP. It knows neither HTTP nor SOAP.
package problem

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Kind is the class of an error. The list is closed; every renderer has a case for each.
type Kind uint8

const (
	Internal      Kind = iota // a fault of ours; logged, never sent
	Invalid                   // the request breaks the API definition
	Unauthorized              // no key, or none that is valid
	Forbidden                 // the key is valid, and not for this
	NotFound                  // no such resource
	Method                    // the resource has other methods
	NotAcceptable             // no representation fits f or Accept
	TooLarge                  // over a size limit
	MediaType                 // the body's media type is not read
	Timeout                   // over a time limit
	Unavailable               // the store does not answer; try again
	Busy                      // the server is full; try again
	TooMany                   // over the rate that one caller may ask at; try again later
	Gone                      // the resource was here and will not come back
	Precondition              // a condition of the request does not hold
	Range                     // the asked part is not in the answer
)

// Kinds holds every Kind, for tests that must not forget one.
var Kinds = []Kind{Internal, Invalid, Unauthorized, Forbidden, NotFound, Method, NotAcceptable, TooLarge, MediaType,
	Timeout, Unavailable, Busy, TooMany, Gone, Precondition, Range}

var kindNames = [...]string{"internal", "invalid", "unauthorized", "forbidden", "not-found", "method", "not-acceptable",
	"too-large", "media-type", "timeout", "unavailable", "busy", "too-many", "gone", "precondition", "range"}

func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// Error is an error with a class. Detail and Faults are sent to the client, Err is logged and never sent.
type Error struct {
	Kind   Kind
	Detail string  // one sentence with the cure; may be empty when Faults say it
	Said   Saying  // Detail, for pages in other languages; without a form there is English only
	Faults []Fault // all that is wrong, not only the first
	Err    error   // cause; may be nil
	Type   string  // URI of a class of errors that a standard names (RFC 9457, 3.1.1); "" for none
	Code   string  // name of that class for older clients; "" for that of Kind
}

// Fault is one thing that is wrong with a request.
type Fault struct {
	In    string // "query", "path", "header", "body"
	Param string // name of the parameter, element or field
	Value string // as the client sent it
	Cure  string // what would be right; a sentence without a full stop
	Said  Saying // the same, for pages in other languages; without a form there is English only
	Pos   int    // byte offset in Value, counted from 1; 0 when the whole value is meant
}

// Error gives the text for a log: detail, faults and cause.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Kind.String())
	if e.Detail != "" {
		b.WriteString(": " + e.Detail)
	}
	for _, f := range e.Faults {
		fmt.Fprintf(&b, "; %s=%q: %s", f.Param, f.Value, f.Cure)
	}
	if e.Err != nil {
		b.WriteString(": " + e.Err.Error())
	}
	return b.String()
}

func (e *Error) Unwrap() error { return e.Err }

// Invalidf reports one bad query parameter. The cure is sent to the client.
func Invalidf(param, value, cure string, a ...any) error {
	return InvalidWith(param, value, Sayf(cure, a...))
}

// InvalidWith is Invalidf with a cure that is a saying.
func InvalidWith(param, value string, cure Saying) error {
	return &Error{Kind: Invalid,
		Faults: []Fault{{In: "query", Param: param, Value: value, Cure: cure.String(), Said: cure}}}
}

// NotFoundf reports a missing resource. The text is sent to the client.
func NotFoundf(format string, a ...any) error {
	return New(NotFound, nil, format, a...)
}

// New reports an error of kind k with a text that is sent to the client and a cause that is not.
func New(k Kind, cause error, format string, a ...any) error {
	said := Sayf(format, a...)
	return &Error{Kind: k, Detail: said.String(), Said: said, Err: cause}
}

// Of returns the Error in err's chain; when there is none, one of kind Internal that wraps err.
func Of(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return &Error{Kind: Internal, Err: err}
}

// Clip shortens a text from the client for a message.
func Clip(s string) string {
	const most = 100
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// SortFaults sorts faults by their parameters.
func SortFaults(f []Fault) {
	slices.SortStableFunc(f, func(a, b Fault) int { return cmp.Compare(a.Param, b.Param) })
}
