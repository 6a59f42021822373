package ingest

import (
	"fmt"
	"grense/internal/format/input"
	"strings"
)

// Fault is one error or note about a file.
type Fault struct {
	File   string `json:"file"`
	Layer  string `json:"layer,omitempty"`
	Line   int    `json:"line,omitempty"`   // from 1; 0 if the format has no lines
	Column int    `json:"column,omitempty"` // in bytes, from 1
	// number in the layer, from 1; 0 if it is not about a single feature
	Feature int          `json:"feature,omitempty"`
	ID      string       `json:"id,omitempty"` // of the feature, if known
	Action  input.Action `json:"action"`
	Reason  string       `json:"reason"` // with the cure if there is one
}

// String returns the fault as a line for a person.
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

// Report counts what happened to the features of an import. The zero value is ready to use.
type Report struct {
	Read     int // features found
	Written  int
	Null     int // features without a geometry
	Repaired int // features whose geometry was made valid, closed, or lost extra ordinates
	Turned   int // features with rings that were reversed
	Dropped  int // features that lost rings or lines with too few positions
	Kept     int // features that stay invalid
	Refused  int // refused features, and faults outside features
	Warnings int
	Area     Area
	Faults   []Fault // the first of each action, at most MaxFaults, in file order
	All      int     // number of all faults

	kept map[input.Action]int // number in Faults by action
	last map[input.Action]int // number of the last feature that was counted
	file string               // file of that feature
}

// Area is the area of all polygons in square metres: planar in a projected system, on a sphere for degrees.
// Invalid geometries that are kept count as read.
type Area struct {
	Read    float64 // in the file; invalid rings by the non-zero rule
	Written float64
	Moved   float64 // changed by repairs: the area that is in only one of the two
}

// MaxFaults bounds the faults of one action in Report.Faults. Watch.Fault receives all.
const MaxFaults = 1000

// add counts a fault. Several faults of one feature with the same action count once.
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
