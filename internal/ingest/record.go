package ingest

import "context"

// kind is the kind of a value as its format states it.
type kind uint8

const (
	absent  kind = iota
	null         // stated, and nothing
	boolean      // text is true or false
	integer      // text is a decimal integer of any length
	number       // text is a decimal number
	text         // may turn out to be a day or a moment
	plain        // text that is nothing else
	untyped      // of a format without types, as CSV
	object       // text is JSON
	many         // text is a JSON array, of an element that may also stand once, as text or null
	blob         // bytes that are no text
)

// value is one value with the text that the file has for it.
type value struct {
	kind kind
	text string
}

type field struct {
	name  string
	value value
}

// place is where something stands in a file. A file without lines has none.
type place struct{ line, column int }

// record is one feature. It is valid only until the function it was given to returns.
type record struct {
	at      place
	id      value // the format's own id
	fields  []field
	extra   []field // members beside the properties, as JSON-FG has them; nil for most
	shape   *shape  // nil: null
	refused bool    // a fault was told, so that only id and fields count
}

// reader reads one layer. It may be read several times, one after the other.
type reader interface {
	// read gives the records in order to s. A fault of the content is told to s; an error is anything else, or one of s.
	read(ctx context.Context, s sink) error
}

// sink takes what a reader finds.
type sink interface {
	// record takes one feature. Its error ends the reading and comes back.
	record(r *record) error
	// fault tells what is wrong: with the feature that comes next, unless of is false.
	fault(at place, of bool, a Action, reason string)
	// reference tells the name of a reference system that the file states; "" when it says that there is none.
	reference(at place, name string)
	// fields tells names of properties that the layer has even where it has no features.
	fields(names []string)
}
