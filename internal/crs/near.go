package crs

import "fmt"

// Geographic systems whose coordinates differ from WGS 84 by less than the two metres or so that most data of theirs are good for,
// by EPSG code.
var nearWGS84 = map[int]string{
	4019: "GRS 1980", 4148: "Hartebeesthoek94", 4167: "NZGD2000", 4171: "RGF93", 4269: "NAD83", 4283: "GDA94", 4612: "JGD2000",
	4617: "NAD83(CSRS)", 4619: "SWEREF99", 4674: "SIRGAS 2000", 4937: "ETRS89 (3D)", 4979: "WGS 84 (3D)", 6318: "NAD83(2011)",
	6668: "JGD2011", 7844: "GDA2020", 9000: "ITRF2014", 9059: "ETRF89", 9067: "ETRF2000",
}

// Compound systems of a horizontal one that is served and a height, by EPSG code.
var compound = map[int]ID{
	5942: ETRS89, 5972: UTM32, 5973: UTM33, 5975: UTM35, 6144: ETRS89, 6172: UTM32, 6173: UTM33, 6175: UTM35, 9518: WGS84,
}

// Near returns the served system as which coordinates in a system of EPSG that is not served itself can be taken, and a note that tells
// what that means; false when there is none.
func Near(epsg int) (id ID, note string, ok bool) {
	if name := nearWGS84[epsg]; name != "" {
		return CRS84, fmt.Sprintf("EPSG:%d (%s) is taken as CRS84; positions may be off by up to two metres", epsg, name), true
	}
	if id := compound[epsg]; id != 0 {
		return id, fmt.Sprintf("EPSG:%d is taken as %v; heights are passed on as they are", epsg, id), true
	}
	return 0, "", false
}
