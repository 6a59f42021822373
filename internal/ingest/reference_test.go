package ingest_test

import (
	"errors"
	"strings"
	"testing"

	"grense/internal/format/input"
	"grense/internal/geo/crs"
	"grense/internal/ingest"
	"grense/internal/ingest/ingesttest"
)

// TestReferenceOfText reads what programs write into .prj files.
func TestReferenceOfText(t *testing.T) {
	t.Parallel()
	etrs := `GEOGCS["GCS_ETRS_1989",DATUM["D_ETRS_1989",SPHEROID["GRS_1980",6378137.0,298.257222101]],` +
		`PRIMEM["Greenwich",0.0],UNIT["Degree",0.0174532925199433]]`
	utm := func(base, meridian, scale string) string {
		return `PROJCS["any name",` + base + `,PROJECTION["Transverse_Mercator"],PARAMETER["False_Easting",500000.0],` +
			`PARAMETER["False_Northing",0.0],PARAMETER["Central_Meridian",` +
			meridian + `],PARAMETER["Scale_Factor",` + scale +
			`],PARAMETER["Latitude_Of_Origin",0.0],UNIT["Meter",1.0]]`
	}
	for name, c := range map[string]struct {
		text string
		want crs.ID // 0: refused
	}{
		"WGS 84":       {ingesttest.WGS84, crs.WGS84},
		"ETRS89":       {etrs, crs.ETRS89},
		"zone 32":      {utm(etrs, "9.0", "0.9996"), crs.UTM32},
		"zone 33":      {utm(etrs, "15", "0.9996"), crs.UTM33},
		"zone 35":      {utm(ingesttest.WGS84, "27.0", "0.9996"), crs.WGS84UTM35},
		"zone 31":      {utm(etrs, "3.0", "0.9996"), 0},
		"half a zone":  {utm(etrs, "10.0", "0.9996"), 0},
		"Gauss-Krüger": {utm(etrs, "9.0", "1.0"), 0},
		"in feet": {strings.Replace(utm(etrs, "9.0", "0.9996"), `UNIT["Meter",1.0]`,
			`UNIT["Foot_US",0.3048006096012192]`, 1), 0},
		"another datum": {strings.ReplaceAll(utm(etrs, "9.0", "0.9996"), "D_ETRS_1989", "D_European_1950"), 0},
		"from Paris": {strings.Replace(ingesttest.WGS84, `PRIMEM["Greenwich",0]`,
			`PRIMEM["Paris",2.337229166666667]`, 1), 0},
		"with a code": {`PROJCS["ETRS89 / UTM zone 33N",GEOGCS["ETRS89",AUTHORITY["EPSG","4258"]],` +
			`AUTHORITY["EPSG","25833"]]`, crs.UTM33},
		"of 2019":      {`PROJCRS["ETRS89 / UTM zone 33N",BASEGEOGCRS["ETRS89"],ID["EPSG",25833]]`, crs.UTM33},
		"another code": {`PROJCS["OSGB",GEOGCS["x"],AUTHORITY["EPSG","27700"]]`, 0},
		"web": {`PROJCS["x",` + ingesttest.WGS84 +
			`,PROJECTION["Mercator_Auxiliary_Sphere"],PARAMETER["False_Easting",0.0],PARAMETER["Central_Meridian",` +
			`0.0],PARAMETER["Standard_Parallel_1",0.0],PARAMETER["Auxiliary_Sphere_Type",0.0],UNIT["Meter",1.0]]`,
			crs.WebMercator},
		"Europe": {`PROJCS["x",` + etrs + `,PROJECTION["Lambert_Azimuthal_Equal_Area"],PARAMETER["False_Easting",` +
			`4321000.0],PARAMETER["False_Northing",3210000.0],PARAMETER["Central_Meridian",10.0],` +
			`PARAMETER["Latitude_Of_Origin",52.0],UNIT["Meter",1.0]]`, crs.LAEAEurope},
		"cut off": {ingesttest.WGS84[:100], 0},
		"deep":    {strings.Repeat("A[", 1000), 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			record := ingesttest.Floats(10, 60)
			if c.want != 0 && !c.want.Geographic() {
				record = ingesttest.Floats(400000, 6600000)
			}
			path := ingesttest.Shapefile(t, map[string][]byte{".shp": ingesttest.SHP(1, record),
				".dbf": ingesttest.DBF(0, []string{"A:C:5"}, []string{"a"}), ".prj": []byte(c.text)})
			plan, err := ingest.Survey(t.Context(), ingesttest.Open(t, path, 0).Layers, ingesttest.Into, ingest.Watch{})
			if errors.Is(err, input.ErrRefused) != (c.want == 0) ||
				err == nil && plan.Collection.Geometry.CRS != c.want {
				t.Errorf("%v, %+v", err, plan.Collection.Geometry)
			}
		})
	}
}
