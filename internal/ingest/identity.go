package ingest

import (
	"fmt"
	"hash/maphash"
	"strconv"

	"grense/internal/cql2"
	"grense/internal/format/input"
)

// idSource is one of the places where the id of a feature may stand.
type idSource struct {
	what    string // for people
	seed    maphash.Seed
	seen    map[uint64]int // features by the hash of their ids, counted over all files
	texts   bool           // some id is no integer, or not the plain form of one
	stated  int
	faults  []Fault // features with the id of another
	repeats int     // how many there are
	missing int     // features without an id
	first   Fault   // the first of them
	gone    bool    // it cannot be the source, so it is no longer looked at
}

// maxIDFaults bounds what is kept of a source that may not be chosen.
const maxIDFaults = 200

func newIDSource(what string) *idSource {
	return &idSource{what: what, seed: maphash.MakeSeed(), seen: map[uint64]int{}}
}

// see takes the id of feature number n of all. Two ids are taken for one when their hashes of 64 bits are equal, which
// for a million features happens once in 37 million imports.
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

// number returns an id for feature n of total, which has none: n, or a larger number if another feature has that.
func (s *idSource) number(n, total int) string {
	for {
		id := strconv.Itoa(n)
		if _, taken := s.seen[maphash.String(s.seed, id)]; !taken {
			return id
		}
		n += total
	}
}

// drop forgets all.
func (s *idSource) drop() { s.gone, s.seen, s.faults = true, nil, nil }

// idText is the text of an id; false when the value is none.
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
