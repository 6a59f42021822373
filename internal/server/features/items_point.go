package features

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/paulmach/orb"

	"grense/internal/cql2"
	"grense/internal/server"
	"grense/internal/server/queryable"
	"grense/internal/server/wire"
	"grense/internal/store"
)

// aPoint matches a position as people write it: latitude, longitude, in decimal degrees, with or without letters for
// the directions.
var aPoint = regexp.MustCompile(`(?i)^([+-]?\d{1,3}\.\d+)\s*°?\s*([NS]?)\s*[,;\s]\s*` +
	`([+-]?\d{1,3}\.\d+)\s*°?\s*([EØWV]?)$`)

// soughtPoint returns the page of the point that the searched words contain; false if they contain none. Longitude
// may come first if only that order lies within the data.
func (c *call) soughtPoint() (href string, ok bool) {
	m := aPoint.FindStringSubmatch(strings.TrimSpace(server.First(c.Values["q"])))
	all := c.Catalog.Areas()
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
	return c.HtmlHref("/lookup") + "&lon=" + wire.QueryEscape(lon) + "&lat=" + wire.QueryEscape(lat), true
}

// ungrouped returns the address of an English page with numbers as programs write them, so that its links work in
// every language. It returns false if no number has a comma between thousands.
func (c *call) ungrouped() (href string, ok bool) {
	if c.Lang != "en" {
		return "", false
	}
	values := maps.Clone(c.Values)
	for name := range c.Values {
		p, _ := queryable.Forgiving(c.Collection, name)
		if v := server.First(c.Values[name]); p != nil && (p.Type == cql2.TypeInteger || p.Type == cql2.TypeNumber) &&
			queryable.GroupedNumber.MatchString(v) {
			values[name], ok = []string{strings.ReplaceAll(v, ",", "")}, true
		}
	}
	return "/collections/" + c.Collection.ID + "/items?" + values.Encode(), ok
}
