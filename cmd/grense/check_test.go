package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"grense/internal/sharedtest"
)

// row returns the columns of the line that starts with the layer.
func row(text, layer string) string {
	for l := range strings.Lines(text) {
		if strings.HasPrefix(l, layer+" ") {
			return strings.Join(strings.Fields(l), " ")
		}
	}
	return ""
}

func TestCheckTellsTheMapping(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	src := demoCopy(t, dir)
	code, stdout, stderr := command(t, dir, "check", src)
	if code != 0 || strings.Contains(stderr, "grense:") {
		t.Errorf("status %d\n%s%s", code, stdout, stderr)
	}
	for layer, want := range map[string]string{"fylker": "fylker fylker EPSG:25833 15 MultiPolygon nr",
		"kommuner": "kommuner kommuner EPSG:25833 357 MultiPolygon nr"} {
		if got := row(stdout, layer); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestCheckWithConfiguration(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	src := demoCopy(t, dir)
	good := writeFile(t, filepath.Join(dir, "good.yaml"),
		"collections: {fylker: {id: counties}, kommuner: {hidden: true}}\n")
	code, stdout, stderr := command(t, dir, "check", "--config", good, src)
	if code != 0 || !strings.HasPrefix(row(stdout, "fylker"), "fylker counties ") || row(stdout, "kommuner") != "" {
		t.Errorf("status %d\n%s%s", code, stdout, stderr)
	}
	bad := writeFile(t, filepath.Join(dir, "bad.yaml"), "collections: {fylkr: {id: counties}}\n")
	code, stdout, stderr = command(t, dir, "check", src, "--config", bad)
	if code != exitFailed || !strings.Contains(stdout, "fylkr, configured: no layer") ||
		!strings.Contains(stderr, "has 1 fault") {
		t.Errorf("status %d\n%s%s", code, stdout, stderr)
	}
}

// A name that hides nothing is a mistake as well: the layer that was meant would be served.
func TestHidingWhatIsNotThereIsAFault(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	src := demoCopy(t, dir)
	conf := writeFile(t, filepath.Join(dir, "typo.yaml"), "collections: {komuner: {hidden: true}}\n")
	code, stdout, _ := command(t, dir, "check", "--config", conf, src)
	if code != exitFailed || !strings.Contains(stdout, "komuner, configured: no layer") ||
		row(stdout, "kommuner") == "" {
		t.Errorf("status %d\n%s", code, stdout)
	}
}

// TestCheckTellsNotesFromFaults: a layer that is served with a note is no fault; one that is refused is,
// and a setting that fits nothing.
func TestCheckTellsNotesFromFaults(t *testing.T) {
	t.Parallel()
	db, dir := cluster.Database(t), t.TempDir()
	statement(t, db, "CREATE TABLE byer (id INT PRIMARY KEY, navn TEXT, geom GEOMETRY(Point, 27700)); "+
		"INSERT INTO byer VALUES (1, 'London', ST_Point(530000, 180000, 27700))")
	code, stdout, stderr := command(t, dir, "check", db)
	if code != 0 || !strings.Contains(stdout, "byer, served: EPSG:27700 is transformed by PostGIS") ||
		!strings.Contains(row(stdout, "byer"), "served, see below") {
		t.Errorf("a note: status %d\n%s%s", code, stdout, stderr)
	}
	for text, want := range map[string]string{"{roles: {title: nvn}}": `there is no property "nvn"`,
		"{roles: {instant: dag}}": `there is no column "dag"`} {
		conf := writeFile(t, filepath.Join(dir, "misset.yaml"), "collections: {byer: "+text+"}\n")
		if code, stdout, stderr = command(t, dir, "check", db, "--config", conf); code != exitFailed ||
			!strings.Contains(stdout, want) || !strings.Contains(stderr, "has 1 fault\n") {
			t.Errorf("a setting: status %d\n%s%s", code, stdout, stderr)
		}
	}
	statement(t, db, "CREATE TABLE uten (id INT); INSERT INTO uten VALUES (1)")
	code, stdout, stderr = command(t, dir, "check", db)
	if code != exitFailed || !strings.Contains(stdout, "uten, refused: ") ||
		!strings.Contains(stderr, "has 1 fault\n") {
		t.Errorf("a refusal: status %d\n%s%s", code, stdout, stderr)
	}
}

// TestCheckNamesTheIDsOfFeatures and not those of their versions, and so does an import.
func TestCheckNamesTheIDsOfFeatures(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	table, file := writeFile(t, filepath.Join(dir, "places.csv"),
		"nr,validFrom,validTo,lon,lat\n1,1990-01-01,2010-01-01,5,60\n1,2010-01-01,,5,60\n2,2010-01-01,,6,60\n"),
		filepath.Join(dir, "places.gpkg")
	if code, stdout, stderr := command(t, dir, "import", table, "--into", file, "--collection", "places", "--id-field",
		"nr"); code != 0 || !strings.Contains(stdout, "id from nr)") {
		t.Fatalf("status %d\n%s%s", code, stdout, stderr)
	}
	if code, stdout, stderr := command(t, dir, "check", file); code != 0 ||
		!slices.Contains(strings.Fields(row(stdout, "places")), "nr") {
		t.Errorf("status %d\n%s%s", code, stdout, stderr)
	}
}

// awkward returns the files of the shared test data that match; without them the test is skipped.
func awkward(t *testing.T, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(sharedtest.Path(t, "data", "awkward", "gpkg-ets"), pattern))
	if err != nil || len(files) == 0 {
		t.Fatal("no files", err)
	}
	return files
}

func TestLayersAreConfiguredByNameOrID(t *testing.T) {
	t.Parallel()
	src := awkward(t, "null_geometry.gpkg")[0]
	for _, name := range []string{"PointExamples", "pointexamples"} {
		dir := t.TempDir()
		conf := writeFile(t, filepath.Join(dir, "grense.yaml"), "collections: {"+name+": {id: points}}\n")
		code, stdout, stderr := command(t, dir, "check", src, "--config", conf)
		if got := row(stdout, "PointExamples"); code != 0 || !strings.HasPrefix(got, "PointExamples points ") {
			t.Errorf("%s: status %d, %q\n%s", name, code, got, stderr)
		}
	}
}

// TestCheckOfAwkwardFiles looks at the files of the shared test data: none may make check fail without a word.
func TestCheckOfAwkwardFiles(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long: the run without the race detector has it")
	}
	for _, f := range awkward(t, "*.gpkg") {
		code, stdout, stderr := command(t, t.TempDir(), "check", f)
		told := strings.Contains(stdout, "refused") || strings.Contains(stdout, "Nothing would be served") ||
			strings.Contains(stderr, "cannot open")
		if (code != 0) != told || code > exitFailed || strings.Contains(stderr, "goroutine") {
			t.Errorf("%s: status %d\n%s%s", filepath.Base(f), code, stdout, stderr)
		}
	}
}

// tellsTheWay explains a filter and wants parts of the output.
func tellsTheWay(t *testing.T, dir string, of []string, filter string, want []string) {
	t.Helper()
	code, stdout, stderr := command(t, dir, append(append([]string{"check"}, of...), "--explain", filter)...)
	if code != 0 {
		t.Errorf("%q: status %d\n%s", filter, code, stderr)
	}
	for _, x := range want {
		if !strings.Contains(stdout, x) {
			t.Errorf("%q: no %q in\n%s", filter, x, stdout)
		}
	}
}

// The plan, the class of cost and what SQLite does are printed for each kind of query.
func TestCheckExplainsAQuestion(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	src := demoCopy(t, dir)
	for filter, want := range map[string][]string{
		"":                  {"kommuner\nway   SQL: ", "cost  page\n", "found 357 features, of 357 ", "step  SCAN t"},
		"navn LIKE '%dal%'": {"way   SQL: ", "cost  scan\n", "step  SCAN t"},
		"S_INTERSECTS(geometry, POINT(10.7 59.9))": {"way   SQL: ", "cost  indexed\n", "found 1 feature, of 357 ",
			"rtree_kommuner_geom"},
		`{"op":"s_touches","args":[{"property":"geometry"},{"type":"Polygon","coordinates":[[[5,60],[6,60],[6,61],` +
			`[5,60]]]}]}`: {"cost  geometry\n"},
	} {
		tellsTheWay(t, dir, []string{src, "--collection", "kommuner"}, filter, want)
	}
	conf := writeFile(t, filepath.Join(dir, "grense.yaml"), "source: "+src+"\n")
	haveDemo(t, dir)
	for _, of := range [][]string{{"--config", conf}, nil} { // the source of the settings, and the demo
		tellsTheWay(t, dir, append(of, "--collection", "kommuner"), "navn LIKE 'Os%'",
			[]string{"kommuner, navn LIKE 'Os%'\nway   "})
	}
	for want, args := range map[string][]string{
		"--explain needs --collection": {"--explain", "navn = 'Oslo'"},
		`no collection "komuner"`:      {"--collection", "komuner"},
		"did you mean 'navn'":          {"--collection", "kommuner", "--explain", "navm = 'Oslo'"},
		"column 8":                     {"--collection", "kommuner", "--explain", "navn = ="},
	} {
		code, _, stderr := command(t, dir, append([]string{"check", src}, args...)...)
		if code != exitFailed || !strings.Contains(stderr, want) {
			t.Errorf("%q: status %d, %s", args, code, stderr)
		}
	}
}

// TestCheckExplainsAQuestionToADatabase: the plan, the class of cost and what PostgreSQL does
// are printed as for a file.
func TestCheckExplainsAQuestionToADatabase(t *testing.T) {
	t.Parallel()
	db, dir := cluster.Database(t), t.TempDir()
	sql(t, db, `CREATE TABLE punkt (id INT PRIMARY KEY, navn TEXT, geom GEOMETRY(Point, 4258));
		INSERT INTO punkt SELECT i, 'p' || i, ST_SetSRID(ST_MakePoint(10 + i / 1000.0, 60), 4258) FROM generate_series(1, 2000) i;
		CREATE INDEX ON punkt USING gist (geom); ANALYZE punkt;`)
	for filter, want := range map[string][]string{
		"": {"punkt\nway   SQL: ", "cost  page\n", "found 2000 features, of 2000 ",
			"Index Scan using punkt_pkey"},
		"id = 7":          {"way   SQL: ", "cost  indexed\n", "found 1 feature, of 2000 ", "Index Cond: (id = "},
		"navn LIKE '%99'": {"way   SQL: ", "cost  scan\n", "found 20 features, "},
		"S_INTERSECTS(geom, POLYGON((10 59, 10.0105 59, 10.0105 61, 10 61, 10 59)))": {"way   SQL and recheck: ",
			"cost  indexed\n", "found 10 features, ", "punkt_geom_idx"},
	} {
		tellsTheWay(t, dir, []string{db, "--collection", "punkt"}, filter, want)
	}
}

// TestCheckRefusesCodesOfAnUnknownScheme, with the nearest one, or with the way to a history.
func TestCheckRefusesCodesOfAnUnknownScheme(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	table := writeFile(t, filepath.Join(dir, "places.csv"), "nr,navn,lon,lat\n0301,Oslo,10.7,59.9\n")
	for scheme, want := range map[string]string{"komune": "did you mean kommune?", "xyz": "use one of fylke, kommune",
		"kommune": "", "": ""} {
		conf := writeFile(t, filepath.Join(dir, "codes.yaml"),
			"collections: {places: {codes: '"+scheme+"'}}\nhistory: norway\n")
		code, stdout, stderr := command(t, dir, "check", table, "--config", conf)
		if (code == 0) != (want == "") || !strings.Contains(stdout, want) {
			t.Errorf("%s: status %d\n%s%s", scheme, code, stdout, stderr)
		}
	}
	conf := writeFile(t, filepath.Join(dir, "none.yaml"), "collections: {places: {codes: kommune}}\n")
	if code, stdout, _ := command(t, dir, "check", table, "--config", conf); code != exitFailed ||
		!strings.Contains(stdout, "codes: kommune is no scheme of the history; there is no history") {
		t.Errorf("status %d\n%s", code, stdout)
	}
}
