package feature_test

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"grense/internal/feature"
)

func TestFixedPoint(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		v    float64
		d    int
		want string
	}{
		{0, 7, "0"}, {math.Copysign(0, -1), 7, "0"}, {-0.00000004, 7, "0"}, {-0.004, 2, "0"},
		{0.00000005, 7, "0.0000001"},
		{10.5, 7, "10.5"}, {-10.50, 2, "-10.5"}, {100, 7, "100"}, {-180, 7, "-180"}, {0.1, 7, "0.1"}, {-0.1, 2, "-0.1"},
		{9.99999999, 7, "10"}, {-9.999, 2, "-10"}, {59.99999995, 7, "60"}, {1.0000001, 7, "1.0000001"},
		{0.01, 2, "0.01"},
		{6643009.125, 2, "6643009.13"}, {-6643009.125, 2, "-6643009.13"}, {262000, 2, "262000"}, {1e-300, 7, "0"},
		{9e11, 7, "900000000000"}, {9e11, 2, "900000000000"}, {1.26, 1, "1.3"}, {1.5, 0, "2"}, {-2.5, 0, "-3"},
		{0.49999999999999994, 0, "0"},
	} {
		if got := string(feature.AppendFixed(nil, c.v, c.d)); got != c.want {
			t.Errorf("%v with %d decimals: %s, want %s", c.v, c.d, got, c.want)
		}
	}
}

// slowFixed is the obvious way to write a fixed-point number.
func slowFixed(v float64, d int) string {
	s := strconv.FormatFloat(v, 'f', d, 64)
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	if s == "-0" {
		return "0"
	}
	return s
}

func TestFixedPointAgreesWithStrconv(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	for range 20000 {
		d := r.IntN(8)
		// a tie of larger numbers is within their own precision
		v := (r.Float64() - 0.5) * math.Pow(10, float64(r.IntN(11-d)))
		if got, want := string(feature.AppendFixed(nil, v, d)), slowFixed(v, d); got != want {
			t.Fatalf("%v with %d decimals: %s, want %s", v, d, got, want)
		}
	}
}

func TestFloatsAreThoseOfEncodingJSON(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(5, 6))
	values := []float64{0, 1, -1, 0.1, 1e20, 1e21, -1e21, 1e-6, 9.9e-7, 1e-7, 1e-10, 5e-324, math.MaxFloat64, 454.12,
		1e100, math.Copysign(0, -1)}
	for range 2000 {
		values = append(values, math.Float64frombits(r.Uint64()))
	}
	for _, v := range values {
		want := "null"
		if b, err := json.Marshal(v); err == nil {
			want = string(b)
		}
		if got := string(feature.AppendFloat(nil, v)); got != want {
			t.Errorf("%v: %s, want %s", v, got, want)
		}
	}
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		if got := string(feature.AppendFloat(nil, v)); got != "null" {
			t.Errorf("%v: %s", v, got)
		}
	}
}

func TestStrings(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ in, want string }{
		{"", `""`},
		{"Oslo", `"Oslo"`},
		{`a"b\c/d`, `"a\"b\\c/d"`},
		{"\x00\b\t\n\f\r\x1f\x7f", "\"\\u0000\\b\\t\\n\\f\\r\\u001f\x7f\""},
		{"Kárášjohka – Karasjok <&>", `"Kárášjohka – Karasjok <&>"`},
		{"\u2028\u2029😀", "\"\u2028\u2029😀\""},
		{"a\xffb\xc3", "\"a\uFFFDb\uFFFD\""},
		{"\xed\xa0\x80", "\"\uFFFD\uFFFD\uFFFD\""},
		{"\uFFFD", "\"\uFFFD\""},
	} {
		if got := string(feature.AppendString(nil, c.in)); got != c.want {
			t.Errorf("%q: %s, want %s", c.in, got, c.want)
		}
	}
}

func FuzzStrings(f *testing.F) {
	for _, s := range []string{"", "æøå\n", "\xff\"\\", "\u2028", "\xc3\x28\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		b := feature.AppendString(nil, s)
		var back string
		if err := json.Unmarshal(b, &back); err != nil || !utf8.Valid(b) {
			t.Fatalf("%q: %s: %v", s, b, err)
		}
		if want := strings.ToValidUTF8(s, "\uFFFD"); utf8.ValidString(s) && back != want {
			t.Fatalf("%q comes back as %q", s, back)
		}
	})
}
