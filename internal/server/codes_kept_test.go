package server_test

import (
	"regexp"
	"strconv"
	"testing"
)

// TestCodesThatAreAskedAgainAreKept: the meaning of a code on a day is cached from the second request on. The first
// request is not cached, since there are endlessly many days.
func TestCodesThatAreAskedAgainAreKept(t *testing.T) {
	t.Parallel()
	a := serveHistory(t, nil)
	documents := func() int {
		m := regexp.MustCompile(`(?m)^grense_cache_entries\{cache="documents"\} (\d+)`).FindStringSubmatch(
			httpGetMetrics(t, a))
		if m == nil {
			t.Fatal("no entries of documents")
		}
		n, err := strconv.Atoi(m[1])
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	none := documents()
	var bodies []string
	for i, want := range []int{0, 1, 1, 1, 2} {
		path := "/codes/kommune/0712?datetime=2018-06-01"
		if i > 2 {
			path = "/codes/kommune/0712?datetime=2019-01-01"
		}
		bodies = append(bodies, string(a.get(path).wants(200).Body))
		if n := documents() - none; n != want {
			t.Errorf("%d documents are kept after question %d, want %d", n, i+1, want)
		}
	}
	if bodies[0] != bodies[1] || bodies[1] != bodies[2] {
		t.Error("another document is kept")
	}
}
