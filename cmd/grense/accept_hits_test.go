package main_test

import (
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"zombiezen.com/go/sqlite"
)

// hitsBar is the most CPU beyond the bare handler, in milliseconds, of an answer of ten thousand hits.
const hitsBar = 30.0

// largeHits holds answers of some ten thousand places against their bars, by the time of their update, in the register
// at path; dir is the home of a server of it.
func largeHits(t *testing.T, dir, path, key string) {
	t.Helper()
	const rounds, each, warmUp = 3, 10, 10
	if !strings.Contains("10,000 hits", os.Getenv("GRENSE_ACCEPT_SEARCH")) {
		return
	}
	bodies := windows(t, path)
	s := serve(t, []string{"HOME=" + dir, "GRENSE_SOAP_MAX_HITS=10000", "GRENSE_LIMITS_ANSWERS=0"}, path)
	s.key = key
	c, most := &soapClient{s: s}, 0
	var answer []byte
	for _, body := range bodies[:warmUp] {
		b, n := c.ask(t, body)
		if most = max(most, n); len(b) > len(answer) {
			answer = b
		}
	}
	s.settle(t, func(i int) { c.ask(t, bodies[i%warmUp]) })
	t.Logf("answers of %d hits, %.1f MB", most, float64(len(answer))/1e6)
	bare := startBare(t,
		[]recorded{{Path: "/0", Header: http.Header{"Content-Type": {"text/xml; charset=utf-8"}}, Body: answer}}, "")
	defer bare.stop()
	spent := func(pid int, ask func(i int)) float64 {
		before, err := cpuTime(pid)
		for i := range each {
			ask(i)
		}
		after, err2 := cpuTime(pid)
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		return float64(after-before) / each / float64(time.Millisecond)
	}
	next := warmUp
	for _, x := range []struct {
		name string
		body func(i int) string
	}{
		{"10,000 hits that were given before", func(int) string { return bodies[0] }},
		{"10,000 hits that nobody asked for", func(int) string { next++; return bodies[(next-1)%len(bodies)] }},
	} {
		beyond := func(took [][]float64) float64 { return median(took[0]) - median(took[1]) }
		took, told := hold(t, "SOAP, "+x.name, func(took [][]float64) float64 {
			return beyond(took) / hitsBar
		}, func() [][]float64 {
			took := make([][]float64, 2)
			for range rounds {
				took[0] = append(took[0], spent(s.cmd.Process.Pid, func(i int) { c.ask(t, x.body(i)) }))
				took[1] = append(took[1], spent(bare.pid, func(int) { c.post(t, "http://"+bare.addr+"/0", bodies[0]) }))
			}
			return took
		})
		t.Logf("%s: %.2f ms beyond the bare handler, %s and %s (bar %.0f: %s)", x.name, beyond(took), spread(took[0]),
			spread(took[1]), hitsBar, told)
	}
}

// windows are searches for the places that were updated between two moments, nearly ten thousand each,
// none of which has places of another.
func windows(t *testing.T, path string) (bodies []string) {
	t.Helper()
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadOnly)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	at := sampled{t, conn}.list("SELECT oppdatert FROM (SELECT oppdatert, row_number() OVER (ORDER BY oppdatert) n " +
		"FROM sted WHERE oppdatert IS NOT NULL) WHERE n % 10000 = 500 ORDER BY n")
	date := func(field, at string) string {
		return "<t:" + field + "><d:timestamp>" + at + "</d:timestamp></t:" + field + ">"
	}
	for i := range len(at) - 1 {
		bodies = append(bodies, findPlaces(date("oppdatertEtter", at[i][0])+date("oppdatertFoer", at[i+1][0])))
	}
	return bodies
}
