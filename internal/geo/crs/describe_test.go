package crs_test

import (
	"encoding/json"
	"testing"

	"grense/internal/geo/crs"
)

func TestFilesDescribeEverySystemThatIsServed(t *testing.T) {
	t.Parallel()
	for _, id := range crs.Served() {
		esri, err := id.ESRI()
		if err != nil || esri == "" {
			t.Errorf("%v: %q, %v", id, esri, err)
		}
		text, err := id.PROJJSON()
		var doc struct {
			Type string
			ID   struct{ Code any }
		}
		if err == nil {
			err = json.Unmarshal(text, &doc)
		}
		if err != nil || (doc.Type == "GeographicCRS") != id.Geographic() {
			t.Errorf("%v: %s, %v", id, text, err)
		}
	}
	if _, err := crs.ID(1).ESRI(); err == nil {
		t.Error("a system that nobody knows has a description")
	}
	if _, err := crs.ID(1).PROJJSON(); err == nil {
		t.Error("a system that nobody knows has PROJJSON")
	}
}

func TestESRIDescriptionsAreThoseOfPROJ(t *testing.T) {
	t.Parallel()
	for id, want := range map[crs.ID]string{
		crs.UTM33: `PROJCS["ETRS_1989_UTM_Zone_33N",GEOGCS["GCS_ETRS_1989",DATUM["D_ETRS_1989",` +
			`SPHEROID["GRS_1980",6378137.0,298.257222101]],PRIMEM["Greenwich",0.0],UNIT["Degree",` +
			`0.0174532925199433]],PROJECTION["Transverse_Mercator"],PARAMETER["False_Easting",500000.0],` +
			`PARAMETER["False_Northing",0.0],PARAMETER["Central_Meridian",15.0],PARAMETER["Scale_Factor",0.9996],` +
			`PARAMETER["Latitude_Of_Origin",0.0],UNIT["Meter",1.0]]`,
		crs.WebMercator: `PROJCS["WGS_1984_Web_Mercator_Auxiliary_Sphere",GEOGCS["GCS_WGS_1984",DATUM["D_WGS_1984",` +
			`SPHEROID["WGS_1984",6378137.0,298.257223563]],PRIMEM["Greenwich",0.0],UNIT["Degree",` +
			`0.0174532925199433]],PROJECTION["Mercator_Auxiliary_Sphere"],PARAMETER["False_Easting",0.0],` +
			`PARAMETER["False_Northing",0.0],PARAMETER["Central_Meridian",0.0],PARAMETER["Standard_Parallel_1",0.0],` +
			`PARAMETER["Auxiliary_Sphere_Type",0.0],UNIT["Meter",1.0]]`,
		crs.LAEANorthPole: `PROJCS["WGS_1984_North_Pole_LAEA_Europe",GEOGCS["GCS_WGS_1984",DATUM["D_WGS_1984",` +
			`SPHEROID["WGS_1984",6378137.0,298.257223563]],PRIMEM["Greenwich",0.0],UNIT["Degree",` +
			`0.0174532925199433]],PROJECTION["Lambert_Azimuthal_Equal_Area"],PARAMETER["False_Easting",0.0],` +
			`PARAMETER["False_Northing",0.0],PARAMETER["Central_Meridian",10.0],PARAMETER["Latitude_Of_Origin",90.0],` +
			`UNIT["Meter",1.0]]`,
	} {
		if got, err := id.ESRI(); got != want || err != nil {
			t.Errorf("%v:\n got %s\nwant %s (%v)", id, got, want, err)
		}
	}
}
