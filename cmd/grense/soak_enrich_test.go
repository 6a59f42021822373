package main_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"grense/internal/sharedtest"
)

// longTable is a CSV table of points along Norway, of at least so many bytes, row by row out of a block that is made
// before; rows counts them.
func longTable(bytesWanted int) (in io.Reader, rows int) {
	r := rand.New(rand.NewPCG(5, 18))
	var block bytes.Buffer
	const inBlock = 20_000
	for i := range inBlock {
		lat := 58 + 12*r.Float64()
		fmt.Fprintf(&block, "%d,a place with a name,%.6f,%.6f\n", i, 5.5+(lat-58)*1.5+3*r.Float64(), lat)
	}
	n := bytesWanted/block.Len() + 1
	parts := []io.Reader{strings.NewReader("nr,name,lon,lat\n")}
	for range n {
		parts = append(parts, bytes.NewReader(block.Bytes()))
	}
	return io.MultiReader(parts...), n * inBlock
}

// mostResident bounds what a program has in memory while it enriches a table of any length, in bytes.
const mostResident = 300 << 20

// TestALongTableIsEnrichedInLittleMemory, by 357 municipalities, on the command line and by a
// server, which prints how fast.
func TestALongTableIsEnrichedInLittleMemory(t *testing.T) {
	if sharedtest.Soak(t) == 0 {
		t.Skip("part of make soak")
	}
	with := sharedPath(t, "data", "norway", "robhop-2024", "Kommuner-M.geojson.gz")
	if !exists(with) {
		t.Skipf("SKIPPED: %s is absent", filepath.Base(with))
	}
	long := min(1<<30, sharedtest.Rounds(t, 64<<20)) // bytes
	home := t.TempDir()
	var cmd *exec.Cmd
	var errs bytes.Buffer
	var out lineCounter
	rows := 0
	for _, size := range []int{1, long} { // the first imports the divisions
		var table io.Reader
		table, rows = longTable(size)
		cmd, out = program(t, t.Context(), home, "enrich", "--with", with), lineCounter{}
		cmd.Stdin, cmd.Stdout, cmd.Stderr = table, &out, &errs
		if err := cmd.Run(); err != nil {
			t.Fatalf("%v: %s", err, &errs)
		}
	}
	spent := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	peak := cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss << 10
	t.Logf("grense enrich: %d rows, %.0f rows in a second of CPU, at most %d MB resident", rows,
		float64(rows)/spent.Seconds(), peak>>20)
	if out.lines != rows+1 || peak > mostResident {
		t.Errorf("%d lines of %d, %d bytes resident: %s", out.lines, rows+1, peak, &errs)
	}

	s := serve(t, nil, with)
	table, rows := longTable(long)
	before := s.cpu(t)
	lines, told := s.enrich(t, table)
	t.Logf("POST /enrich: %d rows, %.0f rows in a second of CPU, at most %d MB resident", rows,
		float64(rows)/(s.cpu(t)-before).Seconds(), s.peak(t)>>20)
	if want := fmt.Sprintf(`"rows":%d,`, rows); lines != rows+1 || !strings.Contains(told, want) ||
		s.peak(t) > mostResident {
		t.Errorf("%d lines of %d, %s, %d bytes resident", lines, rows+1, told, s.peak(t))
	}
}

// enrich sends a table of CSV; it returns the lines of the answer and its report.
func (s *serving) enrich(t *testing.T, table io.Reader) (lines int, report string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.base+"/enrich", bufio.NewReaderSize(table, 64<<10))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "text/csv")
	req.Header.Set("X-API-Key", s.key)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var out lineCounter
	if _, err := io.Copy(&out, res.Body); err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%s: %v", res.Status, err)
	}
	return out.lines, res.Trailer.Get("Enrich-Report")
}

// lineCounter counts the lines that are written to it.
type lineCounter struct{ lines int }

func (c *lineCounter) Write(b []byte) (int, error) {
	c.lines += bytes.Count(b, []byte{'\n'})
	return len(b), nil
}
