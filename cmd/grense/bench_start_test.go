package main_test

import (
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"grense/internal/await"
)

const (
	startRounds = 5                // of each start
	idleFor     = 20 * time.Second // after a start, without a request
	idleMost    = 60.0             // MB of 1,048,576 bytes that a server of the demo may have resident then
)

// benchStarts are what a server is started with, and milliseconds of CPU that it may take until it is ready,
// where the copy of its data and its side files exist already. With GRENSE_ACCEPT_REGISTER,
// the path of a GeoPackage of 1.1 million places as grense register generate makes it, such a register is one.
func benchStarts(t *testing.T) []struct {
	what, source string // source "": the demo
	most         float64
} {
	t.Helper()
	return []struct {
		what, source string
		most         float64
	}{
		{"the demo", "", 100},
		{"35,357 communes", sharedPath(t, "data", communesFile), 200},
		{"a register of 1.1 million places", os.Getenv("GRENSE_ACCEPT_REGISTER"), 200},
	}
}

// starts adds a row for each start, and one for the memory of a server at rest.
func starts(t *testing.T, table io.Writer) {
	t.Helper()
	fmt.Fprintf(table, "\nMilliseconds of CPU from a start until the server is ready, median of %d, the copy of the "+
		"data being there; and megabytes that are resident %v after a start, without a request.\n\n| Start, "+
		"or rest | Took | Bar |\n|---|---:|---|\n", startRounds, idleFor)
	for _, x := range benchStarts(t) {
		name := "Start with " + x.what
		var args []string
		switch {
		case !strings.Contains(name, os.Getenv("GRENSE_BENCH_ONLY")):
			continue
		case x.what != "the demo" && !exists(x.source):
			fmt.Fprintf(table, "| %s | not measured: there is no such file | – |\n", name)
			continue
		case x.source != "":
			args = []string{x.source}
		}
		dir := t.TempDir()
		if strings.HasSuffix(x.source, ".gpkg") { // what was made of it once is kept beside it, as make accept does
			dir = x.source + ".home"
		}
		home := []string{"HOME=" + dir, tellsMetrics}
		first := serve(t, home, args...)
		first.rest(t)
		first.finish(t)
		took, told := hold(t, name, func(took [][]float64) float64 {
			return median(took[0]) / x.most
		}, func() [][]float64 {
			var took []float64
			for range startRounds {
				s := serve(t, home, args...)
				spent, err := cpuTime(s.cmd.Process.Pid)
				if err != nil {
					t.Fatal(err)
				}
				s.finish(t)
				took = append(took, ms(spent))
			}
			return [][]float64{took}
		})
		fmt.Fprintf(table, "| %s | %s ms | %.0f ms: %s |\n", name, spread(took[0]), x.most, told)
		t.Logf("%s: %.1f ms", name, median(took[0]))
	}
	idle(t, table)
}

// idle adds rows for the memory of servers of the demo without requests: of the first, which has made the files of
// downloads, reported without a bar, and of those that find them.
func idle(t *testing.T, table io.Writer) {
	t.Helper()
	const name = "At rest with the demo"
	if !strings.Contains(name, os.Getenv("GRENSE_BENCH_ONLY")) {
		return
	}
	home := []string{"HOME=" + t.TempDir(), "GRENSE_BASE_URL=http://localhost:8080"} // files are those of an address
	first := serve(t, home)
	first.idles(t, idleFor, 100*time.Millisecond)
	fmt.Fprintf(table, "| %s, whose files it has made | %.1f MB | – |\n", name, mebibytes(t, first))
	first.finish(t)
	took, told := hold(t, name, func(took [][]float64) float64 {
		return median(took[0]) / idleMost
	}, func() [][]float64 {
		servers := []*serving{serve(t, home), serve(t, home), serve(t, home)}
		var took []float64
		for _, s := range servers {
			s.idles(t, idleFor, 100*time.Millisecond)
			took = append(took, mebibytes(t, s))
			s.finish(t)
		}
		return [][]float64{took}
	})
	fmt.Fprintf(table, "| %s | %s MB | %.0f MB: %s |\n", name, spread(took[0]), idleMost, told)
	t.Logf("%s: %.1f MB", name, median(took[0]))
}

// idles waits until a server has taken less CPU than most for as long as window.
func (s *serving) idles(t *testing.T, window, most time.Duration) {
	t.Helper()
	var begin time.Time
	var before time.Duration
	await.True(t, "the server is idle", func() bool {
		spent, err := cpuTime(s.cmd.Process.Pid)
		if err != nil {
			t.Fatal(err)
		}
		if begin.IsZero() || spent-before >= most {
			begin, before = time.Now(), spent
		}
		return time.Since(begin) >= window
	})
}

// mebibytes is the resident memory of a server.
func mebibytes(t *testing.T, s *serving) float64 {
	t.Helper()
	return float64(resident(t, s.cmd.Process.Pid)) / (1 << 20)
}
