package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// stedsnavnGML is a file of n invented places of the official product, numbered from first.
// Those in bad have no number.
func stedsnavnGML(first, n int, bad ...int) string {
	var b strings.Builder
	b.WriteString(`<gml:FeatureCollection xmlns:app="https://skjema.geonorge.no/SOSI/produktspesifikasjon` +
		`/StedsnavnForVanligBruk/20231001" xmlns:gml="http://www.opengis.net/gml/3.2">` + "\n")
	for i := first; i < first+n; i++ {
		number, kind := fmt.Sprintf("<app:stedsnummer>%d</app:stedsnummer>", i), "fjell"
		for _, k := range bad {
			if k == i {
				number = ""
			}
		}
		if i%100 == 0 {
			kind = "heisveg"
		}
		fmt.Fprintf(&b,
			`<gml:featureMember><app:Sted gml:id="id%[1]d">`+
				`<app:oppdateringsdato>2024-01-02T03:04:05Z</app:oppdateringsdato><app:posisjon><gml:Point `+
				`srsName="urn:ogc:def:crs:EPSG::4258">`+
				`<gml:pos>60.%06[1]d 9.5</gml:pos></gml:Point></app:posisjon><app:stedsnavn><app:Stedsnavn>`+
				`<app:navnesakstatus>ubehandlet</app:navnesakstatus><app:navnestatus>hovednavn</app:navnestatus>`+
				`<app:språk>norsk</app:språk><app:stedsnavnnummer>1</app:stedsnavnnummer><app:skrivemåte>`+
				`<app:Skrivemåte>`+
				`<app:komplettskrivemåte>Prøvenuten %[1]d</app:komplettskrivemåte>`+
				`<app:skrivemåtestatus>godkjent</app:skrivemåtestatus><app:statusdato>1991-07-01</app:statusdato>`+
				`<app:skrivemåtenummer>1</app:skrivemåtenummer></app:Skrivemåte></app:skrivemåte></app:Stedsnavn>`+
				`</app:stedsnavn>`+
				`<app:land>Norge</app:land><app:navneobjekttype>%[2]s</app:navneobjekttype>`+
				`<app:sortering>viktighetH</app:sortering><app:kommune><app:Kommune>`+
				`<app:kommunenummer>3434</app:kommunenummer>`+
				`<app:kommunenavn>Lom</app:kommunenavn><app:fylkesnummer>34</app:fylkesnummer></app:Kommune>`+
				`</app:kommune>%[3]s</app:Sted></gml:featureMember>`+"\n", i, kind, number)
	}
	return b.String() + "</gml:FeatureCollection>\n"
}

// TestRegisterImport goes an operator's way: import, look at the report, import again, serve.
func TestRegisterImport(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	into, report := filepath.Join(dir, "register.gpkg"), filepath.Join(dir, "faults.jsonl")
	a, b := writeFile(t, filepath.Join(dir, "a.gml"), stedsnavnGML(1, 150)),
		writeFile(t, filepath.Join(dir, "b.gml"), stedsnavnGML(101, 100))
	code, stdout, stderr := command(t, dir, "register", "import", a, b, "--into", into, "--report", report)
	if code != 0 || !strings.Contains(stdout, "200 places, 200 names, 200 spellings") ||
		!strings.Contains(stdout, "Read 250, refused 0, occurred again 50") ||
		!strings.Contains(stderr, "navneobjekttype heisveg, 2 places, first "+a+":101, stedsnummer 100") {
		t.Fatalf("status %d\n%s%s", code, stdout, stderr)
	}
	lines, err := os.ReadFile(report)
	if err != nil || bytes.Count(lines, []byte("\n")) != 51 || !bytes.Contains(lines, []byte(`"id":"150"`)) ||
		!bytes.Contains(lines, []byte("heisveg")) {
		t.Errorf("the report: %v\n%s", err, lines)
	}
	first, err := os.ReadFile(into)
	if err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(dir, "other.gpkg")
	if code, _, stderr := command(t, dir, "register", "import", b, a, "--into", other); code != 0 {
		t.Fatal(stderr)
	}
	if second, err := os.ReadFile(other); err != nil || !bytes.Equal(first, second) {
		t.Errorf("the files in another order give another register (%v)", err)
	}
	code, _, stderr = command(t, dir, "register", "import", a, "--into", into)
	if now, _ := os.ReadFile(into); code == 0 || !strings.Contains(stderr, "--replace") || !bytes.Equal(now, first) {
		t.Errorf("a second import: status %d, %s", code, stderr)
	}
	if code, _, stderr := command(t, dir, "import", writeFile(t, filepath.Join(dir, "ruter.geojson"), squares(3)),
		"--into", into, "--collection", "ruter"); code != 0 {
		t.Fatal(stderr)
	}
	if code, _, stderr := command(t, dir, "register", "import", b, "--into", into, "--replace"); code != 0 {
		t.Fatal(stderr)
	}
	if n := counts(t, into); n["sted"] != 100 || n["stedsnavn"] != 100 || n["ruter"] != 3 {
		t.Errorf("after the second import: %v", n)
	}
	key, _ := createKey(t, dir, "--name", "prøve")
	s := serve(t, dir, into, "--addr", "127.0.0.1:0")
	if code, body := s.get(t, "/collections/stedsnavn/items?q=pr%C3%B8venuten%20150", key); code != http.StatusOK ||
		!strings.Contains(body, `"numberMatched":1,`) || !strings.Contains(body, `"stedsnummer":150`) {
		t.Errorf("items: %d %s", code, body)
	}
	if code, body := s.get(t, "/codelists/navneobjekttype?f=csv", key); code != http.StatusOK ||
		!strings.Contains(body, "heisveg") {
		t.Errorf("code list: %d %s", code, body)
	}
}

// A refusal, a broken file and an interruption leave the target as it was.
func TestRegisterImportLeavesTheTarget(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	into := filepath.Join(dir, "register.gpkg")
	if code, _, stderr := command(t, dir, "register", "import",
		writeFile(t, filepath.Join(dir, "a.gml"), stedsnavnGML(1, 10)), "--into", into); code != 0 {
		t.Fatal(stderr)
	}
	before, err := os.ReadFile(into)
	if err != nil {
		t.Fatal(err)
	}
	good := stedsnavnGML(1, 300, 7, 9)
	bad := writeFile(t, filepath.Join(dir, "bad.gml"), good)
	for _, c := range []struct {
		name string
		args []string
		want []string
	}{
		{"two refusals", []string{bad}, []string{"refused, 2 times: a number is missing", bad + ":8, stedsnummer id7",
			"2 places were refused, the first: " + bad + ":", "; --skip-refused imports the others"}},
		{"broken", []string{writeFile(t, filepath.Join(dir, "broken.gml"), good[:len(good)*2/3])},
			[]string{"broken.gml, the file is cut off at line 202"}},
		{"missing", []string{filepath.Join(dir, "none.gml")}, []string{"there is no file"}},
	} {
		code, stdout, stderr := command(t, dir,
			append(append([]string{"register", "import"}, c.args...), "--into", into, "--replace")...)
		if code == 0 || stdout != "" {
			t.Errorf("%s: status %d, %s", c.name, code, stdout)
		}
		for _, w := range c.want {
			if !strings.Contains(stderr, w) {
				t.Errorf("%s: the message lacks %q:\n%s", c.name, w, stderr)
			}
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out, errs bytes.Buffer
	if code := run(ctx,
		&process{Args: []string{"register", "import", bad, "--into", into, "--replace", "--skip-refused"},
			Environ: environ(dir), Stdout: &out, Stderr: &errs}); code == 0 ||
		!strings.Contains(errs.String(), "nothing was imported: interrupted") {
		t.Errorf("an interrupted import: status %d, %s%s", code, &out, &errs)
	}
	if code, _, stderr := command(t, dir, "register", "import", bad, "--into", into, "--replace", "--report",
		bad); code == 0 || !strings.Contains(stderr, "over "+bad) {
		t.Errorf("a report over what is read: status %d, %s", code, stderr)
	}
	if now, err := os.ReadFile(into); err != nil || !bytes.Equal(now, before) {
		t.Errorf("the target has changed (%v)", err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*register.gpkg*")); len(left) != 1 {
		t.Errorf("files are left: %v", left)
	}
	if code, stdout, stderr := command(t, dir, "register", "import", bad, "--into", into, "--replace",
		"--skip-refused"); code != 0 || !strings.Contains(stdout, "298 places") {
		t.Errorf("--skip-refused: status %d, %s%s", code, stdout, stderr)
	}
}

func TestRegisterImportIntoADatabase(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long: the run without the race detector has it")
	}
	db, dir := cluster.Database(t), t.TempDir()
	file := writeFile(t, filepath.Join(dir, "a.gml"), stedsnavnGML(1, 120))
	if code, stdout, stderr := command(t, dir, "register", "import", file, "--into", db); code != 0 ||
		!strings.Contains(stdout, "120 places") {
		t.Fatalf("status %d, %s%s", code, stdout, stderr)
	}
	for _, args := range [][]string{{"register", "import", file, "--into", db},
		{"register", "generate", "--places", "800", "--out", db}} {
		if code, _, stderr := command(t, dir, args...); code == 0 ||
			!strings.Contains(stderr, "holds a register already") {
			t.Errorf("%v once more: status %d, %s", args[:2], code, stderr)
		}
	}
	key, _ := createKey(t, dir, "--name", "prøve", "--source", db)
	s := serve(t, dir, db, "--addr", "127.0.0.1:0")
	if code, body := s.get(t, "/collections/stedsnavn/items?q=pr%C3%B8venuten%20110", key); code != http.StatusOK ||
		!strings.Contains(body, `"stedsnummer":110`) {
		t.Errorf("items: %d %s", code, body)
	}
	if code, stdout, stderr := command(t, dir, "register", "generate", "--places", "800", "--out", db,
		"--force"); code != 0 || !strings.Contains(stdout, "800 places") {
		t.Errorf("generate: status %d, %s%s", code, stdout, stderr)
	}
}
