package ingest

import (
	"cmp"
	"context"
	"fmt"
	"hash/maphash"
	"strconv"

	"grense/internal/cql2"
	"grense/internal/format/input"
	"grense/internal/tempfile"
)

// idSource is one possible source of the ids of features.
type idSource struct {
	what    string // for messages
	seed    maphash.Seed
	ids     *tempfile.Sorter[idEntry]
	taken   []uint64       // bits of whole numbers below mostTaken that are ids
	largest int            // the largest such id
	again   map[uint64]int // hashes of ids that several features have, and the first such feature; may be incomplete
	texts   bool           // some id is not an integer, or not in its plain form
	stated  int
	repeats int   // number of features with the id of another; set by settle
	missing int   // features without an id
	first   Fault // the first of them
	gone    bool  // it cannot be the source, so values are no longer recorded
}

// idEntry is the hash of an id, and the number of its feature, counted over all files.
type idEntry struct {
	hash uint64
	n    int64
}

const (
	// maxIDFaults is the largest number of features with a repeated id that are listed.
	maxIDFaults = 200
	// idsHeld is the number of ids that are sorted in memory.
	idsHeld = 1 << 18
	// mostTaken is the largest number of bits in idSource.taken.
	mostTaken = 1 << 26
)

func newIDSource(what string) *idSource {
	return &idSource{what: what, seed: maphash.MakeSeed(), ids: tempfile.NewSorter("", idsHeld, func(a, b idEntry) int {
		return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(a.n, b.n))
	})}
}

// see records the id of feature n, counted over all files. Ids count as equal if their 64-bit hashes are; for a million
// different ids, two hashes are equal once in 37 million imports.
func (s *idSource) see(v input.Value, n int, f Fault) {
	if s.gone {
		return
	}
	id, ok := idText(v)
	if !ok {
		if s.missing++; s.missing == 1 {
			s.first = f
		}
		return
	}
	s.stated++
	i, err := strconv.ParseInt(id, 10, 64)
	if whole, _ := plainNumber(id); err != nil || !whole ||
		v.Kind == input.Text || v.Kind == input.Plain || v.Kind == input.Number {
		s.texts = true
	}
	if err == nil && i >= 0 && strconv.FormatInt(i, 10) == id {
		s.largest = max(s.largest, int(i))
		if at := int(i / 64); i < mostTaken {
			if at >= len(s.taken) {
				s.taken = append(s.taken, make([]uint64, at+1-len(s.taken))...)
			}
			s.taken[at] |= 1 << (i % 64)
		}
	}
	s.ids.Add(idEntry{maphash.String(s.seed, id), int64(n)})
}

// settle finds the repeated ids, after all features have been seen.
func (s *idSource) settle() error {
	if s.gone {
		return nil
	}
	defer s.ids.Close()
	s.again = map[uint64]int{}
	var last idEntry
	return s.ids.Sorted(func(e idEntry) error {
		if e.hash != last.hash || last.n == 0 {
			last = e
			return nil
		}
		if s.repeats++; len(s.again) < maxIDFaults {
			s.again[e.hash] = int(last.n)
		}
		return nil
	})
}

// number returns an id for the n-th feature, which has none: n, or a larger number if another feature has n.
func (s *idSource) number(n, total int) string {
	if at := n / 64; n >= mostTaken || at < len(s.taken) && s.taken[at]&(1<<(n%64)) != 0 {
		n += (1 + s.largest/total) * total
	}
	return strconv.Itoa(n)
}

// drop stops recording ids, because the source cannot be used.
func (s *idSource) drop() {
	s.ids.Close()
	s.gone, s.taken, s.again = true, nil, nil
}

// idText returns the text of an id; false if the value cannot be an id.
func idText(v input.Value) (string, bool) {
	switch v.Kind {
	case input.Text, input.Plain, input.Untyped, input.Integer:
		return v.Text, v.Text != ""
	case input.Number:
		if n, ok := cql2.ParseNumber(v.Text); ok {
			return cql2.ExactNumberOf(n).String(), true
		}
	}
	return "", false
}

// repeated reads the layers once more to find the features with the id of another, and reports the first ones.
func (p *Plan) repeated(ctx context.Context, s *idSource) error {
	listed := 0
	for _, l := range p.layers {
		if listed == maxIDFaults || s.repeats == 0 {
			break
		}
		x := &idReader{p: p, s: s, l: l, listed: &listed}
		if err := l.Reader.Read(ctx, x); err != nil && err != errEnough {
			return fmt.Errorf("%s: %w", l.File, err)
		}
	}
	if more := s.repeats - listed; more > 0 {
		p.refuse("%d more features have the id of another", more)
	}
	return nil
}

// errEnough ends a reading when enough faults are listed.
var errEnough = fmt.Errorf("ingest: enough faults")

// idReader is the sink of repeated.
type idReader struct {
	p      *Plan
	s      *idSource
	l      *layerSurvey
	n      int
	listed *int
}

func (r *idReader) Fault(input.Place, bool, input.Action, string) {}
func (r *idReader) Reference(input.Place, string)                 {}
func (r *idReader) Fields([]string)                               {}

func (r *idReader) Record(x *input.Record) error {
	r.n++
	id, ok := idText(r.p.idOf(r.s, x))
	if !ok {
		return nil
	}
	first, ok := r.s.again[maphash.String(r.s.seed, id)]
	if n := r.l.first + r.n; !ok || first == n {
		return nil
	}
	f := r.l.at(x.At, r.n)
	f.ID, f.Action = id, input.Refused
	f.Reason = fmt.Sprintf("the %s %q is that of %s too; name another property with --id-field", r.s.what,
		id, r.p.label(first))
	r.p.fault(f)
	if *r.listed++; *r.listed == maxIDFaults {
		return errEnough
	}
	return nil
}
