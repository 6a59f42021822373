package server

import (
	"context"
	"time"

	"grense/internal/problem"
	"grense/internal/store"
)

var versionProfiles = []string{profileUnique, profileVersions}

// IsVersioned reports whether features of a collection have versions.
func IsVersioned(coll *store.Collection) bool { return coll != nil && coll.Versions != nil }

// hasTimes reports whether a feature of a collection may be asked for at a moment: it has versions, or its id may be a
// code of a history.
func HasTimes(coll *store.Collection) bool {
	if coll == nil {
		return false
	}
	_, usual := usualSchemes[coll.ID]
	return IsVersioned(coll) || coll.Codes != "" || usual
}

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

// EveryVersion asks the items of a collection for all versions of its features: an interval touches those without a start as well.
const EveryVersion = "?datetime=0001-01-01/.."

// selectVersions makes the parameter datetime the selector of versions: without it those of now, with a moment or the beginning of a day those of then.
// With an interval all that touch it are features of their own; false then, and for collections without versions, where datetime is a condition.
func (c *Call) selectVersions(p *ItemsParams) (selected bool) {
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

// rowsOf are the rows of features by their ids, of versions those of the moment.
func (c *Call) rowsOf(ctx context.Context, coll *store.Collection, ids []string) ([]store.Row, error) {
	return coll.RowsOf(ctx, c.s.Store, ids, c.Now())
}

// itemAddress is the address of a feature of the collection, which is its id in linked data.
func (c *Call) ItemAddress(id string) string {
	return c.Base() + "/collections/" + c.Collection.ID + "/items/" + PathEscape(id)
}

func notFoundFeature(c *Call, id string) error {
	return problem.NotFoundf("%s has no feature %q; %s/collections/%s/items lists all", c.Collection.ID, Clip(id), c.Base(), c.Collection.ID)
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
