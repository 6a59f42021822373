package input

import (
	"math"

	"github.com/peterstace/simplefeatures/geom"

	"grense/internal/geo/wkb"
)

// Note is a fault of a geometry; the caller knows its place.
type Note struct {
	Action Action
	Reason string
}

// Normalize converts a geometry to the form in which it is stored; nil if it is empty.
func Normalize(g geom.Geometry) (*Shape, []Note, string) {
	s, err := FromSimple(g)
	if err != nil {
		return nil, nil, err.Error()
	}
	if s.IsEmpty() {
		return nil, nil, ""
	}
	notes := s.Tidy()
	if s.IsEmpty() {
		return nil, notes, ""
	}
	if c := g.CoordinatesType(); c == geom.DimXYM || c == geom.DimXYZM {
		notes = append(notes, Note{Warning, "measures (M) are left out"})
	}
	return &s, notes, ""
}

// Tidy drops parts that are too short, closes rings and orients them. The geometry may be empty afterwards.
func (s *Shape) Tidy() (notes []Note) {
	closed, dropped := s.Check()
	if dropped > 0 {
		notes = append(notes, Note{Dropped, ShortPart})
	}
	if closed > 0 {
		notes = append(notes, Note{Repaired, ClosedRing})
	}
	s.Orient() // neither WKT nor GeoPackage defines the orientation of rings
	return notes
}

// shapeOf reads a geometry of well-known binary, of any type of ISO 13249-3; nil if it is empty.
// wrong is the reason if it is refused.
func (m Memory) shapeOf(b []byte) (s *Shape, notes []Note, wrong string) {
	chord := wkb.ChordMetres
	if x, y, ok := wkb.First(b); ok && math.Abs(x) <= 360 && math.Abs(y) <= 90 {
		chord = wkb.ChordDegrees
	}
	b, in, err := wkb.Lines(b, chord)
	if err != nil {
		return nil, nil, "the geometry cannot be read: " + Shorten(err.Error())
	}
	if wrong := m.Positions(in.Positions); wrong != "" {
		return nil, nil, wrong
	}
	if in.Positions == 0 {
		return nil, nil, ""
	}
	g, err := geom.UnmarshalWKB(b, geom.NoValidate{})
	if err != nil {
		return nil, nil, "the geometry cannot be read: " + Shorten(err.Error())
	}
	return Normalize(g)
}

// Place sets the geometry of a record from well-known binary, and reports its faults to out.
func (m Memory) Place(rec *Record, b []byte, out Sink) {
	s, notes, wrong := m.shapeOf(b)
	rec.Shape = s
	if wrong != "" {
		rec.Refused = true
		out.Fault(rec.At, true, Refused, wrong)
	}
	for _, n := range notes {
		out.Fault(rec.At, true, n.Action, n.Reason)
	}
}

// Plane converts a geometry of well-known binary to the form in which it is stored, without heights;
// nil if it is empty. wrong is the reason if it is refused, also if a ring is open or a part has too few positions.
func Plane(b []byte) (out []byte, kind wkb.Kind, wrong string) {
	s, notes, wrong := Memory(0).shapeOf(b)
	switch {
	case wrong != "":
		return nil, 0, wrong
	case len(notes) > 0:
		return nil, 0, "a ring that is not closed or has fewer than four positions, or a line of one"
	case s == nil:
		return nil, 0, ""
	}
	s.SetZ(false)
	return s.Append(nil), s.Kind, ""
}
