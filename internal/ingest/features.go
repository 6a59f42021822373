package ingest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/paulmach/orb"

	"grense/internal/geo/crs"
	"grense/internal/store"
)

// Feature is one feature as a file has it, for a reader with a model of its own. It is valid only until the function it was given to
// returns.
type Feature struct {
	Line       int            // from 1; 0 where the format has no lines
	Number     int            // in the layer, from 1
	Properties []Property     // in the order of the file
	Geometry   store.Geometry // x before y, in CRS, without heights; null where there is none. Its memory is used again
	CRS        crs.ID         // 0 where the layer has no geometry
}

// Property is a named value: its text, as the file has it. JSON tells that the text is a JSON array or object.
type Property struct {
	Name string
	Text string // "" for null
	JSON bool
}

// Features reads a layer: found gets each feature that can be read, fault what is wrong. An error of either ends the reading and comes
// back. The file is read twice, because it may state its reference system at its end.
func (l *Layer) Features(ctx context.Context, found func(*Feature) error, fault func(Fault) error) error {
	look := &referenceSink{}
	if err := l.reader.read(ctx, look); err != nil {
		return fmt.Errorf("%s: %w", l.File, err)
	}
	s := &featureSink{l: l, found: found, tell: fault}
	if s.feature.CRS = l.stated; s.feature.CRS == 0 {
		for _, name := range look.names {
			id, _, wrong := resolveName(name)
			switch {
			case wrong != "":
				return refusal("%s: %s", l.File, wrong)
			case id != 0 && s.feature.CRS != 0 && id != s.feature.CRS:
				return refusal("%s mixes reference systems: %v and %v; state the right one with --crs EPSG:n", l.File, s.feature.CRS, id)
			case id != 0:
				s.feature.CRS = id
			}
		}
	}
	if s.feature.CRS == 0 && !l.flat {
		s.feature.CRS = l.silent
	}
	err := l.reader.read(ctx, s)
	if err = errors.Join(s.err, err); err != nil {
		return fmt.Errorf("%s: %w", l.File, err)
	}
	return nil
}

// Progress tells how many bytes of the file were read, and of how many; 0 and 0 where that is not known.
func (l *Layer) Progress() (done, total int64) {
	if l.file == nil {
		return 0, 0
	}
	return min(l.file.done, l.file.size), l.file.size
}

// referenceSink listens for reference systems only.
type referenceSink struct{ names []string }

func (s *referenceSink) record(*record) error              { return nil }
func (s *referenceSink) fault(place, bool, Action, string) {}
func (s *referenceSink) fields([]string)                   {}
func (s *referenceSink) reference(_ place, name string) {
	if name != "" && len(s.names) < 10 && !slices.Contains(s.names, name) {
		s.names = append(s.names, name)
	}
}

// featureSink makes features of records.
type featureSink struct {
	l       *Layer
	n       int
	feature Feature
	found   func(*Feature) error
	tell    func(Fault) error
	err     error // of tell
}

func (s *featureSink) reference(place, string) {}
func (s *featureSink) fields([]string)         {}

func (s *featureSink) fault(at place, of bool, a Action, reason string) {
	f := Fault{File: s.l.File, Line: at.line, Column: at.column, Action: a, Reason: reason}
	if of {
		f.Feature = s.n + 1
	}
	if s.err == nil {
		s.err = s.tell(f)
	}
}

func (s *featureSink) record(r *record) error {
	s.n++
	if s.err != nil {
		return s.err
	}
	if r.refused {
		return nil
	}
	f := &s.feature
	f.Line, f.Number, f.Properties, f.Geometry.WKB = r.at.line, s.n, f.Properties[:0], f.Geometry.WKB[:0]
	for _, x := range r.fields {
		f.Properties = append(f.Properties, Property{Name: x.name, Text: x.value.text, JSON: x.value.kind == object || x.value.kind == many})
	}
	if r.shape == nil || r.shape.isEmpty() {
		return s.found(f)
	}
	b := orb.Bound{Min: orb.Point{math.Inf(1), math.Inf(1)}, Max: orb.Point{math.Inf(-1), math.Inf(-1)}}
	switch n := r.shape.bound(&b); {
	case n > 0:
		return s.tell(Fault{File: s.l.File, Line: r.at.line, Feature: s.n, Action: Refused, Reason: fmt.Sprintf("%d positions are not numbers (NaN or infinite)", n)})
	case f.CRS == 0:
		return refusal("no reference system is stated; state it with --crs EPSG:n")
	}
	r.shape.setZ(false)
	f.Geometry.WKB = r.shape.append(f.Geometry.WKB)
	return s.found(f)
}

// Text is a file that another package reads: unpacked, within the limits.
type Text struct {
	Path string // for people: the path, and in an archive the file in it
	f    *file
}

// Texts finds the files of name that end in one of suffixes (".gml"): the file itself, perhaps packed with gzip, or those in a zip
// archive. There may be none. Close releases the archive and is never nil.
func Texts(name string, suffixes []string, l Limits) (list []*Text, closer func() error, err error) {
	closer = func() error { return nil }
	l = l.withDefaults()
	if info, err := os.Stat(name); err != nil {
		return nil, closer, notFound(name, err)
	} else if info.IsDir() {
		return nil, closer, refusal("%s is a folder; name the files in it", name)
	}
	if !strings.EqualFold(filepath.Ext(name), ".zip") {
		f, err := looseFile(name, l)
		if err != nil {
			return nil, closer, notFound(name, err)
		}
		if slices.Contains(suffixes, f.suffix()) {
			list = append(list, &Text{name, f})
		}
		return list, closer, nil
	}
	files, closer, err := zipFiles(name, l)
	if err != nil {
		return nil, func() error { return nil }, err
	}
	for _, f := range files {
		if slices.Contains(suffixes, f.suffix()) {
			list = append(list, &Text{name + "/" + f.name, f})
		}
	}
	return list, closer, nil
}

// Open starts at the beginning. The caller must close it.
func (t *Text) Open() (io.ReadCloser, error) { return t.f.open() }

// Progress tells how many bytes were read since Open, and of how many; of a packed file, of the packed ones.
func (t *Text) Progress() (done, total int64) { return min(t.f.done, t.f.size), t.f.size }

// Refuse is an error that the content of a file caused.
func Refuse(format string, a ...any) error { return refusal(format, a...) }

// Reference resolves the name of a reference system: a code (EPSG:4258), URI or URN. note tells what is not quite so; wrong, why it is not served.
func Reference(name string) (id crs.ID, note, wrong string) { return reference(name) }
