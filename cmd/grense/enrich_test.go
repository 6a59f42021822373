package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestATableGetsItsDivisionsOnTheCommandLine(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const table, codes, lines = "\xef\xbb\xbfsted;lon;lat\nB\xe6rum;10,75;59,91\nsjø;2;61\nfeil;x;1\n",
		"kode,n\n301,1\n9999,2\n", "{\"lon\":10.75,\"lat\":59.91}\n"
	out := filepath.Join(dir, "out.csv")
	for _, tt := range []struct{ args, in, want, told string }{
		{"--collections kommuner", table, "sted;lon;lat;kommuner_id;kommuner_name;enrich_error\nBærum;10,75;59,91;" +
			"0301;Oslo;\nsjø;2;61;;;\nfeil;x;1;;;a coordinate is no number\n",
			"3 rows: 1 with a division, 1 in none, 1 with an error (see the column enrich_error)\n"},
		{"--collections fylker,kommuner --code kode", codes,
			"kode,n,fylker_id,fylker_name,kommuner_id,kommuner_name,enrich_error\n301,1,,,0301,Oslo,\n9999,2,,,,,\n",
			"2 rows: 1 with a division, 1 in none; 1 had lost zeros at the beginning of the code, " +
				"which were put back\n"},
		{"--collections kommuner", lines, `{"lon":10.75,"lat":59.91,"kommuner_id":"0301","kommuner_name":"Oslo",` +
			`"enrich_error":null}` + "\n", "1 row: 1 with a division\n"},
		{"--collections kommuner --crs EPSG:25833 --out " + out, "x,y\n261000,6650000\n",
			"x,y,kommuner_id,kommuner_name,enrich_error\n261000,6650000,0301,Oslo,\n", "1 row: 1 with a division\n"},
	} {
		code, stdout, stderr := piped(t, dir, strings.NewReader(tt.in), strings.Fields("enrich "+tt.args)...)
		if strings.Contains(tt.args, "--out") {
			b, _ := os.ReadFile(out)
			stdout += string(b)
		}
		if code != 0 || stdout != tt.want || !strings.HasSuffix(stderr, tt.told) {
			t.Errorf("%s: status %d, %s%s", tt.args, code, stdout, stderr)
		}
	}
	for args, told := range map[string]string{"--crs x": "--crs x: there is no such system",
		"--collections zz": "name each of these at most once: fylker, kommuner",
		"--x zz":           `the table has no column "zz"; it has lon, lat`,
		"--out " + out:     "exists; choose another file", "nowhere.csv": "nowhere.csv",
		"--with nowhere.gpkg": "nowhere.gpkg"} {
		code, stdout, stderr := piped(t, dir, strings.NewReader("lon,lat\n1,2\n"), strings.Fields("enrich "+args)...)
		if code != 1 || stdout != "" || !strings.Contains(stderr, told) {
			t.Errorf("%s: status %d, %s%s", args, code, stdout, stderr)
		}
	}
}
