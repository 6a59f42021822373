package placename_test

import (
	"maps"
	"reflect"
	"slices"
	"testing"

	api "grense/api/placename"
	"grense/internal/placename"
)

// TestBothStoresFindTheSameHits draws searches of all kinds and runs them over the same register in a GeoPackage and
// in PostGIS: the hits, their order and what stands in them are the same.
func TestBothStoresFindTheSameHits(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long: the run without the race detector has it")
	}
	f := setup(t)
	o := placename.Options{MaxHits: 1_000_000, UnknownCodes: placename.NoMatch}
	file, database := placename.New(f.store, o), placename.New(openDatabase(t), o)
	for op, s := range searches {
		t.Run(op, func(t *testing.T) {
			d := newDrawing(t, f)
			found, most := 0, 0
			for range 40 {
				r := drawRequest(d, s)
				x, y := everyHit(t, file, r), everyHit(t, database, r)
				if !reflect.DeepEqual(x, y) {
					t.Fatalf("%s:\nGeoPackage %.600s\nPostGIS    %.600s", describe(r), show(x), show(y))
				}
				if len(x) > 0 {
					found++
				}
				most = max(most, len(x))
			}
			if found < 20 || most < 2 {
				t.Errorf("%d of 40 searches found something, at most %d hits", found, most)
			}
		})
	}
}

// drawRequest draws up to four fields that suit some record, so that most requests find it.
func drawRequest(d *drawing, s *search) api.Request {
	for {
		record := pick(d, d.f.rows[s.table])
		names := slices.Sorted(maps.Keys(s.draws))
		d.Shuffle(len(names), reflect.Swapper(names))
		r, ok := s.fill(d, record, names[:min(len(names), 1+d.IntN(4))])
		if !ok {
			continue
		}
		if v := reflect.ValueOf(r).Elem().FieldByName("InkluderGeometri"); v.IsValid() {
			v.SetBool(d.IntN(3) == 0)
		}
		return r
	}
}

// everyHit runs a search and returns its hits of all batches.
func everyHit(t *testing.T, s api.Searcher, r api.Request) (all []any) {
	t.Helper()
	a, err := s.Search(t.Context(), r)
	if err != nil {
		t.Fatalf("%s: %v", describe(r), err)
	}
	for a.Next != nil {
		h, err := a.Next(t.Context())
		if err != nil {
			t.Fatalf("%s: %v", describe(r), err)
		}
		if h == nil {
			return all
		}
		for i := range h.Len() {
			all = append(all, reflect.ValueOf(h).Index(i).Interface())
		}
	}
	return all
}
