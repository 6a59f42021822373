package enrich_test

import (
	"bytes"
	"fmt"
	"io"
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

// TestNoRowIsTakenForAnother: what is wrong with one row stands in that row.
func TestNoRowIsTakenForAnother(t *testing.T) {
	t.Parallel()
	const closed, number = "a quotation mark is never closed; what follows is taken for its text",
		"a coordinate is no number"
	for _, tt := range []struct{ name, in, want string }{
		{"a mark within a text", "x,y,n\n1,2,3\" pipe\n3,4,4\" tube, long\n5,6,\"a, b\"\n",
			"x,y,n,quarter,enrich_error\n1,2,3\" pipe,north,\n3,4,4\" tube, long,,\"the row has 4 cells, " +
				"the header 3\"\n5,6,\"a, b\",north,\n"},
		{"two marks within texts", "x;y;n;m\n1;2;3\" x;4\" y\n",
			"x;y;n;m;quarter;enrich_error\n1;2;3\" x;4\" y;north;\n"},
		{"a mark behind blanks", "n,x,y\n \"a,\nb\"\"\" ,1,2\n",
			"n,x,y,quarter,enrich_error\n \"a,\nb\"\"\" ,1,2,north,\n"},
		{"a mark that is never closed", "x,y,n\n1,2,a\n1,2,\"a\n3,4,b\n",
			"x,y,n,quarter,enrich_error\n1,2,a,north,\n1,2,\"a\n3,4,b\n,,\"" + closed + "\"\n"},
		{"a column without a name", ",x,y\n0,1,2\n", ",x,y,quarter,enrich_error\n0,1,2,north,\n"},
		{"a carriage return at the very end", "x,y\r\n1,2\r", "x,y,quarter,enrich_error\n1,2,north,\n"},
		{"numbers of programs", "x,y\n1_0,2\n0x1p3,2\nInf,2\n1e1,2\n", "x,y,quarter,enrich_error\n1_0,2,," + number +
			"\n0x1p3,2,," + number + "\nInf,2,," + number + "\n1e1,2,north,\n"},
	} {
		tt.want = strings.ReplaceAll(tt.want, "\""+closed+"\"", closed)
		for _, size := range []int{1, 7, len(tt.in)} {
			var out bytes.Buffer
			if err := enrich.NewCSV(quarters{}, enrich.Options{}).Run(&out, &inPieces{tt.in, size}, nil); err != nil ||
				out.String() != tt.want {
				t.Errorf("%s, in pieces of %d bytes: %v, %q, want %q", tt.name, size, err, out.String(), tt.want)
			}
		}
	}
}

// inPieces gives a text a few bytes at a time.
type inPieces struct {
	rest string
	size int
}

func (r *inPieces) Read(p []byte) (int, error) {
	n := copy(p, r.rest[:min(r.size, len(r.rest))])
	if r.rest = r.rest[n:]; n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

func TestTablesThatCannotBeReadAreTold(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		lines    bool
		in, want string
	}{
		{false, "x,y\r1,2\r", "save it with line feeds"},
		{false, "x,y,enrich_error\n", "rename it"},
		{true, `{"x":1,"y":2,"enrich_error":"mine"}`, "rename it"},
		{in: "x,y,x\n1,2,3\n", want: `several columns "x"`},
	} {
		e := enrich.NewCSV(quarters{}, enrich.Options{})
		if tt.lines {
			e = enrich.NewLines(quarters{}, enrich.Options{})
		}
		if _, _, err := e.Append(nil, []byte(tt.in), true); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: %v", tt.in, err)
		}
	}
}

// TestNoMemberStandsTwice: a line that has a member of the name that would be added keeps its own, and says so.
func TestNoMemberStandsTwice(t *testing.T) {
	t.Parallel()
	out, _, err := enrich.NewLines(quarters{}, enrich.Options{}).
		Append(nil, []byte("{\"x\":1,\"y\":2,\"quarter\":\"mine\"}\n{\"x\":1,\"y\":2}\n"), true)
	want := `{"x":1,"y":2,"quarter":"mine","enrich_error":"the line has a member quarter already, which would be ` +
		`added; rename it"}` + "\n" + `{"x":1,"y":2,"quarter":"north","enrich_error":null}` + "\n"
	if err != nil || string(out) != want {
		t.Errorf("%v, %s, want %s", err, out, want)
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
