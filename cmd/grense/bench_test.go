package main_test

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"grense/internal/await"
)

func demoQuestions(t *testing.T, s *serving) []question {
	t.Helper()
	return []question{
		{name: "Demo: landing page, JSON", kind: "landing", path: "/"},
		{name: "Demo: landing page, HTML", kind: "landing", path: "/?f=html"},
		{name: "Demo: one municipality", kind: "item", path: "/collections/kommuner/items/0301"},
		{name: "Demo: 10 municipalities", kind: "page of 10", path: "/collections/kommuner/items?limit=10"},
		{name: "Demo: 100 municipalities", kind: "page of 100", path: "/collections/kommuner/items?limit=100"},
		{name: "Demo: 100 municipalities, HTML", kind: "HTML page of 100",
			path: "/collections/kommuner/items?f=html&limit=100"},
		{name: "Demo: 100 municipalities, HTML, never asked", next: freshPage},
		{name: "Demo: one municipality, HTML", kind: "HTML page", path: "/collections/kommuner/items/0301?f=html"},
		{name: "Demo: one municipality, HTML, never asked", next: freshItem(t, s)},
		{name: "Demo: a fresh box, at most 10", kind: "box", next: freshBox("kommuner")},
		{name: "Demo: the divisions at a fresh point on land", next: freshPoint(10, 60.5, 1)},
		{name: "Demo: the divisions at a fresh point out at sea", next: freshPoint(4, 61, 0.3)},
		{name: "Demo: the divisions at a point that is asked again", path: "/lookup?lon=10.75&lat=59.91"},
		{name: "Demo: a collection, JSON", kind: "collection", path: "/collections/kommuner"},
		{name: "Demo: a collection, HTML", kind: "collection", path: "/collections/kommuner?f=html"},
		{name: "Demo: what a code stood for", kind: "codes", path: "/codes/kommune/0301"},
		{name: "Demo: a code list, JSON", kind: "codes", path: "/codelists/navneobjekttype"},
		{name: "Demo: a code list, CSV", kind: "codes", path: "/codelists/navneobjekttype?f=csv"},
		{name: "Demo: a warm tile, level 3", kind: "tile", path: warmTile},
		{name: "Demo: a warm tile, level 8", kind: "tile",
			path: "/collections/kommuner/tiles/WebMercatorQuad/8/74/135"},
	}
}

// warmTile is a tile of all municipalities. The first question for it has the levels made,
// which is over long before it is measured.
const warmTile = "/collections/kommuner/tiles/WebMercatorQuad/3/2/4"

func freshBox(collection string) func(*rand.Rand) string {
	return func(rng *rand.Rand) string {
		return "/collections/" + collection + "/items?limit=10&" + alongNorway(rng)
	}
}

// freshPage is a page in HTML of 100 municipalities, none of which begins where another does and has its box.
func freshPage(rng *rand.Rand) string {
	return fmt.Sprintf("/collections/kommuner/items?f=html&limit=100&offset=%d&bbox=%.6f,57,32,72", rng.IntN(258),
		3+rng.Float64())
}

// freshItem returns a function for pages in HTML of municipalities, each of which is requested once in each language
// and system of coordinates.
func freshItem(t *testing.T, s *serving) func(*rand.Rand) string {
	t.Helper()
	var all struct{ Features []struct{ ID string } }
	s.getJSON(t, "/collections/kommuner/items?limit=1000&skipGeometry=true", &all)
	languages, systems, at := []string{"nb", "nn", "en"}, []int{4258, 25832, 25833, 25835, 3857, 4326}, 0
	return func(*rand.Rand) string {
		at++
		n := at / len(all.Features)
		return fmt.Sprintf("/collections/kommuner/items/%s?f=html&lang=%s&crs=http://www.opengis.net/def/crs/EPSG/0/%d",
			all.Features[at%len(all.Features)].ID,
			languages[n%len(languages)], systems[n/len(languages)%len(systems)])
	}
}

// freshPoint returns a function for look-ups in a square of so many degrees.
func freshPoint(west, south, degrees float64) func(*rand.Rand) string {
	return func(rng *rand.Rand) string {
		return fmt.Sprintf("/lookup?lon=%.5f&lat=%.5f", west+degrees*rng.Float64(), south+degrees*rng.Float64())
	}
}

// alongNorway returns a query for a box of about a degree that was never asked before, mostly on land.
func alongNorway(rng *rand.Rand) string {
	south := 58 + 12*rng.Float64()
	west := 5.5 + (south-58)*1.5 + 2*rng.Float64()
	return fmt.Sprintf("bbox=%.6f,%.6f,%.6f,%.6f", west, south, west+0.5+rng.Float64(), south+0.3+0.5*rng.Float64())
}

// TestBenchTable measures requests whose names contain GRENSE_BENCH_ONLY, of sources that contain GRENSE_BENCH_SOURCE.
// It writes server CPU per request to the file that GRENSE_BENCH names, as a Markdown table:
// the program against a bare handler, a process of its own that writes the same compressed bytes under the same
// headers. Both are asked over the same keep-alive connections, in interleaved rounds.
func TestBenchTable(t *testing.T) {
	file := os.Getenv("GRENSE_BENCH")
	if file == "" {
		t.Skip("make bench measures")
	}
	var table bytes.Buffer
	defer func() {
		if err := os.WriteFile(file, table.Bytes(), 0o644); err != nil {
			t.Error(err)
		}
	}()
	if _, err := cpuTime(os.Getpid()); err != nil {
		fmt.Fprintf(&table, "NOT MEASURED: the CPU time of a process is read from /proc as Linux has it: %v\n", err)
		t.Skip(table.String())
	}
	fmt.Fprintf(&table, "Server CPU per request in microseconds (user and system), median of %d interleaved rounds "+
		"of about %v CPU, lowest and highest in brackets; %d keep-alive connections\n"+
		"over loopback, gzip accepted, key checked, log on. Bare: a process that writes the same bytes, "+
		"compressed before. nginx: one worker that sends them from files, access log on. Bar: how many times\n"+
		"the bare handler a request may cost, or so much more where that is more, and whether it does; "+
		"a row that misses it is measured up to %d times, and the best of its medians counts. %s, %s/%s, %d CPUs.\n\n",
		benchRounds, benchRoundIs, benchConns, mostTries, runtime.Version(), runtime.GOOS, runtime.GOARCH,
		runtime.NumCPU())
	fmt.Fprint(&table, "| Request | Bytes sent | Uncompressed | Grense µs | Bare µs | nginx µs | Ratio | Bar "+
		"|\n|---|---:|---:|---:|---:|---:|---:|---|\n")

	s, first := serve(t, []string{tellsMetrics}), serve(t, keepsNone)
	record(t, s, warmTile)
	compare(t, &table, s, first, demoQuestions(t, s))
	for _, x := range benchSources {
		if !strings.Contains(x.what, os.Getenv("GRENSE_BENCH_SOURCE")) {
			continue
		}
		if source := sharedPath(t, "data", x.path); exists(source) {
			s := serve(t, []string{tellsMetrics}, source)
			compare(t, &table, s, serve(t, keepsNone, source), x.questions(t, s))
		} else {
			fmt.Fprintf(&table, "\n%s were not measured: there is no %s.\n", x.what, filepath.Base(source))
		}
	}
	if source := sharedPath(t, "data", communesFile); exists(source) &&
		strings.Contains("Growth", os.Getenv("GRENSE_BENCH_SOURCE")) {
		growth(t, &table, source)
	}
	if strings.Contains("Starts", os.Getenv("GRENSE_BENCH_SOURCE")) {
		starts(t, &table)
	}
	past := filepath.Join(t.TempDir(), "places.gpkg")
	writeTwoVersions(t, past)
	compareTimes(t, &table, serve(t, keepsNone, past), "") // a kept answer costs the same whatever it is of
}

// benchSources are the shared data that are measured.
var benchSources = []struct {
	what, path string
	questions  func(*testing.T, *serving) []question
}{
	{"The official counties", "norway/kartverket-fylker-25833.gpkg", countyQuestions},
	{"Tiles of 20 KB and more", "norway/hmalmedal-n1000/n1000-kommune-25833.gpkg", tileQuestions},
	{"Filters", communesFile, communeQuestions},
}

const communesFile = "france/france-communes-2018.geojsonl.gz"

func countyQuestions(t *testing.T, s *serving) []question {
	t.Helper()
	var page struct{ Features []struct{ ID string } }
	s.getJSON(t, "/collections/fylker/items?nr=03", &page)
	if len(page.Features) != 1 {
		t.Fatalf("%d counties with number 03", len(page.Features))
	}
	var doc struct {
		Links []struct{ Rel, Type, Href string }
	}
	s.getJSON(t, "/collections/fylker", &doc)
	kept := ""
	for _, l := range doc.Links {
		if l.Rel == "enclosure" && l.Type == "application/flatgeobuf" {
			kept = strings.TrimPrefix(l.Href, s.base)
		}
	}
	return []question{
		{name: "Official counties: Oslo", path: "/collections/fylker/items/" + page.Features[0].ID},
		{name: "Official counties: 10", path: "/collections/fylker/items?limit=10"},
		{name: "Official counties: a fresh box, at most 10", next: freshBox("fylker")},
		{name: "Official counties: the kept FlatGeobuf", path: kept},
	}
}

// tileQuestions are tiles of 20 KB and more, compressed, that were made before.
func tileQuestions(t *testing.T, s *serving) []question {
	t.Helper()
	const set = "/collections/kommune/tiles/WebMercatorQuad"
	record(t, s, set+"/4/4/8") // has the levels made
	await.True(t, "levels for tiles", func() bool {
		return strings.Contains(s.logged(t), "the levels for tiles are ready")
	})
	return []question{
		{name: "357 municipalities: a warm tile, level 4", kind: "tile", path: set + "/4/4/8"},
		{name: "357 municipalities: a warm tile, level 5", kind: "tile", path: set + "/5/9/16"},
		{name: "357 municipalities: a warm tile, level 6", kind: "tile", path: set + "/6/18/33"},
	}
}

// communeQuestions are filters on the 35,357 communes of France.
func communeQuestions(t *testing.T, s *serving) []question {
	t.Helper()
	names, id := communes(t, s)
	filter := func(f string) string {
		return "/collections/france-communes-2018/items?limit=10&filter=" + url.QueryEscape(f)
	}
	// polygon is an ellipse of 200 corners; rx and ry are half its axes in degrees
	polygon := func(x, y, rx, ry float64) string {
		corners := make([]string, 201)
		for i := range corners {
			sin, cos := math.Sincos(2 * math.Pi * float64(i%200) / 200)
			corners[i] = fmt.Sprintf("%.4f %.4f", x+rx*cos, y+ry*sin)
		}
		return filter("S_INTERSECTS(geometry,POLYGON((" + strings.Join(corners, ",") + ")))")
	}
	letter := func(rng *rand.Rand) rune {
		return []rune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")[rng.IntN(52)]
	}
	return []question{
		{name: "35,357 communes: 10", kind: "page of 10", path: "/collections/france-communes-2018/items?limit=10"},
		{name: "35,357 communes: 10 at offset 30,000", kind: "page of 10",
			path: "/collections/france-communes-2018/items?limit=10&offset=30000"},
		{name: "35,357 communes: a fresh name", kind: "name", next: func(rng *rand.Rand) string {
			return "/collections/france-communes-2018/items?limit=10&nom=" +
				url.QueryEscape(names[rng.IntN(len(names))])
		}},
		{name: "35,357 communes: a fresh beginning of names", next: func(rng *rand.Rand) string {
			name := []rune(strings.ReplaceAll(names[rng.IntN(len(names))], "'", "''"))
			return filter("nom LIKE '" + string(name[:min(len(name), 5)]) + "%'")
		}},
		{name: "35,357 communes: a fresh box, at most 10", kind: "box", next: func(rng *rand.Rand) string {
			x, y := 7*rng.Float64(), 43.5+6*rng.Float64()
			return fmt.Sprintf("/collections/france-communes-2018/items?limit=10&bbox=%.6f,%.6f,%.6f,%.6f", x, y,
				x+0.05+0.1*rng.Float64(), y+0.05+0.1*rng.Float64())
		}},
		{name: "35,357 communes: one commune", kind: "item",
			path: fmt.Sprint("/collections/france-communes-2018/items/", id)},
		{name: "35,357 communes: S_INTERSECTS with a fresh point", kind: "point", next: func(rng *rand.Rand) string {
			return filter(fmt.Sprintf("S_INTERSECTS(geometry,POINT(%.4f %.4f))", -1+8*rng.Float64(),
				43.5+6*rng.Float64()))
		}},
		{name: "35,357 communes: S_INTERSECTS with a fresh polygon of 200 corners, a department large",
			next: func(rng *rand.Rand) string {
				return polygon(6*rng.Float64(), 44.5+4*rng.Float64(), 0.5, 0.35)
			}},
		{name: "35,357 communes: S_INTERSECTS with a fresh polygon of 200 corners, a sixth of France large",
			next: func(rng *rand.Rand) string {
				return polygon(2.5+0.5*rng.Float64(), 47+0.3*rng.Float64(), 1.5, 1)
			}},
		{name: "35,357 communes: CASEI(nom) LIKE CASEI('%xx%')", next: func(rng *rand.Rand) string {
			return filter(fmt.Sprintf("CASEI(nom) LIKE CASEI('%%%c%c%%')", letter(rng), letter(rng)))
		}},
	}
}

// communes are 10,000 names of communes, and the id of one of them.
// That they are requested has all names sorted in memory.
func communes(t *testing.T, s *serving) (names []string, id any) {
	t.Helper()
	const items = "/collections/france-communes-2018/items"
	var page struct {
		Features []struct {
			ID         any
			Properties struct{ Nom string }
		}
	}
	s.getJSON(t, items+"?properties=nom&skipGeometry=true&limit=10000", &page)
	for _, f := range page.Features {
		names, id = append(names, f.Properties.Nom), f.ID
	}
	if len(names) == 0 {
		t.Fatal("no communes")
	}
	record(t, s, items+"?limit=1&nom="+url.QueryEscape(names[0]))
	s.idles(t, time.Second, 20*time.Millisecond)
	return names, id
}

// tellsMetrics is the setting of a server whose metrics rest reads.
const tellsMetrics = "GRENSE_METRICS_ADDR=127.0.0.1:0"

// keepsNone are the settings of a server that makes each answer as if it were requested for the first time.
var keepsNone = []string{"GRENSE_LIMITS_ANSWERS=0", tellsMetrics}

// rest waits until nothing is made in the background: levels for tiles, encoded features, indexes, and until the
// source is read whole. Its metrics say so three times in a row.
func (s *serving) rest(t *testing.T) {
	t.Helper()
	if !slices.Contains(s.cmd.Env, tellsMetrics) {
		return
	}
	address := <-s.metrics
	s.metrics <- address
	idle := 0
	await.True(t, "nothing is made in the background", func() bool {
		res, err := http.Get(address)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		if idle++; makingPattern.Match(text) || readingPattern.Match(text) {
			idle = 0
		}
		return idle == 3
	})
}

// makingPattern finds caches for which values are made.
var makingPattern = regexp.MustCompile(`(?m)^grense_cache_making\{.*\} [1-9]`)

// readingPattern finds a source of which a part is not read yet.
var readingPattern = regexp.MustCompile(`(?m)^grense_source_read_ratio 0`)

// compare adds a row for each question; where answers are kept one for the first time it is asked, and one for again.
func compare(t *testing.T, table io.Writer, s, first *serving, questions []question) {
	t.Helper()
	for _, q := range questions {
		switch {
		case !q.asked():
		case q.next != nil:
			compareOne(t, table, s, q, bars[q.kind].first)
		case strings.Contains(q.path, "/items"):
			compareOne(t, table, first, q, bars[q.kind].first)
			q.name += ", again"
			fallthrough
		default:
			compareOne(t, table, s, q, bars[q.kind].again)
		}
	}
}

func compareOne(t *testing.T, table io.Writer, s *serving, q question, most bar) {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, uint64(len(q.name))))
	product := &measured{addr: s.addr, pid: s.cmd.Process.Pid, key: s.key}
	n := 1
	if q.next != nil {
		n = benchSample
	}
	known := q.paths(rng, n)
	var answers []recorded
	sent, plain := 0, 0
	for _, p := range known {
		a := record(t, s, p)
		answers = append(answers, a)
		sent += len(a.Body)
		plain += a.plain
	}
	bare, nginx := startBare(t, answers, ""), startNginx(t, answers)
	again := question{path: known[0]}
	if q.next != nil {
		at := 0
		again.next = func(*rand.Rand) string { at++; return known[at%n] }
	}
	programs := []func() float64{func() float64 {
		s.rest(t)
		return product.round(t, q, rng)
	}, func() float64 { return bare.round(t, again, rng) }}
	product.calibrate(t, q, rng)
	bare.calibrate(t, again, rng)
	if nginx != nil {
		nginx.calibrate(t, again, rng)
		programs = append(programs, func() float64 { return nginx.round(t, again, rng) })
	}
	took, told := most.hold(t, q.name, func() [][]float64 { return roundsOf(programs...) })
	bare.stop()
	static := "–"
	if nginx != nil {
		nginx.stop()
		static = spread(took[2])
	}
	a, b := median(took[0]), median(took[1])
	fmt.Fprintf(table, "| %s | %d | %d | %s | %s | %s | %.1f | %s |\n", q.name, sent/n, plain/n, spread(took[0]),
		spread(took[1]), static, a/b, told)
	t.Logf("%s: %.1f µs, bare %.1f µs, nginx %s", q.name, a, b, static)
}
