package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestATableIsTranslatedRowByRow(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const days = " --column KOMNR --from 2019-01-01 --to 2024-01-01"
	table := "\xef\xbb\xbfsted;komnr\r\n\"H\xe6r; der\";1504\r\n;1534\r\n\r\nx;301\r\ny;3024\r\nz;\r\nlast;0219"
	want := "sted;komnr;translated;translated_name;translated_error\n\"Hær; der\";1504;1508;Ålesund;\n;1534;1580;" +
		"Haram;\n\nx;301;0301;Oslo;\n" +
		"y;3024;;;the code was not in use on 2019-01-01, but from 2020-01-01 until 2024-01-01 (Bærum)\nz;;;;there is " +
		"no code\nlast;0219;3201;Bærum;\n"
	const summary = "6 rows: 4 translated, 2 with an error (see the column translated_error); " +
		"1 had lost zeros at the beginning of the code, which were put back\n"
	plain, packed, out := writeFile(t, filepath.Join(dir, "in.csv"), table), filepath.Join(dir, "in.csv.gz"),
		filepath.Join(dir, "out.csv")
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write([]byte(table))
	z.Close()
	writeFile(t, packed, b.String())
	for _, args := range []string{"", "-", plain, packed, plain + " --out " + out, plain + " --force --out " + out} {
		code, stdout, stderr := piped(t, dir, strings.NewReader(table), strings.Fields("translate "+args+days)...)
		if strings.Contains(args, "--out") {
			got, _ := os.ReadFile(out)
			stdout += string(got)
		}
		if code != 0 || stdout != want || stderr != summary {
			t.Errorf("%q: status %d, %s%s", args, code, stdout, stderr)
		}
	}
	twice, stdout, _ := piped(t, dir, strings.NewReader(want),
		strings.Fields("translate --column translated --from 2024-01-01 --to 2019-01-01 --as back")...)
	if !strings.Contains(stdout, ";1534;1580;Haram;;1534;Haram;\n") || twice != 0 {
		t.Errorf("back again: %s", stdout)
	}
}

func TestAmbiguousCodesAreGivenAsChosen(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, tt := range []struct {
		choice, want, told string
		code               int
	}{
		{"list", "0301,0301,Oslo,\n1507,1508 1580,Ålesund; Haram,\n",
			"2 rows: 2 translated; of 1 the code is several on 2024-01-01\n", 0},
		{"largest", "0301,0301,Oslo,\n1507,1508,Ålesund,\n",
			"2 rows: 2 translated; of 1 the code is several on 2024-01-01\n", 0},
		{"null", "0301,0301,Oslo,\n1507,,,\n",
			"2 rows: 1 translated, 1 left empty; of 1 the code is several on 2024-01-01\n", 0},
		{"error", "", "standard input, row 2: 1507 of 2020-01-01 is 1508 and 1580 on 2024-01-01; " +
			"choose --on-ambiguous list, null or largest\n", 1},
	} {
		code, stdout, stderr := piped(t, dir, strings.NewReader("k\n0301\n1507\n"), "translate", "--column", "k",
			"--from", "2020-01-01", "--to", "2024-01-01", "--on-ambiguous", tt.choice)
		if code != tt.code || tt.code == 0 && stdout != "k,translated,translated_name,translated_error\n"+tt.want ||
			!strings.HasSuffix(stderr, tt.told) {
			t.Errorf("%s: status %d, %s%s", tt.choice, code, stdout, stderr)
		}
	}
}

func TestCodesOfAnImportedHistoryAreTranslated(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	changes, into := writeFile(t, filepath.Join(dir, "changes.csv"), oaks), filepath.Join(dir, "own.gpkg")
	if code, _, stderr := command(t, dir, "lineage", "import", changes, "--scheme", "ward", "--into", into); code != 0 {
		t.Fatal(stderr)
	}
	code, stdout, stderr := piped(t, dir, strings.NewReader("ward\tn\nA\t1\nC\t2\n"),
		strings.Fields("translate --column ward --from 2019-01-01 --to 2025-01-01 --scheme ward --history "+into)...)
	if want := "A\t1\tD\tDogwood\t\nC\t2\t\t\tthe code was not in use on 2019-01-01, but from 2020-01-01 until " +
		"2024-01-01 (Cedar)\n"; code != 0 || !strings.HasSuffix(stdout, want) {
		t.Errorf("status %d, %s%s", code, stdout, stderr)
	}
}

func TestATableThatCannotBeTranslatedLeavesNoFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	there := writeFile(t, filepath.Join(dir, "there.csv"), "precious")
	const good = "--column k --from 2020-01-01 --to 2024-01-01 "
	for args, want := range map[string]string{
		"--column x --from 2020-01-01 --to 2024-01-01": `the table has no column "x"; it has k, v`,
		"--column k --from 2020 --to 2024-01-01":       `--from: "2020" is no day; write it as 2020-01-01`,
		"--column k --from 2020-01-01 --to 2024-02-30": `--to: "2024-02-30" is no day`,
		"--column k --from 2020-01-01":                 "--to=DAY",
		good + "--scheme sogn": "--scheme sogn: there is no such scheme; " +
			"there are fylke, kommune",
		good + "--on-ambiguous most": "--on-ambiguous",
		good + "--as k":              "the table has a column k already",
		good + "--history " + filepath.Join(dir, "none.gpkg"): "none.gpkg",
		good + "--out " +
			there: "there.csv exists; choose another file, or replace it with --force",
		good + "--on-ambiguous error --force --out " + there:   "row 1: 1507 of 2020-01-01",
		good + "--out " + filepath.Join(dir, "no", "file.csv"): "there is no folder",
		good + filepath.Join(dir, "no.csv"):                    "no.csv",
	} {
		if code, _, stderr := piped(t, dir, strings.NewReader("k,v\n1507,1\n"),
			strings.Fields("translate "+args)...); code == 0 || !strings.Contains(stderr, want) {
			t.Errorf("%s: status %d, %s", args, code, stderr)
		}
	}
	// Somebody breaks off while the rest of the table is waited for.
	r, w := io.Pipe()
	ctx, leave := context.WithCancel(t.Context())
	go func() {
		w.Write([]byte("k,v\n0301,1\n"))
		leave()
	}()
	var stderr bytes.Buffer
	args := strings.Fields("translate " + good + "--out " + filepath.Join(dir, "new.csv"))
	if code := run(ctx, &process{Args: args, Environ: environ(dir), Stdin: r, Stdout: io.Discard,
		Stderr: &stderr}); code == 0 || !strings.Contains(stderr.String(), "interrupted") {
		t.Errorf("broken off: status %d, %s", code, &stderr)
	}
	left, err := filepath.Glob(filepath.Join(dir, "*.csv*"))
	if b, _ := os.ReadFile(there); err != nil || len(left) != 1 || string(b) != "precious" {
		t.Errorf("left: %q, %q, %v", left, b, err)
	}
}
