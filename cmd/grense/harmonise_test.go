package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestASeriesIsHarmonised(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const table = "region,year,people\n1507,2023,100\n1508,2024,90\n1580,2024,11\n9999,2024,1\n"
	out := filepath.Join(dir, "out.csv")
	args := strings.Fields("harmonise - --to 2024-01-01 --code region --date year --value people")
	code, stdout, stderr := piped(t, dir, strings.NewReader(table),
		append(args, "--weights", "population", "--out", out)...)
	got, _ := os.ReadFile(out)
	want := "code,name,date,value,mark,why\n1508,Ålesund,2023-01-01,86,estimated,a part of 1507 by population\n1580," +
		"Haram,2023-01-01,14,estimated,a part of 1507 by population\n" +
		"1508,Ålesund,2024-01-01,90,exact,\n1580,Haram,2024-01-01,11,exact,\n"
	const summary = "standard input, row 4: 9999 was not in use on 2024-01-01\n4 rows: 2 exact, 2 estimated, " +
		"0 missing; of the total 202, 201 are in cells and 1 in none; of 1 the code was not in use on its day\n"
	if code != 0 || stdout != "" || string(got) != want || stderr != summary {
		t.Errorf("status %d, %s%s%s", code, stdout, got, stderr)
	}
	for more, want := range map[string]string{
		"--out " + out:         "--force",
		"--to 1.1.2024":        "--to: ",
		"--weights supplied":   "go together",
		"--scheme bydel":       "there are fylke, kommune",
		"--value number":       `cannot harmonise standard input: heading: there is no column "number"`,
		"--weights-file x.csv": "go together",
	} {
		if code, stdout, stderr := piped(t, dir, strings.NewReader(table),
			append(args, strings.Fields(more)...)...); code == 0 || stdout != "" || !strings.Contains(stderr, want) {
			t.Errorf("%s: status %d, %s%s", more, code, stdout, stderr)
		}
	}
}
