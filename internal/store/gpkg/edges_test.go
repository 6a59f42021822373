package gpkg_test

import (
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"github.com/paulmach/orb/encoding/wkb"

	"grense/internal/store"
	"grense/internal/store/gpkg"
	"grense/internal/store/storetest"
)

// foreign makes a GeoPackage with an SQL script and opens it with settings.
func foreign(t testing.TB, script string, settings map[string]store.Settings) *gpkg.Store {
	t.Helper()
	return openStore(t, build(t, script), gpkg.Options{Settings: settings})
}

// notes returns what the catalog says of a layer, a line for each note.
func notes(cat *store.Catalog, layer string) string {
	var b strings.Builder
	for _, n := range cat.Notes {
		if n.Layer == layer {
			fmt.Fprintf(&b, "%s\n", n.Reason)
		}
	}
	return b.String()
}

// TestForeignLayersWithWideEdgesAreRefused: an edge in degrees of more than half a turn seems
// to cross the antimeridian.
func TestForeignLayersWithWideEdgesAreRefused(t *testing.T) {
	t.Parallel()
	var script strings.Builder
	for _, x := range storetest.WideEdges() {
		body, err := wkb.Marshal(x.Geometry)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&script, `CREATE TABLE %[1]s (id INTEGER PRIMARY KEY, geom BLOB);
			INSERT INTO gpkg_contents (table_name, data_type, srs_id) VALUES ('%[1]s', 'features', 4326);
			INSERT INTO gpkg_geometry_columns VALUES ('%[1]s', 'geom', 'GEOMETRY', 4326, 0, 0);
			INSERT INTO %[1]s VALUES (1, x'47500001e6100000%[2]s');`, x.Name, hex.EncodeToString(body))
	}
	cat := foreign(t, script.String(), nil).Catalog()
	for _, x := range storetest.WideEdges() {
		_, served := cat.Collection(x.Name)
		if said := notes(cat, x.Name); served != (x.Refused == "") || !strings.Contains(said, x.Refused) ||
			served && said != "" {
			t.Errorf("%s: served %v, %q; want %q", x.Name, served, said, x.Refused)
		}
	}
}
