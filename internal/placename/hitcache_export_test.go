package placename

import (
	"slices"
	"strconv"
	"strings"

	api "grense/api/placename"
	"grense/internal/store"
)

// HitSize is what a hit of CachedOf counts for, at least.
const HitSize = 200

// CachedOf returns how many of n hits of some 200 bytes are cached in some bytes, at most at any time, and how many are given back as others.
func CachedOf(bytes, n int) (most, others int) {
	c := hitSource{hitCache: newHitCache(int64(bytes), nil)}
	p := api.NewHitPacker("findSteder")
	xml := func(i int) []byte {
		return []byte("<a>" + strings.Repeat(strconv.Itoa(i)+" ", 200/len(strconv.Itoa(i))/2) + "</a><b>" + strconv.Itoa(i) + "</b>")
	}
	for i := range n {
		c.put(p, store.Row{ID: strconv.Itoa(i)}, xml(i))
		back := make([]string, 1)
		c.cached([]store.Row{{ID: strconv.Itoa(i / 2)}}, back) // what is asked for again stays
		if back[0] != "" && string(api.PlainNil.AppendHits(nil, "findSteder", &api.MixedHits{Packer: p, Packed: back, Others: api.StedTreffList{}})) != string(xml(i/2)) {
			others++
		}
		most = max(most, int(c.Stats().Entries))
	}
	return most, others
}

// NeverKnown returns how many of n hits are not known to have been asked for when all have been asked for in turn some times; those that are known are not asked for again, as they are cached.
func NeverKnown(n, times int) int {
	a, s := newAskedLately(), hitSource{}
	rows := make([]store.Row, n)
	for i := range rows {
		rows[i].ID = strconv.Itoa(i)
	}
	for range times {
		rows = slices.DeleteFunc(rows, func(r store.Row) bool { return a.again(s.key(r)) })
	}
	return len(rows)
}

// Cacheable returns how many hits with such ids would be cached, and how many are found once they are.
func Cacheable(ids ...string) (put, found int) {
	c := hitSource{hitCache: newHitCache(1<<20, nil)}
	rows := make([]store.Row, len(ids))
	for i, id := range ids {
		rows[i].ID = id
	}
	packed := make([]string, len(rows))
	p := api.NewHitPacker("findSteder")
	for _, i := range c.cached(rows, packed).put {
		put++
		c.put(p, rows[i], []byte("<a>"+rows[i].ID+"</a>"))
	}
	c.cached(rows, packed)
	for i, x := range packed {
		if x != "" && strings.Contains(x, rows[i].ID) {
			found++
		}
	}
	return put, found
}
