package schema

import (
	"fmt"
	"strings"

	"grense/internal/geo/crs"
)

// SRS is a row of gpkg_spatial_ref_sys.
type SRS struct {
	ID           int64
	name         string
	Organization string
	Code         int64
	definition   string // well-known text
}

// Served returns the CRS for coordinates in s, with a note if it is not quite the same. ok is false if there is none;
// then note is the reason.
func (s SRS) Served() (id crs.ID, note string, ok bool) {
	switch {
	case s.ID == 0:
		return crs.CRS84, "the geographic reference system is undefined; served as CRS84", true
	case s.ID == -1:
		return 0, "the reference system is undefined (srs_id -1); name it in storage_crs, as EPSG:25833, or set " +
			"one, for example with ogr2ogr -a_srs", false
	case strings.EqualFold(s.Organization, "OGC") && (s.Code == 84 || strings.Contains(s.name, "84")):
		return crs.CRS84, "", true
	}
	wrong := fmt.Sprintf("the reference system %s:%d (%s) is not served; transform the layer, for example with "+
		"ogr2ogr -t_srs EPSG:4326", s.Organization, s.Code, s.name)
	if strings.EqualFold(s.Organization, "EPSG") {
		if id, note, wrong = crs.FromEPSG(int(s.Code)); wrong == "" {
			return id, note, true
		}
	} else if id, ok = crs.Parse(fmt.Sprintf("%s:%d", strings.ToUpper(s.Organization), s.Code)); ok {
		return id, "", true
	}
	if s.definition != "" && s.definition != "undefined" {
		// GDAL writes organization NONE if it finds no code
		found, note, why := crs.FromText(s.definition)
		if why == "" {
			return found, note, true
		}
		if !strings.EqualFold(s.Organization, "EPSG") {
			wrong = why
		}
	}
	return 0, wrong, false
}
