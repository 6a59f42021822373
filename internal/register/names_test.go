package register_test

import (
	"hash/crc32"
	"math"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"grense/internal/register"
	"grense/internal/sharedtest"
)

const seed = 20260101

func TestNamesAreThoseOfTheRecipe(t *testing.T) {
	t.Parallel()
	golden := []struct {
		n   int
		crc uint32
	}{{1_000, 0x2e4dbb37}, {100_000, 0x087fe85a}, {1_100_000, 0xb7fb8014}}
	n, crc := 0, uint32(0)
	last := golden[1].n
	if sharedtest.Soak(t) > 0 {
		last = golden[2].n
	}
	for name := range register.Names(seed, last) {
		crc = crc32.Update(crc, crc32.IEEETable, []byte(name))
		n++
		for _, g := range golden {
			if n == g.n && crc != g.crc {
				t.Errorf("checksum of the first %d names is %08x, want %08x", n, crc, g.crc)
			}
		}
	}
	want := []string{
		"Ljåvannet",
		"Handelshytta",
		"Ringfjellset",
		"Laksragnhildmosen",
		"Øksbø",
		"Røyskatttjernet",
		"Øvre Harvfusmosen",
		"Ragnarbotnhytta",
		"Ytre Svahjortheim",
		"Kjerringbø",
	}
	if got := slices.Collect(register.Names(seed, 10)); !slices.Equal(got, want) {
		t.Errorf("first names are %q, want %q", got, want)
	}
}

func TestKindsHaveTheSharesOfTheRecipe(t *testing.T) {
	t.Parallel()
	const n = 100_000
	counts, total := register.KindShares(seed, n), 0
	for k, percent := range register.KindPercent() {
		total += percent
		if got := float64(counts[k]) * 100 / n; math.Abs(got-float64(percent)) > 0.5 {
			t.Errorf("kind %d has %.2f percent, want %d", k, got, percent)
		}
	}
	if want := [10]int{13037, 8931, 17956, 6034, 9131, 14002, 16973, 4983, 4046, 4907}; counts != want {
		t.Errorf("counts of the first %d are %v, want %v", n, counts, want)
	}
	if total != 100 {
		t.Errorf("shares add up to %d", total)
	}
}

// A prefix search must meet common stems often, as it does in a real register.
func TestCommonStemsAreFrequent(t *testing.T) {
	t.Parallel()
	const n = 50_000
	counts := map[string]int{}
	longest := 0
	for name := range register.Names(seed, n) {
		for _, p := range []string{"Lang", "Stor", "Tora"} {
			if strings.HasPrefix(name, p) {
				counts[p]++
			}
		}
		longest = max(longest, utf8.RuneCountInString(name))
	}
	if counts["Lang"] < n/200 || counts["Stor"] < n/200 || counts["Tora"] > counts["Lang"]/3 || counts["Tora"] == 0 {
		t.Errorf("names by first part: %v", counts)
	}
	if longest > 30 {
		t.Errorf("a name has %d characters", longest)
	}
}

// The first outputs of splitmix64 from 1234567, as its author's code gives them.
func TestMixIsSplitmix64(t *testing.T) {
	t.Parallel()
	state := uint64(1234567)
	for _, want := range []uint64{6457827717110365317, 3203168211198807973, 9817491932198370423} {
		if got := register.Mix(state); got != want {
			t.Errorf("Mix(%d) = %d, want %d", state, got, want)
		}
		state += 0x9E3779B97F4A7C15
	}
}

func TestStedsnummerIsAPermutation(t *testing.T) {
	t.Parallel()
	n := uint64(100_000)
	if sharedtest.Soak(t) > 0 {
		n = register.MaxPlaces
	}
	seen := make([]bool, register.MaxPlaces)
	for i := range n {
		for _, at := range [...]uint64{i, register.MaxPlaces - 1 - i} {
			if at != i && at < n {
				continue // met from the other end
			}
			p := register.Permute(seed, at)
			if p >= register.MaxPlaces || seen[p] {
				t.Fatalf("Permute(%d) = %d: out of range or met before", at, p)
			}
			seen[p] = true
		}
	}
}

// The answers are those of Python's uuid.uuid5.
func TestLocalIDIsUUIDVersion5(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{1: "5d294831-4919-55ce-8ad0-b1d1d30ad8d5",
		2035119: "a475bbac-bf95-5710-b793-a8b0adaaf83e", 2097151: "60fb6f5c-db88-5939-820a-755b450b3bb2"} {
		if got := register.LocalID(n); got != want {
			t.Errorf("LocalID(%d) = %s, want %s", n, got, want)
		}
	}
}

func TestAreaWeightIsAreaToThePowerOfSixTenths(t *testing.T) {
	t.Parallel()
	for area := uint64(1); area < 25_000; area += 7 {
		exact := 10 * math.Pow(float64(area), 0.6)
		if w := float64(register.AreaWeight(area)); w > exact+1e-6 || w < exact-1 {
			t.Fatalf("AreaWeight(%d) = %v, want %v rounded down", area, w, exact)
		}
	}
}

func TestRespellFollowsTheRules(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		want []string
	}{
		{"Storvatnet", []string{"Storvannet"}},
		{"Sandøya", []string{"Sandøyi"}},
		{"Båthaugen", []string{"Båthougen", "Baathaugen"}},
		{"Ulltjønna", []string{"Ulltjenna", "Ulltjøna"}},
		{"Stuorajávri", []string{"Stuorajaure"}},
	} {
		if got := register.Respell(c.name, 2); !slices.Equal(got, c.want) {
			t.Errorf("Respell(%q) = %q, want %q", c.name, got, c.want)
		}
	}
	for name := range register.Names(seed, 5_000) {
		got := register.Respell(name, 2)
		if slices.Contains(got, name) || len(got) > 2 || len(got) == 2 && got[0] == got[1] {
			t.Errorf("Respell(%q) = %q", name, got)
		}
	}
}

// namedAs is a name of a place: each spelling is a text and its status.
type namedAs struct {
	spraak, status string
	spellings      [][2]string
	prioritised    int // number of the prioritised spelling, from 1; 0 for none
}

func displayName(priority string, list []namedAs) string {
	var names []register.Name
	for _, t := range list {
		n := register.Name{Language: t.spraak, Status: t.status}
		for i, s := range t.spellings {
			n.Spellings = append(n.Spellings,
				register.Spelling{Core: s[0], Status: s[1], Preferred: i+1 == t.prioritised})
		}
		names = append(names, n)
	}
	return register.DisplayName(names, priority)
}

func TestDisplayNameTakesTheBestNameOfEachLanguage(t *testing.T) {
	t.Parallel()
	const norwegianFirst = "norsk-nordsamisk-lulesamisk-sørsamisk-kvensk"
	const samiFirst = "nordsamisk-lulesamisk-sørsamisk-norsk-kvensk"
	one := func(text, status string) [][2]string { return [][2]string{{text, status}} }
	for _, c := range []struct {
		about, priority, want string
		names                 []namedAs
	}{
		{"one name", norwegianFirst, "Vik",
			[]namedAs{{spraak: "nor", status: "hovednavn", spellings: one("Vik", "godkjent")}}},
		{"languages in the order given", samiFirst, "Kárášjohka – Karasjok – Kaarasjoki", []namedAs{
			{spraak: "nor", status: "hovednavn", spellings: one("Karasjok", "vedtatt")},
			{spraak: "fkv", status: "hovednavn", spellings: one("Kaarasjoki", "vedtatt")},
			{spraak: "sme", status: "hovednavn", spellings: one("Kárášjohka", "vedtatt")}}},
		{"main before alternative name", norwegianFirst, "A", []namedAs{
			{spraak: "nor", status: "sidenavn", spellings: one("B", "vedtatt")},
			{spraak: "nor", status: "hovednavn", spellings: one("A", "godkjent")}}},
		{"equal names of one language", norwegianFirst, "A / B", []namedAs{
			{spraak: "nor", status: "sidenavn", spellings: one("A", "godkjent")},
			{spraak: "nor", status: "sidenavn", spellings: one("B", "vedtatt")}}},
		{"historical only where nothing else", norwegianFirst, "Oslo", []namedAs{
			{spraak: "dan", status: "historisk", spellings: one("Christiania", "historisk")},
			{spraak: "nor", status: "hovednavn", spellings: one("Oslo", "vedtatt")}}},
		{"historical alone", norwegianFirst, "Kaupang", []namedAs{
			{spraak: "nor", status: "feilført", spellings: one("Feil", "vedtatt")},
			{spraak: "nor", status: "historisk", spellings: one("Kaupang", "historisk")}}},
		{"nothing but mistakes", norwegianFirst, "Feil",
			[]namedAs{{spraak: "nor", status: "feilført", spellings: one("Feil", "feilført")}}},
		{"a language outside the order, alone", norwegianFirst, "Greenwich", []namedAs{
			{spraak: "eng", status: "hovednavn", spellings: one("Greenwich", "internasjonal")}}},
		{"prioritised spelling before the best", norwegianFirst, "Bø", []namedAs{
			{spraak: "nor", status: "hovednavn", spellings: [][2]string{{"Bö", "vedtatt"}, {"Bø", "godkjent"}},
				prioritised: 2}}},
		{"best spelling where none is prioritised", norwegianFirst, "Bø", []namedAs{
			{spraak: "nor", status: "hovednavn",
				spellings: [][2]string{{"Bö", "historisk"}, {"Bø", "godkjent"}, {"Bo", "uvurdert"}}}}},
	} {
		if got := displayName(c.priority, c.names); got != c.want {
			t.Errorf("%s: %q, want %q", c.about, got, c.want)
		}
	}
}
