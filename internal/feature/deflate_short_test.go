package feature_test

import (
	"bytes"
	"compress/flate"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	kflate "github.com/klauspost/compress/flate"

	"grense/internal/feature"
)

// inflate reads blocks that end on a byte boundary and are not final.
func inflate(t testing.TB, blocks []byte) []byte {
	t.Helper()
	whole := append(bytes.Clone(blocks), 3, 0)
	out, err := io.ReadAll(flate.NewReader(bytes.NewReader(whole)))
	if err != nil {
		t.Fatal(err)
	}
	again, err := io.ReadAll(kflate.NewReader(bytes.NewReader(whole)))
	if err != nil || !bytes.Equal(again, out) {
		t.Fatalf("two readers differ: %d bytes and %d, %v", len(out), len(again), err)
	}
	return out
}

// TestCodesAreComplete asks what readers ask: every sequence of bits begins with one code (RFC 1951, 3.2.2).
func TestCodesAreComplete(t *testing.T) {
	t.Parallel()
	for name, lengths := range feature.CodeLengths {
		sum := 0
		for _, n := range lengths {
			if n -= 'a'; n > 0 {
				sum += 1 << (15 - n)
			}
		}
		if sum != 1<<15 {
			t.Errorf("%s: the codes fill %d of %d", name, sum, 1<<15)
		}
	}
}

func TestQuickBlockHoldsTheSameText(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(7, 8))
	noise := make([]byte, feature.MostQuick)
	for i := range noise {
		noise[i] = byte(rng.Uint32())
	}
	texts := map[string][]byte{
		"one byte":              {'x'},
		"every byte":            noise[:0:0],
		"noise":                 noise,
		"one byte many times":   bytes.Repeat([]byte{'a'}, feature.MostQuick),
		"longest match":         bytes.Repeat([]byte("0123456789"), 52),
		"farthest match":        append(append([]byte("far away"), noise[:feature.MostQuick-16]...), "far away"...),
		"match to the last":     []byte(`{"id":1},{"id":1}`),
		"words of other script": bytes.Repeat([]byte("Guovdageaidnu Kárášjohka Čáhcesuolu "), 20),
	}
	for i := range 256 {
		texts["every byte"] = append(texts["every byte"], byte(i))
	}
	for n := range 40 {
		texts[fmt.Sprint("outline of ", n*97)] = outline(rng, n*97)[:n*97]
	}
	for name, text := range texts {
		before := []byte("before")
		got := feature.AppendQuick(bytes.Clone(before), text)
		if !bytes.HasPrefix(got, before) {
			t.Fatalf("%s: what stood there is gone", name)
		}
		if back := inflate(t, got[len(before):]); !bytes.Equal(back, text) {
			t.Errorf("%s: %d bytes came back of %d", name, len(back), len(text))
		}
	}
}

// TestQuickBlockIsHardlyLonger holds the codes to those that are made for a page: names, numbers and links, as answers have them.
func TestQuickBlockIsHardlyLonger(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(9, 10))
	for _, size := range []int{1500, 3000, 6000} {
		text := []byte(`{"type":"FeatureCollection","features":[`)
		for i := 0; len(text) < size; i++ {
			text = fmt.Appendf(text, `{"type":"Feature","properties":{"kommunenummer":"%04d","navn":"Kommune %d","areal_km2":%.2f,"gyldig_fra":"2024-01-01"},"geometry":{"type":"Polygon","coordinates":[[`,
				rng.IntN(10000), i, rng.Float64()*5000)
			x, y := 5+20*rng.Float64(), 58+12*rng.Float64()
			for range 15 {
				x, y = x+rng.Float64()/10, y+rng.Float64()/10
				text = fmt.Appendf(text, "[%.4f,%.4f],", x, y)
			}
			text = append(text, "[]]]}},"...)
		}
		for _, f := range []string{"json", "jsonld", "html", "csv"} {
			text = fmt.Appendf(text, `{"href":"http://localhost:8080/collections/kommuner/items?f=%s&limit=10","rel":"alternate","type":"application/%s","title":"This document as %s"},`, f, f, f)
		}
		quick, made := len(feature.AppendQuick(nil, text)), len(feature.AppendRun(nil, text))
		if quick > made+made/8 {
			t.Errorf("%d bytes: %d, and %d with codes made for them", len(text), quick, made)
		}
	}
}

func FuzzQuickBlock(f *testing.F) {
	f.Add([]byte(`{"type":"FeatureCollection","features":[]}`))
	f.Add(bytes.Repeat([]byte("abcd"), 100))
	f.Add([]byte{0xff, 0, 0xff})
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) > feature.MostQuick {
			return
		}
		if back := inflate(t, feature.AppendQuick(nil, text)); !bytes.Equal(back, text) {
			t.Errorf("%d bytes came back of %d", len(back), len(text))
		}
	})
}

func BenchmarkShortText(b *testing.B) {
	rng := rand.New(rand.NewPCG(11, 12))
	for _, size := range []int{1500, 3000, 8000} {
		text, out := outline(rng, size)[:size], []byte(nil)
		b.Run(fmt.Sprintf("quick/%d", size), func(b *testing.B) {
			for b.Loop() {
				out = feature.AppendQuick(out[:0], text)
			}
		})
		b.Run(fmt.Sprintf("made/%d", size), func(b *testing.B) {
			for b.Loop() {
				out = feature.AppendRun(out[:0], text)
			}
		})
	}
}
