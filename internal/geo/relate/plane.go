package relate

import (
	"errors"

	"github.com/paulmach/orb"

	"grense/internal/geo/crs"
	"grense/internal/geo/wkb"
)

// flat is a planar geometry: ISO WKB in little-endian order, and its bound, which is empty if the geometry is.
type flat struct {
	wkb   []byte
	bound orb.Bound
}

// ErrPlace reports a vertex that cannot be transformed to the requested CRS.
var ErrPlace = errors.New("relate: a coordinate is not finite")

// flatten copies a geometry as planar WKB and transforms each vertex with f; nil leaves vertices as they are.
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
