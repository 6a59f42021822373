package ingest

import (
	"fmt"
	"hash/maphash"
	"strconv"

	"grense/internal/cql2"
	"grense/internal/format/input"
)

// idSource is one possible source of the ids of features.
type idSource struct {
	what    string // for messages
	seed    maphash.Seed
	seen    map[uint64]int // features by the hash of their ids, counted over all files
	texts   bool           // some id is not an integer in plain form
	stated  int
	faults  []Fault // features that repeat an id
	repeats int     // number of repeats
	missing int     // features without an id
	first   Fault   // the first of them
	gone    bool    // it cannot be the source and is ignored
}

// maxIDFaults bounds the stored faults of a source that may not be chosen.
const maxIDFaults = 200

func newIDSource(what string) *idSource {
	return &idSource{what: what, seed: maphash.MakeSeed(), seen: map[uint64]int{}}
}

// see records the id of the n-th feature of all. Two ids count as equal if their hashes of 64 bits are;
// for a million features that errs once in 37 million imports.
func (s *idSource) see(v input.Value, n int, f Fault, label func(int) string) {
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
	if _, err := strconv.ParseInt(id, 10, 64); err != nil || v.Kind == input.Text || v.Kind == input.Plain ||
		v.Kind == input.Number {
		s.texts = true
	} else if whole, _ := plainNumber(id); !whole {
		s.texts = true
	}
	h := maphash.String(s.seed, id)
	if first, ok := s.seen[h]; ok {
		f.ID, f.Action = id, input.Refused
		f.Reason = fmt.Sprintf("the %s %q is that of %s too; name another property with --id-field", s.what,
			id, label(first))
		if s.repeats++; len(s.faults) < maxIDFaults {
			s.faults = append(s.faults, f)
		}
		return
	}
	s.seen[h] = n
}

// number returns an id for the n-th feature, which has none: n, or a larger number if another feature has n.
func (s *idSource) number(n, total int) string {
	for {
		id := strconv.Itoa(n)
		if _, taken := s.seen[maphash.String(s.seed, id)]; !taken {
			return id
		}
		n += total
	}
}

// drop gives the source up.
func (s *idSource) drop() { s.gone, s.seen, s.faults = true, nil, nil }

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
