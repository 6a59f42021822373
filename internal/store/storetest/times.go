package storetest

import (
	"slices"
	"testing"
	"time"

	"grense/internal/cql2"
	"grense/internal/store"
)

// exerciseTimes tests the parameter datetime on a collection with several dates and timestamps, none configured as the
// time of a feature. A feature matches if one of them is in the interval, as in the reference.
func exerciseTimes(t *testing.T, s store.Store, d *dataset) {
	for _, c := range []struct {
		id, instant, start string
		times              []string
	}{{"steder", "", "dag", nil}, {"punkter", "tid", "", nil},
		{"tabell", "", "", []string{"dag", "tid", "gyldig_til"}}} {
		got := find(t, s, c.id)
		if got.Instant != c.instant || got.IntervalStart != c.start || !slices.Equal(got.Times, c.times) {
			t.Errorf("%s: instant %q, start %q, times %q; want %+v", c.id, got.Instant, got.IntervalStart, got.Times, c)
		}
	}
	set := d.sets[2]
	coll := find(t, s, set.c.ID)
	e, ok := coll.During()
	if !ok || coll.Temporal[0] == nil || coll.Temporal[1] == nil {
		t.Fatalf("%+v, from %v to %v", e, coll.Temporal[0], coll.Temporal[1])
	}
	for _, in := range []*time.Location{time.UTC, east} {
		for from := 1; from < 6; from++ {
			a, b := day(from).Add(-time.Hour).In(in), day(from+1).Add(time.Hour).In(in)
			e.From, e.To = &a, &b
			agree(t, s, set, e)
			found := idsOf(page(t, s, store.Query{Collection: coll.ID, Limit: 1000, Filter: checked(t, coll, e)}))
			for _, name := range coll.Times {
				within := cql2.And{cql2.Not{X: cql2.IsNull{X: cql2.Prop{Name: name}}},
					cql2.Interval{Start: name, End: name, From: &a, To: &b}}
				for _, id := range set.filter(t, checked(t, coll, within), nil) {
					if !slices.Contains(found, id) {
						t.Errorf("%s is lost, whose %s is in %v/%v", id, name, a, b)
					}
				}
			}
		}
	}
}
