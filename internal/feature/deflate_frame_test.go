package feature_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"grense/internal/feature"
)

// linksWithHoles is a text like that around the features of a page, with places for so many values.
func linksWithHoles(rng *rand.Rand, links, values int) (text []byte, holes []feature.Hole) {
	hole := func() { holes = append(holes, feature.Hole{At: len(text), Value: rng.IntN(values)}) }
	for i := range links {
		if rng.IntN(8) == 0 {
			hole() // two may follow each other, and the first begin the text
		}
		text = fmt.Appendf(text, "<li><a href=\"http://localhost/collections/kommuner/items?f=%d&amp;limit=", rng.IntN(20))
		hole()
		text = append(text, "&amp;offset="...)
		hole()
		text = fmt.Appendf(text, "\" type=\"application/%d\">%x</a></li>\n", i, rng.Uint64()>>rng.IntN(60))
	}
	return text, holes
}

func TestFramesAreJoinedWithValues(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 32))
	for _, links := range []int{0, 1, 2, 20, 100, 900} {
		text, holes := linksWithHoles(rng, links, 5)
		f := feature.NewFrame(text, holes)
		for round := range 20 {
			values := make([][]byte, 5)
			for i := range values {
				values[i] = bytes.Repeat([]byte{byte(rng.IntN(256)), 'a' + byte(i)}, rng.IntN([]int{2, 10, 300, 40000}[round%4]))
			}
			want := f.Append(nil, values)
			if round == 0 && len(holes) > 0 && bytes.Equal(want, text) && len(values[holes[0].Value]) > 0 {
				t.Fatal("no values in the text")
			}
			var m feature.Member
			before, after := []byte("what stands before"), bytes.Repeat([]byte("what follows "), 20)
			joined := m.AppendText(m.AppendFrame(m.AppendText(nil, before), f, values), after)
			joined = m.AppendEnd(joined)
			if got := gunzip(t, joined); !bytes.Equal(got, bytes.Join([][]byte{before, want, after}, nil)) {
				t.Fatalf("%d links, round %d: another text of %d bytes, want %d", links, round, len(got), len(want))
			}
		}
	}
}

func TestAFrameTakesNoMoreThanItsTextCompressedAnew(t *testing.T) {
	text, holes := linksWithHoles(rand.New(rand.NewPCG(33, 34)), 100, 2)
	f, values := feature.NewFrame(text, holes), [][]byte{[]byte("100"), []byte("bmV4dDoxMDA")}
	var m feature.Member
	joined, anew := len(m.AppendEnd(m.AppendFrame(nil, f, values))), len(m.AppendEnd(m.AppendText(nil, f.Append(nil, values))))
	if joined > anew+anew/10 {
		t.Errorf("%d bytes, %d when compressed anew", joined, anew)
	}
}

func BenchmarkFrame(b *testing.B) {
	text, holes := linksWithHoles(rand.New(rand.NewPCG(35, 36)), 100, 2)
	f, values := feature.NewFrame(text, holes), [][]byte{[]byte("100"), []byte("bmV4dDoxMDA")}
	var dst []byte
	b.ReportAllocs()
	for b.Loop() {
		var m feature.Member
		dst = m.AppendEnd(m.AppendFrame(dst[:0], f, values))
	}
	b.SetBytes(int64(len(text)))
}
