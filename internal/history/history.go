// Package history knows divisions through time: which codes were valid when and what they were called, which events
// ended them, and what became of them. It translates codes from one day to another.
//
// A scheme is a set of codes, such as those of municipalities. A version is a division in a time in which its code,
// name and parent stay; it holds from its first day to the day before its end (half-open). An entity is what lives on
// through renamings, renumberings, and mergers after which its code stays. An event happens at the beginning of a day
// and leads by edges from versions to versions. Shares are known or unknown, never guessed.
//
// Where a merger is undone, the parts are those that were merged: an edge may say which earlier versions it carries
// (Of), and whoever came through another of them does not take it. Schemes of larger divisions are translated through
// the smaller ones that name them as parent, since a county that was undone was not always what it had been.
//
// Days are those of the calendar of the country; a History has no notion of hours or zones. Everything here is
// immutable and safe for concurrent use.
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

// Date is a day as the number yyyymmdd; 0 is none: before all time as a beginning, open as an end.
type Date int32

// ParseDate reads a day as ISO 8601 writes it: 2020-01-01.
func ParseDate(s string) (Date, error) {
	t, err := time.Parse(time.DateOnly, s)
	if err != nil || t.Year() < 1 {
		return 0, problem.Sayf("%q is no day; write it as 2020-01-01", s)
	}
	return DateOf(t), nil
}

// DateOf returns the day of a moment, in the zone of the moment.
func DateOf(t time.Time) Date { return Date(t.Year()*10000 + int(t.Month())*100 + t.Day()) }

// String writes the day by ISO 8601; "" for none.
func (d Date) String() string {
	if d == 0 {
		return ""
	}
	return fmt.Sprintf("%04d-%02d-%02d", d/10000, d/100%100, d%100)
}

// Time returns the beginning of the day in a zone.
func (d Date) Time(zone *time.Location) time.Time {
	return time.Date(int(d/10000), time.Month(d/100%100), int(d%100), 0, 0, 0, 0, zone)
}

// Kind is what an event is.
type Kind string

// The kinds of events.
const (
	Rename   Kind = "rename"   // the name changes, the code stays
	Renumber Kind = "renumber" // the code changes, the name may as well
	Reparent Kind = "reparent" // only the parent changes
	Merge    Kind = "merge"    // several become fewer, under a new code
	Absorb   Kind = "absorb"   // several become fewer, and one of them keeps its code
	Split    Kind = "split"    // one becomes several
	Transfer Kind = "transfer" // area moves between divisions that stay
	Create   Kind = "create"   // something begins that comes from none
	End      Kind = "end"      // something ends that nothing follows
)

// Kinds are all kinds of events.
var Kinds = []Kind{Rename, Renumber, Reparent, Merge, Absorb, Split, Transfer, Create, End}

// Version is a division in the time in which its code, name and parent stay. From is 0 if its first day is not known:
// it holds on every day before To. To is the first day on which it does not hold any more, 0 while it does.
type Version struct {
	Scheme, Code, Name   string
	ParentScheme, Parent string // scheme and code of what it belongs to; "" when that is not known
	From, To             Date
	Entity               string // what it is a version of
	Recorded             string // when it became known, RFC 3339; "" when that is not known

	// Numbers of edges of the scheme, by the other end.
	out, in []int32
	moves   []int32 // transfers, which begin and end no version
	tagged  bool    // some edge forbids paths through it
}

// Holds reports whether the version is valid on a day.
func (v *Version) Holds(d Date) bool { return v.From <= d && (v.To == 0 || d < v.To) }

// SomeDay returns a day on which the version holds: its first one, or the last one if the first is not known; 0 if it
// always held.
func (v *Version) SomeDay() Date {
	if v.From == 0 && v.To != 0 {
		return before(v.To)
	}
	return v.From
}

// Count is a number of people or square metres. Its zero value is not known, which differs from a known 0.
type Count struct {
	N     int64
	Known bool
}

// CountOf returns a number that is known.
func CountOf(n int64) Count { return Count{n, true} }

// String returns the number in decimal; "" if it is not known.
func (c Count) String() string {
	if !c.Known {
		return ""
	}
	return strconv.FormatInt(c.N, 10)
}

// MarshalJSON returns the number; null if it is not known.
func (c Count) MarshalJSON() ([]byte, error) {
	if !c.Known {
		return []byte("null"), nil
	}
	return strconv.AppendInt(nil, c.N, 10), nil
}

// Edge leads from what was before an event to what is after it. From is nil for what comes from none, To for what
// nothing follows.
type Edge struct {
	From, To *Version
	Event    *Event
	Part     bool  // only a part of From goes to To
	People   Count // how many came along
	Area     Count // square metres that came along
	Units    int64 // how many divisions of the smaller scheme came along; 0 when that is not known
	Of       []*Version

	date     Date
	from, to int32   // numbers of versions; -1 for none
	transfer bool    // begins and ends no version
	unsure   bool    // of a split that may undo a merger, without a word on what came back to what
	forbid   []int32 // versions that paths over this edge do not pass
}

// Event is what happened to some divisions at the beginning of a day.
type Event struct {
	ID       string // of the scheme, the day and the first code
	Scheme   string
	Date     Date
	Kind     Kind
	Source   string // who says so
	Recorded string // when it became known, RFC 3339; "" when that is not known
	Edges    []*Edge
	// Seq numbers the events of a history in the order in which they were recorded. It stays for as long as the event
	// does, and a corrected event has one behind all others.
	Seq int64
}

// same reports whether an event says the same as an earlier one.
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

// number numbers the events that have no number, after last and all numbers in use, in the order in which they were
// recorded, then by day.
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

// Follow numbers the events of a history that was just built as one that takes the place of old: those that say the
// same keep their numbers, the others come behind all that old had.
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

// Before lists the versions that the event ends or takes from, by code.
func (e *Event) Before() []*Version {
	return e.ends(func(x *Edge) *Version { return x.From })
}

// After lists the versions that the event begins or adds to, by code.
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

// Scheme is a set of codes through time.
type Scheme struct {
	ID       string
	Versions []Version // by code, then by time
	Edges    []Edge
	Events   []Event // by day, then by id

	byCode  map[string][2]int32 // first and behind the last of Versions
	byID    map[string]*Event
	moved   bool    // there are transfers
	unsure  bool    // some split may undo a merger, without a word on what came back to what
	width   int     // length of all codes; -1: they differ
	begin   Date    // the first day of which anything is known; 0: not bounded
	smaller *Scheme // whose versions name those of this one as parents; nil when there is none
}

// History is several schemes.
type History struct {
	schemes []*Scheme
}

// Schemes lists all, in the order of their ids.
func (h *History) Schemes() []*Scheme { return h.schemes }

// Scheme returns the scheme with that id; nil when there is none.
func (h *History) Scheme(id string) *Scheme {
	for _, s := range h.schemes {
		if s.ID == id {
			return s
		}
	}
	return nil
}

// Entity returns the last version of an entity, and its scheme; nil if there is none.
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
	// ErrUnknown reports a code that its scheme never had.
	ErrUnknown = errors.New("history: the code was never in use")
	// ErrNotThen reports a code that was not in use on the requested day, but on others.
	ErrNotThen = errors.New("history: the code was not in use on that day")
	// ErrNotKnown reports a day before the first one that a scheme knows.
	ErrNotKnown = errors.New("history: nothing is known of that day")
)

// Whole returns a code as the scheme writes it: with zeros before it if all codes have one length and the code has
// lost them. A code that the scheme knows, and one that it does not know with zeros either, stays as it is.
func (s *Scheme) Whole(code string) string {
	if _, ok := s.byCode[code]; ok || code == "" || len(code) >= s.width || strings.Trim(code, "0123456789") != "" {
		return code
	}
	if whole := strings.Repeat("0", s.width-len(code)) + code; len(s.Meanings(whole)) > 0 {
		return whole
	}
	return code
}

// Related reports whether the meanings of a code continue each other: each of them goes on, at least in part, in the
// next one.
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

// Meanings lists all versions that a code stood for, by time; none when the code was never in use.
func (s *Scheme) Meanings(code string) []*Version {
	r := s.byCode[code]
	out := make([]*Version, 0, r[1]-r[0])
	for i := r[0]; i < r[1]; i++ {
		out = append(out, &s.Versions[i])
	}
	return out
}

// Begin returns the first day that the scheme knows; 0 if it is open to the past.
func (s *Scheme) Begin() Date { return s.begin }

// Unsure lists the versions whose split may undo a merger where the source does not say what came back to what, by day.
func (s *Scheme) Unsure() (out []*Version) {
	for i := range s.Versions {
		if v := &s.Versions[i]; len(v.out) > 0 && s.Edges[v.out[0]].unsure && s.smaller == nil {
			out = append(out, v)
		}
	}
	slices.SortStableFunc(out, func(a, b *Version) int { return cmp.Compare(a.To, b.To) })
	return out
}

// NotUsed reports whether an error is ErrUnknown, ErrNotThen or ErrNotKnown: there is no division with the code on the
// day.
func NotUsed(err error) bool {
	return errors.Is(err, ErrUnknown) || errors.Is(err, ErrNotThen) || errors.Is(err, ErrNotKnown)
}

// At returns what a code stands for on a day. The error is ErrUnknown, ErrNotThen or ErrNotKnown.
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

// On lists the versions that hold on a day, by code.
func (s *Scheme) On(d Date) (out []*Version) {
	for i := range s.Versions {
		if s.Versions[i].Holds(d) {
			out = append(out, &s.Versions[i])
		}
	}
	return out
}

// Event returns the event with that id; nil when there is none.
func (s *Scheme) Event(id string) *Event { return s.byID[id] }

// Out lists the edges that lead on from a version of this scheme, In those that led to it, Moves the transfers from
// it and to it while it holds.
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

// Fate says what became of a version that has ended: Split when parts of it went to several, Merge when it went into
// one with others, else Renumber or Rename; End when nothing follows. "" for one that still holds.
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
