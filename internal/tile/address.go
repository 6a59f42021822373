package tile

import (
	"strconv"

	"github.com/paulmach/orb"

	"grense/internal/problem"
)

// Tile is the address of a tile in a Set: the level, the row counted from the top and the column counted from the left.
type Tile struct{ Z, Row, Col int }

// Parse parses the three parts of a path. If parts are not decimal numbers, the error is of kind problem.Invalid and
// lists them all. For an address outside the set it is of kind problem.NotFound (OGC 20-057, /req/core/tc-error).
func (s *Set) Parse(matrix, row, col string) (Tile, error) {
	var t Tile
	var faults []problem.Fault
	outside := false
	for _, part := range []struct {
		to          *int
		name, value string
	}{{&t.Z, "tileMatrix", matrix}, {&t.Row, "tileRow", row}, {&t.Col, "tileCol", col}} {
		if !isNumber(part.value) {
			faults = append(faults,
				problem.Fault{In: "path", Param: part.name, Value: part.value,
					Cure: "give a whole number of at least 0"})
			continue
		}
		n, err := strconv.Atoi(part.value)
		outside = outside || err != nil // more digits than any level has
		*part.to = n
	}
	if faults != nil {
		return Tile{}, &problem.Error{Kind: problem.Invalid, Faults: faults}
	}
	if outside || !s.Contains(t) {
		return Tile{}, problem.NotFoundf("%s has no tile in matrix %s, row %s, column %s; it has levels %d to %d", s.ID,
			matrix, row, col, s.first, s.last)
	}
	return t, nil
}

// Contains reports whether the set has the tile.
func (s *Set) Contains(t Tile) bool {
	if t.Z < s.first || t.Z > s.last {
		return false
	}
	w, h := s.size(t.Z)
	return t.Col >= 0 && t.Col < w && t.Row >= 0 && t.Row < h
}

// Bound returns the box of a tile in the CRS of the set, x before y. Tiles outside the set lie on the same grid,
// extended.
func (s *Set) Bound(t Tile) orb.Bound {
	side := s.cell * Cells / s.pow(t.Z)
	return orb.Bound{
		Min: orb.Point{s.origin[0] + float64(t.Col)*side, s.origin[1] - float64(t.Row+1)*side},
		Max: orb.Point{s.origin[0] + float64(t.Col+1)*side, s.origin[1] - float64(t.Row)*side},
	}
}

func isNumber(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}
