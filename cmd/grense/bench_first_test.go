package main_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"
)

const (
	firstRounds = 5                     // of each large answer, each of a server that was just started
	firstWithin = 20 * time.Millisecond // from the request to the first byte
)

// firstAnswers are questions of the 35,357 communes whose first byte is timed.
var firstAnswers = []struct{ name, path string }{
	{"10,000 communes", "/collections/communes/items?limit=10000"},
	{"10,000 communes, CSV", "/collections/communes/items?limit=10000&f=csv"},
	{"The whole collection, GeoJSON", "/collections/communes/download?f=json"},
	{"The whole collection, CSV", "/collections/communes/download?f=csv"},
}

// arrived is when the parts of an answer came, from the request on.
type arrived struct {
	first, all time.Duration
}

// arrive asks for path over a connection of its own.
func arrive(t *testing.T, s *serving, path string) (a arrived) {
	t.Helper()
	conn, err := net.Dial("tcp", s.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(patience))
	start := time.Now()
	fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: gzip\r\nX-API-Key: %s\r\nConnection: "+
		"close\r\n\r\n", path, s.key)
	in := bufio.NewReaderSize(conn, 64<<10)
	if _, err := in.Peek(1); err != nil {
		t.Fatal(err)
	}
	a.first = time.Since(start)
	res, err := http.ReadResponse(in, nil)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%s: %v %v", path, res, err)
	}
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		t.Fatal(err)
	}
	a.all = time.Since(start)
	return a
}

// firstBytes adds a row for each large answer: of the communes in a file and in a database, each time from a server
// that was just started and has answered one small question.
func firstBytes(t *testing.T, table io.Writer, sources [2]string) {
	t.Helper()
	fmt.Fprintf(table, "\nLarge answers of 35,357 communes, cold: milliseconds from the request to the first byte "+
		"and to the last, median of %d servers that were just started, fastest and slowest in brackets.\n"+
		"The bar is %d ms to the first byte.\n\n| Answer | GeoPackage, first ms | all ms | PostGIS, first ms | all "+
		"ms | Bar |\n|---|---:|---:|---:|---:|---|\n", firstRounds, firstWithin.Milliseconds())
	for _, x := range firstAnswers {
		if !strings.Contains(x.name, os.Getenv("GRENSE_BENCH_ONLY")) {
			continue
		}
		var took [2][][]float64
		var told [2]string
		for i, source := range sources {
			took[i], told[i] = hold(t, [...]string{"GeoPackage, ", "PostGIS, "}[i]+x.name+", first byte",
				func(took [][]float64) float64 { return median(took[0]) / ms(firstWithin) },
				func() [][]float64 { return arrivals(t, source, x.path) })
		}
		fmt.Fprintf(table, "| %s | %s | %.0f | %s | %.0f | %s; %s |\n", x.name, spread(took[0][0]), median(took[0][1]),
			spread(took[1][0]), median(took[1][1]), told[0], told[1])
		t.Logf("%s: first byte after %.1f and %.1f ms", x.name, median(took[0][0]), median(took[1][0]))
	}
}

// arrivals are the milliseconds to the first byte of an answer, and to the last, of servers that were just started.
func arrivals(t *testing.T, source, path string) [][]float64 {
	t.Helper()
	took := make([][]float64, 2)
	for range firstRounds {
		s := serve(t, nil, source)
		record(t, s, "/collections/communes/items?limit=10")
		a := arrive(t, s, path)
		s.finish(t)
		took[0], took[1] = append(took[0], ms(a.first)), append(took[1], ms(a.all))
	}
	return took
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// importCommunes imports a file of communes into target as the collection communes.
func importCommunes(t *testing.T, file, target string) {
	t.Helper()
	if out, err := program(t, context.Background(), t.TempDir(), "import", file, "--into", target, "--collection",
		"communes").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}
