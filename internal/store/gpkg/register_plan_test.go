//go:build !race

package gpkg_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"grense/internal/cql2"
	"grense/internal/register"
	"grense/internal/store"
	"grense/internal/store/gpkg"
	"grense/internal/store/gpkg/writer"
	"grense/internal/store/storetest"
)

// The race detector makes SQLite, which is Go here, so slow that these tests are built without it only.

// registerPlaces is the size of the register whose plans are looked at.
const registerPlaces = 50_000

func named(text string) cql2.Expr {
	return cql2.Compare{Op: cql2.Eq, L: norm("langnavn"), R: cql2.Text(text)}
}

func is(property string, v cql2.Expr) cql2.Expr {
	return cql2.Compare{Op: cql2.Eq, L: cql2.Prop{Name: property}, R: v}
}

func has(relation string, xs ...cql2.Expr) cql2.Expr {
	return cql2.Related{Relation: relation, X: cql2.And(xs)}
}

// TestRegisterPlans looks at how SQLite reads the answers to searches of a register: which index drives,
// that nothing is read whole, that lists are not made, and that nothing is sorted.
func TestRegisterPlans(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "register.gpkg")
	storetest.Write(t, func(w store.Writer) {
		if err := register.Generate(t.Context(), w, register.Options{Places: registerPlaces, Seed: 1}); err != nil {
			t.Fatal(err)
		}
	})(writer.Create(t.Context(), path))
	s := openStore(t, path, gpkg.Options{DataDir: t.TempDir()})
	after := func(property, at string) cql2.Expr {
		m, err := time.Parse(time.DateOnly, at)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(property, "dato") {
			return cql2.Compare{Op: cql2.Gt, L: cql2.Prop{Name: property}, R: cql2.Date{T: m}}
		}
		return cql2.Compare{Op: cql2.Gt, L: cql2.Prop{Name: property}, R: cql2.Timestamp{T: m}}
	}
	oslo := has("kommuner", is("kommunenummer", cql2.Text("0301")))
	biggest := has("kommuner", is("kommunenummer", cql2.Text("5612")))
	for _, tt := range []struct {
		collection string
		filter     cql2.Expr
		drives     string // the first step
	}{
		{"sted", has("skrivemaater", named("nesvatnet")), "SEARCH r1 USING COVERING INDEX skrivemaate_norm (norm=?)"},
		{"sted", has("skrivemaater", liked("nesvatn%")),
			"SEARCH r1 USING COVERING INDEX skrivemaate_norm (norm>? AND norm<?)"},
		{"sted", has("skrivemaater", liked("%esvatnet")),
			"SEARCH r1 USING COVERING INDEX skrivemaate_rev (rev>? AND rev<?)"},
		{"sted", has("skrivemaater", liked("%svat%")), "SCAN g VIRTUAL TABLE INDEX"},
		{"sted", has("skrivemaater", liked("%sv%")), "SCAN x"},
		{"sted", is("stedsnummer", cql2.Int(7)), "SEARCH t USING INDEX sted_stedsnummer (stedsnummer=?)"},
		{"sted", after("oppdatert", "2017-01-01"), "SEARCH t USING COVERING INDEX sted_oppdatert (oppdatert>?)"},
		{"sted", after("registrert", "2017-01-01"), "SEARCH t USING COVERING INDEX sted_registrert (registrert>?)"},
		{"sted", oslo, "SEARCH r1 USING COVERING INDEX sted_kommune_type (kommunenummer=?)"},
		{"sted", has("kommuner", is("kommunenummer", cql2.Text("0301")), is("navneobjekttype", cql2.Text("bekk"))),
			"SEARCH r1 USING COVERING INDEX sted_kommune_type (kommunenummer=? AND navneobjekttype=?)"},
		{"sted", is("av_allmenn_interesse", cql2.Bool(true)), "SCAN t USING COVERING INDEX sted_allmenn_interesse"},
		{"stedsnavn", after("oppdatert", "2017-01-01"),
			"SEARCH t USING COVERING INDEX stedsnavn_oppdatert (oppdatert>?)"},
		{"stedsnavn", oslo, "SEARCH r1 USING COVERING INDEX sted_kommune_type (kommunenummer=?)"},
		{"stedsnavn", has("skrivemaater", named("nesvatnet")),
			"SEARCH r1 USING COVERING INDEX skrivemaate_norm (norm=?)"},
		{"skrivemaate", named("nesvatnet"), "SEARCH t USING COVERING INDEX skrivemaate_norm (norm=?)"},
		{"skrivemaate", liked("nesvatn%"), "SEARCH t USING COVERING INDEX skrivemaate_norm (norm>? AND norm<?)"},
		{"skrivemaate", liked("%svat%"), "SCAN g VIRTUAL TABLE INDEX"},
		{"skrivemaate", after("skrivemaatestatusdato", "2017-01-01"),
			"SEARCH t USING COVERING INDEX skrivemaate_statusdato (skrivemaatestatusdato>?)"},
		{"skrivemaate", has("dokumentasjon", after("dato", "2025-06-01")),
			"SEARCH r1 USING COVERING INDEX dokumentasjon_dato (dato>?)"},
		{"matrikkel_sted", cql2.And{is("kommunenummer", cql2.Text("0301")), is("gaardsnummer", cql2.Int(1)),
			is("bruksnummer", cql2.Int(1))},
			"SEARCH t USING INDEX matrikkel_sted_enhet (kommunenummer=? AND gaardsnummer=? AND bruksnummer=?)"},
		{"navnesak", is("saksnummer", cql2.Int(32)), "SEARCH t USING INDEX navnesak_saksnummer (saksnummer=?)"},
		{"vedtak", after("vedtaksdato", "2017-01-01"), "SEARCH t USING INDEX vedtak_vedtaksdato (vedtaksdato>?)"},

		// The side with fewer rows drives.
		{"sted", cql2.And{has("skrivemaater", named("nesvatnet")), biggest},
			"SEARCH r1 USING COVERING INDEX skrivemaate_norm (norm=?)"},
		{"sted", cql2.And{biggest, has("skrivemaater", liked("nesvatn%"))},
			"SEARCH r1 USING COVERING INDEX skrivemaate_norm (norm>? AND norm<?)"},
		{"sted", cql2.And{has("skrivemaater", liked("s%")), oslo},
			"SEARCH r1 USING COVERING INDEX sted_kommune_type (kommunenummer=?)"},
		{"sted", cql2.And{has("skrivemaater", liked("%dal%")), oslo},
			"SEARCH r1 USING COVERING INDEX sted_kommune_type (kommunenummer=?)"},
		{"sted", cql2.And{after("oppdatert", "2025-12-30"), biggest},
			"SEARCH t USING COVERING INDEX sted_oppdatert (oppdatert>?)"},
		{"sted", cql2.And{after("oppdatert", "1992-01-01"), oslo},
			"SEARCH r1 USING COVERING INDEX sted_kommune_type (kommunenummer=?)"},
		{"sted", cql2.And{after("oppdatert", "1992-01-01"), has("skrivemaater", liked("nesvatn%"))},
			"SEARCH r1 USING COVERING INDEX skrivemaate_norm (norm>? AND norm<?)"},
		{"skrivemaate", cql2.And{liked("s%"), oslo},
			"SEARCH r1 USING COVERING INDEX sted_kommune_type (kommunenummer=?)"},
		{"skrivemaate", cql2.And{liked("nesvatn%"), biggest},
			"SEARCH t USING COVERING INDEX skrivemaate_norm (norm>? AND norm<?)"},
	} {
		c, _ := s.Catalog().Collection(tt.collection)
		x, err := cql2.Check(tt.filter, c)
		if err != nil {
			t.Fatal(err)
		}
		plan, err := s.AllOrNothingPlan(store.Query{Collection: tt.collection, Filter: x,
			SortBy: []store.Sort{{Property: sortOf(tt.collection)}}, Limit: 5001})
		if err != nil {
			t.Fatal(err)
		}
		name := fmt.Sprintf("%s %#v", tt.collection, tt.filter)
		if len(plan) == 0 || !strings.HasPrefix(plan[0], tt.drives) {
			t.Errorf("%s reads by\n%s\nwant first %s", name, strings.Join(plan, "\n"), tt.drives)
		}
		if x, ok := tt.filter.(cql2.Related); ok && x.Relation == "skrivemaater" &&
			strings.Contains(strings.Join(plan, "\n"), " t ") {
			t.Errorf("%s reads places and names beside spellings:\n%s", name, strings.Join(plan, "\n"))
		}
		for i, step := range plan {
			if strings.Contains(step, "TEMP B-TREE") || strings.Contains(step, "LIST SUBQUERY") ||
				i > 0 && strings.HasPrefix(step, "SCAN") {
				t.Errorf("%s: step %q in\n%s", name, step, strings.Join(plan, "\n"))
			}
		}
	}

	// A page in the order of rang comes from an index that has it.
	for _, tt := range []struct {
		filter cql2.Expr
		reads  string
	}{
		{nil, "SCAN t USING COVERING INDEX sted_rang"},
		{is("navneobjekttype", cql2.Text("bekk")), "sted_navneobjekttype (navneobjekttype=?)"},
		{is("kommunenummer", cql2.Text("5612")), "sted_kommunenummer (kommunenummer=?)"},
		{is("vedtaksmyndighet", cql2.Text("kommune")), "sted_vedtaksmyndighet (vedtaksmyndighet=?)"},
	} {
		page, _, err := s.Plan(store.Query{Collection: "sted", Filter: tt.filter,
			SortBy: []store.Sort{{Property: "rang"}}, Limit: 10, Count: store.CountNone})
		if err != nil {
			t.Fatal(err)
		}
		if all := strings.Join(page, "\n"); !strings.Contains(all, tt.reads) || strings.Contains(all, "TEMP B-TREE") {
			t.Errorf("%#v by rang reads by\n%s\nwant %s", tt.filter, all, tt.reads)
		}
	}
}

// sortOf is the first key of the order of a search.
func sortOf(collection string) string {
	if slices.Contains([]string{"navnesak", "vedtak"}, collection) {
		return "aar"
	}
	return "rang"
}
