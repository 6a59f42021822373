package cache

import (
	"math/rand/v2"
	"testing"
)

// TestEntriesOfOneHashAreToldApart: two keys of the same hash are two entries, also where one of them is removed and others take its place.
func TestEntriesOfOneHashAreToldApart(t *testing.T) {
	t.Parallel()
	const hash = 1 << 40
	x := newTable[string, int](0)
	a, b := &entry[string, int]{key: "a", value: 1, hash: hash}, &entry[string, int]{key: "b", value: 2, hash: hash}
	x.put(a)
	x.put(b)
	if x.find(hash, "a") != a || x.find(hash, "b") != b || x.find(hash, "c") != nil || x.find(hash+2, "a") != nil || x.likely(hash) != a {
		t.Error("entries are mixed up")
	}
	x.remove(a)
	if x.find(hash, "a") != nil || x.find(hash, "b") != b || x.likely(hash) != b || x.held != 1 {
		t.Error("the other one is gone with it")
	}
	c := &entry[string, int]{key: "c", value: 3, hash: hash}
	x.put(c)
	if x.find(hash, "c") != c || x.find(hash, "b") != b || x.taken != 2 {
		t.Errorf("%d slots are taken by two entries", x.taken)
	}
}

// TestATableStaysSmallWhileEntriesComeAndGo: its slots follow what is held, not what was.
func TestATableStaysSmallWhileEntriesComeAndGo(t *testing.T) {
	t.Parallel()
	c, r, held := New[int, int](Options{Bytes: 1 << 20}), rand.New(rand.NewPCG(1, 2)), map[int]int{}
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
	if x := c.shards[0].by.Load(); x.held != len(held) || len(x.slots) > 4096 {
		t.Errorf("%d slots for %d entries, of %d", len(x.slots), x.held, len(held))
	}
}
