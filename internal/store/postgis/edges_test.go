package postgis_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/paulmach/orb/encoding/wkt"

	"grense/internal/store/postgis"
	"grense/internal/store/storetest"
)

// TestForeignTablesWithWideEdgesAreRefused: edges of geographies go the short way,
// those of geometries in degrees seem to.
func TestForeignTablesWithWideEdgesAreRefused(t *testing.T) {
	t.Parallel()
	var script strings.Builder
	for _, x := range storetest.WideEdges() {
		for _, typ := range [...]string{"geometry", "geography"} {
			fmt.Fprintf(&script, "CREATE TABLE %[1]s_%[2]s (id INT PRIMARY KEY, g %[2]s(Geometry, 4326)); "+
				"INSERT INTO %[1]s_%[2]s VALUES (1, 'SRID=4326;%[3]s');",
				x.Name, typ, wkt.MarshalString(x.Geometry))
		}
	}
	s := openStore(t, base(t, script.String()), postgis.Options{})
	for _, x := range storetest.WideEdges() {
		for typ, want := range map[string]string{"geometry": x.Refused, "geography": x.Geodesic} {
			name := x.Name + "_" + typ
			_, served := s.Catalog().Collection(name)
			if said := refusal(s, name); served != (want == "") || !strings.Contains(said, want) {
				t.Errorf("%s: served %v, %q; want %q", name, served, said, want)
			}
		}
	}
}
