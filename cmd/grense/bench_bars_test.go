package main_test

import (
	"fmt"
	"slices"
	"testing"
)

// bar is what a request may cost at most.
type bar struct {
	times float64 // of the bare handler; 0: there is no bar
	plus  float64 // or so many microseconds more than that costs, where it is more
	trip  float64 // microseconds of a round trip to a database, on top
}

// again is the bar of what is asked again on unchanged data.
var again = bar{times: 1.5, plus: 20}

// bars are those of kinds of questions that nobody asked before, and that are asked again.
var bars = map[string]struct{ first, again bar }{
	"landing":          {again: again},
	"item":             {bar{times: 2}, again},
	"page of 10":       {bar{times: 2.5}, again},
	"page of 100":      {bar{times: 4}, again},
	"HTML page":        {again: again},
	"HTML page of 100": {bar{times: 4}, again},
	"collection":       {again: again},
	"codes":            {again: again},
	"tile":             {again: again},
	"box":              {first: bar{times: 3}},
	"point":            {first: bar{times: 2.5}},
	"name":             {first: bar{times: 3}},
}

// farBeyond is by how much a bar is missed that is no noise.
const farBeyond = 1.5

// most is what the bar allows where the bare handler takes so many microseconds.
func (b bar) most(bare float64) float64 { return max(b.times*bare, bare+b.plus) + b.trip }

// told tells the bar in a table, and whether it is held by the median of what was taken. One that is missed by far fails the test.
func (b bar) told(t *testing.T, name string, took []float64, bare float64) string {
	t.Helper()
	if b.times == 0 {
		return "–"
	}
	text := fmt.Sprintf("%.1f", b.times)
	if b.plus > 0 {
		text += fmt.Sprintf(" or +%.0f µs", b.plus)
	}
	if b.trip > 0 {
		text += fmt.Sprintf(", +%.0f µs", b.trip)
	}
	return text + ": " + held(t, name, took, b.most(bare))
}

// held tells whether the median of figures is within its bar. By the least of them, in which there is least noise, it is seen whether the bar is missed by far.
func held(t *testing.T, name string, took []float64, most float64) string {
	t.Helper()
	if best := slices.Min(took); best > farBeyond*most {
		t.Errorf("%s: %.1f at best, which is far beyond the bar of %.1f", name, best, most)
	}
	if m := median(took); m > most {
		return fmt.Sprintf("**missed** by %.0f %%", 100*(m/most-1))
	}
	return "held"
}
