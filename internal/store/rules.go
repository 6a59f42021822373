package store

import (
	"encoding/json"
	"math"

	"github.com/paulmach/orb"

	"grense/internal/geo/crs"
)

// ItemType returns the JSON type (Property.Items) that the elements of the array text have in common with those of
// earlier ones: "any" when they differ, "" when there are none. False when text is no array.
func ItemType(earlier string, text []byte) (string, bool) {
	var list []any
	if json.Unmarshal(text, &list) != nil {
		return "", false
	}
	for _, v := range list {
		t := "any"
		switch v := v.(type) {
		case string:
			t = "string"
		case bool:
			t = "boolean"
		case float64:
			t = "number"
			if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
				t = "integer"
			}
		}
		switch {
		case earlier == "" || earlier == "integer" && t == "number":
			earlier = t
		case earlier != t && !(earlier == "number" && t == "integer"):
			earlier = "any"
		}
	}
	return earlier, true
}

// EdgePad bounds how far an edge that is straight in another CRS lies outside the envelope of its ends, in units of id,
// the storage CRS: the sagitta of an edge on a curve of the radius that a parallel has on the map, taken six times as
// curved as a great circle, which holds to 80 degrees of latitude. Longest is the length of the longest edge in units
// of id, bound the extent in degrees, and outside says that some coordinates have no place there.
// Beyond 80 degrees, and for edges so long that the sagitta says nothing, it is infinite.
func EdgePad(id crs.ID, longest float64, bound *orb.Bound, outside bool) float64 {
	const radius, curved, most = 6371e3, 6, 500e3
	unit := 1.0 // metres
	if id.Geographic() {
		unit = math.Pi / 180 * radius
	}
	edge := longest * unit
	if outside || bound == nil || bound.Min[1] < -80 || bound.Max[1] > 80 || edge > most {
		return math.Inf(1)
	}
	sagitta := curved * edge * edge / (8 * radius) * 2
	if id.Geographic() { // a degree of longitude is shortest at 80 degrees
		sagitta /= math.Cos(80 * math.Pi / 180)
	}
	return sagitta/unit + 1e-6
}
