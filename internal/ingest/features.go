package ingest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/paulmach/orb"

	"grense/internal/format/input"
	"grense/internal/geo/crs"
	"grense/internal/store"
)

// Feature is a feature as the file has it, for a reader with its own model. It is valid only until the function
// that receives it returns.
type Feature struct {
	Line       int            // from 1; 0 if the format has no lines
	Number     int            // in the layer, from 1
	Properties []Property     // in the order of the file
	Geometry   store.Geometry // x before y, in CRS, without heights; null if there is none. Its memory is reused
	CRS        crs.ID         // 0 if the layer has no geometry
}

// Property is a named value with its text in the file. JSON reports that the text is a JSON array or object.
type Property struct {
	Name string
	Text string // "" for null
	JSON bool
}

// Features reads a layer. It calls found with each feature that can be read, and fault with each fault.
// An error of either ends the reading and is returned. It reads the file twice, because the reference system
// may be stated at its end.
func (l *Layer) Features(ctx context.Context, found func(*Feature) error, fault func(Fault) error) error {
	look := &referenceSink{}
	if err := l.Reader.Read(ctx, look); err != nil {
		return fmt.Errorf("%s: %w", l.File, err)
	}
	s := &featureSink{l: l, found: found, report: fault}
	if s.feature.CRS = l.stated; s.feature.CRS == 0 {
		for _, name := range look.names {
			id, _, wrong := resolveName(name)
			switch {
			case wrong != "":
				return input.Refuse("%s: %s", l.File, wrong)
			case id != 0 && s.feature.CRS != 0 && id != s.feature.CRS:
				return input.Refuse("%s mixes reference systems: %v and %v; state the right one with --crs EPSG:n",
					l.File, s.feature.CRS, id)
			case id != 0:
				s.feature.CRS = id
			}
		}
	}
	if s.feature.CRS == 0 && !l.Flat {
		s.feature.CRS = l.Silent
	}
	err := l.Reader.Read(ctx, s)
	if err = errors.Join(s.err, err); err != nil {
		return fmt.Errorf("%s: %w", l.File, err)
	}
	return nil
}

// Progress returns how many bytes of the file were read, and the total; 0 and 0 if unknown.
func (l *Layer) Progress() (done, total int64) {
	if l.file == nil {
		return 0, 0
	}
	return min(l.file.Done, l.file.Size), l.file.Size
}

// referenceSink records reference systems only.
type referenceSink struct{ names []string }

func (s *referenceSink) Record(*input.Record) error                    { return nil }
func (s *referenceSink) Fault(input.Place, bool, input.Action, string) {}
func (s *referenceSink) Fields([]string)                               {}
func (s *referenceSink) Reference(_ input.Place, name string) {
	if name != "" && len(s.names) < 10 && !slices.Contains(s.names, name) {
		s.names = append(s.names, name)
	}
}

// featureSink converts records to features.
type featureSink struct {
	l       *Layer
	n       int
	feature Feature
	found   func(*Feature) error
	report  func(Fault) error
	err     error // error of report
}

func (s *featureSink) Reference(input.Place, string) {}
func (s *featureSink) Fields([]string)               {}

func (s *featureSink) Fault(at input.Place, of bool, a input.Action, reason string) {
	f := Fault{File: s.l.File, Line: at.Line, Column: at.Column, Action: a, Reason: reason}
	if of {
		f.Feature = s.n + 1
	}
	if s.err == nil {
		s.err = s.report(f)
	}
}

func (s *featureSink) Record(r *input.Record) error {
	s.n++
	if s.err != nil {
		return s.err
	}
	if r.Refused {
		return nil
	}
	f := &s.feature
	f.Line, f.Number, f.Properties, f.Geometry.WKB = r.At.Line, s.n, f.Properties[:0], f.Geometry.WKB[:0]
	for _, x := range r.Fields {
		f.Properties = append(f.Properties, Property{Name: x.Name, Text: x.Value.Text,
			JSON: x.Value.Kind == input.Object || x.Value.Kind == input.Many})
	}
	if r.Shape == nil || r.Shape.IsEmpty() {
		return s.found(f)
	}
	b := orb.Bound{Min: orb.Point{math.Inf(1), math.Inf(1)}, Max: orb.Point{math.Inf(-1), math.Inf(-1)}}
	switch n := r.Shape.Bound(&b); {
	case n > 0:
		return s.report(Fault{File: s.l.File, Line: r.At.Line, Feature: s.n, Action: input.Refused,
			Reason: fmt.Sprintf("%d positions are not numbers (NaN or infinite)", n)})
	case f.CRS == 0:
		return input.Refuse("no reference system is stated; state it with --crs EPSG:n")
	}
	r.Shape.SetZ(false)
	f.Geometry.WKB = r.Shape.Append(f.Geometry.WKB)
	return s.found(f)
}
