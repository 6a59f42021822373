package feature_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"grense/internal/feature"
)

// division is the members of a small feature.
func division(rng *rand.Rand, corners int) []byte {
	b := fmt.Appendf(nil, `"type":"Feature","properties":{"nr":"%04d","navn":"Kommune %d","areal_km2":%d},"id":"%04[1]d","geometry":{"type":"MultiPolygon","coordinates":[[[`,
		rng.IntN(10000), rng.IntN(1000), rng.IntN(5000))
	x, y := 5+20*rng.Float64(), 58+12*rng.Float64()
	for range corners {
		x, y = x+rng.Float64()/10, y+rng.Float64()/10
		b = fmt.Appendf(b, "[%.7f,%.7f],", x, y)
	}
	return append(b[:len(b)-1], "]]]}"...)
}

// divisions keeps a page of them.
func divisions(c *feature.Cache, n int) (page []*feature.Fragment, plain []byte) {
	rng := rand.New(rand.NewPCG(21, 22))
	for i := range n {
		text := division(rng, 5+rng.IntN(20))
		page = append(page, c.Put(feature.Key{ID: strconv.Itoa(i)}, text))
		plain = append(append(plain, text...), between...)
	}
	return page, plain
}

var between = []byte("},{")

func join(m *feature.Member, dst []byte, page []*feature.Fragment) []byte {
	for _, f := range page {
		dst = m.AppendText(m.AppendFragment(dst, f), between)
	}
	return m.AppendEnd(dst)
}

func TestSmallFragmentsAreCodedOnceAndJoined(t *testing.T) {
	c := feature.NewCache(1<<24, nil)
	page, plain := divisions(c, 100)
	before := c.Stats().Bytes
	c.Code(page)
	held := c.Stats().Bytes
	if held <= before || held > 2*before {
		t.Errorf("%d bytes with codes, %d without", held, before)
	}
	var m feature.Member
	joined := join(&m, nil, page)
	if got := gunzip(t, joined); !bytes.Equal(got, plain) {
		t.Fatalf("%d bytes, want %d", len(got), len(plain))
	}
	if compressed := len(m.AppendEnd(m.AppendText(nil, plain))); len(joined) > compressed+compressed/6 {
		t.Errorf("joined %d bytes, compressed as one %d", len(joined), compressed)
	}
	c.Code(page)
	if s := c.Stats(); s.Bytes != held || s.Deflated != 0 {
		t.Errorf("coded twice: %+v, %d bytes before", s, held)
	}
	if n := testing.AllocsPerRun(10, func() { joined = join(&m, joined[:0], page) }); n > 0 {
		t.Errorf("%v allocations for a page", n)
	}
}

func TestPagesOfLargeFragmentsAreNotCoded(t *testing.T) {
	t.Parallel()
	c := feature.NewCache(1<<24, nil)
	frags := page(c, 2000, 5000)
	c.Code(frags)
	if frags[0].Ready() || frags[1].Ready() {
		t.Error("coded")
	}
	frags = page(c, 20000, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10)
	if c.Code(frags); frags[0].Ready() || !frags[1].Ready() {
		t.Error("places in a text as long as the first one have no number; the others are coded")
	}
}

func TestCodesThatDoNotFitAreNotKept(t *testing.T) {
	t.Parallel()
	c := feature.NewCache(16*1700, nil)
	f := c.Put(feature.Key{ID: "a"}, division(rand.New(rand.NewPCG(1, 2)), 40))
	before := c.Stats().Bytes
	if c.Code([]*feature.Fragment{f}); f.Ready() || c.Stats().Bytes != before || c.Stats().Fragments != 1 {
		t.Errorf("%v, %+v", f.Ready(), c.Stats())
	}
}

func TestReferencesGoNoFartherThanReadersCan(t *testing.T) {
	t.Parallel()
	digits := strings.Repeat("1234567", feature.MostQuick/7)
	const key = `,"a property":`
	first := feature.NewFragment([]byte("0" + key + digits[:feature.MostQuick-20]))
	second := feature.NewFragment([]byte(digits[:feature.MostQuick-20] + key + "0"))
	feature.Code(first)
	feature.Code(second)
	for gap := range 80 {
		var m feature.Member
		between := bytes.Repeat(between[:1], gap)
		got := gunzip(t, m.AppendEnd(m.AppendFragment(m.AppendText(m.AppendFragment(nil, first), between), second)))
		if want := string(first.JSON) + string(between) + string(second.JSON); string(got) != want {
			t.Fatalf("gap of %d: other bytes", gap)
		}
	}
}

func BenchmarkJoin(b *testing.B) {
	for _, n := range []int{10, 100} {
		c := feature.NewCache(1<<28, nil)
		page, plain := divisions(c, n)
		var m feature.Member
		var dst []byte
		b.Run("compressed/n="+strconv.Itoa(n), func(b *testing.B) {
			for b.Loop() {
				dst = m.AppendEnd(m.AppendText(dst[:0], plain))
			}
			b.ReportMetric(float64(len(dst)), "bytes")
		})
		c.Code(page)
		b.Run("joined/n="+strconv.Itoa(n), func(b *testing.B) {
			for b.Loop() {
				dst = join(&m, dst[:0], page)
			}
			b.ReportMetric(float64(len(dst)), "bytes")
		})
	}
}
