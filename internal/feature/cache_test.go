package feature_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"grense/internal/feature"
	"grense/internal/geo/crs"
)

func TestCacheKeepsWhatWasPut(t *testing.T) {
	t.Parallel()
	c := feature.NewCache(1<<20, nil)
	base := feature.Key{Collection: "kommuner", ID: "0301", Rev: 1, CRS: crs.CRS84}
	keys := []feature.Key{base, base, base, base, base, base, base}
	keys[1].Collection = "fylker"
	keys[2].ID = "03"
	keys[3].Rev = 2
	keys[4].CRS = crs.UTM33
	keys[5].Properties = 1
	keys[6].Kind = feature.KindJSONLD
	for i, k := range keys {
		if _, ok := c.Get(k); ok {
			t.Errorf("%+v is there before it was put", k)
		}
		c.Put(k, []byte{byte(i)})
	}
	for i, k := range keys {
		if f, ok := c.Get(k); !ok || f.JSON[0] != byte(i) {
			t.Errorf("%+v: %v, %v", k, f, ok)
		}
	}
	if s := c.Stats(); s.Hits != 7 || s.Misses != 7 || s.Evictions != 0 || s.Fragments != 7 || s.Bytes < 7 {
		t.Errorf("%+v", s)
	}
	c.Put(base, []byte("new"))
	if f, _ := c.Get(base); string(f.JSON) != "new" || c.Stats().Fragments != 7 {
		t.Errorf("replaced: %s, %+v", f.JSON, c.Stats())
	}
}

func TestCacheEvictsTheLeastRecentlyUsed(t *testing.T) {
	t.Parallel()
	const limit = 1 << 20
	c := feature.NewCache(limit, nil)
	value := make([]byte, 1000)
	hot := feature.Key{ID: "hot"}
	c.Put(hot, value)
	for i := range 5000 {
		c.Put(feature.Key{ID: fmt.Sprint(i)}, value)
		if _, ok := c.Get(hot); !ok {
			t.Fatalf("what is used all the time was evicted after %d", i)
		}
	}
	s := c.Stats()
	if s.Bytes > limit || s.Bytes < limit/2 || s.Evictions == 0 || s.Fragments+int64(s.Evictions) != 5001 {
		t.Errorf("%+v", s)
	}
	if _, ok := c.Get(feature.Key{ID: "0"}); ok {
		t.Error("the oldest fragment is still there")
	}
	if _, ok := c.Get(feature.Key{ID: "4999"}); !ok {
		t.Error("the newest fragment is not there")
	}
}

func TestOfferedFragmentsEvictNone(t *testing.T) {
	t.Parallel()
	const limit = 1 << 20
	c := feature.NewCache(limit, nil)
	text := []byte(`"type":"Feature","id":7,"properties":{"navn":"Oslo"}`)
	first := c.Put(feature.Key{ID: "0"}, text)
	for i := range 10_000 {
		c.Offer(feature.Key{ID: fmt.Sprint(i)}, text)
	}
	if f, _ := c.Get(feature.Key{ID: "0"}); f != first {
		t.Error("a fragment took the place of another")
	}
	if s := c.Stats(); s.Evictions != 0 || s.Bytes > limit || c.Room() > limit/10 {
		t.Errorf("%+v, room for %d", s, c.Room())
	}
}

func TestCacheRefusesWhatIsTooLarge(t *testing.T) {
	t.Parallel()
	for _, limit := range []int64{0, -1, 1 << 10} {
		c := feature.NewCache(limit, nil)
		c.Put(feature.Key{ID: "a"}, make([]byte, 1<<10))
		if _, ok := c.Get(feature.Key{ID: "a"}); ok || c.Stats().Bytes != 0 {
			t.Errorf("limit %d: %+v", limit, c.Stats())
		}
	}
}

func TestCacheIsSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	c := feature.NewCache(64<<10, nil)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 2000 {
				id := fmt.Sprint((i * (g + 1)) % 300)
				k := feature.Key{ID: id, Rev: uint64(i % 2)}
				if f, ok := c.Get(k); ok && string(f.JSON[:len(id)]) != id {
					t.Errorf("%s holds %s", id, f.JSON)
				}
				c.Put(k, []byte(id+strings.Repeat("x", i%50)))
			}
		})
	}
	wg.Wait()
	if s := c.Stats(); s.Hits+s.Misses != 16000 || s.Bytes > 64<<10 || s.Bytes < 0 {
		t.Errorf("%+v", s)
	}
}

func TestCacheHitDoesNotAllocate(t *testing.T) {
	c := feature.NewCache(1<<20, nil)
	k := feature.Key{Collection: "kommuner", ID: "0301"}
	c.Put(k, []byte("{}"))
	if n := testing.AllocsPerRun(100, func() { c.Get(k) }); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}
