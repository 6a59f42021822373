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
	"api/ogcapi":              "",
	"api/placename":           "",
	"migrations":              "",
	"THIRD_PARTY":             "",
	"web":                     "",
	"openapi":                 "api/ogcapi",
	"internal":                "",
	"internal/problem":        "",
	"internal/config":         "",
	"internal/geo/crs":        "",
	"internal/geo/wkb":        "",
	"internal/backup":         "internal/config internal/datadir internal/state",
	"internal/cache":          "",
	"internal/datadir":        "",
	"internal/archive":        "internal/cache",
	"internal/style":          "",
	"internal/glyph":          "",
	"internal/systemd":        "",
	"internal/trace":          "",
	"internal/render":         "internal/draw internal/style",
	"internal/geo/coverage":   "internal/geo/crs internal/geo/wkb",
	"internal/geo/locate":     "internal/geo/coverage internal/geo/crs internal/geo/wkb",
	"internal/enrich":         "internal/history",
	"internal/geo/relate":     "internal/geo/crs internal/geo/wkb",
	"internal/cql2":           "internal/cql2/fold internal/geo/crs internal/geo/relate internal/geo/wkb",
	"internal/cql2/fold":      "",
	"internal/store":          "internal/cql2 internal/cql2/fold internal/geo/crs internal/geo/wkb",
	"internal/store/sqlq":     "internal/store internal/cql2 internal/cql2/fold internal/geo/crs internal/geo/wkb",
	"internal/tempfile":       "",
	"internal/store/gpkg/gpb": "internal/geo/crs internal/geo/wkb",
	"internal/store/gpkg": "internal/cache internal/cql2 internal/geo/crs internal/geo/relate internal/store " +
		"internal/store/gpkg/envelope internal/store/gpkg/file internal/store/gpkg/gpb internal/store/gpkg/index " +
		"internal/store/gpkg/layer internal/store/gpkg/lexicon internal/store/gpkg/schema " +
		"internal/store/gpkg/sqlite internal/store/gpkg/survey internal/store/gpkg/writer internal/store/sqlq",
	"internal/store/gpkg/envelope": "internal/cql2 internal/store/gpkg/layer internal/store/gpkg/rtree " +
		"internal/store/gpkg/sqlite",
	"internal/store/gpkg/file": "internal/store internal/store/gpkg/sqlite internal/tempfile",
	"internal/store/gpkg/index": "internal/cql2 internal/store internal/store/gpkg/file internal/store/gpkg/layer " +
		"internal/store/gpkg/sqlite internal/store/sqlq",
	"internal/store/gpkg/layer": "internal/cql2 internal/geo/crs internal/store internal/store/gpkg/gpb " +
		"internal/store/gpkg/moment internal/store/gpkg/sqlite internal/store/sqlq",
	"internal/store/gpkg/lexicon": "internal/cql2 internal/store/gpkg/sqlite internal/store/sqlq",
	"internal/store/gpkg/moment":  "",
	"internal/store/gpkg/rtree":   "internal/store/gpkg/sqlite internal/tempfile",
	"internal/store/gpkg/schema":  "internal/cql2 internal/geo/crs internal/store internal/store/gpkg/sqlite",
	"internal/store/gpkg/sqlite": "internal/cql2 internal/cql2/fold internal/store internal/store/gpkg/gpb " +
		"internal/store/gpkg/moment internal/store/sqlq",
	"internal/store/gpkg/survey": "internal/cql2 internal/geo/crs internal/geo/wkb internal/store " +
		"internal/store/gpkg/file internal/store/gpkg/gpb internal/store/gpkg/layer internal/store/gpkg/moment " +
		"internal/store/gpkg/rtree internal/store/gpkg/schema internal/store/gpkg/sqlite internal/store/sqlq " +
		"internal/tempfile",
	"internal/store/gpkg/writer": "internal/cql2 internal/geo/crs internal/geo/wkb internal/migrate internal/store " +
		"internal/store/gpkg/file internal/store/gpkg/gpb internal/store/gpkg/moment internal/store/gpkg/rtree " +
		"internal/store/gpkg/schema internal/store/gpkg/sqlite internal/store/gpkg/survey internal/store/sqlq",
	"internal/state": "internal/store",
	"internal/store/postgis": "internal/store/postgis/catalog internal/store/postgis/conn internal/cache " +
		"internal/store internal/store/sqlq internal/cql2 internal/geo/crs internal/geo/wkb",
	"internal/store/postgis/catalog": "internal/store/postgis/conn internal/cql2 internal/geo/crs internal/store " +
		"internal/store/sqlq",
	"internal/store/postgis/conn": "internal/cql2 internal/store internal/store/sqlq",
	"internal/store/postgis/inspect": "internal/store/postgis/catalog internal/store/postgis/conn internal/cql2 " +
		"internal/migrate internal/store/sqlq",
	"internal/store/postgis/statedb": "internal/store/postgis/conn internal/store/postgis/writer internal/state " +
		"internal/store",
	"internal/store/postgis/writer": "internal/store/postgis/catalog internal/store/postgis/conn internal/cql2 " +
		"internal/geo/wkb internal/migrate internal/store internal/store/sqlq",
	"internal/store/storetest": "internal/await internal/store internal/cql2 internal/cql2/fold internal/geo/crs " +
		"internal/geo/wkb internal/sharedtest",
	"internal/feature": "internal/cache internal/store internal/cql2 internal/geo/crs internal/geo/wkb " +
		"api/ogcapi",
	"internal/draw": "internal/geo/crs",
	"internal/format": "internal/format/csv internal/format/flatgeobuf internal/format/geojson " +
		"internal/format/geopackage internal/format/gml internal/format/input internal/format/kml " +
		"internal/format/output internal/format/parquet internal/format/shapefile internal/format/topojson " +
		"internal/format/xlsx internal/geo/crs internal/store",
	"internal/format/csv": "internal/feature internal/format/input internal/format/output internal/format/wkt " +
		"internal/store",
	"internal/format/flatgeobuf": "internal/cql2 internal/format/input internal/format/output internal/geo/crs " +
		"internal/geo/wkb",
	"internal/format/geojson": "internal/feature internal/format/input internal/format/output internal/geo/crs " +
		"internal/geo/wkb internal/store",
	"internal/format/geopackage": "internal/cql2 internal/feature internal/format/input internal/format/output " +
		"internal/geo/crs internal/store",
	"internal/format/gml": "internal/cql2 internal/format/input internal/format/output internal/geo/crs " +
		"internal/geo/wkb internal/store",
	"internal/format/input": "internal/geo/crs internal/geo/wkb internal/store",
	"internal/format/kml": "internal/cql2 internal/format/input internal/format/output internal/geo/crs " +
		"internal/geo/wkb internal/store",
	"internal/format/output": "internal/cql2 internal/feature internal/geo/crs internal/geo/wkb internal/store",
	"internal/format/parquet": "internal/cql2 internal/feature internal/format/input internal/format/output " +
		"internal/geo/crs internal/geo/wkb",
	"internal/format/shapefile": "internal/cql2 internal/format/input internal/format/output internal/geo/wkb " +
		"internal/store",
	"internal/format/topojson": "internal/feature internal/format/geojson internal/format/input " +
		"internal/format/output internal/geo/crs internal/geo/wkb internal/store",
	"internal/format/wkt": "internal/format/input internal/geo/crs internal/geo/wkb internal/store",
	"internal/format/xlsx": "internal/cql2 internal/feature internal/format/csv internal/format/input " +
		"internal/format/output internal/geo/wkb internal/store",
	"internal/ingest": "internal/cql2 internal/format internal/format/geopackage internal/format/input " +
		"internal/geo/crs internal/geo/wkb internal/store internal/tempfile",
	"internal/tile": "internal/geo/coverage internal/archive internal/cache internal/store " +
		"internal/style internal/cql2 internal/geo/crs internal/geo/wkb api/ogcapi",
	"internal/process": "internal/enrich internal/history internal/store internal/cql2 internal/geo/crs " +
		"internal/format internal/format/geopackage internal/format/output internal/geo/wkb api/ogcapi",
	"internal/history":         "internal/history/table internal/store internal/cql2",
	"internal/history/changes": "internal/history internal/history/table",
	"internal/history/table":   "internal/cql2",
	"internal/feed":            "internal/state internal/store",
	"internal/placename": "internal/cache internal/store internal/cql2 internal/cql2/fold internal/geo/crs " +
		"internal/feature api/placename",
	"internal/soap": "internal/cache internal/placename api/placename",
	"internal/demo": "internal/store internal/cql2 internal/geo/crs internal/geo/wkb",
	"internal/register": "internal/store internal/cql2 internal/cql2/fold internal/geo/crs internal/geo/wkb " +
		"internal/demo",
	"internal/apikey":      "internal/state",
	"internal/certificate": "internal/config",
	"internal/listen":      "internal/config",
	"internal/logging":     "",
	"internal/migrate":     "migrations",
	"internal/server": "internal/server/assets internal/server/cursor internal/server/files " +
		"internal/server/forwarded internal/server/limit internal/server/links internal/server/media " +
		"internal/server/metrics internal/server/page internal/server/problems internal/server/queryable " +
		"internal/server/schema internal/server/styles internal/server/wire api/ogcapi internal/apikey " +
		"internal/cache internal/config internal/cql2 internal/draw internal/feature internal/geo/crs " +
		"internal/history internal/state internal/store internal/style internal/tile internal/trace openapi web",
	"internal/server/assets": "internal/server/wire web",
	"internal/server/codes": "internal/server internal/server/media internal/server/wire api/ogcapi " +
		"internal/history internal/store",
	"internal/server/compat": "internal/server internal/server/codes internal/server/media internal/server/names " +
		"internal/server/page internal/server/points api/placename internal/cache internal/cql2 internal/cql2/fold " +
		"internal/draw internal/feature internal/geo/crs internal/geo/wkb internal/history internal/placename " +
		"internal/register internal/store",
	"internal/server/cursor": "internal/store",
	"internal/server/docs": "internal/server internal/server/drawing internal/server/links internal/server/media " +
		"internal/server/names internal/server/page internal/server/queryable internal/server/schema " +
		"internal/server/wire api/ogcapi internal/apikey internal/cache internal/config internal/cql2 internal/draw " +
		"internal/geo/crs internal/store openapi",
	"internal/server/drawing": "internal/server internal/server/page internal/server/queryable internal/server/wire " +
		"internal/apikey internal/cache internal/cql2 internal/draw internal/geo/crs internal/store internal/style " +
		"internal/tile",
	"internal/server/features": "internal/server internal/server/codes internal/server/drawing " +
		"internal/server/files internal/server/limit internal/server/links internal/server/media " +
		"internal/server/names internal/server/page internal/server/queryable internal/server/schema " +
		"internal/server/selection internal/server/wire api/ogcapi internal/cql2 internal/feature internal/format " +
		"internal/format/gml internal/format/output internal/geo/crs internal/history internal/store internal/tile " +
		"openapi",
	"internal/server/files":     "internal/config internal/store",
	"internal/server/forwarded": "",
	"internal/server/limit":     "internal/config internal/store",
	"internal/server/lineage": "internal/server internal/server/codes internal/server/links internal/server/media " +
		"internal/server/page internal/server/wire api/ogcapi internal/cql2 internal/feed internal/history " +
		"internal/state internal/store",
	"internal/server/links": "internal/server/media internal/server/page internal/server/wire api/ogcapi " +
		"internal/format",
	"internal/server/lookup": "internal/server internal/server/codes internal/server/drawing internal/server/media " +
		"internal/server/names internal/server/page internal/server/points internal/server/queryable " +
		"internal/server/selection internal/server/wire api/ogcapi internal/cache internal/cql2 internal/cql2/fold " +
		"internal/draw " +
		"internal/feature internal/geo/crs internal/geo/locate internal/store internal/style",
	"internal/server/maps": "internal/server internal/server/drawing internal/server/limit internal/server/media " +
		"internal/server/page internal/server/points internal/server/selection internal/server/styles " +
		"internal/server/tiles internal/server/wire internal/cql2 internal/geo/crs internal/render internal/store " +
		"internal/style internal/tile openapi",
	"internal/server/media": "",
	"internal/server/metrics": "internal/apikey internal/cache internal/config internal/feature " +
		"internal/server/limit internal/state internal/store",
	"internal/server/names": "internal/server internal/server/page internal/server/wire internal/cache " +
		"internal/cql2 internal/history internal/store internal/style",
	"internal/server/page": "internal/config internal/geo/crs web",
	"internal/server/placenames": "internal/server internal/server/limit internal/server/links " +
		"internal/server/media internal/server/names internal/server/page internal/server/problems " +
		"internal/server/wire api/ogcapi api/placename internal/cql2 internal/cql2/fold internal/geo/crs " +
		"internal/placename internal/soap internal/store",
	"internal/server/points": "internal/server internal/cache internal/cql2 internal/geo/crs internal/geo/locate " +
		"internal/store",
	"internal/server/problems": "internal/server/limit api/ogcapi internal/apikey internal/store",
	"internal/server/processes": "internal/server internal/server/codes internal/server/files internal/server/limit " +
		"internal/server/links internal/server/media internal/server/names internal/server/page " +
		"internal/server/points internal/server/problems internal/server/wire api/ogcapi internal/apikey " +
		"internal/cql2 internal/enrich internal/format internal/geo/crs internal/history internal/process " +
		"internal/state internal/store internal/trace",
	"internal/server/queryable": "internal/cql2 internal/store",
	"internal/server/schema": "internal/server/page internal/server/queryable api/ogcapi internal/cql2 " +
		"internal/store",
	"internal/server/selection": "internal/server internal/server/media internal/server/queryable api/ogcapi " +
		"internal/cql2 internal/geo/crs internal/history internal/store openapi",
	"internal/server/styles": "internal/server/page internal/config internal/geo/crs internal/store internal/style " +
		"internal/tile",
	"internal/server/surface": "internal/server internal/server/codes internal/server/compat internal/server/docs " +
		"internal/server/drawing internal/server/features internal/server/lineage internal/server/lookup " +
		"internal/server/maps internal/server/names internal/server/placenames internal/server/points " +
		"internal/server/processes internal/server/tiles internal/enrich internal/geo/crs",
	"internal/server/tiles": "internal/server internal/server/drawing internal/server/limit internal/server/links " +
		"internal/server/media internal/server/page internal/server/schema internal/server/selection " +
		"internal/server/styles internal/server/wire api/ogcapi internal/cache internal/cql2 internal/geo/crs " +
		"internal/glyph internal/store internal/style internal/tile openapi",
	"internal/server/wire": "api/ogcapi",
	"cmd/grense":           "*",

	"internal/format/formattest": "",
	"internal/ingest/ingesttest": "internal/ingest internal/format/input internal/geo/crs internal/sharedtest " +
		"internal/store internal/store/gpkg internal/store/storetest",
	"internal/register/official": "internal/register internal/store internal/cql2 internal/cql2/fold " +
		"internal/geo/crs internal/geo/wkb internal/ingest internal/format/input internal/format/gml",
	"internal/register/registertest": "internal/store",
	"internal/cql2/cql2test":         "internal/cql2",
	"internal/sharedtest":            "",
	"internal/await":                 "",
	"internal/source": "internal/tempfile internal/cache internal/config internal/store " +
		"internal/store/gpkg internal/store/postgis internal/store/postgis/conn internal/ingest " +
		"internal/format/input internal/demo internal/register internal/history internal/migrate",
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
