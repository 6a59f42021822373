package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/xuri/excelize/v2"

	"grense/internal/history"
	"grense/internal/sharedtest"
	"grense/internal/store/storetest"
)

const oaks = `date,from,from_name,to,to_name,made_of,people,area,recorded
2020-01-01,A,Ask,C,Cedar,,,,2019-05-01T00:00:00Z
2020-01-01,B,Birch,C,Cedar,,,,2019-05-01T00:00:00Z
2024-01-01,C,Cedar,D,Dogwood,A,700,,
2024-01-01,C,Cedar,E,Elm,B,300,,
`

// TestLineageIsImportedWholeOrNotAtAll imports into both stores, which answer alike;
// a fault has its line and leaves the target as it was.
func TestLineageIsImportedWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, db := filepath.Join(dir, "own.gpkg"), cluster.Database(t)
	good, more, bad := writeFile(t, filepath.Join(dir, "good.csv"), oaks),
		writeFile(t, filepath.Join(dir, "more.csv"), oaks+"2026-01-01,E,Elm,F,Fir,,,,\n"),
		writeFile(t, filepath.Join(dir, "bad.csv"),
			oaks+"2026-01-01,X,Xylem,Y,Yew,,,,\n2027-01-01,X,Xylem,Z,Zelkova,,,,\n")
	var answers []string
	for _, into := range []string{file, db} {
		if code, _, stderr := command(t, dir, "lineage", "import", good, "--scheme", "ward", "--into",
			into); code != 0 || !strings.Contains(stderr, "ward: 5 versions, 2 events") {
			t.Fatalf("status %d, %s", code, stderr)
		}
		first := events(t, dir, into)
		for _, tt := range []struct{ want, args string }{
			{"bad.csv, line 7: X changes on 2027-01-01, but is not in use before",
				good + " " + bad + " --scheme ward --replace"},
			{"line 7: X changes on 2027-01-01, but is not in use before", bad + " --scheme ward --replace"},
			{"has a history of ward already; replace it with --replace", more + " --scheme ward"},
			{"name what the codes are of with --scheme", more},
			{"a scheme has neither blanks nor control characters", more + " --scheme w\a"},
			{"--codes and --at go together", more + " --scheme ward --at 2024-01-01"},
			{"is no rule for parents", more + " --scheme ward --parent x --replace"},
		} {
			if code, _, stderr := command(t, dir, append(strings.Fields("lineage import "+tt.args), "--into",
				into)...); code == 0 || !strings.Contains(stderr, tt.want) {
				t.Errorf("%s: status %d, %s", tt.args, code, stderr)
			}
		}
		if got := events(t, dir, into); got != first {
			t.Errorf("imports that failed changed %s to %s", first, got)
		}
		for _, args := range []string{more + " --scheme ward --replace", good + " --scheme other"} {
			// which leaves ward as it is
			if code, _, stderr := command(t, dir,
				append(strings.Fields("lineage import "+args), "--into", into)...); code != 0 {
				t.Fatalf("%s: status %d, %s", args, code, stderr)
			}
		}
		answers = append(answers, events(t, dir, into))
	}
	if mine, theirs := recordedLess(answers[0]), recordedLess(answers[1]); mine != theirs {
		t.Errorf("the stores differ:\n%s\n%s", mine, theirs)
	}
	if strings.Count(answers[0], `"2019-05-01T00:00:00Z"`) != 2 || strings.Count(answers[0], `"kind":"renumber"`) != 1 {
		t.Errorf("%s", answers[0])
	}
	if b, err := os.ReadFile(file); err != nil || !bytes.HasPrefix(b, []byte("SQLite format 3")) {
		t.Errorf("%v", err)
	}
}

const twoMunicipalities = "CREATE TABLE kommuner (nr TEXT PRIMARY KEY, navn TEXT, geom GEOMETRY(Point, 4326)); " +
	"INSERT INTO kommuner VALUES ('0301', 'Oslo', 'SRID=4326;POINT(10.74 59.98)'), ('1580', 'Haram', " +
	"'SRID=4326;POINT(6.3 62.6)')"

// TestTheBuiltInHistoryTellsOfAnyDataset serves a file that is imported, a GeoPackage, a database, and one as a role
// that may read a table only.
func TestTheBuiltInHistoryTellsOfAnyDataset(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := writeFile(t, filepath.Join(dir, "kommuner.csv"),
		"nr,navn,lon,lat\n0301,Oslo,10.74,59.98\n1580,Haram,6.3,62.6\n")
	own, db := filepath.Join(dir, "own.gpkg"), cluster.Database(t)
	if code, _, stderr := command(t, dir, "import", file, "--into", own, "--collection", "kommuner", "--id-field",
		"nr"); code != 0 {
		t.Fatal(stderr)
	}
	statement(t, db, twoMunicipalities)
	name, reader := storetest.Role(t, db, "")
	statement(t, db, "GRANT SELECT ON kommuner TO "+name)
	config := writeFile(t, filepath.Join(dir, "grense.yaml"),
		"history: norway\nauth: open\ncollections: {kommuner: {id_column: nr}}\n")
	var events []string
	for _, source := range []string{file, own, db, reader} {
		s := serve(t, dir, source, "--config", config, "--data-dir",
			filepath.Join(dir, fmt.Sprint("data", len(events))))
		for path, want := range map[string]string{"/collections/kommuner/items" +
			"/1534?f=json": `"current":[{"code":"1580"`, "/codes/kommune/0712?f=json": `"ambiguous":true`,
			"/collections/divisions_events/items?datetime=2024-01-01&kind=split" +
				"&scheme=kommune": `"numberMatched":1,`,
			"/collections/divisions_versions/items?code=0301" +
				"&datetime=1990-01-01&f=json": `"numberMatched":1,`,
			"/collections/kommuner/items/1580/lineage?until=2019-01-01&f=html": "1534 Haram",
			"/collections/kommuner/items/1580/lineage?f=json": "/collections" +
				"/divisions_events/items/",
			"/collections/divisions_events/items?filter=codes_after%20LIKE%20%27%251580%25%27&f=html": "1580 Haram",
			"/collections/divisions_events/download?f=csv":                                            "kind",
			"/collections/kommuner/download?f=csv":                                                    "Haram",
			"/collections/kommuner/items" +
				"/1580?f=html": "divisions_events"} {
			if _, body := s.get(t, path, ""); !strings.Contains(body, want) {
				t.Errorf("%s: %s: %s", source, path, body)
			}
		}
		_, body := s.get(t, "/collections/divisions_events/items?limit=50&sortby=seq&properties=title,kind,changes", "")
		events = append(events, strings.ReplaceAll(timeMember.ReplaceAllString(body, ""), s.base, ""))
		if n := len(events); events[n-1] != events[0] || len(body) < 10000 {
			t.Errorf("%s: %s", source, body)
		}
		if code, body := s.get(t, "/changes", ""); source == reader &&
			(code != 404 || !strings.Contains(body, "GRANT CREATE ON DATABASE")) {
			t.Errorf("%d %s", code, body)
		}
	}
	if code, _, stderr := command(t, dir, "serve", file, "--history", "sweden"); code == 0 ||
		!strings.Contains(stderr, "write norway, or leave it out") {
		t.Errorf("%d %s", code, stderr)
	}
}

// TestARoleThatReadsNoHistoryIsToldSo serves a database whose history and log of changes a role may not read, then may.
func TestARoleThatReadsNoHistoryIsToldSo(t *testing.T) {
	t.Parallel()
	dir, db := t.TempDir(), cluster.Database(t)
	statement(t, db, twoMunicipalities)
	if code, _, stderr := command(t, dir, "lineage", "import", "norway", "--into", db); code != 0 {
		t.Fatal(stderr)
	}
	name, reader := storetest.Role(t, db, "")
	statement(t, db, "GRANT SELECT ON kommuner TO "+name)
	const retired, code = "/collections/kommuner/items/1534", "/codes/kommune/1534"
	for _, tt := range []struct {
		who, source string
		answers     map[string]int
		cure        string
		args        []string
	}{
		{"reads the table only", reader, map[string]int{retired: 404, code: 404, "/changes": 404,
			"/changes/latest": 404, "/collections/kommuner/items/1580/lineage": 404,
			"/collections/kommuner/items/1580": 200}, "--history norway", nil},
		{"has what is built in", reader, map[string]int{retired: 410, code: 200, "/changes": 404,
			"/collections/kommuner/items/1580/lineage": 200}, "", []string{"--history", "norway"}},
		{"owns all", db, map[string]int{retired: 410, code: 200, "/changes": 200, "/changes/latest": 200,
			"/collections/kommuner/items/1580/lineage": 200}, "", nil},
	} {
		s := serve(t, dir, append([]string{tt.source, "--auth", "open", "--data-dir", t.TempDir()}, tt.args...)...)
		for path, want := range tt.answers {
			code, body := s.get(t, path, "")
			if code != want {
				t.Errorf("who %s: %s: %d %s", tt.who, path, code, body)
			}
			if strings.HasPrefix(path, "/changes") && code == 404 && !strings.Contains(body,
				"GRANT CREATE ON DATABASE") || strings.HasPrefix(path, "/codes") && !strings.Contains(body, tt.cure) {
				t.Errorf("who %s: %s: no cure in %s", tt.who, path, body)
			}
		}
	}
}

// events are those of a source, without what differs by the server.
func events(t *testing.T, dir, source string) string {
	t.Helper()
	s := serve(t, dir, source, "--auth", "open", "--data-dir", t.TempDir())
	code, body := s.get(t, "/collections/divisions_events/items?f=json&limit=100", "")
	if code != 200 {
		t.Fatalf("%d %s", code, body)
	}
	if code, w := s.get(t, "/codes/ward/A?datetime=2019-06-01", ""); code != 200 ||
		!strings.Contains(w, `"ended":"merge"`) {
		t.Errorf("%d %s", code, w)
	}
	s.stop()
	s.exit(t)
	features, _, _ := strings.Cut(body, `],"numberReturned"`)
	return features
}

// recordedLess is features without the time of their import.
func recordedLess(s string) string {
	var b strings.Builder
	for part := range strings.SplitSeq(s, `"recorded":"`) {
		if i := strings.IndexByte(part, '"'); b.Len() > 0 && i > 0 {
			part = part[i:]
		}
		b.WriteString(part)
	}
	return b.String()
}

// TestAKilledImportOfLineageLosesNothing kills imports at random moments: afterwards the target holds the history of
// before or the new one, whole, and other schemes as they were.
func TestAKilledImportOfLineageLosesNothing(t *testing.T) {
	t.Parallel()
	rounds := sharedtest.Rounds(t, 5)
	dir, scratch := t.TempDir(), t.TempDir() // nobody clears away after a process that was killed
	own := writeFile(t, filepath.Join(dir, "own.csv"), oaks)
	var table strings.Builder
	table.WriteString("date,from,to\n")
	for i := range 500 {
		fmt.Fprintf(&table, "2020-01-01,A%d,B%d\n", i, i)
	}
	short := writeFile(t, filepath.Join(dir, "short.csv"), table.String())
	long := writeFile(t, filepath.Join(dir, "long.csv"), table.String()+"2021-01-01,B1,C1\n")
	for _, into := range []string{filepath.Join(dir, "own.gpkg"), cluster.Database(t)} {
		for _, args := range []string{own + " --scheme ward", short + " --scheme tree"} {
			if code, _, stderr := command(t, dir,
				append(strings.Fields("lineage import "+args), "--into", into)...); code != 0 {
				t.Fatal(stderr)
			}
		}
		ways := map[int]int{} // versions of the scheme, by how often they were there
		whole := time.Duration(0)
		for i := range rounds + 1 {
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestImportProcess$")
			cmd.Env = append(os.Environ(), "TMPDIR="+scratch,
				importInChild+"="+strings.Join([]string{"lineage", "import", []string{long, short}[i%2], "--scheme",
					"tree", "--replace", "--into", into}, "\n"))
			start := time.Now()
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			timer := &time.Timer{}
			if i > 0 {
				timer = time.AfterFunc(time.Duration(rand.Int64N(int64(whole)*11/10)), func() { cmd.Process.Kill() })
			}
			err := cmd.Wait()
			if i > 0 {
				timer.Stop()
			} else if whole = time.Since(start); err != nil {
				t.Fatal(err)
			}
			rows, err := lineageIn(t.Context(), into)
			if err != nil {
				t.Fatalf("after %d: %v", i, err)
			}
			h, err := history.New(rows...)
			if err != nil {
				t.Fatalf("after %d: %v", i, err)
			}
			n := len(h.Scheme("tree").Versions)
			if ways[n]++; n != 1000 && n != 1001 || len(h.Scheme("ward").Events) != 2 {
				t.Fatalf("after %d: %d versions", i, n)
			}
		}
		t.Logf("%v", ways)
	}
}

// TestAnImportSaysWhatItsTableLeavesOpen: a split that may undo a merger is warned of, and a second file settles it.
func TestAnImportSaysWhatItsTableLeavesOpen(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	changes := writeFile(t, filepath.Join(dir, "changes.json"), `{"codeChanges":[
		{"oldCode":"A","oldName":"Ask","newCode":"M","newName":"Maple","changeOccurred":"2020-01-01"},
		{"oldCode":"B","oldName":"Birch","newCode":"M","newName":"Maple","changeOccurred":"2020-01-01"},
		{"oldCode":"M","oldName":"Maple","newCode":"P","newName":"Pine","changeOccurred":"2024-01-01"},
		{"oldCode":"M","oldName":"Maple","newCode":"Q","newName":"Quince","changeOccurred":"2024-01-01"}]}`)
	more := writeFile(t, filepath.Join(dir, "more.csv"), "date,from,to,made_of\n2024-01-01,M,P,A\n2024-01-01,M,Q,B\n")
	table := writeFile(t, filepath.Join(dir, "table.csv"), "c\nA\n")
	const warning = "warning: 2024-01-01: M, a merger, was split into P, Q, and no made_of says what came " +
		"back to which."
	for files, want := range map[string]string{changes: "A,P Q,Pine; Quince,", changes + " " + more: "A,P,Pine,"} {
		into := filepath.Join(t.TempDir(), "own.gpkg")
		args := append(append([]string{"lineage", "import"}, strings.Fields(files)...), "--scheme", "ward",
			"--into", into)
		code, _, stderr := command(t, dir, args...)
		if code != 0 || strings.Contains(stderr, warning) != !strings.Contains(files, more) {
			t.Fatalf("%s: status %d, %s", files, code, stderr)
		}
		_, stdout, stderr := command(t, dir, "translate", table, "--column", "c", "--from", "2019-01-01", "--to",
			"2025-01-01", "--scheme", "ward", "--history", into)
		if !strings.Contains(stdout, want+"\n") {
			t.Errorf("%s: %s%s", files, stdout, stderr)
		}
	}
}

// TestAnUnknownStartIsOpenToThePast, and --since bounds it, in both stores.
func TestAnUnknownStartIsOpenToThePast(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	changes := writeFile(t, filepath.Join(dir, "changes.csv"), "date,from,to\n2016-01-01,A,B\n2018-01-01,C,D\n")
	list := writeFile(t, filepath.Join(dir, "list.csv"), "code,name\nB,Birch\nD,Dogwood\nE,Elm\n")
	for _, into := range []string{filepath.Join(dir, "own.gpkg"), cluster.Database(t)} {
		for _, tt := range []struct {
			args    []string
			answers map[string]string // a part of the answer, behind its status
		}{
			{nil, map[string]string{"E?datetime=2015-06-01": `200 "name":"Elm","entity"`,
				"A?datetime=1900-01-01": `200 "ended":"renumber"`,
				"B?datetime=2015-06-01": "410 was not in use on 2015-06-01, but from 2016-01-01",
				"C?datetime=2020-01-01": "410 but until 2018-01-01"}},
			{[]string{"--since", "2016-01-01", "--replace"},
				map[string]string{"E?datetime=2015-06-01": "404 ward E is not known before 2016-01-01",
					"A":                     "404 never had",
					"B?datetime=2016-01-01": `200 "validFrom":"2016-01-01"`,
					"C?datetime=2017-06-01": `200 "ended":"renumber"`,
					"D?datetime=2015-01-01": "404 is not known before"}},
		} {
			args := append([]string{"lineage", "import", changes, "--scheme", "ward", "--codes", list, "--at",
				"2020-01-01", "--into", into}, tt.args...)
			if code, _, stderr := command(t, dir, args...); code != 0 {
				t.Fatal(stderr)
			}
			s := serve(t, dir, into, "--auth", "open", "--data-dir", t.TempDir())
			for query, want := range tt.answers {
				status, want, _ := strings.Cut(want, " ")
				if code, body := s.get(t, "/codes/ward/"+query, ""); fmt.Sprint(code) != status ||
					!strings.Contains(body, want) {
					t.Errorf("%v: %s: %d %s, want %s %s", tt.args, query, code, body, status, want)
				}
			}
			if code, body := s.get(t, "/collections/divisions_versions/items?datetime=2017-01-01", ""); code != 200 ||
				!strings.Contains(body, "Elm") {
				t.Errorf("versions: %d %s", code, body)
			}
			s.stop()
			s.exit(t)
		}
	}
}

// TestAWorkbookIsATableOfChanges: the sheet that is one is found behind others, cells are numbers, days and texts,
// and a fault names its line.
func TestAWorkbookIsATableOfChanges(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	book := func(name, kind string) string {
		f := excelize.NewFile()
		defer f.Close()
		sheet, err := f.NewSheet("Gebietsaenderungen")
		if err != nil {
			t.Fatal(err)
		}
		f.SetActiveSheet(sheet)
		for cell, v := range map[string]any{"A1": "Deckblatt"} {
			if err := f.SetCellValue("Sheet1", cell, v); err != nil {
				t.Fatal(err)
			}
		}
		for i, row := range [][]any{{"Gebietsänderungen"}, {"Kennziffer", "Regionaleinheit", "Abgebende Gemeinde"},
			{nil, nil, "(ARS)", "Gemeinde-schlüssel (AGS)", "Name", "Änderungs-art 1)", "Fläche qm", "Einwohner",
				"(ARS)", "Gemeinde-schlüssel (AGS)", "Name", "juristisch"}, {},
			{"1", "Gemeinde", nil, 1001001, "Ask", kind, 3000, 30, nil, "01001002", "Birch",
				time.Date(2023, 1, 1, 0, 0, 0, 0, time.UTC)},
			{"1", "Gemeinde", nil, "01001001", "Ask", 1, 1000, 10, nil, "01001003", "Cedar", "01.01.2023"}} {
			if err := f.SetSheetRow("Gebietsaenderungen", fmt.Sprintf("A%d", i+1), &row); err != nil {
				t.Fatal(err)
			}
		}
		path := filepath.Join(dir, name)
		if err := f.SaveAs(path); err != nil {
			t.Fatal(err)
		}
		return path
	}
	into := filepath.Join(dir, "de.gpkg")
	args := []string{"--scheme", "gemeinde", "--into", into}
	code, _, stderr := command(t, dir, append([]string{"lineage", "import", book("good.xlsx", "1")}, args...)...)
	if code != 0 || !strings.Contains(stderr, "gemeinde: 5 versions, 1 event") ||
		!strings.Contains(stderr, "they count as if they were: 01001002 on 2023-01-01, 01001003 on 2023-01-01. "+
			"Give the codes of a day before") {
		t.Errorf("status %d, %s", code, stderr)
	}
	table := writeFile(t, filepath.Join(dir, "table.csv"), "c\n01001001\n")
	if _, stdout, stderr := command(t, dir, "translate", table, "--column", "c", "--from", "2022-01-01", "--to",
		"2024-01-01", "--scheme", "gemeinde", "--history", into); !strings.Contains(stdout,
		"01001001,01001002 01001003,") {
		t.Errorf("%s%s", stdout, stderr)
	}
	if code, _, stderr := command(t, dir, append([]string{"lineage", "import", book("bad.xlsx", "9")},
		args...)...); code == 0 || !strings.Contains(stderr, `line 5: Änderungsart is "9"`) {
		t.Errorf("status %d, %s", code, stderr)
	}
	none := writeFile(t, filepath.Join(dir, "none.xlsx"), "no workbook")
	if code, _, stderr := command(t, dir, append([]string{"lineage", "import", none}, args...)...); code == 0 ||
		!strings.Contains(stderr, "the file is not a workbook, or is damaged") {
		t.Errorf("status %d, %s", code, stderr)
	}
}

// TestMovesOfNobodyMoveNoValues: both stores keep a known 0 apart from what is not known,
// and values across it are known.
func TestMovesOfNobodyMoveNoValues(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	changes := writeFile(t, filepath.Join(dir, "changes.csv"), `date,from,to,transfer,people,area
2020-01-01,A,B,true,0,1000
2020-01-01,C,D,true,,1000
`)
	values := writeFile(t, filepath.Join(dir, "values.csv"),
		"code,date,value\nA,2019,70\nB,2019,30\nC,2019,7\nD,2019,3\n")
	for _, into := range []string{filepath.Join(dir, "own.gpkg"), cluster.Database(t)} {
		if code, _, stderr := command(t, dir, "lineage", "import", changes, "--scheme", "ward", "--into",
			into); code != 0 {
			t.Fatal(stderr)
		}
		rows, err := lineageIn(t.Context(), into)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range rows[0].Edges {
			if want := (history.Count{Known: e.From == "A"}); e.People != want || e.Area != history.CountOf(1000) {
				t.Errorf("%+v", e)
			}
		}
		code, stdout, stderr := command(t, dir, "harmonise", values, "--to", "2024-01-01", "--weights", "population",
			"--scheme", "ward", "--history", into)
		for _, want := range []string{"A,,2019-01-01,70,estimated", "B,,2019-01-01,30,estimated",
			"C,,2019-01-01,,missing", "D,,2019-01-01,,missing"} {
			if code != 0 || !strings.Contains(stdout, want) {
				t.Errorf("status %d, no %s in %s%s", code, want, stdout, stderr)
			}
		}
	}
}

// TestAreasAndLakesOfBFSAreReadOnRequest, so that lists with them and without them agree with the register.
func TestAreasAndLakesOfBFSAreReadOnRequest(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	changes := writeFile(t, filepath.Join(dir, "bfs.csv"),
		`mHistId,mId,mLongName,mEntryMode,mAdmissionNumber,mAdmissionMode,mAdmissionDate,mAbolitionNumber,mAbolitionMode,mAbolitionDate
1,1,Ask,Municipality,100,First-time registration,1960-01-01,101,Abolition,1999-12-31
2,2,Birch,Municipality,100,First-time registration,1960-01-01,101,Change of area,1999-12-31
3,2,Birch,Municipality,101,Change of area,2000-01-01,NA,NA,NA
4,9001,The Lake,Cantonal part of lake,100,First-time registration,1960-01-01,NA,NA,NA
5,90,The Moor,Area not allocated to mun.,100,First-time registration,1960-01-01,101,Abolition,1999-12-31
`)
	list := func(name, codes string) string { return writeFile(t, filepath.Join(dir, name), "code,name\n"+codes) }
	lists := func(name, before, after string) string {
		return " --codes " + list(name+"1999.csv", before) + " --at 1999-01-01 --codes " + list(name+".csv", after) +
			" --at 2022-01-01"
	}
	none := lists("none", "1,Ask\n2,Birch\n", "2,Birch\n")
	areas := lists("areas", "1,Ask\n2,Birch\n90,The Moor\n", "2,Birch\n")
	all := lists("all", "1,Ask\n2,Birch\n90,The Moor\n9001,The Lake\n", "2,Birch\n9001,The Lake\n")
	into := filepath.Join(dir, "ch.gpkg")
	for _, tt := range []struct {
		args   string
		status int
		told   string
	}{
		{"check " + changes + none, 0, "no differences"},
		{"check " + changes + areas, exitFailed, "differences in 4 codes"},
		{"check " + changes + " --with areas" + areas, 0, "no differences"},
		{"check " + changes + " --with areas" + all, exitFailed, "1 difference in 6 codes"},
		{"check " + changes + " --with areas,lakes" + all, 0, "no differences"},
		{"check " + changes + " --with areas,lakes" + none, exitFailed, "differences in 3 codes"},
		{"import " + changes + " --with areas,lakes --scheme gemeinde --into " + into, 0,
			"gemeinde: 5 versions, 1 event"},
		{"check " + into + all, 0, "no differences"},
		{"check " + into + " --with lakes" + all, exitFailed,
			"--with is for tables of BFS; give it to grense lineage import"},
		{"check " + writeFile(t, filepath.Join(dir, "own.csv"), oaks) + " --with areas" + all, exitFailed,
			"--with is for the register of BFS; leave it out"},
		{"import norway --with lakes --into " + into, exitFailed, "norway is built in, and takes no "},
	} {
		code, stdout, stderr := command(t, dir, append([]string{"lineage"}, strings.Fields(tt.args)...)...)
		if code != tt.status || !strings.Contains(stderr, tt.told) {
			t.Errorf("%s: status %d\n%s%s", tt.args, code, stdout, stderr)
		}
	}
}

// TestChangesAreCheckedAgainstLists: tables, an import, and the built-in history, each with lists that agree and that
// do not; what does not fit together is refused.
func TestChangesAreCheckedAgainstLists(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	changes := writeFile(t, filepath.Join(dir, "changes.csv"), oaks)
	into := filepath.Join(dir, "own.gpkg")
	if code, _, stderr := command(t, dir, "lineage", "import", changes, "--scheme", "ward", "--into", into); code != 0 {
		t.Fatal(stderr)
	}
	old := writeFile(t, filepath.Join(dir, "old.csv"), "code,name\nA,Ask\nB,Birch\n")
	now := writeFile(t, filepath.Join(dir, "now.csv"), "code,name\nD,Dogwood\nE,Elm\n")
	wrong := writeFile(t, filepath.Join(dir, "wrong.csv"), "code,name\nC,Cedar\nE,Alder\n")
	const heading = "direction,date,file,line,code,difference\n"
	const differs = `backwards,2025-01-01,wrong.csv,2,C,"C is in the list, but not in use: `
	for _, tt := range []struct {
		args   string
		status int
		want   string // in the differences
		told   string
	}{
		{changes + " --codes " + old + " --at 2019-01-01 --codes " + now + " --at 2024-01-01", 0, heading,
			"4 codes on 2019-01-01, 2024-01-01: no differences"},
		{into + " --codes " + now + " --at 2025-01-01", 0, heading, "2 codes on 2025-01-01: no differences"},
		{into + " --scheme ward --codes " + wrong + " --at 2025-01-01", exitFailed, differs,
			"in 2 codes on 2025-01-01"},
		{changes + " --codes " + wrong + " --at 2025-01-01", exitFailed,
			`forwards,2025-01-01,wrong.csv,3,E,"E is ""Alder"" in the list, and ""Elm"" by the changes: ` +
				`it began on 2024-01-01"`, "5 differences in 2 codes on 2025-01-01"},
		{changes + " --no-names --codes " + wrong + " --at 2025-01-01", exitFailed,
			`forwards,2025-01-01,wrong.csv,2,C,"C is in the list, but not in use: it ended on 2024-01-01"`,
			"4 differences"},
		{changes + " --only D,E --codes " + now + " --at 2025-01-01", exitFailed, "",
			"--only D,E: no change names only codes that begin so"},
		{"norway --codes " + now + " --at 2024-01-01", exitFailed, "",
			"name the scheme with --scheme; there are kommune, fylke"},
		{"norway --scheme ward --codes " + now + " --at 2024-01-01", exitFailed, "",
			"--scheme ward: there is no such scheme; there are kommune, fylke"},
		{changes + " --codes " + now + " --at 2024-01-01 --at 2025-01-01", exitFailed, "",
			"--codes stands once, and --at 2 times: give each list its day"},
		{changes + " --codes " + now + " --at soon", exitFailed, "", `--at: "soon" is no day`},
	} {
		code, stdout, stderr := command(t, dir, append([]string{"lineage", "check"}, strings.Fields(tt.args)...)...)
		if code != tt.status || !strings.Contains(stdout, tt.want) || !strings.Contains(stderr, tt.told) ||
			tt.status == 0 && stdout != heading {
			t.Errorf("%s: status %d\n%s%s", tt.args, code, stdout, stderr)
		}
	}
}
