package crs

import "github.com/paulmach/orb"

// Regular returns the part of the earth, in degrees, in which a system's projection is one-to-one and has no singular
// points; for a geographic system, all of the earth. Positions elsewhere are far from any data in the system.
func (id ID) Regular() orb.Bound {
	s, b := id.find(), degrees
	if s == nil {
		return b
	}
	switch p := s.proj.(type) {
	case *transverseMercator:
		b.Min[0], b.Max[0] = p.lon0*degree-meridianGap, p.lon0*degree+meridianGap
	case *conic:
		if b.Min[0], b.Max[0] = max(p.lon0*degree-179, -180), min(p.lon0*degree+179, 180); p.n < 0 {
			b.Max[1] = 80
		} else {
			b.Min[1] = -80
		}
	case *polarStereographic:
		if p.north > 0 {
			b.Min[1] = -80
		} else {
			b.Max[1] = 80
		}
	case *stereographic:
		b.Min[0], b.Max[0] = p.lon0-150, p.lon0+150
	case *azimuthal:
		if p.lat0 >= 0 {
			b.Min[1] = max(-60, -p.lat0+10)
		} else {
			b.Max[1] = min(60, -p.lat0-10)
		}
	}
	return b
}
