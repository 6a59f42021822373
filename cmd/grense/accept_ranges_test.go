package main_test

import (
	"os/exec"
	"strings"
	"testing"
)

// TestAcceptDownloadsAreReadInParts reads files by HTTP ranges, at the address without revision, with GDAL's /vsicurl/,
// polars and flatgeobuf.js, and lines of JSON with DuckDB and polars.
func TestAcceptDownloadsAreReadInParts(t *testing.T) {
	wantsClients(t)
	python := readers(t)
	modules := rootPath(t, "cmd", "grense", "testdata", "downloads", "node", "node_modules")
	s := serve(t, []string{"GRENSE_AUTH=open"})
	file := func(f string) string { return s.base + "/collections/kommuner/download?f=" + f }
	for name, c := range map[string][]string{
		"GDAL, FlatGeobuf": {"ogrinfo", "-so", "-al", "/vsicurl/" + file("flatgeobuf")},
		"GDAL, GeoPackage": {"ogrinfo", "-so", "-al", "/vsicurl/" + file("gpkg")},
		"polars, Parquet": {python, "-c", `import polars as pl; print(pl.scan_parquet("` + file("parquet") +
			`").select(pl.len()).collect().item())`},
		"flatgeobuf.js, all": {"node", "--input-type=module", "-e",
			`import { deserialize } from "` + modules + `/flatgeobuf/lib/mjs/geojson.js";
			let n = 0; for await (const f of deserialize("` + file("flatgeobuf") +
				`", {rect: {minX: -180, minY: -90, maxX: 180, maxY: 90}})) n++; console.log(n)`},
		"polars, NDJSON": {python, "-c",
			`import urllib.request, polars as pl; print(pl.read_ndjson(urllib.request.urlopen("` + file("ndjson") +
				`").read()).height)`},
		"DuckDB, NDJSON": {python, "-c", `import urllib.request, duckdb; urllib.request.urlretrieve("` +
			file("ndjson") + `", "x.ndjson"); print(duckdb.sql("SELECT count(*) FROM read_json('x.ndjson', ` +
			`format='newline_delimited', maximum_object_size=100000000)").fetchall()[0])`},
	} {
		cmd := exec.CommandContext(t.Context(), c[0], c[1:]...)
		cmd.Dir = t.TempDir()
		cmd.Env = append(cmd.Environ(), "no_proxy=localhost,127.0.0.1", "NO_PROXY=localhost,127.0.0.1")
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "357") {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}
