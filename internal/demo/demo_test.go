package demo_test

import (
	"cmp"
	"encoding/csv"
	"math"
	"os"
	"reflect"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/paulmach/orb"

	"grense/internal/demo"
)

// divisions draws the divisions once for all tests; a Set is safe for concurrent use.
var divisions = sync.OnceValues(demo.Divisions)

func load(t *testing.T) *demo.Set {
	t.Helper()
	set, err := divisions()
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func records(t *testing.T, name string) [][]string {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	all, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return all[1:]
}

func TestEveryFylkeOfTheFactsIsThere(t *testing.T) {
	t.Parallel()
	set, want := load(t), records(t, "facts/fylker-2024.csv")
	if len(set.Fylker) != 15 || len(want) != 15 {
		t.Fatalf("%d counties of %d facts, want 15", len(set.Fylker), len(want))
	}
	sum := map[string]int{}
	for _, k := range set.Kommuner {
		sum[k.FylkeNr] += k.AreaKm2
	}
	for i, f := range set.Fylker {
		if f.Nr != want[i][0] || f.Navn != want[i][1] || f.AreaKm2 != sum[f.Nr] {
			t.Errorf("county %d is %s %q of %d km², want %v of %d km²", i, f.Nr, f.Navn, f.AreaKm2, want[i], sum[f.Nr])
		}
	}
}

// TestFactsAreThoseOfTheDrawnDivisions, in the same order, without what is drawn.
func TestFactsAreThoseOfTheDrawnDivisions(t *testing.T) {
	t.Parallel()
	set, err := demo.Facts()
	if err != nil {
		t.Fatal(err)
	}
	var want demo.Set
	for _, f := range load(t).Fylker {
		f.Geometry = nil
		want.Fylker = append(want.Fylker, f)
	}
	for _, k := range load(t).Kommuner {
		want.Kommuner = append(want.Kommuner,
			demo.Kommune{Nr: k.Nr, Navn: k.Navn, FylkeNr: k.FylkeNr, AreaKm2: k.AreaKm2})
	}
	if !reflect.DeepEqual(*set, want) {
		t.Errorf("facts %v, drawn %v", *set, want)
	}
}

func TestEveryKommuneOfTheFactsIsThere(t *testing.T) {
	t.Parallel()
	set, want := load(t), records(t, "facts/kommuner-2024.csv")
	if len(set.Kommuner) != 357 || len(want) != 357 {
		t.Fatalf("%d municipalities of %d facts, want 357", len(set.Kommuner), len(want))
	}
	for i, k := range set.Kommuner {
		got := []string{k.Nr, k.FylkeNr, k.Navn, want[i][3], want[i][4], strconv.Itoa(k.AreaKm2)}
		if !slices.Equal(got, want[i]) {
			t.Errorf("municipality %d is %v, want %v", i, got, want[i])
		}
		if k.Nr[:2] != k.FylkeNr {
			t.Errorf("municipality %s belongs to county %s", k.Nr, k.FylkeNr)
		}
	}
	if !slices.IsSortedFunc(set.Kommuner, func(a, b demo.Kommune) int { return cmp.Compare(a.Nr, b.Nr) }) {
		t.Error("municipalities are not ordered by number")
	}
	if !slices.IsSortedFunc(set.Fylker, func(a, b demo.Fylke) int { return cmp.Compare(a.Nr, b.Nr) }) {
		t.Error("counties are not ordered by number")
	}
}

func TestKnownPlacesAreWhereTheyBelong(t *testing.T) {
	t.Parallel()
	set := load(t)
	tests := []struct {
		place string
		x, y  float64 // EPSG:25833
		want  string  // "" for none
	}{
		{"Oslo, Maridalen", 262173, 6656883, "0301"},
		{"Tromsø", 653000, 7733000, "5501"},
		{"Kautokeino", 814000, 7685000, "5612"},
		{"the North Sea", -150000, 6500000, ""},
		{"Stockholm", 674000, 6580000, ""},
	}
	for _, tt := range tests {
		t.Run(tt.place, func(t *testing.T) {
			t.Parallel()
			got := ""
			if k, ok := set.Locate(tt.x, tt.y); ok {
				got = k.Nr
			}
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestEveryPointIsLocatedInItsOwnCell(t *testing.T) {
	t.Parallel()
	set := load(t)
	for i := range set.Kommuner {
		k := &set.Kommuner[i]
		if !k.Cell().Contains(int64(100*k.Point[0]), int64(100*k.Point[1])) {
			t.Errorf("the cell of %s %s does not hold its point", k.Nr, k.Navn)
		}
		if got, ok := set.Locate(k.Point[0], k.Point[1]); !ok || got != k {
			t.Errorf("the point of %s lies in %v", k.Nr, got)
		}
	}
}

// A place on a border belongs to the first of the neighbours; every vertex is on a border.
func TestBordersAreLocatedInTheFirstNeighbour(t *testing.T) {
	t.Parallel()
	set := load(t)
	first := map[orb.Point]string{}
	for _, k := range set.Kommuner {
		for _, p := range k.Ring() {
			if _, ok := first[p]; !ok {
				first[p] = k.Nr
			}
		}
	}
	for p, want := range first {
		if k, ok := set.Locate(p[0], p[1]); !ok || k.Nr != want {
			t.Fatalf("%v: got %v %v, want %s", p, k, ok, want)
		}
	}
}

// The rounding of a projected point must not hang on the last bits of a sine, on which processors differ.
func TestRoundingOfPointsIsFarFromATie(t *testing.T) {
	t.Parallel()
	_, points, err := demo.Sites()
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range points {
		for _, v := range p {
			if _, frac := math.Modf(v); math.Abs(frac-0.5) < 1e-5 {
				t.Errorf("point %d: %.9f m is a tie but for %g", i, v, frac-0.5)
			}
		}
	}
}

func TestAreasFollowTheFacts(t *testing.T) {
	t.Parallel()
	set := load(t)
	var facts, drawn []float64
	for _, k := range set.Kommuner {
		a := float64(twiceArea(k.Ring())) / 2e6
		ratio := a / float64(k.AreaKm2)
		if ratio < 0.5 || ratio > 1.6*1.6 {
			t.Errorf("%s %s: %.0f km² drawn, %d km² real", k.Nr, k.Navn, a, k.AreaKm2)
		}
		facts, drawn = append(facts, float64(k.AreaKm2)), append(drawn, a)
	}
	if r := rankCorrelation(facts, drawn); r < 0.9 {
		t.Errorf("rank correlation %.3f, want at least 0.9", r)
	}
}

// rankCorrelation is Spearman's, ties in the order given.
func rankCorrelation(a, b []float64) float64 {
	ra, rb := ranks(a), ranks(b)
	var sum float64
	for i := range ra {
		sum += (ra[i] - rb[i]) * (ra[i] - rb[i])
	}
	n := float64(len(a))
	return 1 - 6*sum/(n*(n*n-1))
}

func ranks(v []float64) []float64 {
	order := make([]int, len(v))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(v[i], v[j]) })
	r := make([]float64, len(v))
	for rank, i := range order {
		r[i] = float64(rank)
	}
	return r
}

func BenchmarkDivisions(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := demo.Divisions(); err != nil {
			b.Fatal(err)
		}
	}
}
