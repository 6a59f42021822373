package relate

import (
	"errors"

	"github.com/paulmach/orb"

	"grense/internal/geo/crs"
	"grense/internal/geo/wkb"
)

// flat is a geometry made plane: ISO WKB in little-endian order, and its bound, which is empty when the geometry is.
type flat struct {
	wkb   []byte
	bound orb.Bound
}

// ErrPlace reports a vertex that has no place in the CRS asked for.
var ErrPlace = errors.New("relate: a coordinate is not finite")

// flatten copies a geometry as plane WKB, each vertex passed through f; nil leaves them as they are.
func flatten(geometry []byte, f crs.Func) (flat, error) {
	bound, lost := wkb.EmptyBound(), false
	plane, err := wkb.AppendPlane(make([]byte, 0, len(geometry)), geometry, func(x, y float64) (float64, float64) {
		if f != nil {
			x, y = f(x, y)
		}
		lost = lost || !wkb.Finite(x) || !wkb.Finite(y)
		wkb.Extend(&bound, x, y)
		return x, y
	})
	if err == nil && lost {
		err = ErrPlace
	}
	return flat{plane, bound}, err
}
