package store

import (
	"encoding/json"
	"math"

	"github.com/paulmach/orb"

	"grense/internal/geo/crs"
)

// ItemType returns the JSON type of the elements of a JSON array, for Property.Items: "any" if they differ, "" if there
// are none. earlier is the result for the arrays before. ok is false if text is not an array.
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

// EdgePad returns how far an edge may leave the envelope of its end points if it is straight in another CRS. The result
// is in units of id, the storage CRS; it is +Inf where no bound is known: beyond 80 degrees of latitude, for edges
// longer than 500 km, and if outside is true, that is, some coordinates cannot be transformed. longest is the length of
// the longest edge in units of id, bound the extent in degrees.
//
// It is the sagitta of an edge on a curve six times as curved as a great circle, which no parallel on a map exceeds up
// to 80 degrees.
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
