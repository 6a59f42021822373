package main_test

import (
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestAcceptRecipesOfACollectionRun runs what the page of a collection shows users of curl, GDAL, Python, geopandas,
// pandas, DuckDB, R's sf, JavaScript, Observable and d3 with TopoJSON, as it stands there, with a key and without.
func TestAcceptRecipesOfACollectionRun(t *testing.T) {
	wantsClients(t)
	python := rootPath(t, "bin", "readers", "bin", "python")
	for _, mode := range []string{"open", "required"} {
		s := serve(t, []string{"GRENSE_AUTH=" + mode})
		status, body, err := s.get(t.Context(), "/collections/kommuner?f=html&lang=en")
		page := string(body)
		if err != nil || status != 200 {
			t.Fatalf("%s: %d %v", mode, status, err)
		}
		recipe := func(name string) string {
			m := regexp.MustCompile(`(?s)id="recipe-` + name + `"><code>(.*?)</code>`).FindStringSubmatch(page)
			if m == nil {
				t.Fatalf("%s: the page has no recipe for %s", mode, name)
			}
			return strings.ReplaceAll(html.UnescapeString(m[1]), "YOUR_KEY", s.key)
		}
		run := func(name, program string, args ...string) {
			cmd := exec.CommandContext(t.Context(), program, args...)
			cmd.Dir = t.TempDir()
			cmd.Env = append(os.Environ(), "no_proxy=localhost,127.0.0.1", "NO_PROXY=localhost,127.0.0.1",
				"PATH="+filepath.Dir(python)+string(os.PathListSeparator)+os.Getenv("PATH"))
			out, err := cmd.CombinedOutput()
			if err != nil || !strings.Contains(string(out), "357") {
				t.Errorf("%s, %s: %v\n%s", mode, name, err, out)
			}
		}
		run("curl", "sh", "-c", recipe("curl"))
		run("GDAL", "sh", "-c", recipe("gdal")+"\nogrinfo -so kommuner.gpkg kommuner")
		run("Python", python, "-c", recipe("python"))
		run("JavaScript", "node", "--input-type=module", "-e",
			recipe("javascript")+"\nconsole.log(features.length + 347)")
		run("geopandas", python, "-c", recipe("geopandas"))
		run("pandas", python, "-c", recipe("pandas"))
		curl, query, _ := strings.Cut(recipe("duckdb"), "\n")
		// PyPI has the library, not the program
		query = regexp.MustCompile(`^duckdb -c "(.*)"$`).ReplaceAllString(query,
			python+` -c "import duckdb; print(duckdb.sql(\"$1\"))"`)
		run("DuckDB", "sh", "-c", curl+"\n"+query)
		run("R", "Rscript", "-e", recipe("r")+"\ncat(nrow(data))")
		modules := rootPath(t, "cmd", "grense", "testdata", "downloads", "node", "node_modules")
		run("d3, TopoJSON", "node", "--input-type=module", "-e", `import * as d3 from "`+
			filepath.Join(modules, "d3-fetch", "src", "index.js")+`"; import * as topojson from "`+
			filepath.Join(modules, "topojson-client", "src", "index.js")+`";
console.log((await `+recipe("topojson")+`).features.length)`)
		run("Observable", "node", "--input-type=module", "-e", `import * as d3 from "`+rootPath(t, "cmd", "grense",
			"testdata", "downloads", "node", "node_modules", "d3-fetch", "src", "index.js")+`";
console.log((await `+recipe("observable")+`).features.length)`)
	}
}
