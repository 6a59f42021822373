// Package internal_test holds the rules of the house that concern every package.
package internal_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// may lists, for each package, the packages of ours that it may import besides internal/problem.
var may = map[string]string{
	"api/ogcapi":               "",
	"api/placename":            "",
	"migrations":               "",
	"THIRD_PARTY":              "",
	"web":                      "",
	"openapi":                  "api/ogcapi",
	"internal":                 "",
	"internal/problem":         "",
	"internal/config":          "",
	"internal/geo/crs":         "",
	"internal/geo/wkb":         "",
	"internal/cache":           "",
	"internal/archive":         "internal/cache",
	"internal/geo/coverage":    "internal/geo/crs internal/geo/wkb",
	"internal/geo/locate":      "internal/geo/coverage internal/geo/crs internal/geo/wkb",
	"internal/enrich":          "internal/history",
	"internal/geo/relate":      "internal/geo/crs internal/geo/wkb",
	"internal/cql2":            "internal/geo/crs internal/geo/relate internal/geo/wkb",
	"internal/store":           "internal/cql2 internal/geo/crs internal/geo/wkb",
	"internal/store/sqlq":      "internal/store internal/cql2 internal/geo/crs internal/geo/wkb",
	"internal/tempfile":        "",
	"internal/store/gpkg":      "internal/geo/relate internal/tempfile internal/cache internal/store internal/store/sqlq internal/cql2 internal/geo/crs internal/geo/wkb internal/migrate migrations",
	"internal/state":           "internal/store",
	"internal/store/postgis":   "internal/state internal/cache internal/store internal/store/sqlq internal/cql2 internal/geo/crs internal/geo/wkb internal/migrate migrations",
	"internal/store/storetest": "internal/store internal/cql2 internal/geo/crs internal/geo/wkb internal/sharedtest",
	"internal/feature":         "internal/cache internal/store internal/cql2 internal/geo/crs internal/geo/wkb api/ogcapi",
	"internal/draw":            "internal/geo/crs",
	"internal/format":          "internal/store internal/cql2 internal/geo/crs internal/geo/wkb internal/feature",
	"internal/tile":            "internal/geo/coverage internal/archive internal/cache internal/store internal/cql2 internal/geo/crs internal/geo/wkb api/ogcapi",
	"internal/process":         "internal/enrich internal/history internal/store internal/cql2 internal/geo/crs internal/format internal/geo/wkb api/ogcapi",
	"internal/history":         "internal/store internal/cql2",
	"internal/feed":            "internal/state internal/store",
	"internal/placename":       "internal/cache internal/store internal/cql2 internal/geo/crs internal/feature api/placename",
	"internal/soap":            "internal/cache internal/placename api/placename",
	"internal/ingest":          "internal/store internal/cql2 internal/geo/crs internal/geo/wkb",
	"internal/demo":            "internal/store internal/cql2 internal/geo/crs internal/geo/wkb",
	"internal/register":        "internal/store internal/cql2 internal/geo/crs internal/geo/wkb internal/demo",
	"internal/apikey":          "internal/state",
	"internal/migrate":         "migrations",
	"internal/server/limit":    "internal/config internal/store",
	"internal/server/page":     "internal/config internal/geo/crs web",
	"internal/server/placenames": "internal/server internal/server/page api/ogcapi api/placename internal/cql2 internal/geo/crs " +
		"internal/placename internal/soap internal/store",
	"internal/server/surface": "internal/server internal/server/placenames",
	"internal/server": "internal/state internal/server/page internal/server/limit internal/cache api/ogcapi web openapi migrations internal/config internal/geo/crs internal/cql2 internal/store internal/feature internal/draw internal/tile " +
		"internal/process internal/history internal/feed internal/format internal/geo/locate internal/enrich internal/apikey",
	"cmd/grense": "*",

	"internal/format/formattest":     "",
	"internal/register/official":     "internal/register internal/store internal/cql2 internal/geo/crs internal/geo/wkb internal/ingest",
	"internal/register/registertest": "internal/store",
	"internal/cql2/cql2test":         "internal/cql2",
	"internal/sharedtest":            "",
	"internal/source":                "internal/tempfile internal/cache internal/config internal/store internal/store/gpkg internal/store/postgis internal/ingest internal/demo internal/register internal/history internal/migrate",
}

func TestEachPackageImportsOnlyWhatTheHouseAllows(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`, "../...").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line)
		pkg := strings.TrimPrefix(f[0], "grense/")
		allowed, ok := may[pkg]
		if !ok {
			t.Errorf("%s has no line in the table of imports", pkg)
			continue
		}
		list := strings.Fields(allowed + " internal/problem")
		for _, imp := range f[1:] {
			imp, ours := strings.CutPrefix(imp, "grense/")
			if ours && allowed != "*" && !slices.Contains(list, imp) {
				t.Errorf("%s may not import %s", pkg, imp)
			}
			if imp == "github.com/paulmach/orb/geojson" || strings.HasPrefix(imp, "modernc.org/sqlite") {
				t.Errorf("%s imports %s, which is banned", pkg, imp)
			}
		}
	}
}
