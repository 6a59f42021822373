package cql2_test

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"grense/internal/cql2"
	"grense/internal/cql2/cql2test"
)

// atsCase is a predicate of the abstract test suite (OGC 21-065r2, Annex A) with the number of features it selects.
type atsCase struct {
	class, collection, filter string
	want                      int
}

// corrected holds three counts that the standard gives wrong.
var corrected = map[string]int{
	"ACCENTI(name) LIKE accenti('Ch%')":                 3,
	"ACCENTI(CASEI(name)) LIKE accenti(casei('Chiș%'))": 1,
	"ACCENTI(CASEI(name)) LIKE accenti(casei('cHis%'))": 1,
}

func atsCases(t testing.TB) []atsCase {
	t.Helper()
	f, err := os.Open(shared(t, "cql2-ats-predicates.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var cases []atsCase
	s := bufio.NewScanner(f)
	for s.Scan() {
		col := strings.Split(s.Text(), "\t")
		if len(col) != 5 || col[0] == "conformance_class" {
			continue
		}
		want, err := strconv.Atoi(col[4])
		if err != nil {
			t.Fatal(err)
		}
		if n, ok := corrected[col[3]]; ok {
			want = n
		}
		cases = append(cases, atsCase{col[0], col[2], col[3], want})
	}
	if s.Err() != nil || len(cases) != 274 {
		t.Fatalf("%d cases read, want 274; %v", len(cases), s.Err())
	}
	return cases
}

func TestEvalSelectsWhatTheAbstractTestSuiteCounts(t *testing.T) {
	t.Parallel()
	all := openTables(t)
	for i, c := range atsCases(t) {
		t.Run(fmt.Sprintf("%03d %s", i, c.class), func(t *testing.T) {
			t.Parallel()
			src := all[c.collection]
			e := must(t, c.filter, src)
			if n := count(truths(t, e, src.records)); n != c.want {
				t.Errorf("%s: %d features, want %d", c.filter, n, c.want)
			}
			if again, err := cql2.Check(e, src); err != nil || !reflect.DeepEqual(again, e) {
				t.Errorf("%s: checked twice %#v, want %#v; %v", c.filter, again, e, err)
			}
			back, err := cql2.ParseJSON(cql2test.FormatJSON(must(t, c.filter, src)))
			if err != nil {
				t.Fatalf("%s: as JSON: %v", c.filter, err)
			}
			if back, err = cql2.Check(back, src); err != nil {
				t.Fatalf("%s: as JSON: %v", c.filter, err)
			}
			if n := count(truths(t, back, src.records)); n != c.want {
				t.Errorf("%s: as JSON %d features, want %d", c.filter, n, c.want)
			}
		})
	}
}

// The logical tests of Annex A combine four predicates at random: (NOT (p2) AND p1) OR (p3 AND p4) OR NOT (p1 OR p4).
func TestLogicalCombinationsFollowThreeValuedLogic(t *testing.T) {
	t.Parallel()
	all := openTables(t)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	byCollection := map[string][]string{}
	for _, c := range atsCases(t) {
		if !strings.HasPrefix(c.filter, "S_") { // the spatial ones are slow, and alone in the test above
			byCollection[c.collection] = append(byCollection[c.collection], c.filter)
		}
	}
	for name, filters := range byCollection {
		src := all[name]
		for range 30 {
			var p [4]string
			var v [4][]cql2.Truth
			for i := range p {
				p[i] = filters[r.IntN(len(filters))]
				v[i] = truths(t, must(t, p[i], src), src.records)
			}
			filter := fmt.Sprintf("(NOT (%s) AND %s) OR (%s AND %s) OR NOT (%s OR %s)", p[1], p[0], p[2],
				p[3], p[0], p[3])
			got := truths(t, must(t, filter, src), src.records)
			for i := range got {
				a, b, c, d := v[0][i], v[1][i], v[2][i], v[3][i]
				if want := max(min(-b, a), min(c, d), -max(a, d)); got[i] != want {
					t.Fatalf("%s: record %d is %d, want %d", filter, i, got[i], want)
				}
			}
		}
	}
}
