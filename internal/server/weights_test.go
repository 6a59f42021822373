package server_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"grense/internal/config"
	"grense/web"
)

// weightsHead begins the golden file.
const weightsHead = `# The most that a page may weigh as it is sent, HTML with gzip, in bytes, in nb, nn and en; styles and scripts at the end. A bound is a tenth more than the page
# weighed when it was set, and no more than a tenth above what it weighed before search, chips and readable maps came. -update lowers
# what has become lighter, and raises only what no longer fits: raise nothing without a reason.
`

// TestPagesWeighNoMoreThanTheirBounds requests each page for the first time and again, with and without a response
// cache (limits.answers: 0). It does so before and after the tile levels for maps are built, since each response may
// have another encoding.
func TestPagesWeighNoMoreThanTheirBounds(t *testing.T) {
	t.Parallel()
	keeping, none := openSite(t, nil), openSite(t, func(c *config.Config) { c.Limits.Answers = 0 })
	weights := map[string][]int{}
	var order []string
	weigh := func() {
		for _, k := range pageKinds {
			if k.tool {
				continue
			}
			if weights[k.name] == nil {
				order, weights[k.name] = append(order, k.name), make([]int, len(web.Languages()))
			}
			for i, lang := range web.Languages() {
				weights[k.name][i] = max(weights[k.name][i], keeping.weight(k.path+"&lang="+lang),
					none.weight(k.path+"&lang="+lang))
			}
		}
	}
	weigh()
	for _, a := range []*api{keeping, none} {
		tilesReady(t, a.srv)
	}
	weigh()
	for _, name := range []string{"site.css", "site.js", "run.js", "job.js", "map.js"} {
		order = append(order, name)
		weights[name] = []int{len(keeping.get("/static/"+web.Hashed(name), "Accept-Encoding", "gzip").wants(200).Body)}
	}
	compareWeights(t, order, weights)
}

// weight is the largest size of a page in four responses.
func (a *api) weight(path string) (most int) {
	a.t.Helper()
	for range 4 {
		r := a.get(path, "Accept-Encoding", "gzip")
		// in one packet either way
		if most = max(most, len(r.Body)); r.Header.Get("Content-Encoding") != "gzip" && len(r.Body) >= 1400 {
			a.t.Errorf("%s is not compressed", path)
		}
	}
	return most
}

// compareWeights holds weights against the golden file of bounds.
func compareWeights(t *testing.T, order []string, weights map[string][]int) {
	t.Helper()
	path := filepath.Join("testdata", "weights.txt")
	b, err := os.ReadFile(path)
	if err != nil && !*update {
		t.Fatalf("%v (make it with -update)", err)
	}
	bounds := map[string][]int{}
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] != "#" {
			for _, n := range f[1:] {
				bound := 0
				fmt.Sscan(n, &bound) //nolint:errcheck // 0 fits nothing
				bounds[f[0]] = append(bounds[f[0]], bound)
			}
		}
	}
	if *update {
		out := weightsHead
		for _, name := range order {
			out += fmt.Sprintf("%-18s", name)
			for i, n := range weights[name] {
				bound := n + n/10
				if i < len(bounds[name]) && n <= bounds[name][i] {
					bound = min(bound, bounds[name][i])
				}
				out += fmt.Sprintf(" %6d", bound)
			}
			out += "\n"
		}
		if err := os.WriteFile(path, []byte(out), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	for _, name := range order {
		for i, n := range weights[name] {
			if i >= len(bounds[name]) {
				t.Errorf("%s has no bound (make it with -update)", name)
				break
			}
			if n > bounds[name][i] {
				t.Errorf("%s weighs %d bytes in %s, its bound is %d", name, n, web.Languages()[i], bounds[name][i])
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(bounds)) {
		if weights[name] == nil {
			t.Errorf("there is no %s any more", name)
		}
	}
}
