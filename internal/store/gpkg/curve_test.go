package gpkg_test

import (
	"encoding/hex"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/paulmach/orb"
	"github.com/paulmach/orb/planar"

	"grense/internal/cql2"
	"grense/internal/geo/crs"
	"grense/internal/geo/wkb"
	"grense/internal/store"
	"grense/internal/store/gpkg"
)

// TestArcsAreServedAsLines serves a disc of a kilometre in metres and one of a hundredth of a degree,
// and finds them by place.
func TestArcsAreServedAsLines(t *testing.T) {
	t.Parallel()
	disc := func(x, y, r float64) []byte {
		b := wkb.AppendCount(wkb.AppendHeader(nil, wkb.CircularString, false), 3)
		b = wkb.AppendXY(wkb.AppendXY(wkb.AppendXY(b, x-r, y), x+r, y), x-r, y)
		return append(wkb.AppendCount(wkb.AppendHeader(nil, wkb.CurvePolygon, false), 1), b...)
	}
	for _, c := range []struct {
		srs     int
		x, y, r float64
		chord   float64
	}{{25833, 500000, 6600000, 1000, 1e-3}, {4326, 10, 60, 0.01, 1e-8}, {100000, 10, 60, 0.01, 1e-8}} {
		blob := func(x float64) string {
			return fmt.Sprintf("47500001%02x%02x%02x00%s", c.srs&255, c.srs>>8&255, c.srs>>16,
				hex.EncodeToString(disc(x, c.y, c.r)))
		}
		path := build(t, "CREATE TABLE x (id INTEGER PRIMARY KEY, geom BLOB); "+
			strings.Replace(features, "GEOMETRY", "CURVEPOLYGON", 1)+fmt.Sprintf(`
			INSERT OR IGNORE INTO gpkg_spatial_ref_sys (srs_name, srs_id, organization, organization_coordsys_id, definition) VALUES ('x', %[1]d, iif(%[1]d = 100000, 'NONE', 'EPSG'), %[1]d, '%[4]s');
			UPDATE gpkg_contents SET srs_id = %[1]d; UPDATE gpkg_geometry_columns SET srs_id = %[1]d;
			INSERT INTO x VALUES (1, x'%[2]s'), (2, x'%[3]s')`, c.srs, blob(c.x), blob(c.x+10*c.r), crs.WGS84.Text()))
		s := openStore(t, path, gpkg.Options{})
		x, ok := s.Catalog().Collection("x")
		if !ok || x.Geometry.Type != "Polygon" || len(s.Catalog().Notes) > 0 {
			t.Fatalf("%+v, %+v", x, s.Catalog().Notes)
		}
		err := s.Fetch(t.Context(), "x", page(t, s, store.Query{Collection: "x", Limit: 1}).Rows, store.Want{},
			func(f *store.Feature) error {
				g, err := f.Geometry.Orb()
				if area, want := planar.Area(g), math.Pi*c.r*c.r; err != nil || area > want ||
					want-area > 2*math.Pi*c.r*c.chord {
					t.Errorf("%d: area %v, want %v, %v", c.srs, area, want, err)
				}
				return nil
			})
		if err != nil {
			t.Fatal(err)
		}
		at := func(dx float64) int {
			p := orb.Point{c.x + dx*c.r, c.y + dx*c.r}
			return page(t, s, store.Query{Collection: "x", Limit: 10,
				Filter: cql2.BBox{Prop: x.Geometry.Name, CRS: x.Geometry.CRS, Box: orb.Bound{Min: p, Max: p}}}).Matched
		}
		if at(0.7) != 1 || at(0.72) != 0 { // inside the disc, and inside its box only
			t.Errorf("%d: %d, %d", c.srs, at(0.7), at(0.72))
		}
	}
}
