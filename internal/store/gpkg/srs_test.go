package gpkg_test

import (
	"strconv"
	"strings"
	"testing"

	"grense/internal/geo/crs"
	"grense/internal/store/gpkg"
)

// TestReferenceSystemsByTheirText serves what GDAL writes where it knows no code, as for OGC:CRS84.
func TestReferenceSystemsByTheirText(t *testing.T) {
	t.Parallel()
	local := `PROJCS["Local grid",GEOGCS["ETRS89",DATUM["European_Terrestrial_Reference_System_1989",SPHEROID["GRS ` +
		`1980",6378137,298.257222101]],PRIMEM["Greenwich",0],UNIT["degree",0.0174532925199433]],` +
		`PROJECTION["Transverse_Mercator"],` +
		`PARAMETER["latitude_of_origin",58],PARAMETER["central_meridian",12.1],PARAMETER["scale_factor",0.99994],` +
		`PARAMETER["false_easting",1000],PARAMETER["false_northing",2000],UNIT["metre",1]]`
	own, _, _ := crs.FromText(local)
	const degrees = `SPHEROID["x",6378137,298.257223563]],PRIMEM["Greenwich",0],UNIT["degree",0.0174532925199433],` +
		`AXIS["Longitude",EAST],AXIS["Latitude",NORTH]]`
	for name, c := range map[string]struct {
		organization string
		code         int
		text         string
		want         crs.ID // 0: refused
		note         string
	}{
		"OGC:CRS84": {"NONE", 100000, `GEOGCS["WGS 84",DATUM["WGS_1984",` + degrees, crs.CRS84, ""},
		"OGC:CRS83": {"NONE", 100000, `GEOGCS["NAD83",DATUM["North_American_Datum_1983",` + degrees, crs.CRS84,
			"EPSG:4269 (NAD83) is taken as CRS84"},
		"no text":       {"NONE", 100000, "undefined", 0, "NONE:100000 (x) is not served"},
		"another datum": {"NONE", 100000, `GEOGCS["x",DATUM["Tokyo",` + degrees, 0, "ogr2ogr -t_srs EPSG:4326"},
		"by its code":   {"EPSG", 2154, "", 2154, ""},
		"NTM zone 10":   {"EPSG", 5110, "", 5110, ""},
		"New Zealand":   {"EPSG", 2193, "", 2193, "NZGD2000, which is taken as WGS 84"},
		"no code":       {"NONE", 100000, local, own, ""},
		"an own code":   {"EPSG", 999999, local, own, ""},
		"Google":        {"EPSG", 900913, "", crs.WebMercator, "taken as EPSG:3857"},
		"Google, ESRI":  {"ESRI", 102100, "", crs.WebMercator, ""},
		"with a height": {"epsg", 5973, "", crs.UTM33, "heights are passed on"},
		"a datum shift": {"EPSG", 27700, "", 0, "ogr2ogr -t_srs EPSG:4258"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := build(t, "CREATE TABLE x (id INTEGER PRIMARY KEY, geom BLOB); "+features+`
				INSERT INTO gpkg_spatial_ref_sys (srs_name, srs_id, organization, organization_coordsys_id, definition) VALUES ('x', 100000, '`+c.organization+`', `+
				strconv.Itoa(c.code)+`, '`+c.text+`');
				UPDATE gpkg_contents SET srs_id = 100000; UPDATE gpkg_geometry_columns SET srs_id = 100000;
				INSERT INTO x VALUES (1, x'47500001a08601000101000000000000000000f03f000000000000f03f')`)
			s := openStore(t, path, gpkg.Options{})
			x, ok := s.Catalog().Collection("x")
			if ok != (c.want != 0) || ok && x.Geometry.CRS != c.want {
				t.Errorf("%v, %+v", s.Catalog().Notes, x)
			}
			var notes strings.Builder
			for _, n := range s.Catalog().Notes {
				notes.WriteString(n.Reason)
			}
			if !strings.Contains(notes.String(), c.note) || c.note == "" && notes.Len() > 0 {
				t.Errorf("%s", notes.String())
			}
		})
	}
}
