// Package input is what readers of formats share: files and their limits, the records that a reader gives to a sink,
// and their geometries.
//
// A format lists the layers of a File as Layer values. Each has a Reader, which gives Records to a Sink, one by one and
// in the order of the file, each time it is read. Faults of the content go to the Sink too; an error that is ErrRefused
// says that nothing of the file can be read.
package input

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
)

// Kind is the kind of a value as its format states it.
type Kind uint8

const (
	Absent  Kind = iota
	Null         // stated, and nothing
	Boolean      // text is true or false
	Integer      // text is a decimal integer of any length
	Number       // text is a decimal number
	Text         // may turn out to be a day or a moment
	Plain        // text that is nothing else
	Untyped      // of a format without types, as CSV
	Object       // text is JSON
	Many         // text is a JSON array, of an element that may also stand once, as text or null
	Blob         // bytes that are no text
)

// Value is one value with the text that the file has for it.
type Value struct {
	Kind Kind
	Text string
}

type Field struct {
	Name  string
	Value Value
}

// Place is where something stands in a file. A file without lines has none.
type Place struct{ Line, Column int }

// Record is one feature. It is valid only until the function it was given to returns.
type Record struct {
	At      Place
	ID      Value // the format's own id
	Fields  []Field
	Extra   []Field // members beside the properties, as JSON-FG has them; nil for most
	Shape   *Shape  // nil: null
	Refused bool    // a fault was told, so that only id and fields count
}

// Reader reads one layer. It may be read several times, one after the other.
type Reader interface {
	// read gives the records in order to s. A fault of the content is told to s; an error is anything else, or one of
	// s.
	Read(ctx context.Context, s Sink) error
}

// Sink takes what a reader finds.
type Sink interface {
	// record takes one feature. Its error ends the reading and comes back.
	Record(r *Record) error
	// fault tells what is wrong: with the feature that comes next, unless of is false.
	Fault(at Place, of bool, a Action, reason string)
	// reference tells the name of a reference system that the file states; "" when it says that there is none.
	Reference(at Place, name string)
	// fields tells names of properties that the layer has even where it has no features.
	Fields(names []string)
}

// AppendJSON appends a value as JSON.
func (v Value) AppendJSON(b []byte) []byte {
	switch {
	case v.Kind <= Null, v.Kind == Number && NotFinite(v.Text):
		return append(b, "null"...)
	case v.Kind == Boolean, v.Kind == Integer, v.Kind == Number, v.Kind == Object:
		return append(b, v.Text...)
	}
	return AppendJSON(b, []byte(v.Text))
}

// NotFinite reports whether the text of a number is NaN or infinite.
func NotFinite(s string) bool {
	s = strings.TrimLeft(s, "+-")
	return strings.EqualFold(s, "nan") || strings.EqualFold(s, "inf") || strings.EqualFold(s, "infinity")
}

// Structured reports whether a text is a JSON array or object.
func Structured(s []byte) bool {
	return len(s) > 0 && (s[0] == '{' || s[0] == '[') && json.Valid(s)
}

// Floating is a number of so many bits.
func Floating(v float64, bits int) Value {
	return Value{Number, strconv.FormatFloat(v, 'f', -1, bits)}
}

// Names of the properties that members beside the properties become.
const (
	ExtraTime        = "time"
	ExtraTimeStart   = "time_start"
	ExtraTimeEnd     = "time_end"
	ExtraFeatureType = "featureType"
)
