package lexicon

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"grense/internal/cql2"
)

// Rows are found by id, whatever the range of the ids.
func TestSpelledRowsAreFoundByID(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for _, span := range []uint64{1, 3, 1000, 1 << 31, 1<<32 - 1, 1 << 32, 1 << 40, math.MaxUint64} {
		for _, base := range []int64{math.MinInt64, -7, 0, 1 << 40} {
			span := min(span, uint64(math.MaxInt64-base))
			tab := &Spellings{base: base}
			ids := make([]int64, 300)
			for i := range ids {
				beyond := r.Uint64N(span) / uint64(1+r.IntN(3))
				if i > 0 && i%3 == 0 {
					beyond = uint64(ids[i-1] - base)
				}
				ids[i] = base + int64(beyond)
				tab.rows = append(tab.rows, spelled{id: uint32(beyond)})
				if span > 1<<32 {
					tab.high = append(tab.high, uint32(beyond>>32))
				}
			}
			tab.sort()
			if !slices.IsSortedFunc(tab.byID, func(a, b uint32) int {
				return cmp.Or(cmp.Compare(ids[a], ids[b]), cmp.Compare(a, b))
			}) {
				t.Fatalf("span %d from %d: %v", span, base, tab.byID)
			}
			var asked []int64
			var want []uint32
			for _, row := range tab.byID {
				id := ids[row]
				if n := len(asked); id%2 == 0 && (n == 0 || asked[n-1] != id) {
					asked = append(asked, id)
				}
				if id%2 == 0 {
					want = append(want, row)
				}
			}
			if got := tab.Of(asked); !slices.Equal(got, want) {
				t.Fatalf("span %d from %d: %v, want %v", span, base, got, want)
			}
			if got := tab.Of([]int64{math.MinInt64, math.MaxInt64}); len(got) > 0 && tab.ID(got[0]) != math.MinInt64 &&
				tab.ID(got[0]) != math.MaxInt64 {
				t.Fatalf("%v for ids that are not there", got)
			}
		}
	}
}

// spelledTexts makes a table of texts, each of which has one row and the third ones two.
func spelledTexts(texts []string) *Spellings {
	slices.Sort(texts)
	texts = slices.Compact(texts)
	tab := &Spellings{}
	for i, text := range texts {
		tab.text += text
		tab.ends, tab.from = append(tab.ends, uint32(len(tab.text))), append(tab.from, uint32(len(tab.rows)))
		for range 1 + max(0, 1-i%3) {
			tab.rows = append(tab.rows, spelled{id: uint32(i)})
		}
	}
	tab.from = append(tab.from, uint32(len(tab.rows)))
	tab.countTexts()
	tab.sort()
	tab.grams = newGrams(tab.text, tab.ends, math.MaxInt)
	return tab
}

// Patterns find the texts that the test of each text finds, of few letters and of many,
// of one byte and of several, each once.
func TestPatternsFindTextsByTheirGrams(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	many := []rune{0}
	for c := rune(0x20); c < 0x20000; c += 1 + c/3 {
		many = append(many, c, c+1)
	}
	hits := 0
	for _, alphabet := range [][]rune{[]rune("ab"), []rune("abæ "), []rune("aeinorst æøåáčđŋšŧž-'"), many} {
		word := func(most int) string {
			s := make([]rune, r.IntN(most+1))
			for i := range s {
				s[i] = alphabet[int(float64(len(alphabet))*r.Float64()*r.Float64())]
			}
			return string(s)
		}
		texts := make([]string, 3000)
		for i := range texts {
			texts[i] = word(14)
		}
		tab := spelledTexts(texts)
		for row := range tab.rows {
			if i := tab.textOf(uint32(row)); tab.from[i] > uint32(row) || tab.from[i+1] <= uint32(row) {
				t.Fatalf("row %d is of text %d", row, i)
			}
		}
		escaped := strings.NewReplacer("%", `\%`, "_", `\_`, `\`, `\\`).Replace
		for range 500 {
			pattern := ""
			for range 1 + r.IntN(3) {
				pattern += []string{"%", "%", "_", "", "%%"}[r.IntN(5)] + escaped(word(4))
			}
			pattern += []string{"%", "%", "_", ""}[r.IntN(4)]
			match := cql2.LikeFolded("", pattern)
			got := make(Set, len(tab.ends)/64+1)
			tab.like(cql2.Like{Pattern: cql2.Text(pattern)}, func(i int) bool {
				if hits++; got.Has(i) {
					t.Errorf("%q is found twice by %q", tab.at(i), pattern)
				}
				got.add(i)
				return true
			})
			for i := range tab.ends {
				if want := match(tab.at(i)); got.Has(i) != want {
					t.Fatalf("%q is like %q: %v", tab.at(i), pattern, !want)
				}
			}
		}
	}
	if hits < 10_000 {
		t.Errorf("%d hits", hits)
	}
}

func TestGramsTakeNoMoreThanTheirRoom(t *testing.T) {
	t.Parallel()
	tab := spelledTexts([]string{"vik", "vika"})
	if room := tab.grams.size() + 3*4*allGrams; newGrams(tab.text, tab.ends, room) == nil ||
		newGrams(tab.text, tab.ends, room-500) != nil {
		t.Errorf("grams of %d bytes", tab.grams.size())
	}
}
