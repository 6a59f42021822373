package main_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"grense/internal/store/storetest"
)

// compareCommunes adds tables of the communes in a file and in a database: large answers, and small ones that
// nobody asked for before.
func compareCommunes(t *testing.T, table io.Writer, communes string) {
	t.Helper()
	var cluster storetest.Cluster
	t.Cleanup(cluster.Stop)
	file, admin := filepath.Join(t.TempDir(), "communes.gpkg"), cluster.Database(t)
	importCommunes(t, communes, file)
	importCommunes(t, communes, admin)
	ask(t, admin, "CREATE INDEX ON grense.communes (nom)") // as its owner would
	address := reader(t, admin)
	firstBytes(t, table, [2]string{file, address})
	inFile, inBase := serve(t, keepsNone, file), serve(t, keepsNone, address)
	fmt.Fprint(table,
		"\nThe 35,357 communes in both stores, where no answer is kept. The database is another process; "+
			"its CPU comes on top.\n\n| Request | GeoPackage µs | PostGIS µs | Ratio | Database µs "+
			"|\n|---|---:|---:|---:|---:|\n")
	against(t, table, inFile, inBase, admin, freshCommunes(t, inFile))
}

// freshCommunes are small questions of the communes, most of them another each time.
func freshCommunes(t *testing.T, s *serving) []question {
	t.Helper()
	const items = "/collections/communes/items"
	var page struct {
		Features []struct {
			ID         string
			Properties struct{ Nom string }
		}
	}
	s.getJSON(t, items+"?properties=nom&skipGeometry=true&limit=10000", &page)
	one := func(rng *rand.Rand) int { return rng.IntN(len(page.Features)) }
	return []question{
		{name: "One commune", next: func(rng *rand.Rand) string { return items + "/" + page.Features[one(rng)].ID }},
		{name: "10 communes", path: items + "?limit=10"},
		{name: "10 communes at offset 30,000", path: items + "?limit=10&offset=30000"},
		{name: "Communes by name (CQL2)", next: func(rng *rand.Rand) string {
			return items + "?limit=10&filter=" +
				url.QueryEscape("nom = '"+strings.ReplaceAll(page.Features[one(rng)].Properties.Nom, "'", "''")+"'")
		}},
		{name: "A fresh box, at most 10 communes", next: func(rng *rand.Rand) string {
			x, y := 7*rng.Float64(), 43.5+6*rng.Float64()
			return fmt.Sprintf(items+"?limit=10&bbox=%.6f,%.6f,%.6f,%.6f", x, y, x+0.05+0.1*rng.Float64(),
				y+0.05+0.1*rng.Float64())
		}},
		{name: "The commune at a fresh point", next: func(rng *rand.Rand) string {
			return items + "?limit=10&filter=" + url.QueryEscape(fmt.Sprintf("S_INTERSECTS(geometry,POINT(%.4f %.4f))",
				-1+8*rng.Float64(), 43.5+6*rng.Float64()))
		}},
	}
}
