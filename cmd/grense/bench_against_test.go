package main_test

import (
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestBenchAgainst logs server CPU per request of bin/grense and of the program that GRENSE_BENCH_OLD names,
// with the same data, in interleaved rounds; GRENSE_BENCH_SOURCE and GRENSE_BENCH_ONLY choose as in TestBenchTable.
// The ratio is the median over rounds of new to old. What the older program does not answer with 200 is passed over.
// The ratio of what they send is printed, since a page that says more costs more.
func TestBenchAgainst(t *testing.T) {
	old := os.Getenv("GRENSE_BENCH_OLD")
	if old == "" {
		t.Skip("make bench-against OLD=PROGRAM measures")
	}
	if _, err := cpuTime(os.Getpid()); err != nil {
		t.Skip("the CPU time of a process is read from /proc as Linux has it:", err)
	}
	t.Logf("%-70.70s %10s %10s %8s %8s", "Request", "old µs", "new µs", "ratio", "bytes")
	s := serve(t, nil)
	interleave(t, start(t, &serving{bin: old}, nil), s, append(demoQuestions(t, s),
		question{name: "Demo: 10 municipalities, HTML", path: "/collections/kommuner/items?f=html&limit=10"},
	))
	for _, x := range benchSources {
		if !strings.Contains(x.what, os.Getenv("GRENSE_BENCH_SOURCE")) {
			continue
		}
		source := sharedPath(t, "data", x.path)
		if !exists(source) {
			t.Logf("%s were not measured: there is no %s", x.what, filepath.Base(source))
			continue
		}
		s := serve(t, nil, source)
		interleave(t, start(t, &serving{bin: old}, nil, source), s, x.questions(t, s))
	}
}

// interleave logs a row for each question, asked of an older program, too.
func interleave(t *testing.T, old, now *serving, questions []question) {
	t.Helper()
	rng := rand.New(rand.NewPCG(3, uint64(len(questions))))
	before := &measured{addr: old.addr, pid: old.cmd.Process.Pid, key: old.key}
	after := &measured{addr: now.addr, pid: now.cmd.Process.Pid, key: now.key}
	for _, q := range questions {
		if !q.asked() {
			continue
		}
		path := q.paths(rng, 1)[0]
		if code, _, _, err := old.asker(old.key).ask(t.Context(), path); err != nil || code != http.StatusOK {
			t.Logf("%-70.70s the older program answers %d, %v", q.name, code, err)
			continue
		}
		sent := float64(len(record(t, now, path).Body)) / float64(len(record(t, old, path).Body))
		before.calibrate(t, q, rng)
		after.calibrate(t, q, rng)
		x, y := rounds(func() float64 {
			return before.round(t, q, rng)
		}, func() float64 { return after.round(t, q, rng) })
		ratios := make([]float64, benchRounds)
		for i := range ratios {
			ratios[i] = y[i] / x[i]
		}
		t.Logf("%-70.70s %10.1f %10.1f %8.2f %8.2f", q.name, median(x), median(y), median(ratios), sent)
	}
}
