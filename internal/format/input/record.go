// Package input has what the readers of formats share: files and their limits, records,
// the sink that receives them, and geometries.
//
// A format lists the layers of a File as Layer values. Each has a Reader that passes Records to a Sink,
// one by one in the order of the file, every time it is read. Faults of the content go to the Sink too.
// An error that is ErrRefused means that nothing of the file can be read.
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
	Null         // present without a value
	Boolean      // text is true or false
	Integer      // decimal integer of any length
	Number       // text is a decimal number
	Text         // may turn out to be a date or a timestamp
	Plain        // text, whatever it looks like
	Untyped      // from a format without types, such as CSV
	Object       // text is JSON
	Many         // a JSON array, of an element that may also stand alone, as text or null
	Blob         // binary data
)

// Value is a value and its text in the file.
type Value struct {
	Kind Kind
	Text string
}

type Field struct {
	Name  string
	Value Value
}

// Place is a position in a file. A file without lines has none.
type Place struct{ Line, Column int }

// Record is one feature. It is valid only until the function that receives it returns.
type Record struct {
	At      Place
	ID      Value // the format's own id
	Fields  []Field
	Extra   []Field // members outside the properties, as in JSON-FG; nil for most
	Shape   *Shape  // nil: null
	Refused bool    // a fault was reported, so only ID and Fields count
}

// Reader reads one layer. It may be read repeatedly, but not concurrently.
type Reader interface {
	// Read passes the records to s in order. Faults of the content go to s.
	// An error is anything else, or an error of s.
	Read(ctx context.Context, s Sink) error
}

// Sink receives what a reader finds.
type Sink interface {
	// Record receives a feature. Its error ends the reading and is returned.
	Record(r *Record) error
	// Fault reports what is wrong: with the next feature, unless of is false.
	Fault(at Place, of bool, a Action, reason string)
	// Reference receives the name of a reference system that the file states; "" if it states that there is none.
	Reference(at Place, name string)
	// Fields receives names of properties that the layer has even without features.
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

// Floating returns a number with the precision of bits.
func Floating(v float64, bits int) Value {
	return Value{Number, strconv.FormatFloat(v, 'f', -1, bits)}
}

// Names of the properties for members outside the properties.
const (
	ExtraTime        = "time"
	ExtraTimeStart   = "time_start"
	ExtraTimeEnd     = "time_end"
	ExtraFeatureType = "featureType"
)
