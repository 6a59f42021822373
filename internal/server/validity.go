package server

import (
	"time"

	"grense/internal/store"
)

// IsVersioned reports whether features of a collection have versions.
func IsVersioned(coll *store.Collection) bool { return coll != nil && coll.Versions != nil }

// IsPlain is the opposite of IsVersioned.
func IsPlain(coll *store.Collection) bool { return !IsVersioned(coll) }

// Current returns q for the current features of a collection.
func (c *Call) Current(coll *store.Collection, q store.Query) store.Query {
	q.Collection = coll.ID
	if IsVersioned(coll) {
		q.AsOf = c.Now()
	}
	return q
}

// Now returns the time of the request, to the second, in the time zone of the service.
func (c *Call) Now() time.Time {
	if c.Began.IsZero() {
		c.Began = time.Now().Truncate(time.Second).In(c.Zone())
	}
	return c.Began
}

// Zone returns the time zone of the service: the configured one, Europe/Oslo for data with a place-name register, or
// UTC.
func (c *Call) Zone() *time.Location { return c.s.ZoneOf(c.Catalog) }

func (s *Kit) ZoneOf(cat *store.Catalog) *time.Location {
	switch {
	case s.zone != nil:
		return s.zone
	case HasRegister(cat):
		return s.Oslo
	}
	return time.UTC
}
