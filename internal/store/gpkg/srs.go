package gpkg

import (
	"fmt"
	"strings"

	"grense/internal/crs"
)

// Geographic systems whose coordinates differ from WGS 84 by less than the two metres or so that most data of theirs are good for,
// by EPSG code.
var nearWGS84 = map[int64]string{
	4019: "GRS 1980", 4148: "Hartebeesthoek94", 4167: "NZGD2000", 4171: "RGF93", 4269: "NAD83", 4283: "GDA94", 4612: "JGD2000",
	4617: "NAD83(CSRS)", 4619: "SWEREF99", 4674: "SIRGAS 2000", 4937: "ETRS89 (3D)", 4979: "WGS 84 (3D)", 6318: "NAD83(2011)",
	6668: "JGD2011", 7844: "GDA2020", 9000: "ITRF2014", 9059: "ETRF89", 9067: "ETRF2000",
}

// Compound systems of a horizontal one that is served and a height, by EPSG code.
var compound = map[int64]crs.ID{
	5942: crs.ETRS89, 5972: crs.UTM32, 5973: crs.UTM33, 5975: crs.UTM35, 6144: crs.ETRS89, 6172: crs.UTM32, 6173: crs.UTM33,
	6175: crs.UTM35, 9518: crs.WGS84,
}

// srs is a row of gpkg_spatial_ref_sys.
type srs struct {
	id           int64
	name         string
	organization string
	code         int64
}

// served returns the system as which coordinates in s are served, with a warning where that is not quite so; false with the reason
// when they are not.
func (s srs) served() (id crs.ID, note string, ok bool) {
	epsg := strings.EqualFold(s.organization, "EPSG")
	switch {
	case s.id == 0:
		return crs.CRS84, "the geographic reference system is undefined; served as CRS84", true
	case s.id == -1:
		return 0, "the reference system is undefined (srs_id -1); set one, for example with ogr2ogr -a_srs", false
	case strings.EqualFold(s.organization, "OGC") && (s.code == 84 || strings.Contains(s.name, "84")):
		return crs.CRS84, "", true
	case epsg && s.code != int64(crs.CRS84) && crs.ID(s.code).Valid():
		return crs.ID(s.code), "", true
	case epsg && nearWGS84[s.code] != "":
		return crs.CRS84, fmt.Sprintf("EPSG:%d (%s) is served as CRS84; positions may be off by up to two metres", s.code, nearWGS84[s.code]), true
	case epsg && compound[s.code] != 0:
		return compound[s.code], fmt.Sprintf("EPSG:%d is served as %v; heights are passed on as they are", s.code, compound[s.code]), true
	}
	return 0, fmt.Sprintf("the reference system %s:%d (%s) is not served; transform the layer, for example with ogr2ogr -t_srs EPSG:4258",
		s.organization, s.code, s.name), false
}
