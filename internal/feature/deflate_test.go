package feature_test

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"

	"github.com/klauspost/compress/flate"
	kgzip "github.com/klauspost/compress/gzip"

	"grense/internal/feature"
)

// gunzip reads one member, checks its CRC and its length, and that nothing follows.
func gunzip(t testing.TB, b []byte) []byte {
	t.Helper()
	r := bytes.NewReader(b)
	z, err := gzip.NewReader(r)
	if err != nil {
		t.Fatal(err)
	}
	z.Multistream(false)
	out, err := io.ReadAll(z)
	if err != nil || r.Len() != 0 {
		t.Fatalf("%v, %d bytes left over", err, r.Len())
	}
	return out
}

// outline is an encoded feature of about size bytes, and no less than 40.
func outline(rng *rand.Rand, size int) []byte {
	b := append([]byte(`{"type":"Feature","id":"`), strconv.Itoa(rng.IntN(10000))...)
	b = append(b, `","geometry":[`...)
	for x, y := 10.0, 60.0; len(b) < size; {
		x, y = x+rng.Float64()/100, y+rng.Float64()/100
		b = fmt.Appendf(b, "[%.7f,%.7f],", x, y)
	}
	return append(b, "[]]}"...)
}

func TestMemberHoldsTheSameBytes(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long: the run without the race detector has it")
	}
	rng := rand.New(rand.NewPCG(1, 2))
	sizes := []int{0, 1, 63, 64, 65, 300, 2000, 70000}
	for round := range 100 {
		var m feature.Member
		var sent, held, want []byte
		for range rng.IntN(12) {
			var text []byte
			if n := sizes[rng.IntN(len(sizes))]; n > 0 {
				text = outline(rng, n)[:n]
			}
			want = append(want, text...)
			f := feature.NewFragment(text)
			switch rng.IntN(3) {
			case 0:
				held = m.AppendText(held, text)
			case 1:
				held = m.AppendFragment(held, f)
			default:
				feature.Deflate(f)
				held = m.AppendFragment(held, f)
			}
			if rng.IntN(3) == 0 { // what is sent leaves the buffer
				sent, held = append(sent, held...), held[:0]
			}
		}
		sent = append(sent, m.AppendEnd(held)...)
		if got := gunzip(t, sent); !bytes.Equal(got, want) {
			t.Fatalf("round %d: %d bytes, want %d", round, len(got), len(want))
		}
		z, err := kgzip.NewReader(bytes.NewReader(sent))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(z); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("round %d, another reader: %d bytes, %v", round, len(got), err)
		}
	}
}

func TestMemberOfNothing(t *testing.T) {
	t.Parallel()
	var m feature.Member
	for range 2 { // after its end a new member begins
		if got := gunzip(t, m.AppendEnd(nil)); len(got) != 0 {
			t.Errorf("%q", got)
		}
		if got := gunzip(t, m.AppendEnd(m.AppendText(nil, []byte("[]")))); string(got) != "[]" {
			t.Errorf("%q", got)
		}
	}
}

func TestCommaIsAStoredBlock(t *testing.T) { // RFC 1951, 3.2.4
	t.Parallel()
	var m feature.Member
	b := m.AppendText(nil, []byte{','})
	if want := []byte{0, 1, 0, 0xfe, 0xff, ','}; !bytes.Equal(b[10:], want) {
		t.Errorf("% x, want % x", b[10:], want)
	}
}

func TestCRCOfPiecesIsThatOfTheWhole(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(3, 4))
	for _, n := range []int{0, 1, 2, 7, 255, 256, 4095, 65537, 1 << 20} {
		whole := make([]byte, n+rng.IntN(100))
		for i := range whole {
			whole[i] = byte(rng.Uint32())
		}
		a, b := whole[:len(whole)-n], whole[len(whole)-n:]
		got := feature.CRCMul(feature.CRCShift(uint64(n)), crc32.ChecksumIEEE(a)) ^ crc32.ChecksumIEEE(b)
		if want := crc32.ChecksumIEEE(whole); got != want {
			t.Errorf("%d after %d bytes: %08x, want %08x", n, len(a), got, want)
		}
	}
	// Shifts add up, beyond the lengths that can be tried.
	for range 100 {
		m, n := rng.Uint64()>>1, rng.Uint64()>>1
		if got, want := feature.CRCMul(feature.CRCShift(m), feature.CRCShift(n)), feature.CRCShift(m+n); got != want {
			t.Errorf("shift by %d and %d: %08x, want %08x", m, n, got, want)
		}
	}
}

// page keeps polygons of these sizes and returns them as a second request finds them.
func page(c *feature.Cache, sizes ...int) []*feature.Fragment {
	rng := rand.New(rand.NewPCG(5, 6))
	out := make([]*feature.Fragment, len(sizes))
	for i, n := range sizes {
		k := feature.Key{ID: strconv.Itoa(i)}
		c.Put(k, outline(rng, n))
		out[i], _ = c.Get(k)
	}
	return out
}

func TestOnlyPagesOfLargeFragmentsAreDeflated(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		sizes []int
		want  uint64
	}{
		{"none", nil, 0}, {"one small", []int{1000}, 0}, {"one large", []int{1024}, 1},
		{"small", []int{300, 300, 900, 1500}, 0},
		{"small among large", []int{300, 9000, 300, 9000}, 4},
		{"large among small", []int{300, 300, 300, 300, 3000}, 0},
	} {
		c := feature.NewCache(1<<24, nil)
		frags := page(c, tt.sizes...)
		for range 3 {
			c.Deflate(append(frags, nil))
		}
		if got := c.Stats().Deflated; got != tt.want {
			t.Errorf("%s: %d deflated, want %d", tt.name, got, tt.want)
		}
		for i, f := range frags {
			if f.Deflated() != (tt.want > 0) {
				t.Errorf("%s: fragment %d: %v", tt.name, i, f.Deflated())
			}
		}
	}
}

func TestVeryLargePagesAreDeflatedInParts(t *testing.T) {
	t.Parallel()
	c := feature.NewCache(1<<28, nil)
	text := bytes.Repeat([]byte("[10.7,59.9],"), 1<<17) // 1.5 MB
	var frags []*feature.Fragment
	for i := range 7 {
		k := feature.Key{ID: strconv.Itoa(i)}
		c.Put(k, text)
		f, _ := c.Get(k)
		frags = append(frags, f)
	}
	for _, want := range []uint64{3, 6, 7, 7} {
		if c.Deflate(frags); c.Stats().Deflated != want {
			t.Errorf("%d deflated, want %d", c.Stats().Deflated, want)
		}
	}
}

func TestPutDoesNotDeflate(t *testing.T) {
	t.Parallel()
	c := feature.NewCache(1<<24, nil)
	if f := c.Put(feature.Key{ID: "a"}, make([]byte, 1<<16)); f.Deflated() || c.Stats().Deflated != 0 {
		t.Error("deflated before it was found again")
	}
}

func TestBothFormsCount(t *testing.T) {
	t.Parallel()
	c := feature.NewCache(1<<24, nil)
	frags := page(c, 5000, 50000)
	before := c.Stats().Bytes
	c.Deflate(frags)
	var m feature.Member
	blocks := len(m.AppendFragment(m.AppendFragment(nil, frags[0]), frags[1])) - 10
	if got := c.Stats().Bytes - before; got != int64(blocks) {
		t.Errorf("%d bytes more, want %d", got, blocks)
	}
	for i := range frags { // replaced: both forms go
		c.Put(feature.Key{ID: strconv.Itoa(i)}, frags[i].JSON)
	}
	if s := c.Stats(); s.Bytes != before || s.Fragments != 2 {
		t.Errorf("%+v, want %d bytes", s, before)
	}
}

func TestDeflatedFormsEvictOthers(t *testing.T) {
	t.Parallel()
	const limit = 1 << 20
	c := feature.NewCache(limit, nil)
	sizes := make([]int, 400)
	for i := range sizes {
		sizes[i] = 2500
	}
	frags := page(c, sizes...)
	for _, f := range frags {
		c.Deflate([]*feature.Fragment{f})
		if s := c.Stats(); s.Bytes > limit || s.Bytes <= 0 {
			t.Fatalf("%+v", s)
		}
		if !f.Deflated() {
			t.Fatal("not deflated") // what was evicted is still good for this answer
		}
	}
	if s := c.Stats(); s.Evictions == 0 || s.Fragments+int64(s.Evictions) != 400 {
		t.Errorf("%+v", s)
	}
}

func TestDeflatedFormThatDoesNotFitIsNotKept(t *testing.T) {
	t.Parallel()
	c := feature.NewCache(16*6000, nil)
	f := page(c, 5000)[0]
	before := c.Stats().Bytes
	c.Deflate([]*feature.Fragment{f})
	if f.Deflated() || c.Stats().Bytes != before || c.Stats().Fragments != 1 {
		t.Errorf("%v, %+v", f.Deflated(), c.Stats())
	}
}

func TestFragmentIsDeflatedOnce(t *testing.T) {
	t.Parallel()
	c := feature.NewCache(1<<24, nil)
	frags := page(c, 3000, 4000, 5000, 60000)
	var want []byte
	for _, f := range frags {
		want = append(want, f.JSON...)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 4 {
				c.Deflate(frags)
				var m feature.Member
				var b []byte
				for _, f := range frags {
					b = m.AppendFragment(b, f)
				}
				if got := gunzip(t, m.AppendEnd(b)); !bytes.Equal(got, want) {
					t.Errorf("%d bytes, want %d", len(got), len(want))
				}
			}
		})
	}
	wg.Wait()
	if s := c.Stats(); s.Deflated != 4 {
		t.Errorf("%+v", s)
	}
}

func TestDeflatingIsSafeBesidePutting(t *testing.T) {
	t.Parallel()
	const limit = 1 << 18
	c := feature.NewCache(limit, nil)
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(7, uint64(g)))
			for range 100 {
				k := feature.Key{ID: strconv.Itoa(rng.IntN(30))}
				f, ok := c.Get(k)
				if !ok {
					c.Put(k, outline(rng, 2100+rng.IntN(4000)))
					continue
				}
				c.Deflate([]*feature.Fragment{f})
				var m feature.Member
				if got := gunzip(t, m.AppendEnd(m.AppendFragment(nil, f))); !bytes.Equal(got, f.JSON) {
					t.Errorf("%d bytes, want %d", len(got), len(f.JSON))
				}
			}
		})
	}
	wg.Wait()
	if s := c.Stats(); s.Bytes > limit || s.Bytes < 0 || s.Deflated == 0 || s.Evictions == 0 {
		t.Errorf("%+v", s)
	}
}

func TestAssemblingDoesNotAllocate(t *testing.T) {
	c := feature.NewCache(1<<24, nil)
	frags := page(c, 5000, 5000, 5000)
	c.Deflate(frags)
	dst := make([]byte, 0, 1<<16)
	comma := []byte{','}
	if n := testing.AllocsPerRun(100, func() {
		var m feature.Member
		dst = dst[:0]
		for _, f := range frags {
			c.Deflate(frags)
			dst = m.AppendText(m.AppendFragment(dst, f), comma)
		}
		dst = m.AppendEnd(dst)
	}); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

// FuzzMember cuts a text into pieces as cuts says and writes them in all ways.
func FuzzMember(f *testing.F) {
	f.Add([]byte(`{"type":"FeatureCollection","features":[]}`), []byte{3, 200, 7})
	f.Add(bytes.Repeat([]byte("10.7,59.9,"), 500), []byte{250, 251, 252, 0, 0, 1})
	f.Add([]byte{}, []byte{})
	f.Fuzz(func(t *testing.T, text, cuts []byte) {
		var m feature.Member
		var got []byte
		rest := text
		for _, c := range cuts {
			n := min(int(c)*int(c)/8, len(rest))
			piece := feature.NewFragment(rest[:n])
			rest = rest[n:]
			if c%2 == 1 {
				feature.Deflate(piece)
			}
			got = m.AppendFragment(got, piece)
		}
		got = m.AppendEnd(m.AppendText(got, rest))
		if plain := gunzip(t, got); !bytes.Equal(plain, text) {
			t.Errorf("%q, want %q", plain, text)
		}
		if n := binary.LittleEndian.Uint32(got[len(got)-4:]); n != uint32(len(text)) {
			t.Errorf("length %d, want %d", n, len(text))
		}
	})
}

// BenchmarkLevels deflates outlines of 5 KB at the levels of compress/flate that come into question for fragments.
func BenchmarkLevels(b *testing.B) {
	text := outline(rand.New(rand.NewPCG(11, 12)), 5000)
	for _, level := range []int{1, 6, 7, 9} {
		b.Run(fmt.Sprintf("level=%d", level), func(b *testing.B) {
			var out bytes.Buffer
			w, err := flate.NewWriter(&out, level)
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				out.Reset()
				w.Reset(&out)
				w.Write(text)
				w.Flush()
			}
			b.ReportMetric(float64(out.Len()), "bytes")
		})
	}
}

// BenchmarkMember compares pages of polygons of 5 KB put together with the same pages compressed each time.
func BenchmarkMember(b *testing.B) {
	comma := []byte{','}
	for _, n := range []int{10, 100, 357} {
		c := feature.NewCache(1<<28, nil)
		sizes := make([]int, n)
		for i := range sizes {
			sizes[i] = 5000
		}
		frags := page(c, sizes...)
		c.Deflate(frags)
		var dst, plain []byte
		for _, f := range frags {
			plain = append(append(plain, f.JSON...), ',')
		}
		b.Run("assembled/n="+strconv.Itoa(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				var m feature.Member
				dst = dst[:0]
				for _, f := range frags {
					dst = m.AppendText(m.AppendFragment(dst, f), comma)
				}
				dst = m.AppendEnd(dst)
			}
			b.ReportMetric(float64(len(dst)), "bytes")
		})
		b.Run("compressed/n="+strconv.Itoa(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				var m feature.Member
				dst = m.AppendEnd(m.AppendText(dst[:0], plain))
			}
			b.ReportMetric(float64(len(dst)), "bytes")
		})
	}
}
