package storetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/paulmach/orb"
	orbwkb "github.com/paulmach/orb/encoding/wkb"

	"grense/internal/cql2"
	"grense/internal/geo/crs"
	"grense/internal/store"
)

// version is a row of a collection of versions, as plain values.
type version struct {
	id         string
	start, end time.Time // end: zero when open
	name       string
	at         orb.Point
}

// versioned is a collection of versions with its rows in the order of features and starts.
type versioned struct {
	c         *store.Collection
	unit      time.Duration // times are multiples of it
	inclusive bool
	rows      []*version
}

// versionedSets returns collections with each kind of interval: dates and timestamps, inclusive and exclusive ends,
// ids that are texts and numbers, and versions that share a moment or overlap.
func versionedSets() []*versioned {
	const aDay = 24 * time.Hour
	var sets []*versioned
	for i, x := range []struct {
		id        string
		key, time cql2.Type
		inclusive bool
		shared    bool // an inclusive end equals the next start
	}{
		{"dager", cql2.TypeText, cql2.TypeDate, false, false},
		{"dager_med", cql2.TypeInteger, cql2.TypeDate, true, false},
		{"tider", cql2.TypeInteger, cql2.TypeTimestamp, false, false},
		{"tider_med", cql2.TypeText, cql2.TypeTimestamp, true, true},
	} {
		c := &store.Collection{
			ID: x.id, Table: x.id, Public: true, Key: store.FeatureKey{Column: "fid", Type: cql2.TypeInteger},
			Properties:    []store.Property{prop("nr", x.key), text("navn"), prop("fra", x.time), prop("til", x.time)},
			Geometry:      &store.Geom{Name: "geometry", Column: "geom", CRS: crs.CRS84},
			Versions:      &store.Versions{ID: "nr", Start: "fra", End: "til", Inclusive: x.inclusive},
			IntervalStart: "fra", IntervalEnd: "til", DefaultSort: []store.Sort{{Property: "nr"}, {Property: "fra"}},
		}
		s := &versioned{c: c, unit: aDay, inclusive: x.inclusive}
		if x.time == cql2.TypeTimestamp {
			s.unit = 6 * time.Hour
		}
		s.fill(rand.New(rand.NewPCG(20261123, uint64(i))), x.key == cql2.TypeInteger, x.shared)
		sets = append(sets, s)
	}
	return sets
}

func (s *versioned) fill(r *rand.Rand, numbers, shared bool) {
	for f := range 30 {
		id := fmt.Sprintf("%02d.%d", f, f%3)
		if numbers {
			id = strconv.Itoa(100 + f)
		}
		at := day(1).Add(time.Duration(r.IntN(8)) * s.unit)
		for range 1 + r.IntN(4) {
			v := &version{id: id, start: at, name: words[r.IntN(len(words))],
				at: orb.Point{10 + float64(r.IntN(8))/4, 59 + float64(r.IntN(8))/4}}
			s.rows = append(s.rows, v)
			next := at.Add(time.Duration(1+r.IntN(5)) * s.unit)
			v.end = next
			if s.inclusive && !shared {
				v.end = next.Add(-s.unit)
			}
			if r.IntN(4) == 0 { // a gap
				next = next.Add(s.unit)
			}
			at = next
		}
		if r.IntN(3) > 0 {
			s.rows[len(s.rows)-1].end = time.Time{}
		}
	}
}

// overlap makes the second version of some features begin before the first has ended.
func (s *versioned) overlap() {
	for i := 1; i < len(s.rows); i++ {
		if a, b := s.rows[i-1], s.rows[i]; a.id == b.id && i%3 == 0 {
			a.end = b.start.Add(2 * s.unit)
		}
	}
}

// valid reports whether a version is valid at t; dates are compared with the day of t.
func (s *versioned) valid(v *version, t time.Time) bool {
	if s.unit == 24*time.Hour {
		t = time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC)
	}
	return !t.Before(v.start) && (v.end.IsZero() || t.Before(v.end) || s.inclusive && t.Equal(v.end))
}

// asOf returns the rows that must be selected at t: the valid version of each feature or, of several, the one that
// begins last.
func (s *versioned) asOf(t time.Time) (out []*version) {
	for _, v := range s.rows {
		if !s.valid(v, t) {
			continue
		}
		if n := len(out); n > 0 && out[n-1].id == v.id {
			out = out[:n-1]
		}
		out = append(out, v)
	}
	return out
}

func (s *versioned) moment(t time.Time) string {
	if s.unit == 24*time.Hour {
		return t.Format(time.DateOnly)
	}
	return t.Format(time.RFC3339Nano)
}

func (s *versioned) write(t *testing.T, w store.Writer) {
	t.Helper()
	ctx := context.Background()
	if err := w.Define(ctx, s.c, true); err != nil {
		t.Fatal(err)
	}
	insert, err := w.Insert(ctx, s.c.Table, []string{"fid", "nr", "navn", "fra", "til", "geom"})
	if err != nil {
		t.Fatal(err)
	}
	for i := range s.rows { // not in the order of features and starts
		n := (i*31 + 7) % len(s.rows)
		v := s.rows[n]
		row := []any{int64(1000 - n), any(v.id), v.name, s.moment(v.start), nil,
			store.Geometry{WKB: orbwkb.MustMarshal(v.at)}}
		if number, err := strconv.ParseInt(v.id, 10, 64); err == nil {
			row[1] = number
		}
		if !v.end.IsZero() {
			row[4] = s.moment(v.end)
		}
		if err := insert(row...); err != nil {
			t.Fatal(err)
		}
	}
}

// stamped returns the ids of versions and their starts.
func (s *versioned) stamped(vs []*version, unique bool) (ids []string) {
	for _, v := range vs {
		id := v.id
		if unique {
			id = store.VersionID(id, s.moment(v.start))
		}
		ids = append(ids, id)
	}
	return ids
}

// ExerciseVersions runs the contract of collections of versions.
func ExerciseVersions(t *testing.T, open Opener) {
	t.Helper()
	for _, overlap := range []bool{false, true} {
		sets := versionedSets()
		s := open(t, func(w store.Writer) {
			for _, set := range sets {
				for ; len(set.rows)%31 == 0; set.rows = set.rows[1:] { // write permutes by 31
				}
				if overlap {
					set.overlap()
				}
				set.write(t, w)
			}
		})
		for _, set := range sets {
			t.Run(set.c.ID+map[bool]string{true: " that overlap"}[overlap], func(t *testing.T) { set.exercise(t, s) })
		}
	}
}

func (s *versioned) exercise(t *testing.T, st store.Store) {
	c := find(t, st, s.c.ID)
	v := c.Versions
	if v == nil || v.ID != "nr" || v.Start != "fra" || v.End != "til" || v.Inclusive != s.inclusive ||
		c.IntervalStart != "fra" || c.IntervalEnd != "til" || c.Times != nil || c.Key.Property != "nr" {
		t.Fatalf("versions %+v, interval %q to %q, times %q", v, c.IntervalStart, c.IntervalEnd, c.Times)
	}
	q := store.Query{Collection: c.ID, SortBy: s.c.DefaultSort, Limit: 1000}
	s.answers(t, st, q, s.rows)
	for n := -1; n < 24; n += 4 {
		for _, in := range []*time.Location{time.UTC, east} {
			q.AsOf = day(1).Add(time.Duration(n) * s.unit).In(in)
			s.answers(t, st, q, s.asOf(q.AsOf))
			s.counts(t, st, q)
			q.AsOf = q.AsOf.Add(5*time.Hour + 59*time.Minute)
			s.answers(t, st, q, s.asOf(q.AsOf))
			s.counts(t, st, q)
		}
	}
	for n := -1; n < 24; n += 3 {
		s.lives(t, st, day(1).Add(time.Duration(n)*s.unit))
	}
	q.AsOf = day(1).Add(6 * s.unit)
	selected := s.asOf(q.AsOf)
	ids := idsOf(page(t, st, q))
	for _, q.Limit = range []int{1, 7} {
		crawl(t, st, q, ids)
	}
	offsets(t, st, q, ids)
	s.filtered(t, st, q, selected)
}

// answers compares features, versions and the count of a query.
func (s *versioned) answers(t *testing.T, st store.Store, q store.Query, want []*version) {
	t.Helper()
	p := page(t, st, q)
	if p.Matched != len(want) {
		t.Errorf("as of %v: %d matched, want %d", q.AsOf, p.Matched, len(want))
	}
	for _, unique := range []bool{false, true} {
		var got, starts []string
		err := st.Fetch(context.Background(), q.Collection, p.Rows,
			store.Want{Properties: []string{"fra"}, VersionIDs: unique}, func(f *store.Feature) error {
				got = append(got, f.Public())
				starts = append(starts, strings.TrimSuffix(fmt.Sprint(f.Values[0]), ".000Z"))
				return nil
			})
		if err != nil {
			t.Fatal(err)
		}
		same(t, fmt.Sprintf("as of %v", q.AsOf), got, s.stamped(want, unique))
		for i, v := range want {
			if i < len(starts) && starts[i] != s.moment(v.start) {
				t.Errorf("as of %v: %s begins %s, want %s", q.AsOf, got[i], starts[i], s.moment(v.start))
			}
		}
	}
}

// counts requests a page from which the number of matches cannot be inferred, and checks the count that is returned.
func (s *versioned) counts(t *testing.T, st store.Store, q store.Query) {
	t.Helper()
	q.Limit = 1
	if got, want := page(t, st, q).Matched, len(s.asOf(q.AsOf)); got != want {
		t.Errorf("as of %v: a page of one has %d matched, want %d", q.AsOf, got, want)
	}
}

// lives reads the versions of each feature, and of unknown ones, and its neighbours at a moment.
func (s *versioned) lives(t *testing.T, st store.Store, at time.Time) {
	t.Helper()
	starts := map[string][]string{"77": nil, "a\x00": nil}
	for _, v := range s.rows {
		starts[v.id] = append(starts[v.id], s.moment(v.start))
	}
	for id, want := range starts {
		q := store.LifeQuery{Collection: s.c.ID, ID: id, At: at, Limit: 100}
		life, err := st.Life(context.Background(), q)
		if err != nil {
			t.Fatal(err)
		}
		s.isLife(t, life, q, want)
	}
}

// isLife compares a result with the starts of the versions, the rows, and the features that are valid at the moment.
func (s *versioned) isLife(t *testing.T, life *store.Life, q store.LifeQuery, starts []string) {
	t.Helper()
	var prev, next string
	for _, v := range s.asOf(q.At) {
		if v.id < q.ID {
			prev = v.id
		} else if v.id > q.ID && next == "" {
			next = v.id
		}
	}
	if len(starts) > 0 && (life.Prev != prev || life.Next != next) {
		t.Errorf("%s at %v lies between %q and %q, want %q and %q", q.ID, q.At, life.Prev, life.Next, prev, next)
	}
	var got []string
	for _, x := range life.Versions {
		got = append(got, strings.TrimSuffix(x.Start, ".000Z"))
		i := slices.IndexFunc(s.rows, func(v *version) bool {
			return v.id == q.ID && s.moment(v.start) == got[len(got)-1]
		})
		if i < 0 {
			continue
		}
		v := s.rows[i]
		if ends := !v.end.IsZero(); ends != (x.End != "") ||
			ends && strings.TrimSuffix(x.End, ".000Z") != s.moment(v.end) {
			t.Errorf("a version of %s that begins %s ends %q, want %v", q.ID, x.Start, x.End, v.end)
		}
		if x.Row.ID != strconv.Itoa(1000-i) || x.Row.Rev == 0 {
			t.Errorf("a version of %s that begins %s is row %+v, want %d", q.ID, x.Start, x.Row, 1000-i)
		}
	}
	same(t, "starts of versions of "+q.ID, got, starts)
}

// filtered applies other conditions to the selected versions.
func (s *versioned) filtered(t *testing.T, st store.Store, q store.Query, selected []*version) {
	c := find(t, st, s.c.ID)
	q.Limit = 1000
	box := orb.Bound{Min: orb.Point{10.2, 59.2}, Max: orb.Point{11.1, 60.3}}
	kite := cql2.Geom{G: orb.Polygon{{{10, 59}, {11.8, 59.4}, {11.2, 60.8}, {10.1, 60}, {10, 59}}}, CRS: crs.CRS84}
	for what, x := range map[string]struct {
		e    cql2.Expr
		want func(*version) bool
	}{
		"name": {cql2.Compare{Op: cql2.Lt, L: name("navn"), R: cql2.Text("b")}, func(v *version) bool {
			return v.name < "b"
		}},
		"box": {cql2.BBox{Prop: "geometry", Box: box, CRS: crs.CRS84}, func(v *version) bool {
			return box.Contains(v.at)
		}},
		"residue": {cql2.And{cql2.BBox{Prop: "geometry", Box: box, CRS: crs.CRS84},
			cql2.Compare{Op: cql2.Gt, L: cql2.Func{Name: "casei", Args: []cql2.Expr{name("navn")}}, R: cql2.Text("b")}},
			nil},
		"shape": {cql2.Spatial{Op: cql2.SIntersects, L: name("geometry"), R: kite}, nil},
	} {
		e, err := cql2.Check(x.e, c)
		if err != nil {
			t.Fatal(err)
		}
		q.Filter = e
		q.AsOf = time.Time{}
		all := map[string]bool{}
		p := page(t, st, q)
		for _, r := range p.Rows {
			all[r.ID] = true
		}
		q.AsOf = day(1).Add(6 * s.unit)
		if x.want != nil {
			s.answers(t, st, q, slices.DeleteFunc(slices.Clone(selected), func(v *version) bool { return !x.want(v) }))
		}
		now := map[string]bool{}
		none := q
		none.Filter = nil
		for _, r := range page(t, st, none).Rows {
			now[r.ID] = true
		}
		var want []string
		for _, r := range p.Rows {
			if now[r.ID] {
				want = append(want, r.ID)
			}
		}
		same(t, what, idsOf(page(t, st, q)), want)
		if len(want) == 0 || len(want) == len(p.Rows) {
			t.Errorf("%s: %d of %d rows tell nothing", what, len(want), len(p.Rows))
		}
	}
	feature := selected[1]
	e, ok := c.IsFeature(feature.id)
	if !ok {
		t.Fatalf("%q is no id", feature.id)
	}
	q.Filter, q.AsOf = e, time.Time{}
	s.answers(t, st, q, slices.DeleteFunc(slices.Clone(s.rows), func(v *version) bool { return v.id != feature.id }))
}
