package enrich_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"grense/internal/enrich"
)

// quarters finds the quarter of the plane that a point lies in.
type quarters struct{}

func (quarters) Columns() []string { return []string{"quarter"} }

func (quarters) At(dst []string, x, y float64) ([]string, string, error) {
	return append(dst, map[bool]string{true: "north", false: "south"}[y > 0]), "", nil
}

func (quarters) Code(dst []string, code string) ([]string, bool, error) {
	return append(dst, code), false, nil
}

// TestPiecesMakeNoDifference cuts a table anywhere.
func TestPiecesMakeNoDifference(t *testing.T) {
	t.Parallel()
	table := "\xef\xbb\xbfa;x;y\r\n\"1\n;\"\"2\";1,5;2\r\n\r\nB\xe6r;3;-4\r\nlast;5;6"
	want := "a;x;y;quarter;enrich_error\n\"1\n;\"\"2\";1,5;2;north;\n\nBær;3;-4;south;\nlast;5;6;north;\n"
	for size := 1; size <= len(table); size++ {
		e := enrich.NewCSV(quarters{}, enrich.Options{})
		var out, rest []byte
		var err error
		for at := 0; at < len(table); at += size {
			end := min(at+size, len(table))
			rest = append(bytes.Clone(rest), table[at:end]...)
			if out, rest, err = e.Append(out, rest, end == len(table)); err != nil {
				t.Fatal(err)
			}
		}
		if string(out) != want {
			t.Fatalf("in pieces of %d bytes: %q, want %q", size, out, want)
		}
	}
}

// FuzzCSV: whatever the table, there is a row for each row, or a fault.
func FuzzCSV(f *testing.F) {
	f.Add([]byte("lon,lat\n1,2\n"))
	f.Add([]byte("\"lon\";lat\n\"1\";2"))
	f.Fuzz(func(t *testing.T, b []byte) {
		e := enrich.NewCSV(quarters{}, enrich.Options{})
		out, rest, err := e.Append(nil, b, true)
		if err == nil && (len(rest) > 0 || bytes.Count(out, []byte{'\n'}) < e.Report.Rows) {
			t.Errorf("%q: %q", b, out)
		}
		enrich.NewLines(quarters{}, enrich.Options{}).Append(nil, b, true)
	})
}

// BenchmarkCSV enriches rows of 40 bytes with a Finder that costs nothing.
func BenchmarkCSV(b *testing.B) {
	var table strings.Builder
	r := rand.New(rand.NewPCG(1, 2))
	const rows = 1000
	for i := range rows {
		fmt.Fprintf(&table, "%d,name of a place,%.6f,%.6f\n", i, 30*r.Float64(), 30*r.Float64())
	}
	e := enrich.NewCSV(quarters{}, enrich.Options{})
	if _, _, err := e.Append(nil, []byte("id,name,lon,lat\n"), false); err != nil {
		b.Fatal(err)
	}
	in := []byte(table.String())
	var out []byte
	b.ReportAllocs()
	b.SetBytes(int64(len(in)))
	for b.Loop() {
		var err error
		if out, _, err = e.Append(out[:0], in, false); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)*rows/b.Elapsed().Seconds(), "rows/s")
}
