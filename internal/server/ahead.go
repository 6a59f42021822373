package server

import (
	"hash/maphash"
	"net/http"
	"sync/atomic"

	"grense/internal/feature"
	"grense/internal/store"
)

// mostAhead is how many features a page has at most that are read in the question that finds them.
const mostAhead = 100

// mostAheadBytes is how many bytes their geometries and texts have at most to be kept until they are written: a reader may be slow.
const mostAheadBytes = pieceBytes

// foresight tells whether features had to be read of late for what is asked for alike, or were kept: reading them with the page saves a question to a database, and is
// wasted where they are kept. What hashes to the same place shares it, which costs time at worst.
type foresight struct {
	seed  maphash.Seed
	seen  [256]atomic.Int32 // below 0: mostly kept
	reads bool              // whether the store reads ahead at all
}

// mostSeen bounds for how many questions the past counts.
const mostSeen = 2

// neverAhead is below what any past can raise.
const neverAhead = -2*mostSeen - 1

func (f *foresight) begin(st store.Store) {
	f.seed = maphash.MakeSeed()
	_, f.reads = st.(store.Foreseeing)
}

// of is what was seen of features with what k says in common; one: of one feature alone, not of pages.
func (f *foresight) of(k feature.Key, one bool) *atomic.Int32 {
	if one {
		k.ID = "1" // of any
	}
	return &f.seen[maphash.Comparable(f.seed, k)%uint64(len(f.seen))]
}

// tooLarge notes that features for what is asked for alike should not be read ahead again.
func (f *foresight) tooLarge(k feature.Key) { f.of(k, false).Store(neverAhead) }

// saw notes how many features of one question were not kept.
func (f *foresight) saw(k feature.Key, missing, of int) {
	if !f.reads || of == 0 {
		return
	}
	at, n := f.of(k, of == 1), int32(-1)
	if 2*missing >= of {
		n = 1
	}
	if now := at.Load(); now+n >= -mostSeen && now+n <= mostSeen {
		at.Store(now + n) // of two at once one may be lost
	}
}

// foresee says how the features will be wanted that the next question finds; nil where they need not come with it. one: that it finds one feature.
func (c *call) foresee(one bool) *store.Want {
	c.ahead = nil
	if c.r.Method == http.MethodHead || c.r.Header["If-None-Match"] != nil {
		return nil // they may not be wanted
	}
	if f := &c.s.foresight; !f.reads || c.rep.F != "json" || c.output().zoom != nil || f.of(c.fragmentKey(), one).Load() < 0 {
		return nil
	}
	enc, err := c.members()
	if err != nil {
		return nil // told when they are written
	}
	want := enc.Want()
	if isVersioned(c.coll) {
		want.VersionIDs = c.output().versionIDs
	}
	return &want
}

// keepAhead keeps features of a page that came with the question that found them, until they are written.
func (c *call) keepAhead(features []*store.Feature) {
	c.ahead = nil
	size := 0
	for _, f := range features {
		size += len(f.Geometry.WKB)
		for _, v := range f.Values {
			switch v := v.(type) {
			case string:
				size += len(v)
			case store.JSON:
				size += len(v)
			}
		}
	}
	if size > mostAheadBytes {
		c.s.foresight.tooLarge(c.fragmentKey())
		return
	}
	c.ahead = features
}

// came returns the features of rows that came with the question that found them; nil when one did not.
func (c *call) came(rows []store.Row) []*store.Feature {
	came := make([]*store.Feature, 0, min(len(rows), len(c.ahead)))
	left := c.ahead
	for _, r := range rows {
		for len(left) > 0 && (left[0].ID != r.ID || left[0].Rev != r.Rev) {
			left = left[1:]
		}
		if len(left) == 0 {
			return nil
		}
		came = append(came, left[0])
	}
	return came
}
