package ingest

import (
	"io"
	"math"
	"os"
	"path/filepath"

	"github.com/peterstace/simplefeatures/geom"

	"grense/internal/geo/wkb"
)

// opened is a file that can be read from any place.
type opened struct {
	io.ReaderAt
	size  int64
	close func() error
}

// anywhere returns how a file is opened for reading from any place. What is packed is unpacked into a temporary folder, once.
func (s *Source) anywhere(f *file, o Options) (func() (*opened, error), error) {
	path := f.name
	if path != s.Path {
		dir, err := os.MkdirTemp(o.TempDir, "grense-")
		if err != nil {
			return nil, err
		}
		s.closes = append(s.closes, func() error { return os.RemoveAll(dir) })
		if path, err = extract(f, dir); err != nil {
			return nil, err
		}
	}
	return func() (*opened, error) {
		in, err := os.Open(filepath.Clean(path))
		if err != nil {
			return nil, err
		}
		info, err := in.Stat()
		if err != nil {
			in.Close()
			return nil, err
		}
		f.done, f.size = 0, info.Size()
		return &opened{in, info.Size(), in.Close}, nil
	}, nil
}

// shapeOf reads a geometry of well-known binary, of any type of ISO 13249-3, as its shape; nil where it is empty. wrong tells why it is refused.
func (m memory) shapeOf(b []byte) (s *shape, notes []note, wrong string) {
	chord := wkb.ChordMetres
	if x, y, ok := wkb.First(b); ok && math.Abs(x) <= 360 && math.Abs(y) <= 90 {
		chord = wkb.ChordDegrees
	}
	b, in, err := wkb.Lines(b, chord)
	if err != nil {
		return nil, nil, "the geometry cannot be read: " + shorten(err.Error())
	}
	if wrong := m.positions(in.Positions); wrong != "" {
		return nil, nil, wrong
	}
	if in.Positions == 0 {
		return nil, nil, ""
	}
	g, err := geom.UnmarshalWKB(b, geom.NoValidate{})
	if err != nil {
		return nil, nil, "the geometry cannot be read: " + shorten(err.Error())
	}
	return normalize(g)
}

// place puts a geometry of well-known binary into a record, and tells what is wrong with it.
func (m memory) place(rec *record, b []byte, out sink) {
	s, notes, wrong := m.shapeOf(b)
	rec.shape = s
	if wrong != "" {
		rec.refused = true
		out.fault(rec.at, true, Refused, wrong)
	}
	for _, n := range notes {
		out.fault(rec.at, true, n.action, n.reason)
	}
}

// Plane brings a geometry of well-known binary into the form in which it is stored, without heights; nil where it is empty. wrong says why it is
// refused, also if a ring is open or a part has too few positions.
func Plane(b []byte) (out []byte, kind wkb.Kind, wrong string) {
	s, notes, wrong := memory(0).shapeOf(b)
	switch {
	case wrong != "":
		return nil, 0, wrong
	case len(notes) > 0:
		return nil, 0, "a ring that is not closed or has fewer than four positions, or a line of one"
	case s == nil:
		return nil, 0, ""
	}
	s.setZ(false)
	return s.append(nil), s.kind, ""
}
