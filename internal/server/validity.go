package server

import (
	"time"

	"grense/internal/store"
)

var versionProfiles = []string{profileUnique, profileVersions}

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

// selectVersions sets the version to query: the current one without datetime, or the one at a time or the beginning of
// a date. For an interval it returns false, since all versions in it are features; so too for collections without
// versions, where datetime is a condition.
func (c filtering) selectVersions(p *ItemsParams) (selected bool) {
	if IsPlain(c.Collection) {
		return false
	}
	switch {
	case !p.hasTime:
		p.Query.AsOf = c.Now()
	case p.interval:
		p.VersionIDs = p.versions != profileVersions
		p.told = profileVersions
		if p.VersionIDs {
			p.told = profileUnique
		}
		return false
	default:
		p.Query.AsOf = store.Asked(p.from.In(c.Zone()))
		c.Began = p.Query.AsOf // other parts of a page are of that time, too
	}
	p.VersionIDs, p.told = p.versions == profileUnique, p.versions
	return true
}

// Profiles of responses with several versions of a feature. The first is the default for intervals, since clients
// expect unique ids.
const (
	profileUnique   = "versions-as-features-unique-ids"
	profileVersions = "versions-as-features"
)

// Now returns the time of the request, to the second, in the time zone of the service.
func (c *Call) Now() time.Time {
	if c.Began.IsZero() {
		c.Began = time.Now().Truncate(time.Second).In(c.Zone())
	}
	return c.Began
}
