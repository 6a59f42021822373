package server

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/paulmach/orb"

	"grense/internal/store"
)

// aPoint is a position as people write it: latitude, longitude, in decimal degrees, with letters for the directions
// or without.
var aPoint = regexp.MustCompile(`(?i)^([+-]?\d{1,3}\.\d+)\s*°?\s*([NS]?)\s*[,;\s]\s*([+-]?\d{1,3}\.\d+)\s*°?\s*([EØWV]?)$`)

// soughtPoint is the page of the point that words searched for name; false when they name none. Longitude may stand
// first where only that lies in the data.
func (c *Call) soughtPoint() (href string, ok bool) {
	m := aPoint.FindStringSubmatch(strings.TrimSpace(First(c.Values["q"])))
	all := c.Divisions()
	if m == nil || len(all) == 0 {
		return "", false
	}
	lat, lon := m[1], m[3]
	if strings.EqualFold(m[2], "s") {
		lat = "-" + lat
	}
	if strings.EqualFold(m[4], "w") || strings.EqualFold(m[4], "v") {
		lon = "-" + lon
	}
	within := func(x, y string) bool {
		p := orb.Point{}
		p[0], _ = strconv.ParseFloat(x, 64) // digits
		p[1], _ = strconv.ParseFloat(y, 64)
		return slices.ContainsFunc(all, func(coll *store.Collection) bool {
			return coll.Extent != nil &&
				coll.Extent.Contains(p)
		})
	}
	if m[2]+m[4] == "" && !within(lon, lat) && within(lat, lon) {
		lat, lon = lon, lat
	}
	return c.HtmlHref("/lookup") + "&lon=" + QueryEscape(lon) + "&lat=" + QueryEscape(lat), true
}
