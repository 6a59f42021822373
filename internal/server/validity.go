package server

import (
	"time"

	"grense/internal/server/wire"
	"grense/internal/store"
)

var versionProfiles = []string{profileUnique, profileVersions}

// IsVersioned reports whether features of a collection have versions.
func IsVersioned(coll *store.Collection) bool { return coll != nil && coll.Versions != nil }

// IsPlain is the opposite of IsVersioned.
func IsPlain(coll *store.Collection) bool { return !IsVersioned(coll) }

// Current is the question for features of a collection as they are now.
func (c *Call) Current(coll *store.Collection, q store.Query) store.Query {
	q.Collection = coll.ID
	if IsVersioned(coll) {
		q.AsOf = c.Now()
	}
	return q
}

// selectVersions makes the parameter datetime the selector of versions: without it those of now, with a moment or the beginning of a day those of then.
// With an interval all that touch it are features of their own; false then, and for collections without versions, where datetime is a condition.
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
		c.Began = p.Query.AsOf // what a page tells besides is of then, too
	}
	p.VersionIDs, p.told = p.versions == profileUnique, p.versions
	return true
}

// itemAddress is the address of a feature of the collection, which is its id in linked data.
func (c *Call) ItemAddress(id string) string {
	return c.Base() + "/collections/" + c.Collection.ID + "/items/" + wire.PathEscape(id)
}

// profiles of answers with several versions of a feature; the first is that of intervals where none is asked for, since clients take ids for unique.
const (
	profileUnique   = "versions-as-features-unique-ids"
	profileVersions = "versions-as-features"
)

// now is the moment of the request, to the second, in the time zone of the service.
func (c *Call) Now() time.Time {
	if c.Began.IsZero() {
		c.Began = time.Now().Truncate(time.Second).In(c.Zone())
	}
	return c.Began
}
