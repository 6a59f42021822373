package server_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"grense/internal/config"
	"grense/internal/store"
)

// swollen replaces the geometry of chosen features by outlines with many vertices, and fails on request.
type swollen struct {
	store.Store
	vertices func(id string) int // 0: as it is
	left     atomic.Int64        // features until Fetch fails
}

var errBroken = errors.New("the disk is gone")

func (s *swollen) Fetch(ctx context.Context, coll string, rows []store.Row, want store.Want,
	fn func(*store.Feature) error) error {
	return s.Store.Fetch(ctx, coll, rows, want, func(f *store.Feature) error {
		if s.left.Add(-1) < 0 {
			return errBroken
		}
		if n := s.vertices(f.ID); n > 0 {
			f.Geometry.WKB = line(f.ID, n)
		}
		return fn(f)
	})
}

// Version is unknown, so the server caches no whole response.
func (s *swollen) Version(context.Context, ...string) (store.Version, error) { return "", nil }

// line is a line string of n vertices as well-known binary; x and y are metres of UTM 33.
func line(id string, n int) []byte {
	seed, _ := strconv.Atoi(id)
	rng := rand.New(rand.NewPCG(uint64(seed), 1))
	b := binary.LittleEndian.AppendUint32([]byte{1, 2, 0, 0, 0}, uint32(n))
	for range n {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(2e5+1e5*rng.Float64()))
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(6.6e6+1e5*rng.Float64()))
	}
	return b
}

// serveSwollen serves the demo with larger features.
func serveSwollen(t *testing.T, vertices func(id string) int, change func(*config.Config)) (*api, *swollen) {
	t.Helper()
	s := &swollen{Store: demoStore(t), vertices: vertices}
	s.left.Store(math.MaxInt64)
	return serveStore(t, s, change), s
}

func allLarge(string) int { return 700 } // about 17 KB

func mixed(id string) int {
	n, _ := strconv.Atoi(id)
	return []int{0, 0, 0, 100, 20, 500}[n%6]
}

// TestAssembledAnswersHoldThePlainBytes requests each page until its features are deflated. The features are small
// and large, below and above the size at which pages are streamed.
func TestAssembledAnswersHoldThePlainBytes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		vertices func(string) int
		buffer   config.Size
	}{
		{"small", func(string) int { return 0 }, 4 << 20}, {"large", func(string) int { return 200 }, 4 << 20},
		{"mixed", mixed, 4 << 20}, {"mixed, streamed", mixed, 30 << 10},
		{"small, streamed", func(string) int { return 0 }, 1000},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			a, _ := serveSwollen(t, tt.vertices, func(c *config.Config) { c.Limits.Buffer = tt.buffer })
			for _, query := range []string{"limit=10", "limit=1", "limit=1&offset=5", "offset=400", "nr=9999",
				"limit=357", "limit=150&offset=30&sortby=-navn", "limit=20&properties=navn",
				"limit=20&skipGeometry=true", "limit=20&crs=http://www.opengis.net/def/crs/EPSG/0/25833"} {
				path := "/collections/kommuner/items?" + query
				var sizes []int
				for range 3 { // from the store, found again, deflated
					z := a.get(path, "Accept-Encoding", "gzip").wants(200)
					if z.Header.Get("Content-Encoding") != "gzip" {
						t.Fatalf("%s: not compressed", query)
					}
					plain := a.get(path, "Accept-Encoding", "identity").wants(200)
					if got, want := stamped(gunzip(t, z.Body)), stamped(plain.Body); got != want {
						t.Fatalf("%s: %d bytes, want %d", query, len(got), len(want))
					}
					for _, h := range []string{"ETag", "Vary", "Content-Type", "Content-Crs", "Link",
						"OGC-NumberMatched", "OGC-NumberReturned", "Cache-Control"} {
						if got, want := z.Header.Get(h), plain.Header.Get(h); got != want {
							t.Errorf("%s: %s %q, want %q", query, h, got, want)
						}
					}
					for _, r := range []answer{z, plain} {
						n := len(plain.Body)
						if streamed := r.ContentLength < 0; n > int(tt.buffer)+6<<10 && !streamed ||
							n < int(tt.buffer) && streamed {
							t.Errorf("%s: length %d of %d bytes", query, r.ContentLength, n)
						}
					}
					sizes = append(sizes, len(z.Body))
				}
				if first, last := sizes[0], sizes[2]; last > first+first/8+100 {
					t.Errorf("%s: assembled %d bytes, compressed %d", query, last, first)
				}
				if tt.name == "large" && query == "limit=10" && sizes[1] >= sizes[0] {
					t.Errorf("%s: not assembled when it was found again: %v bytes", query, sizes)
				}
			}
		})
	}
}

func TestLargeAnswersAreStreamedAsOneMember(t *testing.T) {
	t.Parallel()
	a, _ := serveSwollen(t, allLarge, nil)
	const path = "/collections/kommuner/items?limit=357"
	want := a.get(path, "Accept-Encoding", "identity").wants(200)
	if len(want.Body) < 5<<20 || want.ContentLength >= 0 {
		t.Fatalf("%d bytes, length %d", len(want.Body), want.ContentLength)
	}
	for range 2 {
		z := a.get(path, "Accept-Encoding", "gzip").wants(200)
		if z.ContentLength >= 0 {
			t.Errorf("length %d", z.ContentLength)
		}
		if got := gunzip(t, z.Body); stamped(got) != stamped(want.Body) {
			t.Errorf("%d bytes, want %d", len(got), len(want.Body))
		}
	}
}

func TestAssembledAnswerKeepsLengthAndValidators(t *testing.T) {
	t.Parallel()
	a, _ := serveSwollen(t, allLarge, nil)
	const path = "/collections/kommuner/items?limit=10"
	var z answer
	for range 3 {
		z = a.get(path, "Accept-Encoding", "gzip").wants(200)
		if z.ContentLength != int64(len(z.Body)) {
			t.Errorf("length %d of %d bytes", z.ContentLength, len(z.Body))
		}
	}
	head := a.do("HEAD", path, "Accept-Encoding", "gzip").wants(200)
	if len(head.Body) != 0 || head.Header.Get("ETag") != z.Header.Get("ETag") ||
		head.Header.Get("Vary") != z.Header.Get("Vary") {
		t.Errorf("HEAD: %d bytes, %v", len(head.Body), head.Header)
	}
	same := a.get(path, "Accept-Encoding", "gzip", "If-None-Match", z.Header.Get("ETag")).wants(304)
	if len(same.Body) != 0 || same.Header.Get("Content-Encoding") != "" ||
		same.Header.Get("ETag") != z.Header.Get("ETag") {
		t.Errorf("304: %d bytes, %v", len(same.Body), same.Header)
	}
}

// TestFailureAfterTheFirstByteAborts lets the store fail in the second batch, when the first was sent.
func TestFailureAfterTheFirstByteAborts(t *testing.T) {
	t.Parallel()
	for _, coding := range []string{"identity", "gzip"} {
		a, s := serveSwollen(t, allLarge, func(c *config.Config) { c.Limits.Buffer = 64 << 10 })
		a.get("/collections/kommuner/items?limit=100", "Accept-Encoding", coding).wants(200)
		a.get("/collections/kommuner/items?limit=100", "Accept-Encoding", coding).wants(200)
		s.left.Store(150)
		req, err := http.NewRequestWithContext(t.Context(), "GET", a.URL+"/collections/kommuner/items?limit=357", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Accept-Encoding", coding)
		res, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(res.Body)
		res.Body.Close()
		if res.StatusCode != 200 || err == nil || bytes.Contains(b, []byte(errBroken.Error())) ||
			bytes.Contains(b, []byte("about:blank")) {
			t.Errorf("%s: status %d, %d bytes, %v", coding, res.StatusCode, len(b), err)
		}
		s.left.Store(3)
		a.get("/collections/fylker/items", "Accept-Encoding", coding).wants(500)
	}
}

func TestAssembledAnswersAtTheSameTime(t *testing.T) {
	t.Parallel()
	a, _ := serveSwollen(t, mixed, func(c *config.Config) { c.Limits.Buffer = 100 << 10 })
	want := map[string]string{}
	for i := range 8 {
		path := fmt.Sprintf("/collections/kommuner/items?limit=%d&offset=%d", 5+7*i, 11*i)
		want[path] = stamped(a.get(path, "Accept-Encoding", "identity").wants(200).Body)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 4 {
				for path, want := range want {
					r := a.get(path, "Accept-Encoding", "gzip")
					if got := stamped(gunzip(t, r.Body)); r.StatusCode != 200 || got != want {
						t.Errorf("%s: status %d, %d bytes, want %d", path, r.StatusCode, len(got), len(want))
					}
				}
			}
		})
	}
	wg.Wait()
}
