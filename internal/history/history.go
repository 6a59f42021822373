// Package history models administrative divisions through time: which codes were valid when, their names, the events
// that ended them, and their successors. It translates codes from one day to another.
//
// A scheme is a set of codes, such as those of municipalities. A version is a division during a period in which its
// code, name and parent do not change; it is valid from its first day to the day before its end. An entity is a
// division across renamings, renumberings, and mergers in which it keeps its code. An event happens at the beginning of
// a day. Its edges lead from the versions before it to the versions after it. Shares are known or unknown, never
// guessed.
//
// If a merger is undone, the merged parts become separate again: an edge may name the earlier versions that it carries
// (Edge.Of), and a path that came through another of those versions does not follow that edge. Codes of larger
// divisions, such as counties, are translated through the smaller ones that name them as parent, because a county that
// is re-established need not have its earlier borders.
//
// Days are calendar days of the country; there are no hours or time zones. A History is immutable and safe for
// concurrent use.
package history

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"grense/internal/problem"
)

// Date is a day as the number yyyymmdd. 0 is no day: as a beginning it means unbounded past, as an end it means still
// valid.
type Date int32

// ParseDate parses a day in ISO 8601 form, for example 2020-01-01.
func ParseDate(s string) (Date, error) {
	t, err := time.Parse(time.DateOnly, s)
	if err != nil || t.Year() < 1 {
		return 0, problem.Sayf("%q is no day; write it as 2020-01-01", s)
	}
	return DateOf(t), nil
}

// DateOf returns the day of t in the time zone of t.
func DateOf(t time.Time) Date { return Date(t.Year()*10000 + int(t.Month())*100 + t.Day()) }

// String returns the day in ISO 8601 form; "" for 0.
func (d Date) String() string {
	if d == 0 {
		return ""
	}
	return fmt.Sprintf("%04d-%02d-%02d", d/10000, d/100%100, d%100)
}

// Time returns the beginning of the day in a time zone.
func (d Date) Time(zone *time.Location) time.Time {
	return time.Date(int(d/10000), time.Month(d/100%100), int(d%100), 0, 0, 0, 0, zone)
}

// Kind is the kind of an event.
type Kind string

// Kinds of events.
const (
	Rename   Kind = "rename"   // the name changes, the code does not
	Renumber Kind = "renumber" // the code changes; the name may change too
	Reparent Kind = "reparent" // only the parent changes
	Merge    Kind = "merge"    // several divisions become fewer, with a new code
	Absorb   Kind = "absorb"   // several divisions become fewer, and one of them keeps its code
	Split    Kind = "split"    // one division becomes several
	Transfer Kind = "transfer" // area moves between divisions that continue to exist
	Create   Kind = "create"   // a division begins without a predecessor
	End      Kind = "end"      // a division ends without a successor
)

// Kinds lists all kinds of events.
var Kinds = []Kind{Rename, Renumber, Reparent, Merge, Absorb, Split, Transfer, Create, End}

// Version is a division during a period in which its code, name and parent do not change. From is 0 if its first day is
// not known; the version is then valid on every day before To. To is the first day on which it is no longer valid, and
// 0 if it still is.
type Version struct {
	Scheme, Code, Name   string
	ParentScheme, Parent string // scheme and code of the parent; "" if not known
	From, To             Date
	Entity               string // id shared by all versions of the division
	Recorded             string // when the version became known, RFC 3339; "" if that is not known

	// Indexes into Scheme.Edges: the edges that leave the version and those that reach it.
	out, in []int32
	moves   []int32 // transfers, which neither begin nor end a version
	tagged  bool    // some edge has the version in forbid
}

// Holds reports whether the version is valid on a day.
func (v *Version) Holds(d Date) bool { return v.From <= d && (v.To == 0 || d < v.To) }

// SomeDay returns a day on which the version is valid: its first day, or its last one if the first is not known; 0 if
// neither is known.
func (v *Version) SomeDay() Date {
	if v.From == 0 && v.To != 0 {
		return before(v.To)
	}
	return v.From
}

// Count is a number of people or square metres. The zero value means not known, which is different from a known 0.
type Count struct {
	N     int64
	Known bool
}

// CountOf returns a Count with the known value n.
func CountOf(n int64) Count { return Count{n, true} }

// String returns the number in decimal form; "" if it is not known.
func (c Count) String() string {
	if !c.Known {
		return ""
	}
	return strconv.FormatInt(c.N, 10)
}

// MarshalJSON returns the number, or null if it is not known.
func (c Count) MarshalJSON() ([]byte, error) {
	if !c.Known {
		return []byte("null"), nil
	}
	return strconv.AppendInt(nil, c.N, 10), nil
}

// Edge links a version before an event to a version after it. From is nil if the version after it has no predecessor;
// To is nil if the version before it has no successor.
type Edge struct {
	From, To *Version
	Event    *Event
	Part     bool  // only a part of From becomes To
	People   Count // number of people in that part
	Area     Count // area of that part in square metres
	Units    int64 // number of divisions of the smaller scheme in that part; 0 if not known
	Of       []*Version

	date     Date
	from, to int32   // indexes into Scheme.Versions; -1 for none
	transfer bool    // neither begins nor ends a version
	unsure   bool    // belongs to a split that may undo a merger, and the source does not say which part went where
	forbid   []int32 // a path that passed one of these versions must not follow the edge
}

// Event is a change of one or more divisions at the beginning of a day.
type Event struct {
	ID       string // scheme, day and first code
	Scheme   string
	Date     Date
	Kind     Kind
	Source   string // source of the information
	Recorded string // when the event became known, RFC 3339; "" if that is not known
	Edges    []*Edge
	// Seq is the sequence number of the event, in the order in which events of the history were recorded. It does not
	// change as long as the event does not; a corrected event gets a new number after all others.
	Seq int64
}

// same reports whether two events have the same contents.
func (e *Event) same(old *Event) bool {
	if e.Kind != old.Kind || e.Date != old.Date || e.Source != old.Source || len(e.Edges) != len(old.Edges) {
		return false
	}
	said := func(e *Event) []string {
		var out []string
		for _, x := range e.Edges {
			out = append(out, fmt.Sprintf("%+v %t", ChangeOf(x), x.transfer))
		}
		slices.Sort(out)
		return out
	}
	return slices.Equal(said(e), said(old))
}

// number assigns sequence numbers, greater than last and all numbers in use, to the events without one, in the order in
// which they were recorded and then by day.
func (h *History) number(last int64) {
	var none []*Event
	for _, s := range h.schemes {
		for i := range s.Events {
			e := &s.Events[i]
			if last = max(last, e.Seq); e.Seq == 0 {
				none = append(none, e)
			}
		}
	}
	slices.SortStableFunc(none, func(a, b *Event) int {
		return cmp.Or(cmp.Compare(a.Recorded, b.Recorded), cmp.Compare(a.Date, b.Date))
	})
	for _, e := range none {
		last++
		e.Seq = last
	}
}

// Follow sets the sequence numbers of a newly built history that replaces old: unchanged events keep their numbers, the
// others get numbers after the last one of old.
func (h *History) Follow(old *History) {
	last := int64(0)
	known := map[string]*Event{}
	for _, s := range old.schemes {
		for i := range s.Events {
			known[s.Events[i].ID] = &s.Events[i]
			last = max(last, s.Events[i].Seq)
		}
	}
	for _, s := range h.schemes {
		for i := range s.Events {
			e := &s.Events[i]
			e.Seq = 0
			if was := known[e.ID]; was != nil && e.same(was) {
				e.Seq = was.Seq
			}
		}
	}
	h.number(last)
}

// Before returns the versions that the event ends or takes territory from, ordered by code.
func (e *Event) Before() []*Version {
	return e.ends(func(x *Edge) *Version { return x.From })
}

// After returns the versions that the event begins or adds territory to, ordered by code.
func (e *Event) After() []*Version {
	return e.ends(func(x *Edge) *Version { return x.To })
}

func (e *Event) ends(of func(*Edge) *Version) (out []*Version) {
	for _, x := range e.Edges {
		if v := of(x); v != nil && !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	slices.SortFunc(out, func(a, b *Version) int { return cmp.Compare(a.Code, b.Code) })
	return out
}

// Scheme is a set of codes, for example of municipalities, with all their versions and events.
type Scheme struct {
	ID       string
	Versions []Version // ordered by code, then by time
	Edges    []Edge
	Events   []Event // ordered by day, then by id

	byCode  map[string][2]int32 // half-open range of indexes into Versions
	byID    map[string]*Event
	moved   bool    // the scheme has transfers
	unsure  bool    // some split may undo a merger, and the source does not say which part went where
	width   int     // length of every code; -1 if lengths differ
	begin   Date    // first day about which anything is known; 0 if unbounded
	smaller *Scheme // the scheme whose versions have versions of this one as parents; nil if there is none
}

// History holds one or more schemes.
type History struct {
	schemes []*Scheme
}

// Schemes returns all schemes in the order of their ids.
func (h *History) Schemes() []*Scheme { return h.schemes }

// Scheme returns the scheme with an id; nil if there is none.
func (h *History) Scheme(id string) *Scheme {
	for _, s := range h.schemes {
		if s.ID == id {
			return s
		}
	}
	return nil
}

// Entity returns the last version of an entity and its scheme; nil if there is none.
func (h *History) Entity(id string) (last *Scheme, v *Version) {
	for _, s := range h.schemes {
		for i := range s.Versions {
			if x := &s.Versions[i]; x.Entity == id && (v == nil || x.From > v.From) {
				last, v = s, x
			}
		}
	}
	return last, v
}

var (
	// ErrUnknown is the error for a code that was never in use in the scheme.
	ErrUnknown = errors.New("history: the code was never in use")
	// ErrNotThen is the error for a code that was in use, but not on the requested day.
	ErrNotThen = errors.New("history: the code was not in use on that day")
	// ErrNotKnown is the error for a day before Scheme.Begin.
	ErrNotKnown = errors.New("history: nothing is known of that day")
)

// Whole restores leading zeros: if all codes of the scheme have one length and code is shorter, it returns code with
// leading zeros, provided that the scheme has that code. Otherwise it returns code unchanged.
func (s *Scheme) Whole(code string) string {
	if _, ok := s.byCode[code]; ok || code == "" || len(code) >= s.width || strings.Trim(code, "0123456789") != "" {
		return code
	}
	if whole := strings.Repeat("0", s.width-len(code)) + code; len(s.Meanings(whole)) > 0 {
		return whole
	}
	return code
}

// Related reports whether each version of a code became, at least in part, the next version of the same code. It is
// false if the code was reused for an unrelated division. Versions of one entity are always related.
func (s *Scheme) Related(code string) bool {
	r := s.byCode[code]
	for i := r[0]; i+1 < r[1]; i++ {
		v, next := &s.Versions[i], &s.Versions[i+1]
		if v.Entity == next.Entity {
			continue
		}
		if !slices.Contains(s.reach(i, v.From, next.From, nil), i+1) {
			return false
		}
	}
	return true
}

// Meanings returns all versions of a code in the order of time; none if the code was never in use.
func (s *Scheme) Meanings(code string) []*Version {
	r := s.byCode[code]
	out := make([]*Version, 0, r[1]-r[0])
	for i := r[0]; i < r[1]; i++ {
		out = append(out, &s.Versions[i])
	}
	return out
}

// Begin returns the first day about which the scheme knows anything; 0 if its past is unbounded.
func (s *Scheme) Begin() Date { return s.begin }

// Unsure returns the versions that were split where the split may undo a merger and the source does not say which part
// went where. They are ordered by day.
func (s *Scheme) Unsure() (out []*Version) {
	for i := range s.Versions {
		if v := &s.Versions[i]; len(v.out) > 0 && s.Edges[v.out[0]].unsure && s.smaller == nil {
			out = append(out, v)
		}
	}
	slices.SortStableFunc(out, func(a, b *Version) int { return cmp.Compare(a.To, b.To) })
	return out
}

// NotUsed reports whether err is ErrUnknown, ErrNotThen or ErrNotKnown.
func NotUsed(err error) bool {
	return errors.Is(err, ErrUnknown) || errors.Is(err, ErrNotThen) || errors.Is(err, ErrNotKnown)
}

// At returns the version of a code that is valid on a day. The error is ErrUnknown, ErrNotThen or ErrNotKnown.
func (s *Scheme) At(code string, d Date) (*Version, error) {
	i, err := s.at(code, d)
	if err != nil {
		return nil, err
	}
	return &s.Versions[i], nil
}

func (s *Scheme) at(code string, d Date) (int32, error) {
	r, ok := s.byCode[code]
	if !ok {
		return -1, ErrUnknown
	}
	for i := r[0]; i < r[1]; i++ {
		if s.Versions[i].Holds(d) {
			return i, nil
		}
	}
	if d < s.begin {
		return -1, ErrNotKnown
	}
	return -1, ErrNotThen
}

// On returns the versions that are valid on a day, ordered by code.
func (s *Scheme) On(d Date) (out []*Version) {
	for i := range s.Versions {
		if s.Versions[i].Holds(d) {
			out = append(out, &s.Versions[i])
		}
	}
	return out
}

// Event returns the event with an id; nil if there is none.
func (s *Scheme) Event(id string) *Event { return s.byID[id] }

// Out returns the edges that leave a version of this scheme, In those that reach it, and Moves the transfers from and
// to it while it is valid.
func (s *Scheme) Out(v *Version) []*Edge   { return s.edges(v.out) }
func (s *Scheme) In(v *Version) []*Edge    { return s.edges(v.in) }
func (s *Scheme) Moves(v *Version) []*Edge { return s.edges(v.moves) }

func (s *Scheme) edges(numbers []int32) []*Edge {
	out := make([]*Edge, len(numbers))
	for i, n := range numbers {
		out[i] = &s.Edges[n]
	}
	return out
}

// Fate returns what ended a version: Split if it was divided among several, Merge if it became one with others,
// otherwise Renumber or Rename, and End if it has no successor. It returns "" if the version is still valid.
func (s *Scheme) Fate(v *Version) Kind {
	switch {
	case v.To == 0:
		return ""
	case len(v.out) > 1:
		return Split
	case len(v.out) == 0 || s.Edges[v.out[0]].To == nil:
		return End
	case len(s.Edges[v.out[0]].To.in) > 1:
		return Merge
	case s.Edges[v.out[0]].To.Code == v.Code:
		return Rename
	}
	return Renumber
}
