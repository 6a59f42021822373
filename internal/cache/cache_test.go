package cache_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"sync"
	"testing"

	"grense/internal/cache"
)

func TestValuesAreFoundUntilTheyAreDropped(t *testing.T) {
	t.Parallel()
	c := cache.New[string, int](cache.Options{Name: "a", Bytes: 1 << 20, Shards: 16})
	for i := range 100 {
		if _, ok := c.Get(fmt.Sprint(i)); ok {
			t.Errorf("%d is there before it was put", i)
		}
		if !c.Put(fmt.Sprint(i), i, 10) {
			t.Errorf("%d was refused", i)
		}
	}
	c.Put("7", 70, 10)
	c.Delete("8")
	c.Delete("not there")
	for i := range 100 {
		v, ok := c.Get(fmt.Sprint(i))
		if want := map[int]int{7: 70}[i]; ok != (i != 8) || ok && v != max(want, i) {
			t.Errorf("%d: %d, %v", i, v, ok)
		}
	}
	s := c.Stats()
	if s.Name != "a" || s.Hits != 99 || s.Misses != 101 || s.Evictions != 0 || s.Entries != 99 || s.Bytes < 990 ||
		s.Limit != 1<<20 {
		t.Errorf("%+v", s)
	}
	c.Clear()
	if s := c.Stats(); s.Entries != 0 || s.Bytes != 0 || s.Evictions != 0 {
		t.Errorf("cleared: %+v", s)
	}
	if c.Put("x", 1, 1); c.Stats().Entries != 1 {
		t.Error("nothing is held after all was dropped")
	}
}

func TestBytesStayBelowTheLimit(t *testing.T) {
	t.Parallel()
	const limit = 64 << 10
	r := rand.New(rand.NewPCG(1, 2))
	c := cache.New[int, []byte](cache.Options{Bytes: limit})
	held := func(k int) bool { _, ok := c.Get(k); return ok }
	for i := range 20_000 {
		k := r.IntN(500)
		switch r.IntN(8) {
		case 0:
			c.Delete(k)
		case 1:
			c.Grow(k, int64(r.IntN(3000)), func([]byte) bool { return true })
		case 2:
			held(k)
		default:
			n := r.IntN(2000)
			if r.IntN(50) == 0 {
				n = r.IntN(2 * limit)
			}
			if c.Put(k, nil, int64(n)) != held(k) {
				t.Fatal("Put does not tell whether the value is held")
			}
		}
		if s := c.Stats(); s.Bytes > limit || s.Bytes < 0 || s.Entries < 0 {
			t.Fatalf("after %d: %+v", i, s)
		}
	}
	if s := c.Stats(); s.Evictions == 0 || s.Bytes < limit/2 {
		t.Errorf("%+v", s)
	}
}

func TestWhatIsAskedForOftenOutlivesWhatIsAskedForOnce(t *testing.T) {
	t.Parallel()
	c := cache.New[string, int](cache.Options{Bytes: 100 << 10})
	for i := range 10 {
		c.Put(fmt.Sprint("hot", i), i, 1000)
	}
	for i := range 5000 {
		c.Put(fmt.Sprint(i), i, 1000)
		if _, ok := c.Get(fmt.Sprint("hot", i%10)); !ok {
			t.Fatalf("hot%d was evicted after %d", i%10, i)
		}
	}
	if _, ok := c.Get("0"); ok {
		t.Error("the oldest value that nobody asked for is still there")
	}
	if _, ok := c.Get("4999"); !ok {
		t.Error("the newest value is not there")
	}
}

func TestAValueThatGrowsEvictsOthers(t *testing.T) {
	t.Parallel()
	c := cache.New[int, int](cache.Options{Bytes: 10_000})
	for i := range 8 {
		c.Put(i, i, 1000)
		c.Get(i)
	}
	yes, no := func(int) bool { return true }, func(int) bool { return false }
	before := c.Stats().Bytes
	if !c.Grow(3, 100, no) || !c.Grow(99, 100, yes) || c.Stats().Bytes != before {
		t.Error("another value of that key has grown")
	}
	if c.Grow(3, 10_000, yes) || c.Stats().Bytes != before {
		t.Error("a value has grown beyond the limit")
	}
	if !c.Grow(3, 5000, yes) {
		t.Error("a value may not grow")
	}
	if _, ok := c.Get(3); !ok {
		t.Error("a value evicted itself")
	}
	if s := c.Stats(); s.Bytes > 10_000 || s.Evictions == 0 {
		t.Errorf("%+v", s)
	}
}

func TestACacheWithoutRoomHoldsNothing(t *testing.T) {
	t.Parallel()
	var none *cache.Cache[int, int]
	for _, c := range []*cache.Cache[int, int]{none, cache.New[int, int](cache.Options{}),
		cache.New[int, int](cache.Options{Bytes: -1, Shards: 4})} {
		if c.Put(1, 1, 0) {
			t.Error("a value is said to be held")
		}
		c.Delete(1)
		c.Clear()
		c.SetLimit(0)
		if _, ok := c.Get(1); ok || !c.Grow(1, 1, func(int) bool { return true }) || c.Stats().Bytes != 0 {
			t.Errorf("%+v", c.Stats())
		}
	}
}

func TestASmallerLimitEvicts(t *testing.T) {
	t.Parallel()
	c := cache.New[int, int](cache.Options{Bytes: 1 << 20, Shards: 2})
	for i := range 100 {
		c.Put(i, i, 1000)
	}
	c.SetLimit(20_000)
	if s := c.Stats(); s.Bytes > 20_000 || s.Bytes < 10_000 || s.Limit != 20_000 ||
		s.Evictions != uint64(100-s.Entries) {
		t.Errorf("%+v", s)
	}
}

func TestAGroupSharesABudgetAndAddsUp(t *testing.T) {
	t.Parallel()
	g := &cache.Group{}
	b := cache.New[int, int](cache.Options{Name: "b", Bytes: 3000, Group: g})
	a := cache.New[string, int](cache.Options{Name: "a", Bytes: 1000, Group: g})
	g.SetBudget(2000)
	b2 := cache.New[int, int](cache.Options{Name: "b", Bytes: 4000, Group: g})
	if a.Stats().Limit != 250 || b.Stats().Limit != 750 || b2.Stats().Limit != 1000 {
		t.Errorf("limits %d, %d, %d", a.Stats().Limit, b.Stats().Limit, b2.Stats().Limit)
	}
	b.Put(1, 1, 10)
	b2.Put(1, 1, 10)
	b2.Get(1)
	a.Get("x")
	b.Make()
	b2.Make()
	b2.Make()()
	want := []cache.Stats{{Name: "a", Misses: 1, Limit: 250},
		{Name: "b", Hits: 1, Bytes: 2 * b.Stats().Bytes, Limit: 1750, Entries: 2, Making: 2}}
	if got := g.Stats(); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if g.SetBudget(0); a.Stats().Limit != 1000 || b2.Stats().Limit != 4000 {
		t.Error("without a budget the caches are smaller than they were made")
	}
	if g.SetBudget(1 << 62); a.Stats().Limit != 1000 {
		t.Error("a large budget makes caches larger than they were made")
	}
}

// TestAFixedCacheIsBesideTheBudget: it keeps its limit, and takes nothing from the others.
func TestAFixedCacheIsBesideTheBudget(t *testing.T) {
	t.Parallel()
	g := &cache.Group{}
	cache.New[int, int](cache.Options{Name: "fixed", Bytes: 5000, Fixed: true, Group: g})
	shared := cache.New[int, int](cache.Options{Name: "shared", Bytes: 2000, Group: g})
	g.SetBudget(1000)
	list := g.Stats()
	if len(list) != 2 || list[0].Limit != 5000 || list[1].Limit != 1000 {
		t.Errorf("%+v", list)
	}
	before := shared.Room()
	if shared.Put(1, 1, before+1) {
		t.Error("more than Room fits")
	}
	if !shared.Put(1, 1, before) || shared.Room() > 0 {
		t.Errorf("Room was %d and is %d", before, shared.Room())
	}
}

func TestWhatIsOfferedTakesFreeRoomAlone(t *testing.T) {
	t.Parallel()
	c := cache.New[int, int](cache.Options{Bytes: 10_000})
	c.Put(1, 1, 1000)
	if c.Offer(1, 2, 10) {
		t.Error("a value took the place of another")
	}
	n := 0
	for c.Offer(2+n, n, 1000) {
		n++
	}
	if v, _ := c.Get(1); v != 1 || n < 5 || c.Stats().Entries != int64(n+1) || c.Stats().Evictions != 0 ||
		c.Room() >= 1000 {
		t.Errorf("%d values of 1000 bytes were taken: %+v", n, c.Stats())
	}
	if (*cache.Cache[int, int])(nil).Offer(1, 1, 1) {
		t.Error("no cache holds a value")
	}
}

func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	g := &cache.Group{}
	c := cache.New[int, string](cache.Options{Bytes: 32 << 10, Shards: 4, Group: g})
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for i := range 2000 {
				k := (i * (w + 1)) % 300
				if v, ok := c.Get(k); ok && v != fmt.Sprint(k) {
					t.Errorf("%d holds %s", k, v)
				}
				c.Put(k, fmt.Sprint(k), int64(i%200))
				c.Grow(k, 5, func(string) bool { return true })
				if i%500 == 0 {
					g.SetBudget(int64(16<<10 + i))
				}
			}
		})
	}
	wg.Wait()
	if s := c.Stats(); s.Hits+s.Misses != 16_000 || s.Bytes > s.Limit || s.Bytes < 0 {
		t.Errorf("%+v", s)
	}
}

func TestAHitDoesNotAllocate(t *testing.T) {
	c := cache.New[[2]string, int](cache.Options{Bytes: 1 << 20, Shards: 16})
	k := [2]string{"kommuner", "0301"}
	c.Put(k, 1, 0)
	if n := testing.AllocsPerRun(100, func() { c.Get(k) }); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

func BenchmarkGet(b *testing.B) {
	type key struct {
		collection, id string
		rev            uint64
	}
	c := cache.New[key, *int](cache.Options{Bytes: 64 << 20, Shards: 16})
	keys := make([]key, 10_000)
	for i := range keys {
		keys[i] = key{"kommuner", fmt.Sprint(i), 7}
		c.Put(keys[i], new(int), 0)
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		c.Get(keys[i%len(keys)])
	}
}

func BenchmarkPutWithEviction(b *testing.B) {
	c := cache.New[int, *int](cache.Options{Bytes: 1 << 20})
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		c.Put(i, nil, 100)
	}
}

func TestEntriesThatComeAndGoAreThoseHeld(t *testing.T) {
	t.Parallel()
	c, r, held := cache.New[int, int](cache.Options{Bytes: 1 << 20}), rand.New(rand.NewPCG(1, 2)), map[int]int{}
	for i := range 200_000 {
		k := r.IntN(1000)
		if _, ok := held[k]; ok && r.IntN(2) == 0 {
			c.Delete(k)
			delete(held, k)
		} else {
			c.Put(k, i, 0)
			held[k] = i
		}
	}
	for k := range 1000 {
		v, ok := c.Get(k)
		if want, is := held[k]; ok != is || v != want {
			t.Fatalf("%d is %d, %t; want %d, %t", k, v, ok, want, is)
		}
	}
	if n := c.Stats().Entries; n != int64(len(held)) {
		t.Errorf("%d entries, want %d", n, len(held))
	}
}
