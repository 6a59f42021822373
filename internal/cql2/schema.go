package cql2

import (
	"fmt"
	"slices"
	"time"
)

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
	TypeJSON           // an array or object, stored as JSON text
)

// Types holds every Type, for tests that must not forget one.
var Types = []Type{TypeText, TypeInteger, TypeNumber, TypeBool, TypeDate, TypeTimestamp, TypeGeometry, TypeJSON}

// AliasedSchema is a Schema whose properties may have a second name that is accepted besides the one in Names.
type AliasedSchema interface {
	Schema
	Canonical(name string) string // returns the name in Names; any other text unchanged
}

// ZonedSchema is a Schema with the time zone of date-times that have none.
type ZonedSchema interface {
	Schema
	Zone() *time.Location
}

// Schema describes the properties that a filter may use. Names are case-sensitive.
type Schema interface {
	// Property returns the type of a property. ok is false if there is none of that name.
	Property(name string) (Type, bool)
	// Names lists the properties in schema order; errors suggest the nearest one.
	Names() []string
}

var typeNames = [...]string{"text", "integer", "number", "boolean", "date", "timestamp", "geometry", "json"}

// MarshalText returns the stored name of a type.
func (t Type) MarshalText() ([]byte, error) {
	if int(t) >= len(typeNames) {
		return nil, fmt.Errorf("cql2: there is no type %d", uint8(t))
	}
	return []byte(typeNames[t]), nil
}

// UnmarshalText parses the result of MarshalText.
func (t *Type) UnmarshalText(b []byte) error {
	i := slices.Index(typeNames[:], string(b))
	if i < 0 {
		return fmt.Errorf("cql2: there is no type %q", b)
	}
	*t = Type(i)
	return nil
}
