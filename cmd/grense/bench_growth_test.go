package main_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// few is how many communes the smaller layer has that growth is measured from: as many as Norway has municipalities.
const few = 357

// growthCenter is the middle of those communes, in degrees; they reach further than a degree
// around it in all directions.
var growthCenter = [2]float64{2.5, 47}

// growthQuestions are questions with the same answers from few communes and from all.
func growthQuestions() []struct {
	question
	most float64 // times as much as of few
} {
	near := func(rng *rand.Rand) (x, y float64) {
		return growthCenter[0] + 0.2*(rng.Float64()-0.5), growthCenter[1] + 0.15*(rng.Float64()-0.5)
	}
	const items = "/collections/communes/items"
	return []struct {
		question
		most float64
	}{
		{question{name: "10 communes", path: items + "?limit=10"}, flat},
		{question{name: "One commune", path: items + "/7"}, flat},
		{question{name: "A fresh box, at most 10", next: func(rng *rand.Rand) string {
			x, y := near(rng)
			return fmt.Sprintf(items+"?limit=10&bbox=%.6f,%.6f,%.6f,%.6f", x, y, x+0.03+0.02*rng.Float64(),
				y+0.03+0.02*rng.Float64())
		}}, 1.3},
		{question{name: "S_INTERSECTS with a fresh point", next: func(rng *rand.Rand) string {
			x, y := near(rng)
			return items + "?limit=10&filter=" +
				url.QueryEscape(fmt.Sprintf("S_INTERSECTS(geometry,POINT(%.5f %.5f))", x, y))
		}}, 1.3},
	}
}

// flat is what is called no growth.
const flat = 1.1

// growth adds a row for each question, asked of few communes and of all for the first time.
func growth(t *testing.T, table io.Writer, source string) {
	t.Helper()
	dir := t.TempDir()
	small, large := filepath.Join(dir, "small.gpkg"), filepath.Join(dir, "large.gpkg")
	for target, lines := range communeLines(t, source, small, large) {
		file := filepath.Join(t.TempDir(), "communes.geojsonl")
		if err := os.WriteFile(file, bytes.Join(lines, []byte("\n")), 0o600); err != nil {
			t.Fatal(err)
		}
		importCommunes(t, file, target)
	}
	fmt.Fprintf(table, "\n| Request of communes | of %d µs | of all µs | Growth | Bar |\n|---|---:|---:|---:|---|\n",
		few)
	a, b := serve(t, keepsNone, small), serve(t, keepsNone, large)
	for _, q := range growthQuestions() {
		if !q.asked() {
			continue
		}
		var m [2]*measured
		var rngs [2]*rand.Rand
		for i, s := range []*serving{a, b} {
			m[i], rngs[i] = &measured{addr: s.addr, pid: s.cmd.Process.Pid, key: s.key}, rand.New(rand.NewPCG(7, 8))
			record(t, s, q.paths(rngs[i], 1)[0])
			m[i].calibrate(t, q.question, rngs[i])
		}
		took, told := hold(t, "growth, "+q.name, func(took [][]float64) float64 {
			return median(took[1]) / median(took[0]) / q.most
		}, func() [][]float64 {
			return roundsOf(func() float64 {
				a.rest(t)
				return m[0].round(t, q.question, rngs[0])
			}, func() float64 { b.rest(t); return m[1].round(t, q.question, rngs[1]) })
		})
		of, all := took[0], took[1]
		fmt.Fprintf(table, "| %s | %s | %s | %.2f | %.1f: %s |\n", q.name, spread(of), spread(all),
			median(all)/median(of), q.most, told)
		t.Logf("%s: %.1f µs of %d, %.1f µs of all", q.name, median(of), few, median(all))
	}
}

// communeLines are the communes of a source as lines of GeoJSON: few that lie together for small, and for large these
// before all others, so that they have the same ids.
func communeLines(t *testing.T, source, small, large string) map[string][][]byte {
	t.Helper()
	f, err := os.Open(source)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	zr, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(zr)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	away := make(map[*byte]float64, len(lines))
	for _, l := range lines {
		var x struct{ Geometry struct{ Coordinates any } }
		if err := json.Unmarshal(l, &x); err != nil {
			t.Fatal(err)
		}
		at := x.Geometry.Coordinates
		for {
			list := at.([]any)
			if lon, ok := list[0].(float64); ok {
				away[&l[0]] = math.Hypot(0.7*(lon-growthCenter[0]), list[1].(float64)-growthCenter[1])
				break
			}
			at = list[0]
		}
	}
	slices.SortStableFunc(lines, func(a, b []byte) int {
		if away[&a[0]] < away[&b[0]] {
			return -1
		}
		return 1
	})
	return map[string][][]byte{small: lines[:few], large: lines}
}
