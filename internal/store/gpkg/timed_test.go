//go:build !race

package gpkg_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"grense/internal/cql2"
	"grense/internal/store"
	"grense/internal/store/gpkg"
	"grense/internal/store/storetest"
)

// TestWhatWasChangedBetweenTwoMomentsIsFoundInMemoryAsBySQLite: of places, names and spellings, at moments of rows and beside them, in whole seconds and finer, refused as many, and after somebody has written.
func TestWhatWasChangedBetweenTwoMomentsIsFoundInMemoryAsBySQLite(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct {
		edit  string
		timed bool
	}{
		"as it was made":        {"", true},
		"finer than seconds":    {"UPDATE sted SET oppdatert = replace(oppdatert, '.000Z', '.' || substr(1000 + rang % 1000, 2) || 'Z'); UPDATE skrivemaate SET oppdatert = replace(oppdatert, '.000Z', '.007Z')", true},
		"few moments":           {"UPDATE sted SET oppdatert = '2020-01-0' || (1 + rang % 3) || 'T00:00:00.000Z'", true},
		"far apart":             {"UPDATE sted SET oppdatert = '0001-01-01T00:00:00.000Z' WHERE rang % 9 = 0", true},
		"places without a row":  {"DELETE FROM sted WHERE rang % 20 = 1", true},
		"another form of a row": {"UPDATE sted SET oppdatert = replace(oppdatert, '.000Z', 'Z') WHERE rang = 7; UPDATE stedsnavn SET oppdatert = replace(oppdatert, 'T', ' '); UPDATE skrivemaate SET oppdatert = replace(oppdatert, '.000Z', '')", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := manyNames(t)
			if x.edit != "" {
				drop := ""
				for _, of := range []string{"sted", "stedsnavn"} { // triggers ask for functions of GeoPackages
					for n := range 4 {
						drop += fmt.Sprintf("DROP TRIGGER rtree_%s_geom_update%d;", of, n+1)
					}
				}
				run(t, path, drop+x.edit)
			}
			sql, table := openStore(t, path, gpkg.Options{DataDir: t.TempDir(), Columns: -1}), opened(t, path, 0)
			table.SettleAfter(0)
			table.ColumnsAtOnce(false)
			r := rand.New(rand.NewPCG(7, 9))
			ways := map[string]int{}
			moments := map[string][]time.Time{}
			for _, collection := range []string{"sted", "stedsnavn", "skrivemaate"} {
				moments[collection] = momentsOf(t, sql, collection)
				p, err := table.Explain(t.Context(), timedQuestion(t, sql, collection, moments[collection][7:9]))
				if err != nil || (p.Way == "times") != x.timed {
					t.Errorf("%s: %+v, %v", collection, p, err)
				}
			}
			ask := func(n int) {
				for i := range n {
					collection := []string{"sted", "stedsnavn", "skrivemaate"}[i%3]
					q := timedQuestion(t, sql, collection, drawnMoments(r, moments[collection]))
					q.Limit = []int{1, 20, 100_000}[r.IntN(3)]
					comparePages(t, sql, table, q, ways)
				}
			}
			ask(300)
			if ways["page many"] < 50 {
				t.Errorf("answers %v", ways)
			}
			time.Sleep(stampSteps)
			run(t, path, "DELETE FROM sted WHERE rang % 4 = 1")
			ask(60)
		})
	}
}

// momentsOf are those at which the rows of a collection were changed, in order.
func momentsOf(t *testing.T, s store.Store, collection string) (list []time.Time) {
	t.Helper()
	p, err := s.Page(t.Context(), store.Query{Collection: collection, Limit: 100_000, Count: store.CountNone})
	if err == nil {
		err = s.Fetch(t.Context(), collection, p.Rows, store.Want{Properties: []string{"oppdatert"}, NoGeometry: true}, func(f *store.Feature) error {
			at, ok := cql2.ParseStored(f.Values[0].(string))
			if !ok {
				t.Fatalf("%v is no moment", f.Values)
			}
			list = append(list, at)
			return nil
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(list, time.Time.Compare)
	return list
}

// drawnMoments are one or two, most of them of rows that follow each other closely, some beside them or far from all.
func drawnMoments(r *rand.Rand, of []time.Time) []time.Time {
	at := r.IntN(len(of))
	list := []time.Time{of[at], of[min(len(of)-1, at+r.IntN(400))]}[:1+r.IntN(2)]
	for i := range list {
		switch r.IntN(5) {
		case 0:
			list[i] = list[i].Add([]time.Duration{-1, 1, -time.Millisecond, time.Millisecond, 999 * time.Microsecond, -time.Second}[r.IntN(6)])
		case 1:
			if r.IntN(4) == 0 {
				list[i] = []time.Time{{}, time.Date(9999, 12, 31, 23, 59, 59, 999_999_999, time.UTC), time.Date(1000, 1, 1, 0, 0, 0, 0, time.FixedZone("", 3600))}[r.IntN(3)]
			}
		}
	}
	return list
}

// TestMomentsWithoutRoomAreFoundBySQLite: a table that does not fit is not made.
func TestMomentsWithoutRoomAreFoundBySQLite(t *testing.T) {
	t.Parallel()
	s := storetest.Opened[*gpkg.Store](t)(gpkg.Open(t.Context(), manyNames(t), gpkg.Options{DataDir: t.TempDir(), Columns: 20_000}))
	s.ColumnsAtOnce(false)
	q := timedQuestion(t, s, "sted", []time.Time{time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)})
	for range 3 {
		if p, err := s.Explain(t.Context(), q); err != nil || p.Way == "times" || !slices.Contains(p.Passed, "times") || p.Rows == 0 {
			t.Errorf("%+v, %v", p, err)
		}
	}
}

// TestTablesThatDoNotFitTogetherAreMadeAnewEverMoreSeldom: places and names by their moments, asked for in turn.
func TestTablesThatDoNotFitTogetherAreMadeAnewEverMoreSeldom(t *testing.T) {
	t.Parallel()
	s := storetest.Opened[*gpkg.Store](t)(gpkg.Open(t.Context(), manyNames(t), gpkg.Options{DataDir: t.TempDir(), Columns: 50_000}))
	s.ColumnsAtOnce(false)
	at := []time.Time{time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)}
	first, second := timedQuestion(t, s, "sted", at), timedQuestion(t, s, "stedsnavn", at)
	ways := map[string]int{}
	for range 600 {
		for _, q := range []store.Query{first, second} {
			p, err := s.Explain(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			ways[p.Way]++
		}
	}
	if n := s.ColumnsEvicted(); n < 2 || n > 30 || ways["times"] < 500 || ways["all or nothing"] < 100 {
		t.Errorf("%d tables were made for nothing, answers %v", n, ways)
	}
}
