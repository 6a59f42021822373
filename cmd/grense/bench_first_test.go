package main_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"grense/internal/store/storetest"
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
	fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: gzip\r\nX-API-Key: %s\r\nConnection: close\r\n\r\n", path, s.key)
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

// firstBytes adds a row for each large answer: of the communes in a source and in a database, each time from a server that was just started and has answered one small question.
func firstBytes(t *testing.T, table io.Writer, communes string) {
	t.Helper()
	var cluster storetest.Cluster
	t.Cleanup(cluster.Stop)
	file, admin := filepath.Join(t.TempDir(), "communes.gpkg"), cluster.Database(t)
	importCommunes(t, communes, file)
	importCommunes(t, communes, admin)
	sources := [2]string{file, reader(t, admin)}
	fmt.Fprintf(table, "\nLarge answers of 35,357 communes, cold: milliseconds from the request to the first byte and to the last, median of %d servers that were just started, fastest and slowest in brackets.\n"+
		"The bar is %d ms to the first byte.\n\n| Answer | GeoPackage, first ms | all ms | PostGIS, first ms | all ms | Bar |\n|---|---:|---:|---:|---:|---|\n", firstRounds, firstWithin.Milliseconds())
	for _, x := range firstAnswers {
		if !strings.Contains(x.name, os.Getenv("GRENSE_BENCH_ONLY")) {
			continue
		}
		var first, all [2][]float64
		for range firstRounds {
			for i, source := range sources {
				s := serve(t, nil, source)
				record(t, s, "/collections/communes/items?limit=10")
				a := arrive(t, s, x.path)
				s.finish(t)
				first[i], all[i] = append(first[i], ms(a.first)), append(all[i], ms(a.all))
			}
		}
		fmt.Fprintf(table, "| %s | %s | %.0f | %s | %.0f | %s, %s |\n", x.name, spread(first[0]), median(all[0]), spread(first[1]), median(all[1]),
			inTime(first[0]), inTime(first[1]))
		t.Logf("%s: first byte after %.1f and %.1f ms", x.name, median(first[0]), median(first[1]))
	}
}

// inTime tells whether the first byte came in time. It is wall time, of which a busy machine takes any, so that nothing fails.
func inTime(took []float64) string {
	if median(took) <= ms(firstWithin) {
		return "held"
	}
	return "**missed**"
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// importCommunes imports a file of communes into target as the collection communes.
func importCommunes(t *testing.T, file, target string) {
	t.Helper()
	if out, err := program(t, context.Background(), t.TempDir(), "import", file, "--into", target, "--collection", "communes").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}
