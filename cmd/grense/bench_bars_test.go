package main_test

import (
	"fmt"
	"math"
	"testing"
)

// bar is what a request may cost at most.
type bar struct {
	times float64 // of the bare handler; 0: there is no bar
	plus  float64 // or so many microseconds more than that costs, where it is more
	trip  float64 // microseconds of a round trip to a database, on top
}

// again is the bar of repeated requests on unchanged data.
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

// mostTries is how often a row is measured at most, until its bar is held.
const mostTries = 3

// most is what the bar allows where the bare handler takes so many microseconds.
func (b bar) most(bare float64) float64 { return max(b.times*bare, bare+b.plus) + b.trip }

// String returns the bar in a table.
func (b bar) String() string {
	text := fmt.Sprintf("%.1f", b.times)
	if b.plus > 0 {
		text += fmt.Sprintf(" or +%.0f µs", b.plus)
	}
	if b.trip > 0 {
		text += fmt.Sprintf(", +%.0f µs", b.trip)
	}
	return text
}

// hold is the function hold where measure returns microseconds of a request, and of the bare handler behind them.
// Where there is no bar it measures once.
func (b bar) hold(t testing.TB, name string, measure func() [][]float64) (took [][]float64, told string) {
	t.Helper()
	if b.times == 0 {
		return measure(), "–"
	}
	took, told = hold(t, name, func(took [][]float64) float64 {
		return median(took[0]) / b.most(median(took[1]))
	}, measure)
	return took, b.String() + ": " + told
}

// hold measures until a bar is held, mostTries times at most: beyond is how many times the bar is what was measured,
// by medians. It returns the measurement that came nearest to the bar, and what the table says of it.
// A bar that is held in none fails the test.
func hold(t testing.TB, name string, beyond func(took [][]float64) float64,
	measure func() [][]float64) (best [][]float64, told string) {
	t.Helper()
	least, n := math.Inf(1), 0
	for n < mostTries && least > 1 {
		took := measure()
		n++
		if x := beyond(took); x < least || best == nil {
			best, least = took, x
		}
	}
	switch {
	case least > 1:
		t.Errorf("%s: %.1f %% beyond its bar at best, measured %d times", name, 100*(least-1), n)
		return best, fmt.Sprintf("**missed** by %.1f %%, measured %d times", 100*(least-1), n)
	case n > 1:
		return best, fmt.Sprintf("held, measured %d times", n)
	}
	return best, "held"
}

// failing is a test of which it is only known whether it failed.
type failing struct {
	testing.TB
	failed bool
}

func (*failing) Helper()                 {}
func (f *failing) Errorf(string, ...any) { f.failed = true }

func TestARowThatMissesItsBarIsMeasuredAgain(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		medians []float64
		best    float64
		told    string
		fails   bool
	}{
		{[]float64{9}, 9, "held", false},
		{[]float64{10}, 10, "held", false},
		{[]float64{12, 9.5}, 9.5, "held, measured 2 times", false},
		{[]float64{12, 11, 10}, 10, "held, measured 3 times", false},
		{[]float64{12, 11, 12}, 11, "**missed** by 10.0 %, measured 3 times", true},
	} {
		f, n := &failing{}, 0
		took, told := hold(f, "a row", func(took [][]float64) float64 {
			return median(took[0]) / 10
		}, func() [][]float64 { n++; return [][]float64{{x.medians[n-1]}} })
		if n != len(x.medians) || took[0][0] != x.best || told != x.told || f.failed != x.fails {
			t.Errorf("%v: measured %d times, %v, %q, failed %v", x.medians, n, took, told, f.failed)
		}
	}
	if took, told := (bar{}).hold(t, "a row without a bar", func() [][]float64 {
		return [][]float64{{100}, {1}}
	}); told != "–" || took[0][0] != 100 {
		t.Errorf("%v, %q without a bar", took, told)
	}
}
