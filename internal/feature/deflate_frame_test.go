package feature_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"grense/internal/feature"
)

// linksWithHoles is a text like that around the features of a page, with places for so many values, and for two parts.
func linksWithHoles(rng *rand.Rand, links, values int) (text []byte, holes []feature.Hole) {
	hole := func() { holes = append(holes, feature.Hole{At: len(text), Of: rng.IntN(values)}) }
	for i := range links {
		if rng.IntN(8) == 0 {
			hole() // two may follow each other, and the first begin the text
		}
		text = fmt.Appendf(text, "<li><a href=\"http://localhost/collections/kommuner/items?f=%d&amp;limit=", rng.IntN(20))
		hole()
		text = append(text, "&amp;offset="...)
		hole()
		text = fmt.Appendf(text, "\" type=\"application/%d\">%x</a></li>\n", i, rng.Uint64()>>rng.IntN(60))
		if i == links/2 || i == links-1 {
			holes = append(holes, feature.Hole{At: len(text), Of: i / max(1, links-1), Part: true})
		}
	}
	return text, holes
}

// rowsOfLinks is a part: rows of a table, whose links begin as those around it do.
func rowsOfLinks(rng *rand.Rand, rows int) (text []byte) {
	for range rows {
		text = fmt.Appendf(text, "<tr><td><a href=\"http://localhost/collections/kommuner/items/%04d\">Kommune %d</a></td></tr>\n", rng.IntN(10000), rng.IntN(1000))
	}
	return text
}

// kept are texts as parts in a cache.
func kept(c *feature.Cache, texts [][]byte) (parts []*feature.Fragment) {
	for i, text := range texts {
		parts = append(parts, c.Put(feature.Key{ID: fmt.Sprint(i), Kind: feature.KindRows}, text))
	}
	return parts
}

// joined is a page as it is joined at the second try, since its parts are fitted at the first.
func joined(t testing.TB, c *feature.Cache, f *feature.Frame, values [][]byte, parts []*feature.Fragment) []byte {
	t.Helper()
	out, ok := f.AppendGzip([]byte("before"), values, parts)
	if !ok {
		c.Fit(f, values, parts)
		if out, ok = f.AppendGzip([]byte("before"), values, parts); !ok {
			t.Fatal("the parts do not fit")
		}
	}
	return out[len("before"):]
}

func TestFramesAreJoinedWithValuesAndParts(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 32))
	for _, links := range []int{0, 1, 2, 20, 100, 900} {
		text, holes := linksWithHoles(rng, links, 5)
		var f *feature.Frame
		c := feature.NewCache(1<<24, nil)
		for round := range 20 {
			values := make([][]byte, 5)
			for i := range values {
				values[i] = bytes.Repeat([]byte{byte(rng.IntN(256)), 'a' + byte(i)}, rng.IntN([]int{2, 10, 300, 40000 / (1 + links)}[round%4]))
			}
			texts := [][]byte{rowsOfLinks(rng, rng.IntN(30)), rowsOfLinks(rng, rng.IntN(2)*rng.IntN(900))}
			if round%7 == 0 {
				f = feature.NewFrame(bytes.Clone(text), holes, values, texts)
			}
			parts := kept(c, texts)
			want := f.Append(nil, values, texts)
			if round == 0 && links > 1 && bytes.Equal(want, text) {
				t.Fatal("no values in the text")
			}
			if got := gunzip(t, joined(t, c, f, values, parts)); !bytes.Equal(got, want) {
				t.Fatalf("%d links, round %d: another text of %d bytes, want %d", links, round, len(got), len(want))
			}
		}
	}
}

// TestInnerFramesStandAmongTextAndFragments: in a block that is open, one that it begins, and more than once.
func TestInnerFramesStandAmongTextAndFragments(t *testing.T) {
	rng := rand.New(rand.NewPCG(51, 52))
	c := feature.NewCache(1<<24, nil)
	for round := range 400 {
		text, holes := linksWithHoles(rng, rng.IntN(60), 9)
		holes = slices.DeleteFunc(holes, func(h feature.Hole) bool { return h.Part })
		draw := func() [][]byte {
			values := make([][]byte, 9)
			for i := range values {
				values[i] = bytes.Repeat([]byte{byte(rng.IntN(256)), 'a' + byte(i)}, rng.IntN([]int{1, 10, 300, 2000}[round%4]))
			}
			return values
		}
		f := feature.NewInnerFrame(bytes.Clone(text), holes, draw())
		var m feature.Member
		var got, want []byte
		for range rng.IntN(6) {
			switch rng.IntN(4) {
			case 0:
				some := rowsOfLinks(rng, rng.IntN(3))
				got, want = m.AppendText(got, some), append(want, some...)
			case 1:
				some := kept(c, [][]byte{fmt.Appendf(nil, `"type":"Feature","id":"%d","properties":{"navn":"%x"}`, rng.IntN(9), rng.Uint64())})
				c.Code(some)
				got, want = m.AppendFragment(got, some[0]), append(want, some[0].JSON...)
			default:
				values := draw()
				got, want = m.AppendFrame(got, f, values), f.Append(want, values, nil)
				if n := len(f.Append(nil, values, nil)); f.Len(values) != n {
					t.Fatalf("%d bytes, told as %d", n, f.Len(values))
				}
			}
		}
		if got = gunzip(t, m.AppendEnd(got)); !bytes.Equal(got, want) {
			t.Fatalf("round %d: another text of %d bytes, want %d", round, len(got), len(want))
		}
	}
}

// TestPartsAreForOnePlace: what stands before a part is what it refers to, so that behind another text it is made anew.
func TestPartsAreForOnePlace(t *testing.T) {
	rng := rand.New(rand.NewPCG(41, 42))
	text, holes := linksWithHoles(rng, 20, 2)
	values, texts := [][]byte{[]byte("100"), []byte("200")}, [][]byte{rowsOfLinks(rng, 10), rowsOfLinks(rng, 10)}
	c := feature.NewCache(1<<24, nil)
	f, parts := feature.NewFrame(text, holes, values, texts), kept(c, texts)
	if _, ok := f.AppendGzip(nil, values, parts); ok {
		t.Fatal("parts that were not fitted are joined")
	}
	first := joined(t, c, f, values, parts)
	held := c.Stats().Bytes
	for _, other := range [][][]byte{{[]byte("101"), []byte("200")}, {[]byte("1"), []byte("200")}} {
		if _, ok := f.AppendGzip(nil, other, parts); ok {
			t.Error("parts are joined behind another text")
		}
	}
	if _, ok := feature.NewFrame(text, holes, values, texts).AppendGzip(nil, values, parts); ok {
		t.Error("parts are joined within another frame")
	}
	c.Fit(f, values, parts)
	if !bytes.Equal(first, joined(t, c, f, values, parts)) || c.Stats().Bytes != held {
		t.Errorf("parts that are fitted again are others, or count twice: %d bytes, %d before", c.Stats().Bytes, held)
	}
}

func TestAJoinedPageTakesHardlyMoreThanOneCompressedAnew(t *testing.T) {
	for _, rows := range []int{2, 20, 300} {
		rng := rand.New(rand.NewPCG(33, 34))
		text, holes := linksWithHoles(rng, 100, 2)
		values, texts := [][]byte{[]byte("100"), []byte("bmV4dDoxMDA")}, [][]byte{rowsOfLinks(rng, rows), rowsOfLinks(rng, rows)}
		c := feature.NewCache(1<<24, nil)
		f := feature.NewFrame(text, holes, values, texts)
		joined, anew := len(joined(t, c, f, values, kept(c, texts))), len(feature.AppendRun(nil, f.Append(nil, values, texts)))
		if joined > anew+anew/8 {
			t.Errorf("%d rows: %d bytes, %d when compressed anew", rows, joined, anew)
		}
	}
}

func TestLengthsOfCodesAreBounded(t *testing.T) {
	counts := make([]int, 40) // as numbers of Fibonacci, which make the longest codes
	counts[0], counts[1] = 1, 1
	for i := 2; i < len(counts); i++ {
		counts[i] = counts[i-1] + counts[i-2]
	}
	for _, most := range []int{7, 15} {
		sum := 0
		for _, n := range feature.CodeLengthsOf(slices.Clone(counts), most) {
			if n -= 'a'; n == 0 || int(n) > most {
				t.Fatalf("a code of %d bits, at most %d", n, most)
			}
			sum += 1 << (15 - n)
		}
		if sum != 1<<15 {
			t.Errorf("the codes fill %d of %d", sum, 1<<15)
		}
	}
}

func BenchmarkFrame(b *testing.B) {
	rng := rand.New(rand.NewPCG(35, 36))
	text, holes := linksWithHoles(rng, 100, 2)
	values, texts := [][]byte{[]byte("100"), []byte("bmV4dDoxMDA")}, [][]byte{rowsOfLinks(rng, 100), rowsOfLinks(rng, 100)}
	c := feature.NewCache(1<<24, nil)
	f, parts := feature.NewFrame(text, holes, values, texts), kept(c, texts)
	dst := joined(b, c, f, values, parts)
	b.ReportAllocs()
	for b.Loop() {
		dst, _ = f.AppendGzip(dst[:0], values, parts)
	}
	b.SetBytes(int64(len(f.Append(nil, values, texts))))
}

func BenchmarkFit(b *testing.B) {
	rng := rand.New(rand.NewPCG(37, 38))
	text, holes := linksWithHoles(rng, 100, 2)
	values, texts := [][]byte{[]byte("100"), []byte("bmV4dDoxMDA")}, [][]byte{rowsOfLinks(rng, 100), rowsOfLinks(rng, 500)}
	c := feature.NewCache(1<<24, nil)
	f, parts := feature.NewFrame(text, holes, values, texts), kept(c, texts)
	b.SetBytes(int64(len(f.Append(nil, values, texts))))
	for b.Loop() {
		c.Fit(f, values, parts)
	}
}
