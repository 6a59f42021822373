package survey

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"grense/internal/store"
	"grense/internal/store/gpkg/file"
	"grense/internal/store/gpkg/sqlite"
)

// Side opens or creates the side file and sets the surveys of drafts. It returns nil if the file itself has them.
func (s *Surveyor) Side(ctx context.Context, src file.File, c *sqlite.Conn, drafts []*Draft) (*SideFile, error) {
	if ready, err := s.ready(src, c, drafts); ready || err != nil {
		return nil, err
	}
	rules := settingsKey(s.Settings) + s.ViewTimeout.String() + " " + strconv.Itoa(s.ViewRow) +
		" " + surveyRules
	whole, prefix, stem := sidePath(s.DataDir, src, rules)
	path, f := whole, sideOf(whole, drafts)
	if f == nil && s.Sampling {
		path, _, _ = sidePath(s.DataDir, src, rules+" sampled")
		f = sideOf(path, drafts)
	}
	if f == nil {
		s.Logger.Info("reading the layers of a GeoPackage for the first time", "path", s.Path, "side", path)
		err := file.Atomically(path, func(tmp string) error { return s.makeSide(ctx, tmp, c, drafts) })
		if err != nil {
			return nil, fmt.Errorf("gpkg: making the side file %s: %w", path, err)
		}
		if f = readSide(path); f == nil {
			return nil, fmt.Errorf("gpkg: the side file %s cannot be read back", path)
		}
		if f.isSampled() {
			_, _, stem = sidePath(s.DataDir, src, rules+" sampled")
		} else if err := os.Rename(path, whole); err != nil {
			return nil, fmt.Errorf("gpkg: %w", err)
		} else {
			f.path = whole
		}
		file.RemoveOthers(s.DataDir, prefix, stem, ".side")
	}
	for _, d := range drafts {
		d.survey = f.surveys[d.Contents.Table]
	}
	return f, nil
}

// sideOf returns the side file at path if it has surveys of all layers, else nil.
func sideOf(path string, drafts []*Draft) *SideFile {
	f := readSide(path)
	for _, d := range drafts {
		if f != nil && !d.Refused() && f.surveys[d.Contents.Table] == nil {
			return nil
		}
	}
	return f
}

// IsSampled reports whether the survey of some layer is based on a sample.
func (f *SideFile) isSampled() bool {
	for _, sv := range f.surveys {
		if sv.Sampled {
			return true
		}
	}
	return false
}

func (s *Surveyor) makeSide(ctx context.Context, path string, c *sqlite.Conn, drafts []*Draft) error {
	w, err := newSideWriter(path, c.Encoding)
	if err != nil {
		return err
	}
	for i, d := range drafts {
		s.progress("", i, len(drafts))
		if d.Refused() {
			continue
		}
		var sv *layerSurvey
		var err error
		if s.Sampling {
			sv, err = d.sample(c, w, s.SampleFrom)
		}
		if sv == nil && (err == nil || sqlite.IsFaulty(err)) {
			sv, err = s.examine(ctx, c, w, d)
		}
		if err == nil {
			err = w.put(d.Contents.Table, sv)
		}
		if err != nil {
			return errors.Join(fmt.Errorf("layer %s: %w", d.Contents.Table, err), w.c.Close())
		}
	}
	return w.finish()
}

// examine surveys a layer. Faults of the layer are part of the survey, so that other layers are served. It returns an
// error if the file cannot be read or the side file cannot be written.
func (s *Surveyor) examine(ctx context.Context, c *sqlite.Conn, w *sideWriter, d *Draft) (*layerSurvey, error) {
	bounded, cancel := ctx, context.CancelFunc(func() {})
	if d.table.View {
		bounded, cancel = context.WithTimeout(ctx, s.ViewTimeout)
		c.BoundValues(s.ViewRow)
		defer c.BoundValues(sqlite.MaxValue)
	}
	defer cancel()
	c.Interrupt(bounded)
	defer c.Interrupt(ctx)
	sv, err := d.examine(bounded, c, w, s.progress)
	switch {
	case err == nil || ctx.Err() != nil:
		return sv, err
	case bounded.Err() != nil:
		return &layerSurvey{Fault: fmt.Sprintf("the view did not end within %v; store its rows as a table, "+
			"or raise limits.view_timeout", s.ViewTimeout)}, nil
	case d.table.View && sqlite.IsTooBig(err):
		return &layerSurvey{
			Fault: fmt.Sprintf("the view reads or computes a value of more than %d MiB, the most for a view; "+
				"shorten it by substr, store the rows as a table, or raise limits.memory, of which that is a part",
				s.ViewRow>>20)}, nil
	case sqlite.IsFaulty(err):
		return &layerSurvey{Fault: unreadable(err)}, nil
	}
	return nil, err
}

// settingsKey returns a text of those settings that affect surveys.
func settingsKey(m map[string]store.Settings) string {
	keys := map[string][10]string{}
	for name, s := range m {
		keys[name] = [10]string{strings.Join(s.IDColumns, "\x00"), s.Instant, s.IntervalStart, s.IntervalEnd,
			strings.Join(s.HiddenColumns, "\x00"), s.ValidFrom, s.ValidTo, strconv.FormatBool(s.Inclusive),
			s.GeometryColumn, strconv.Itoa(s.StorageCRS)}
	}
	b, _ := json.Marshal(keys) // never fails for these types
	return string(b)
}
