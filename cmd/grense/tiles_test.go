package main

import (
	"bytes"
	"compress/gzip"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"grense/internal/archive"
	"grense/internal/await"
)

// TestServeReadsTilesFromAFile: the same bytes and statuses as without it, from the first request on.
func TestServeReadsTilesFromAFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	src := demoCopy(t, dir)
	file := filepath.Join(dir, "demo.pmtiles")
	code, out, errs := command(t, dir, "tiles", "export", src, "--out", file, "--max-zoom", "6")
	if code != 0 || !strings.Contains(out, "levels 0 to 6") || !strings.Contains(out, "--tiles "+file) {
		t.Fatalf("%d: %s%s", code, out, errs)
	}
	live := serve(t, dir, src, "--auth", "open")
	read := serve(t, t.TempDir(), src, "--auth", "open", "--tiles", file)
	const first = "/tiles/WebMercatorQuad/3/2/4"
	_, want := read.get(t, first, "")
	await.True(t, "the live tile is that of the file", func() bool { // as soon as there are levels
		_, b := live.get(t, first, "")
		return b == want
	})
	for _, p := range []string{"/tiles/WebMercatorQuad/0/0/0", "/collections/kommuner/tiles/WebMercatorQuad/6/17/33",
		"/tiles/WebMercatorQuad/5/8/17?collections=kommuner,fylker",
		"/tiles/WebMercatorQuad/6/40/40", "/tiles/WebMercatorQuad/6/14/38", "/tiles/WebMercatorQuad/6/x/0",
		"/collections/fylker/tiles/WebMercatorQuad?f=tilejson"} {
		codeLive, a := live.get(t, p, "")
		codeRead, b := read.get(t, p, "")
		if a, b = strings.ReplaceAll(a, live.base, ""), strings.ReplaceAll(b, read.base, ""); codeLive != codeRead ||
			codeLive < 400 && a != b {
			// problems have numbers of their own
			t.Errorf("%s: %d with %d bytes from the file, %d with %d bytes live", p, codeRead, len(b), codeLive, len(a))
		}
	}
}

func TestTilesAreRefusedWithTheCure(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	src := demoCopy(t, dir)
	other := writeFile(t, filepath.Join(dir, "ruter.geojson"), squares(4))
	file := filepath.Join(dir, "ruter.mbtiles")
	if code, out, errs := command(t, dir, "tiles", "export", other, "--out", file, "--max-zoom", "8"); code != 0 {
		t.Fatal(out, errs)
	}
	letter := writeFile(t, filepath.Join(dir, "letter.pmtiles"), "Dear reader, these are no tiles at all.")
	for _, x := range []struct {
		want string
		args []string
	}{
		{"no such collection", []string{"serve", src, "--tiles", file}},
		{"not a PMTiles", []string{"serve", src, "--tiles", letter}},
		{"there is no file", []string{"serve", src, "--tiles", filepath.Join(dir, "none.pmtiles")}},
		{".pmtiles or .mbtiles", []string{"tiles", "export", src, "--out", filepath.Join(dir, "x.zip")}},
		{"exists", []string{"tiles", "export", src, "--out", file}},
		{"no folder", []string{"tiles", "export", src, "--out", filepath.Join(dir, "none", "x.pmtiles")}},
		{"levels are 0 to 14", []string{"tiles", "export", src, "--out", filepath.Join(dir, "x.pmtiles"),
			"--max-zoom", "15"}},
		{"levels are 0 to 14", []string{"tiles", "export", src, "--out", filepath.Join(dir, "x.pmtiles"), "--min-zoom",
			"9", "--max-zoom", "8"}},
		{"fylker, kommuner", []string{"tiles", "export", src, "--out", filepath.Join(dir, "x.pmtiles"), "--collections",
			"kommuner,bydeler"}},
	} {
		if x.args[0] == "serve" {
			x.args = append(x.args, "--addr", "127.0.0.1:0")
		}
		code, _, errs := command(t, dir, x.args...)
		if code != exitFailed || !strings.Contains(errs, x.want) || x.args[0] == "serve" &&
			!strings.Contains(errs, "grense tiles export") {
			t.Errorf("%v: %d %s", x.args, code, errs)
		}
	}
}

// TestTilesOfADay: an archive holds the versions of now, or of the day asked for.
func TestTilesOfADay(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	square := func(name, from, to string) string {
		return `{"type":"Feature","properties":{"nr":"1","name":"` + name + `","valid_from":"` + from +
			`","valid_to":` + to +
			`},"geometry":{"type":"Polygon","coordinates":[[[10,60],[11,60],[11,61],[10,61],[10,60]]]}}`
	}
	src := filepath.Join(dir, "areas.gpkg")
	in := writeFile(t, filepath.Join(dir, "areas.geojson"), `{"type":"FeatureCollection","features":[`+
		square("Older", "2001-01-01", `"2012-01-01"`)+","+square("Newer", "2012-01-01", "null")+"]}")
	if code, out, errs := command(t, dir, "import", in, "--into", src, "--collection", "areas", "--id-field",
		"nr"); code != 0 {
		t.Fatal(out, errs)
	}
	for i, x := range []struct{ day, has, lacks string }{{"", "Newer", "Older"}, {"2005-06-01", "Older", "Newer"},
		{"2012-01-01", "Newer", "Older"}} {
		file := filepath.Join(dir, strconv.Itoa(i)+".pmtiles")
		args := []string{"tiles", "export", src, "--out", file, "--max-zoom", "5"}
		if x.day != "" {
			args = append(args, "--datetime", x.day)
		}
		if code, out, errs := command(t, dir, args...); code != 0 {
			t.Fatal(out, errs)
		}
		r, err := archive.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		b, err := r.Tile(5, 9, 16)
		if err != nil {
			t.Fatal(err)
		}
		z, err := gzip.NewReader(bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		plain, err := io.ReadAll(z)
		if err != nil || !bytes.Contains(plain, []byte(x.has)) || bytes.Contains(plain, []byte(x.lacks)) {
			t.Errorf("%q: %q %v, want %s without %s", x.day, plain, err, x.has, x.lacks)
		}
	}
	plain := writeFile(t, filepath.Join(dir, "ruter.geojson"), squares(4))
	for _, x := range []struct{ source, day, want string }{{src, "soon", "write a day as"},
		{src, "2001-01-01/..", "write a day as"}, {plain, "2020-01-01", "have no versions"}} {
		code, _, errs := command(t, dir, "tiles", "export", x.source, "--out", filepath.Join(dir, "x.pmtiles"),
			"--datetime", x.day)
		if code != exitFailed || !strings.Contains(errs, x.want) {
			t.Errorf("%s of %s: %d %s", x.source, x.day, code, errs)
		}
	}
}
