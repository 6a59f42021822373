//go:build !race

package gpkg_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"grense/internal/cql2"
	"grense/internal/store"
	"grense/internal/store/gpkg"
	"grense/internal/store/storetest"
)

// TestNamesAreFoundInMemoryAsBySQLite: of places, names and spellings, exact ones and beginnings, in their order, with what comes first, and refused as many.
func TestNamesAreFoundInMemoryAsBySQLite(t *testing.T) {
	t.Parallel()
	plain, edited := manyNames(t), manyNames(t)
	for i := range 300 { // names that differ in nothing but case or diacritics; what others wrote has no order of places
		run(t, edited, fmt.Sprintf("UPDATE skrivemaate SET langnavn = '%s', norm = 'oya', eksakt = '%s' WHERE rowid = (SELECT id FROM skrivemaate ORDER BY id LIMIT 1 OFFSET %d)",
			[]string{"Øya", "Oya", "øya", "ØYA"}[i%4], []string{"øya", "oya", "øya", "øya"}[i%4], 7*i))
	}
	for path, collections := range map[string][]string{plain: {"sted", "stedsnavn", "skrivemaate"}, edited: {"skrivemaate"}} {
		sql, table := opened(t, path, -1), opened(t, path, 0)
		table.SettleAfter(0)
		table.ColumnsAtOnce(false)
		names := allNames(t, sql)
		r := rand.New(rand.NewPCG(4, 2))
		ways := map[string]int{}
		for range 400 * len(collections) {
			comparePages(t, sql, table, drawnName(t, sql, r, collections[r.IntN(len(collections))], names), ways)
		}
		if ways["page"] < 100 || ways["page many"] < 20 {
			t.Errorf("%q: answers %v", collections, ways)
		}
	}
}

// allNames are the spellings of a register.
func allNames(t *testing.T, s store.Store) (names []string) {
	t.Helper()
	p, err := s.Page(t.Context(), store.Query{Collection: "skrivemaate", Limit: 100_000, Count: store.CountNone})
	if err == nil {
		err = s.Fetch(t.Context(), "skrivemaate", p.Rows, store.Want{Properties: []string{"langnavn"}, NoGeometry: true}, func(f *store.Feature) error {
			names = append(names, f.Values[0].(string))
			return nil
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// drawnName asks for one of the names, for what begins as it, or for what may not be there.
func drawnName(t *testing.T, s store.Store, r *rand.Rand, collection string, names []string) store.Query {
	t.Helper()
	name := names[r.IntN(len(names))]
	begins := r.IntN(3) == 0
	if r.IntN(10) == 0 {
		name = []string{"Øya", "Oya", "øya", "x" + name, name + "x", "ø", "zzzz", "100 %", "a_b"}[r.IntN(9)]
	} else if runes := []rune(name); begins {
		name = string(runes[:1+r.IntN(len(runes))])
	}
	q := namedQuestion(t, s, collection, name, begins)
	q.Limit = []int{1, 20, 100_000}[r.IntN(3)]
	return q
}

// comparePages asks two stores, and counts the answers that have been compared.
func comparePages(t *testing.T, sql, table *gpkg.Store, q store.Query, ways map[string]int) {
	t.Helper()
	want, err := sql.Page(t.Context(), q)
	p, err2 := table.Page(t.Context(), q)
	if err != nil || err2 != nil {
		t.Fatal(err, err2)
	}
	if (want.Next == "") != (p.Next == "") || p.Matched != want.Matched || want.Next == "" && len(want.Rows)+len(p.Rows) > 0 && !reflect.DeepEqual(want.Rows, p.Rows) {
		t.Fatalf("%s, %#v, limit %d: %d rows %.200v, by SQLite %d %.200v", q.Collection, q.Filter, q.Limit, len(p.Rows), p.Rows, len(want.Rows), want.Rows)
	}
	if ways["page"]++; len(p.Rows) > 1 {
		ways["page many"]++
	}
}

// TestNamesOfWhichSomeComeFirstAreInMemory: it knows which is which; what was written since is found.
func TestNamesOfWhichSomeComeFirstAreInMemory(t *testing.T) {
	t.Parallel()
	path := manyNames(t)
	for i, name := range []string{"Øya", "Oya"} {
		run(t, path, fmt.Sprintf("UPDATE skrivemaate SET langnavn = '%[1]s', norm = 'oya', eksakt = '%[2]s' WHERE rowid = (SELECT id FROM skrivemaate ORDER BY id LIMIT 1 OFFSET %[3]d)", name, cql2.CaseI(name), i))
	}
	s := opened(t, path, 0)
	s.SettleAfter(0)
	s.ColumnsAtOnce(false)
	for _, name := range []string{"Øya", "Oya"} {
		q := namedQuestion(t, s, "skrivemaate", name, false)
		plan, err := s.Explain(t.Context(), q)
		p, err2 := s.Page(t.Context(), q)
		if err != nil || err2 != nil || plan.Way != "names" || len(p.Rows) < 2 || len(plan.Steps) > 0 {
			t.Fatalf("%+v, %v, %v, %v", plan, p, err, err2)
		}
		first, err := fetched(t, s, "skrivemaate", p.Rows[:1], store.Want{Properties: []string{"langnavn"}, NoGeometry: true})
		if err != nil || !strings.Contains(first[0], name) {
			t.Errorf("%s: first comes %v, %v", name, first, err)
		}
	}
	time.Sleep(stampSteps)
	run(t, path, "UPDATE skrivemaate SET langnavn = 'Qqq', norm = 'qqq', eksakt = 'qqq' WHERE norm = 'oya'")
	q := namedQuestion(t, s, "skrivemaate", "Qqq", false)
	if p, err := s.Page(t.Context(), q); err != nil || len(p.Rows) == 0 {
		t.Errorf("%v, %v of a file that was written into", p, err)
	}
}

// TestNamesThatAreNotFoldedFromTheirSpellingsAreFoundBySQLite: no table is made of what other programs wrote amiss, since what comes first in it would not be known.
func TestNamesThatAreNotFoldedFromTheirSpellingsAreFoundBySQLite(t *testing.T) {
	t.Parallel()
	for _, amiss := range []string{"norm = 'qqq'", "eksakt = 'qqq'", "eksakt = x'00'", "norm = ''"} {
		path := manyNames(t)
		run(t, path, "UPDATE skrivemaate SET "+amiss+" WHERE rowid = (SELECT id FROM skrivemaate ORDER BY id LIMIT 1 OFFSET 5)")
		s := opened(t, path, 0)
		s.ColumnsAtOnce(false)
		if p, err := s.Explain(t.Context(), namedQuestion(t, s, "sted", "Nes", false)); err != nil || p.Way == "names" {
			t.Errorf("%s: %+v, %v", amiss, p, err)
		}
	}
}

// TestNamesWithoutRoomAreFoundBySQLite: a table that does not fit is not made.
func TestNamesWithoutRoomAreFoundBySQLite(t *testing.T) {
	t.Parallel()
	s := storetest.Opened[*gpkg.Store](t)(gpkg.Open(t.Context(), manyNames(t), gpkg.Options{DataDir: t.TempDir(), Columns: 10_000}))
	s.ColumnsAtOnce(false)
	q := namedQuestion(t, s, "sted", "Nes", true)
	for range 3 {
		if p, err := s.Explain(t.Context(), q); err != nil || p.Way == "names" || !slices.Contains(p.Passed, "names") {
			t.Errorf("%+v, %v", p, err)
		}
	}
}
