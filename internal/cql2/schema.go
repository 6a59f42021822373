package cql2

// Type is the type of a property or of a value.
type Type uint8

const (
	TypeText      Type = iota
	TypeInteger        // 64 bits
	TypeNumber         // IEEE double
	TypeBool           //
	TypeDate           // a day; stored as "2006-01-02"
	TypeTimestamp      // an instant; stored as RFC 3339, UTC when no zone is given
	TypeGeometry       //
	TypeJSON           // an array or object, kept as JSON text
)

// Types holds every Type, for tests that must not forget one.
var Types = []Type{TypeText, TypeInteger, TypeNumber, TypeBool, TypeDate, TypeTimestamp, TypeGeometry, TypeJSON}

// Schema is what a filter may name. Names are case-sensitive.
type Schema interface {
	// Property returns the type of a property; false when there is none.
	Property(name string) (Type, bool)
	// Names lists the properties in schema order; used to suggest the nearest valid name.
	Names() []string
}
