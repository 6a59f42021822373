package tile_test

import (
	"strconv"
	"testing"

	"grense/internal/problem"
	"grense/internal/tile"
)

func TestParseAddress(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		set, z, row, col string
		want             tile.Tile
		kind             problem.Kind // Internal: no error
		faults           int
	}{
		{"WebMercatorQuad", "0", "0", "0", tile.Tile{}, problem.Internal, 0},
		{"WebMercatorQuad", "24", "16777215", "0", tile.Tile{Z: 24, Row: 16777215}, problem.Internal, 0},
		{"WorldCRS84Quad", "0", "0", "1", tile.Tile{Col: 1}, problem.Internal, 0},
		{"UTM33WGS84Quad", "1", "1", "0", tile.Tile{Z: 1, Row: 1}, problem.Internal, 0},
		{"utm33n", "017", "1", "2", tile.Tile{Z: 17, Row: 1, Col: 2}, problem.Internal, 0},
		{"UTM33WGS84Quad", "0", "0", "0", tile.Tile{}, problem.NotFound, 0},
		{"WebMercatorQuad", "25", "0", "0", tile.Tile{}, problem.NotFound, 0},
		{"WebMercatorQuad", "30", "0", "0", tile.Tile{}, problem.NotFound, 0},
		{"WebMercatorQuad", "1", "2", "0", tile.Tile{}, problem.NotFound, 0},
		{"WebMercatorQuad", "1", "0", "2", tile.Tile{}, problem.NotFound, 0},
		{"WorldCRS84Quad", "0", "1", "0", tile.Tile{}, problem.NotFound, 0},
		{"WebMercatorQuad", "99999999999999999999", "0", "0", tile.Tile{}, problem.NotFound, 0},
		{"WebMercatorQuad", "a", "0", "0", tile.Tile{}, problem.Invalid, 1},
		{"WebMercatorQuad", "1", "-1", "1.5", tile.Tile{}, problem.Invalid, 2},
		{"WebMercatorQuad", "", "+1", "1e1", tile.Tile{}, problem.Invalid, 3},
		{"WebMercatorQuad", "30", "x", "0", tile.Tile{}, problem.Invalid, 1},
	} {
		got, err := find(t, c.set).Parse(c.z, c.row, c.col)
		if c.kind == problem.Internal {
			if err != nil || got != c.want {
				t.Errorf("%s %s/%s/%s: %v, %v", c.set, c.z, c.row, c.col, got, err)
			}
			continue
		}
		if p := problem.Of(err); err == nil || p.Kind != c.kind || len(p.Faults) != c.faults {
			t.Errorf("%s %s/%s/%s: %v, want %v with %d faults", c.set, c.z, c.row, c.col, err, c.kind, c.faults)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("3", "7", "7")
	f.Add("-1", "", "18446744073709551616")
	f.Fuzz(func(t *testing.T, z, row, col string) {
		for _, s := range tile.All() {
			a, err := s.Parse(z, row, col)
			if err != nil {
				continue
			}
			if n, _ := strconv.Atoi(row); !s.Contains(a) || n != a.Row {
				t.Errorf("%s: %s/%s/%s is %v", s.ID, z, row, col, a)
			}
		}
	})
}
