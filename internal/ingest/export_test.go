package ingest

import (
	"bytes"
	"context"
	"io"
	"strconv"

	"github.com/peterstace/simplefeatures/geom"

	"grense/internal/format/input"
	"grense/internal/geo/crs"
)

// InMemory opens a file of these bytes, with the parts beside it by their suffixes. system is that of layers that state
// none; 0: that of the format.
func InMemory(ctx context.Context, name string, b []byte, parts map[string][]byte, system crs.ID) (*Source, error) {
	s := &Source{Path: name}
	err := s.add(ctx, inMemory(name, b, parts), name,
		input.Options{Limits: input.Limits{Feature: 32 << 20}.WithDefaults()})
	for _, l := range s.Layers {
		if system != 0 {
			l.Silent = system
		}
	}
	return s, err
}

func inMemory(name string, b []byte, parts map[string][]byte) *input.File {
	f := &input.File{Name: name, Size: int64(len(b))}
	f.Open = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b)), nil }
	f.Sibling = func(suffix string) *input.File {
		if p, ok := parts[suffix]; ok {
			return inMemory(f.Base()+suffix, p, nil)
		}
		return nil
	}
	return f
}

// Repair repairs a geometry of WKB as an import does: what becomes of it, why, and the WKB that is written.
func Repair(wkb []byte) (input.Action, string, []byte, error) {
	g, err := geom.UnmarshalWKB(wkb, geom.NoValidate{})
	if err != nil {
		return "", "", nil, err
	}
	s, _, wrong := input.Normalize(g)
	if s == nil || wrong != "" {
		return input.Refused, wrong, wkb, nil
	}
	v := validate(s, s.Append(nil))
	if v.shape != nil {
		s = v.shape
	}
	return v.action, v.reason, s.Append(nil), nil
}

// PlainlyValid returns the results of plainlyValid and of the library for a geometry in WKB;
// wrong is "" if it is valid.
func PlainlyValid(wkb []byte) (plainly bool, wrong string, err error) {
	g, err := geom.UnmarshalWKB(wkb, geom.NoValidate{})
	if err != nil {
		return false, "", err
	}
	s, err := input.FromSimple(g)
	if err != nil {
		return false, "", err
	}
	if err := g.Validate(); err != nil {
		wrong = err.Error()
	} else {
		wrong = nestedHole(&s)
	}
	return plainlyValid(&s), wrong, nil
}

// PlainlyValidOnly is PlainlyValid without the library.
func PlainlyValidOnly(wkb []byte) (bool, error) {
	g, err := geom.UnmarshalWKB(wkb, geom.NoValidate{})
	if err != nil {
		return false, err
	}
	s, err := input.FromSimple(g)
	return plainlyValid(&s), err
}

// ScanJSON walks a JSON text as imports do, and returns the sum of its numbers and the last line with one.
func ScanJSON(in io.Reader) (sum float64, line int, err error) {
	s := input.NewJSONScanner(in, 0)
	var value func() error
	value = func() error {
		b, err := s.Peek()
		if err != nil {
			return err
		}
		switch {
		case b == '[':
			return s.Array(value)
		case b == '{':
			return s.Object(func([]byte, input.Place) error { return value() })
		case b == '-' || b >= '0' && b <= '9':
			line = s.Here().Line
			if _, err := s.Number(); err != nil {
				return err
			}
			x, err := strconv.ParseFloat(string(s.Token), 64)
			sum += x
			return err
		}
		return s.Skip(nil)
	}
	return sum, line, value()
}
