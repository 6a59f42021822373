package store

import (
	"encoding/json"
	"math"

	"github.com/paulmach/orb"

	"grense/internal/geo/crs"
)

// ItemType returns the JSON type (Property.Items) of the elements of the array text and of earlier ones:
// "any" if they differ, "" if there are none. ok is false if text is not an array.
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

// EdgePad bounds how far an edge that is straight in another CRS leaves the envelope of its ends, in units of id,
// the storage CRS. It is the sagitta of an edge on a curve with the radius of a parallel on the map, taken six times as
// curved as a great circle, which holds up to 80 degrees of latitude.
// longest is the length of the longest edge in units of id, bound the extent in degrees, and outside means that some
// coordinates cannot be transformed. The result is infinite beyond 80 degrees, and for edges so long that
// the sagitta proves nothing.
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
