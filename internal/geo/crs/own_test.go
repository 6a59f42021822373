package crs_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"grense/internal/geo/crs"
)

// ownText is the text of a system without a code.
func ownText(method, parameters string) string {
	return `PROJCS["Local grid",GEOGCS["GCS_ETRS_1989",DATUM["D_ETRS_1989",SPHEROID["GRS_1980",6378137.0,` +
		`298.257222101]],PRIMEM["Greenwich",0.0],UNIT["Degree",0.0174532925199433]],PROJECTION["` +
		method + `"],` + parameters + `,UNIT["Meter",1.0]]`
}

func parameters(lat0, lon0, scale, fe, fn float64) string {
	return fmt.Sprintf(
		`PARAMETER["Latitude_Of_Origin",%v],PARAMETER["Central_Meridian",%v],PARAMETER["Scale_Factor",%v],`+
			`PARAMETER["False_Easting",%v],PARAMETER["False_Northing",%v]`,
		lat0,
		lon0,
		scale,
		fe,
		fn,
	)
}

// TestSystemsWithoutACodeAreServedFromTheirParameters compares with cs2cs (PROJ 9.1.1).
func TestSystemsWithoutACodeAreServedFromTheirParameters(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text           string
		lon, lat, x, y float64
	}{
		"transverse Mercator": {ownText("Transverse_Mercator", parameters(58, 12.1, 0.99994, 1000, 2000)), 12.5, 58.5,
			24321.046467383, 57757.090630769},
		"stereographic": {ownText("Stereographic", parameters(46.5, 25.1, 0.9998, 500000, 400000)), 12.5, 47.5,
			-446975.536614375, 587379.288194965},
		"stereographic, far": {ownText("Stereographic", parameters(46.5, 25.1, 0.9998, 500000, 400000)), -3, 60,
			-1060261.693510219, 2224017.262218395},
	} {
		id, note, wrong := crs.FromText(c.text)
		if !id.Own() || !id.Valid() || note != "" || wrong != "" || id.URI() != "" || id.String() != `"Local grid"` ||
			id.NorthFirst() ||
			id.Geographic() {
			t.Errorf("%s: %v, %q, %q", name, id, note, wrong)
			continue
		}
		x, y := between(t, crs.ETRS89, id)(c.lon, c.lat)
		lon, lat := between(t, id, crs.ETRS89)(c.x, c.y)
		if off := math.Hypot(x-c.x, y-c.y); off > bar || apart(lon, lat, c.lon, c.lat) > bar {
			t.Errorf("%s: %v %v is off by %g m; back it is %v %v", name, x, y, off, lon, lat)
		}
		if again, _, _ := crs.FromText(c.text); again != id {
			t.Errorf("%s: %d again is %d", name, id, again)
		}
		if own, _, wrong := crs.FromText(id.Text()); own != id {
			t.Errorf("%s: its text is %s: %v, %s", name, id.Text(), own, wrong)
		}
		if prj, err := id.ESRI(); err != nil || !strings.Contains(prj, `"Local_Grid"`) {
			t.Errorf("%s: %s, %v", name, prj, err)
		}
		if doc, err := id.PROJJSON(); err != nil || strings.Contains(string(doc), fmt.Sprint(int(id))) {
			t.Errorf("%s: %s, %v", name, doc, err)
		}
		if found, ok := crs.Parse(fmt.Sprintf("EPSG:%d", id)); ok {
			t.Errorf("%s can be asked for as %v", name, found)
		}
	}
}

func TestParametersThatNoProjectionHasAreRefused(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		ownText("Transverse_Mercator", parameters(0, 15, 0, 0, 0)), ownText("Transverse_Mercator",
			parameters(95, 15, 1, 0, 0)), ownText("Transverse_Mercator", parameters(0, 215, 1, 0, 0)),
		ownText("Transverse_Mercator", parameters(0, 15, 1, 1e300, 0)), ownText("Lambert_Conformal_Conic_2SP",
			parameters(0, 15, 1, 0, 0)), ownText("Oblique_Stereographic", parameters(90, 15, 1, 0, 0)),
		ownText("Polar_Stereographic", parameters(0, 15, 1, 0, 0)), ownText("Lambert_Conformal_Conic_1SP",
			parameters(0, 15, 1, 0, 0)), ownText("Krovak", parameters(49, 25, 1, 0, 0)),
	} {
		if id, _, wrong := crs.FromText(text); id != 0 || wrong == "" {
			t.Errorf("%s: %v", text, id)
		}
	}
}

func TestOtherNamesOfWebMercator(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"EPSG:900913", "ESRI:102100", "urn:ogc:def:crs:EPSG::900913", "[EPSG:3785]"} {
		if id, ok := crs.Parse(name); id != crs.WebMercator || !ok {
			t.Errorf("%s: %v, %v", name, id, ok)
		}
	}
	for _, code := range []int{900913, 102100} {
		if id, note, wrong := crs.FromEPSG(code); id != crs.WebMercator || note == "" || wrong != "" {
			t.Errorf("%d: %v, %q, %q", code, id, note, wrong)
		}
	}
	if _, ok := crs.Parse("EPSG:102100"); ok {
		t.Error("EPSG has no code 102100")
	}
}
