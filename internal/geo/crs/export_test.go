package crs

import (
	"maps"
	"slices"

	"github.com/paulmach/orb"
)

// Known lists every system of this package that has a code, those of Served first. Collections that are stored in one
// are served, also in it.
func Known() []ID {
	ids := Served()
	for _, id := range slices.Sorted(maps.Keys(registered().lines)) {
		if !slices.Contains(ids[:12], id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// Sampled lists the systems of Known that are offered everywhere, those of projections that are rare, and some of the
// others.
func Sampled() []ID {
	var ids []ID
	for i, id := range Known() {
		if m := id.find().method; i < 12 || i%9 == 0 || m != methodTM && m != methodLCC {
			ids = append(ids, id)
		}
	}
	return ids
}

// Base returns the geographic system of a projected one.
func (id ID) Base() ID { return ID(id.find().datum.code) }

// Usual returns where in its Area a system is used, in degrees.
func (id ID) Usual() orb.Bound {
	s, b := id.find(), id.Area()
	switch p := s.proj.(type) {
	case *transverseMercator:
		b = orb.Bound{Min: orb.Point{max(s.lon0-20, -180), -80}, Max: orb.Point{min(s.lon0+20, 180), 83}}
	case *conic:
		if b.Min[1] = 25; p.n < 0 {
			b.Min[1], b.Max[1] = -83, -25
		}
	case *azimuthal: // PROJ loses digits next to the pole and far away
		b.Min, b.Max = orb.Point{max(b.Min[0], s.lon0-60), max(s.lat0-50, -84)},
			orb.Point{min(b.Max[0], s.lon0+60), min(s.lat0+50, 84)}
	}
	return b
}
