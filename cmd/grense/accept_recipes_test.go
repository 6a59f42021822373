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

// TestAcceptRecipesOfACollectionRun runs what the page of a collection tells users of geopandas, pandas and DuckDB, as it stands there, with a key and
// without. The Parquet file is read with pyarrow where there is no DuckDB.
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
			cmd.Env = append(os.Environ(), "no_proxy=localhost,127.0.0.1", "NO_PROXY=localhost,127.0.0.1", "PATH="+filepath.Dir(python)+string(os.PathListSeparator)+os.Getenv("PATH"))
			out, err := cmd.CombinedOutput()
			if err != nil || !strings.Contains(string(out), "357") {
				t.Errorf("%s, %s: %v\n%s", mode, name, err, out)
			}
		}
		run("geopandas", python, "-c", recipe("geopandas"))
		run("pandas", python, "-c", recipe("pandas"))
		curl, query, _ := strings.Cut(recipe("duckdb"), "\n")
		if _, err := exec.LookPath("duckdb"); err != nil {
			query = python + ` -c "import pyarrow.parquet; print(len(pyarrow.parquet.read_table('kommuner.parquet')))"`
		}
		run("DuckDB", "sh", "-c", curl+"\n"+query)
	}
}
