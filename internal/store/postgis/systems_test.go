package postgis_test

import (
	"math"
	"testing"

	"github.com/paulmach/orb"

	"grense/internal/cql2"
	"grense/internal/geo/crs"
	"grense/internal/store"
	"grense/internal/store/postgis"
)

// TestReferenceSystemsAreServedFromTheirParameters finds a point in systems that have a code, and in one that
// only this database knows.
func TestReferenceSystemsAreServedFromTheirParameters(t *testing.T) {
	t.Parallel()
	url := base(t, `INSERT INTO spatial_ref_sys (srid, auth_name, auth_srid, srtext, proj4text) VALUES
			(990001, 'kommunen', 1, 'PROJCS["Lokalt nett",GEOGCS["ETRS89",DATUM["European_Terrestrial_Reference_System_1989",SPHEROID["GRS 1980",6378137,298.257222101]],PRIMEM["Greenwich",0],UNIT["degree",0.0174532925199433]],PROJECTION["Transverse_Mercator"],PARAMETER["latitude_of_origin",58],PARAMETER["central_meridian",12.1],PARAMETER["scale_factor",0.99994],PARAMETER["false_easting",1000],PARAMETER["false_northing",2000],UNIT["metre",1]]', '+proj=tmerc +lat_0=58 +lon_0=12.1 +k=0.99994 +x_0=1000 +y_0=2000 +ellps=GRS80 +units=m'),
			(990002, 'spatialreferencing.org', 900913, '', '+proj=merc +a=6378137 +b=6378137 +units=m');
		CREATE TABLE nett (id INT PRIMARY KEY, geom GEOMETRY(Point, 990001)); INSERT INTO nett VALUES (1, ST_Point(24321.046467383, 57757.090630769, 990001));
		CREATE TABLE sone (id INT PRIMARY KEY, geom GEOMETRY(Point, 5112)); INSERT INTO sone VALUES (1, ST_Transform(ST_Point(12.5, 58.5, 4258), 5112));
		CREATE TABLE google (id INT PRIMARY KEY, geom GEOMETRY(Point, 990002)); INSERT INTO google SELECT 1, ST_SetSRID(ST_Transform(ST_Point(12.5, 58.5, 4326), 3857), 990002);`)
	s := openStore(t, url, postgis.Options{})
	for id, own := range map[string]bool{"nett": true, "sone": false, "google": false} {
		c, ok := s.Catalog().Collection(id)
		if !ok || c.Geometry.CRS.Own() != own || c.Extent == nil || math.Abs(c.Extent.Min[0]-12.5) > 1e-5 ||
			math.Abs(c.Extent.Max[1]-58.5) > 1e-5 {
			t.Errorf("%s: %+v, %+v", id, c, s.Catalog().Notes)
			continue
		}
		box := orb.Bound{Min: orb.Point{12.49999, 58.49999}, Max: orb.Point{12.50001, 58.50001}}
		for _, b := range []orb.Bound{box, {Min: orb.Point{12.5001, 58.4}, Max: orb.Point{13, 59}}} {
			p := page(t, s, store.Query{Collection: id, Limit: 10,
				Filter: cql2.BBox{Prop: c.Geometry.Name, Box: b, CRS: crs.CRS84}})
			if len(p.Rows) != map[bool]int{true: 1}[b == box] {
				t.Errorf("%s: %d rows in %v", id, len(p.Rows), b)
			}
		}
	}
}
