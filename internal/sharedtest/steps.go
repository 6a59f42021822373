package sharedtest

import (
	"encoding/json"
	"os"
	"strconv"
	"testing"
)

// A Figure is what a step of make attack or make soak measured.
type Figure struct {
	What, Got, Bound string
	Noise            string // what a bare handler measured at the same time, where that matters
	Failed           bool
}

// Record prints a figure and appends it to the file that GRENSE_STEP_REPORT names, as a line of JSON.
// A figure that failed fails the test.
func (f Figure) Record(tb testing.TB) {
	tb.Helper()
	verdict := "ok"
	if f.Failed {
		verdict = "FAILED"
		tb.Fail()
	}
	tb.Logf("%s: %s, bound %s, noise %q: %s", f.What, f.Got, f.Bound, f.Noise, verdict)
	name := os.Getenv("GRENSE_STEP_REPORT")
	if name == "" {
		return
	}
	line, err := json.Marshal(f)
	if err != nil {
		tb.Fatal(err)
	}
	file, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		tb.Fatal(err)
	}
	defer file.Close()
	if _, err := file.Write(append(line, '\n')); err != nil {
		tb.Fatal(err)
	}
}

// Soak returns the factor of make soak, by which GRENSE_SOAK makes loops longer than in an ordinary run;
// 0 is an ordinary run.
func Soak(tb testing.TB) int {
	tb.Helper()
	text := os.Getenv("GRENSE_SOAK")
	if text == "" {
		return 0
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		tb.Fatalf("GRENSE_SOAK=%q: set a factor from 1 up", text)
	}
	return n
}

// Rounds returns how many rounds a loop runs: n, or in make soak n times the factor of Soak.
func Rounds(tb testing.TB, n int) int {
	tb.Helper()
	return n * max(1, Soak(tb))
}
