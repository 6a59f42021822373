package ingest

import (
	"fmt"
	"grense/internal/format/input"
	"strings"
)

// Fault is one thing that is wrong with a file.
type Fault struct {
	File    string       `json:"file"`
	Layer   string       `json:"layer,omitempty"`
	Line    int          `json:"line,omitempty"`    // from 1; 0 where the format has no lines
	Column  int          `json:"column,omitempty"`  // in bytes, from 1
	Feature int          `json:"feature,omitempty"` // number in the layer, from 1; 0 when no single feature is meant
	ID      string       `json:"id,omitempty"`      // of the feature, where it is known
	Action  input.Action `json:"action"`
	Reason  string       `json:"reason"` // with the cure where there is one
}

// String is the fault in one line for a person.
func (f Fault) String() string {
	var b strings.Builder
	b.WriteString(f.File)
	if f.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", f.Line, f.Column)
	}
	if f.Layer != "" {
		fmt.Fprintf(&b, ", layer %s", f.Layer)
	}
	if f.Feature > 0 {
		fmt.Fprintf(&b, ", feature %d", f.Feature)
	}
	if f.ID != "" {
		fmt.Fprintf(&b, " (id %s)", f.ID)
	}
	fmt.Fprintf(&b, ": %s: %s", f.Action, f.Reason)
	return b.String()
}

// Report counts what happened to the features of an import. The zero value is ready for use.
type Report struct {
	Read     int // features found
	Written  int
	Null     int // features without a geometry
	Repaired int // features whose geometry was made valid or closed, or lost stray ordinates
	Turned   int // features with rings that were reversed
	Dropped  int // features that lost rings or lines of too few positions
	Kept     int // features that stay invalid
	Refused  int // features refused, and faults that are in no feature
	Warnings int
	Area     Area
	Faults   []Fault // the first of each action, at most MaxFaults, in the order of the files
	All      int     // faults in all

	kept map[input.Action]int // how many of Faults have the action
	last map[input.Action]int // number of the feature that was counted last
	file string               // of that feature
}

// Area is that of all polygons, in square metres: in the plane of a projected system; of degrees, on a sphere. What is
// invalid and kept counts as it is read.
type Area struct {
	Read    float64 // of what the file has, by a non-zero reading of rings that are not valid
	Written float64
	Moved   float64 // by repairs: what is in one of the two and not in the other
}

// MaxFaults bounds the faults of one action in Report.Faults; Watch.Fault gets all.
const MaxFaults = 1000

// add counts a fault; several of one feature count once.
func (r *Report) add(f Fault) {
	if r.last == nil {
		r.last, r.kept = map[input.Action]int{}, map[input.Action]int{}
	}
	if key := f.File + "\x00" + f.Layer; key != r.file {
		clear(r.last)
		r.file = key
	}
	if f.Feature == 0 || r.last[f.Action] != f.Feature {
		switch f.Action {
		case input.Refused:
			r.Refused++
		case input.Repaired:
			r.Repaired++
		case input.Turned:
			r.Turned++
		case input.Dropped:
			r.Dropped++
		case input.Kept:
			r.Kept++
		case input.Warning:
			r.Warnings++
		}
		r.last[f.Action] = f.Feature
	}
	r.All++
	if r.kept[f.Action] < MaxFaults {
		r.kept[f.Action]++
		r.Faults = append(r.Faults, f)
	}
}
