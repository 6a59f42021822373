package crs_test

import (
	"regexp"
	"strings"
	"testing"

	"grense/internal/geo/crs"
)

// TestFromText reads what GDAL and ESRI write.
func TestFromText(t *testing.T) {
	t.Parallel()
	const rest = `PRIMEM["Greenwich",0],UNIT["degree",0.0174532925199433]`
	wgs84 := `GEOGCS["WGS 84",DATUM["WGS_1984",SPHEROID["WGS 84",6378137,298.257223563,AUTHORITY["EPSG","7030"]],` +
		`AUTHORITY["EPSG","6326"]],` + rest + `,AXIS["Longitude",EAST],AXIS["Latitude",NORTH]]`
	etrs := `GEOGCS["GCS_ETRS_1989",DATUM["D_ETRS_1989",SPHEROID["GRS_1980",6378137.0,298.257222101]],` +
		`PRIMEM["Greenwich",0.0],UNIT["Degree",0.0174532925199433]]`
	rgf := `GEOGCS["GCS_RGF_1993",DATUM["D_RGF_1993",SPHEROID["GRS_1980",6378137.0,298.257222101]],` +
		`PRIMEM["Greenwich",0.0],UNIT["Degree",0.0174532925199433]]`
	tm := func(name, base, meridian, scale, fe, fn string) string {
		return `PROJCS["` + name + `",` + base + `,PROJECTION["Transverse_Mercator"],PARAMETER["False_Easting",` + fe +
			`],PARAMETER["False_Northing",` + fn +
			`],PARAMETER["Central_Meridian",` + meridian + `],PARAMETER["Scale_Factor",` + scale +
			`],PARAMETER["Latitude_Of_Origin",0.0],UNIT["Meter",1.0]]`
	}
	for name, c := range map[string]struct {
		text       string
		want       crs.ID
		note       string // a part of it; "" for none
		wrong, not string // parts that the reason has, and has not
	}{
		"OGC:CRS84 of GDAL": {text: wgs84, want: crs.CRS84},
		"OGC:CRS84 by name": {text: strings.TrimSuffix(wgs84, "]") + `,AUTHORITY["OGC","CRS84"]]`, want: crs.CRS84},
		"NAD83": {text: strings.Replace(wgs84, "WGS_1984", "North_American_Datum_1983", 1),
			want: crs.CRS84, note: "EPSG:4269 (NAD83) is taken as CRS84"},
		"unknown datum": {text: tm("x", strings.Replace(wgs84, "WGS_1984", "Unknown based on GRS80 ellipsoid", 1),
			"15", "0.9996", "500000", "0"), wrong: "-t_srs EPSG:4326", not: "4258"},
		"ETRS89, in feet": {text: strings.Replace(tm("x", etrs, "15.5", "0.9996", "500000", "0"), `"Meter",1.0`,
			`"Foot",0.3048`, 1), wrong: "-t_srs EPSG:4258", not: "4326"},
		"a method of its own": {text: strings.Replace(tm("x", wgs84, "15.5", "0.9996", "500000", "0"),
			"Transverse_Mercator", "Cassini", 1), wrong: "-t_srs EPSG:4326", not: "4258"},
		"NTM zone 10": {text: strings.Replace(tm("ETRS_1989_NTM_Zone_10", etrs, "10.5", "1", "100000",
			"1000000"), `"Latitude_Of_Origin",0.0`, `"Latitude_Of_Origin",58.0`, 1), want: 5110},
		"Google of ESRI": {text: strings.TrimSuffix(tm("x", wgs84, "0", "1", "0", "0"), "]") +
			`,AUTHORITY["ESRI","102100"]]`, want: crs.WebMercator},
		"New Zealand": {text: `PROJCS["NZGD2000 / New Zealand Transverse Mercator 2000",GEOGCS["NZGD2000",` +
			`DATUM["New_Zealand_Geodetic_Datum_2000",SPHEROID["GRS 1980",6378137,298.257222101]],` + rest +
			`],PROJECTION["Transverse_Mercator"],PARAMETER["latitude_of_origin",0],PARAMETER["central_meridian",173],` +
			`PARAMETER["scale_factor",0.9996],PARAMETER["false_easting",1600000],PARAMETER["false_northing",` +
			`10000000],UNIT["metre",1]]`,
			want: 2193, note: "two metres"},
		"Estonia in WKT 2": {
			text: `PROJCRS["unknown",BASEGEOGCRS["EST97",DATUM["Estonia 1997",ELLIPSOID["GRS 1980",6378137,298.257222101,LENGTHUNIT["metre",1]]],PRIMEM["Greenwich",0,ANGLEUNIT["degree",0.0174532925199433]]],
			CONVERSION["Estonian National Grid",METHOD["Lambert Conic Conformal (2SP)",ID["EPSG",9802]],PARAMETER["Latitude of false origin",57.5175539305556,ANGLEUNIT["degree",0.0174532925199433]],
			PARAMETER["Longitude of false origin",24],PARAMETER["Latitude of 1st standard parallel",59.3333333333333],PARAMETER["Latitude of 2nd standard parallel",58],PARAMETER["Easting at false origin",500000,LENGTHUNIT["metre",1]],
			PARAMETER["Northing at false origin",6375000]],CS[Cartesian,2],AXIS["northing",north],AXIS["easting",east],LENGTHUNIT["metre",1]]`, want: 3301},
		"in grads": {text: strings.Replace(wgs84, "0.0174532925199433", "0.01570796326794897", 1),
			wrong: "is not served"},
		"zone 19 south": {text: tm("x", wgs84, "-69", "0.9996", "500000", "10000000"), want: 32719},
		"zone 31":       {text: tm("x", etrs, "3", "0.9996", "500000", "0"), want: 25831},
		"zone 35":       {text: tm("ETRS_1989_UTM_Zone_35N", etrs, "27", "0.9996", "500000", "0"), want: crs.UTM35},
		"Finland":       {text: tm("ETRS_1989_TM35FIN_E_N", etrs, "27", "0.9996", "500000", "0"), want: 3067},
		"Lambert-93": {text: `PROJCS["RGF_1993_Lambert_93",` + rgf +
			`,PROJECTION["Lambert_Conformal_Conic"],PARAMETER["False_Easting",700000.0],PARAMETER["False_Northing",6600000.0],
			PARAMETER["Central_Meridian",3.0],PARAMETER["Standard_Parallel_1",44.0],PARAMETER["Standard_Parallel_2",49.0],PARAMETER["Latitude_Of_Origin",46.5],UNIT["Meter",1.0]]`, want: 2154},
		"with a height": {text: `COMPD_CS["ETRS89 / UTM zone 33N + NN2000 height",` + tm("x", etrs, "15", "0.9996",
			"500000", "0") + `,VERT_CS["NN2000 height"]]`, want: crs.UTM33, note: "heights are passed on as they are"},
		"by its code": {text: `COMPD_CS["x",PROJCS["y",AUTHORITY["EPSG","25832"]],AUTHORITY["EPSG","5972"]]`,
			want: crs.UTM32, note: "EPSG:5972 is taken as EPSG:25832"},
		"a datum shift": {text: `PROJCS["OSGB36 / British National Grid",GEOGCS["OSGB36"],AUTHORITY["EPSG","27700"]]`,
			wrong: "OSGB36 / British National Grid: a datum of its own"},
		"Paris": {text: strings.Replace(wgs84, `"Greenwich",0`, `"Paris",2.337229166666667`, 1),
			wrong: "is not served"},
		"no text": {text: "EPSG:4326", wrong: "not the text of a reference system"},
	} {
		id, note, wrong := crs.FromText(c.text)
		if id != c.want || (note == "") != (c.note == "") || !strings.Contains(note, c.note) ||
			(wrong == "") != (c.wrong == "") ||
			!strings.Contains(wrong, c.wrong) ||
			c.not != "" && strings.Contains(wrong, c.not) {
			t.Errorf("%s: %v, %q, %q", name, id, note, wrong)
		}
	}
}

func TestTextOfEverySystemIsRecognized(t *testing.T) {
	t.Parallel()
	codes := regexp.MustCompile(`,AUTHORITY\["[^]]*\]`)
	for _, id := range crs.Sampled() {
		if got, _, wrong := crs.FromText(id.Text()); !crs.Same(got, id) {
			t.Errorf("%v: %v, %s", id, got, wrong)
		}
		without := codes.ReplaceAllString(id.Text(), "")
		got, note, wrong := crs.FromText(without)
		if id == crs.WebMercator { // Mercator on the ellipsoid, by its text
			continue
		}
		if strings.HasPrefix(note, "\"") {
			t.Errorf("%v without codes: %s", id, note)
		}
		if !got.Valid() {
			t.Errorf("%v without codes: %s", id, wrong)
			continue
		}
		if !crs.Same(got, id) && codes.ReplaceAllString(got.Text()[strings.Index(got.Text(), "GEOGCS"):],
			"") != without[strings.Index(without, "GEOGCS"):] {
			t.Errorf("%v without codes: %v, %s", id, got, wrong)
		}
	}
	if text := crs.ID(3395).Text(); text != "undefined" {
		t.Errorf("%q", text)
	}
}

func TestFromEPSGTellsTheCure(t *testing.T) {
	t.Parallel()
	for code, want := range map[int]struct {
		id    crs.ID
		tells string
	}{
		25832: {crs.UTM32, ""}, 84: {0, "is not served"}, 3395: {0, "-t_srs EPSG:4326"}, 27700: {0, "-t_srs EPSG:4258"},
		28992: {0, "Amersfoort"}, 31370: {0, "BD72"}, 2056: {0, "LV95"},
		5972: {crs.UTM32, "heights"}, 5973: {crs.UTM33, "heights"}, 5845: {3006, "heights"},
		4619: {crs.CRS84, "SWEREF99"},
	} {
		id, note, wrong := crs.FromEPSG(code)
		if id != want.id || !strings.Contains(note+wrong, want.tells) || (want.id == 0) != (wrong != "") {
			t.Errorf("%d: %v %q %q", code, id, note, wrong)
		}
	}
}
