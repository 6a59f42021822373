package crs_test

import (
	"strings"
	"testing"

	"grense/internal/crs"
)

func TestNear(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		code int
		want crs.ID
		note string
	}{
		{4979, crs.CRS84, "(WGS 84 with heights) is taken as CRS84; heights are passed on"},
		{4269, crs.CRS84, "NAD83"}, {4619, crs.CRS84, "two metres"}, {5973, crs.UTM33, "heights"}, {27700, 0, ""}, {4326, 0, ""}, {0, 0, ""},
	} {
		id, note, ok := crs.Near(c.code)
		if id != c.want || ok != (c.want != 0) || !strings.Contains(note, c.note) || (note == "") == ok {
			t.Errorf("%d: %v, %q, %v", c.code, id, note, ok)
		}
	}
}
