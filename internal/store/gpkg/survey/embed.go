package survey

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"grense/internal/store"
	"grense/internal/store/gpkg/file"
	"grense/internal/store/gpkg/sqlite"
)

// A register contains what a side file would: the surveys and their tables, under names that begin with readyPrefix. So
// it is served at once and needs no side file. The tables are valid as long as the change counter of SQLite shows that
// nobody has written to the file since; otherwise the file is surveyed like any other.

const (
	inSide      = "side." // schema of the tables in a side file
	readyPrefix = "grense_side_"
)

// Embed creates these tables in the file at path and removes old ones. It returns false, and creates none, if all
// collections are public: such files are smaller, and people open them in other programs.
func Embed(ctx context.Context, c *sqlite.Conn, path string) (bool, error) {
	var old []string
	err := c.Query("SELECT name FROM sqlite_schema WHERE type = 'table' AND name GLOB ? ORDER BY sql LIKE 'CREATE "+
		"VIRTUAL%' DESC", []any{readyPrefix + "*"}, func(r sqlite.Row) error {
		old = append(old, "DROP TABLE IF EXISTS "+sqlite.Quote(r.Text(0))) // dropping a virtual table drops others
		return nil
	})
	if err == nil {
		err = c.ExecAll(old)
	}
	if err != nil {
		return false, err
	}
	s := &Surveyor{Path: path}
	drafts, _, err := s.Drafts(c)
	if err != nil || !slices.ContainsFunc(drafts, func(d *Draft) bool { return d.own != nil && !d.own.Public }) {
		return false, err
	}
	side := &sideWriter{c: c, at: "main." + readyPrefix, prefix: readyPrefix, surveys: map[string]*layerSurvey{}}
	if err := c.ExecAll([]string{surveyTable(readyPrefix), "CREATE TABLE " + readyPrefix +
		"state (version INTEGER, counter INTEGER, pages INTEGER)"}); err != nil {
		return false, err
	}
	for _, d := range drafts {
		if d.Refused() {
			continue
		}
		sv, err := d.examine(ctx, c, side, nil)
		if err == nil {
			err = side.put(d.Contents.Table, sv)
		}
		if err != nil {
			return false, fmt.Errorf("gpkg: layer %s: %w", d.Contents.Table, err)
		}
	}
	return true, c.Exec("INSERT INTO "+readyPrefix+"state VALUES (?, 0, 0)", int64(SideVersion))
}

// sealCounter is the change counter of a sealed file. It is so large that neither copies made by SQLite (VACUUM INTO,
// .backup), which count from one, nor later edits reach it.
const sealCounter = 1 << 30

// Seal records the version of the file after this change. If it fails, the file will be surveyed.
func Seal(path string) error {
	src, err := file.Inspect(path)
	if err != nil {
		return err
	}
	defer src.Close()
	src.Counter |= sealCounter
	if err := file.WriteCounter(path, src.Counter); err != nil {
		return err
	}
	c, err := sqlite.Open(path, sqlite.ReadWrite)
	if err != nil {
		return err
	}
	err = c.Exec("PRAGMA journal_mode=MEMORY")
	if err == nil {
		err = c.Exec("UPDATE "+readyPrefix+"state SET counter = ?, pages = ?", int64(src.Counter)+1, src.Pages)
	}
	return errors.Join(err, c.Close())
}

// ready sets the surveys of drafts from the file itself; false if the file has no valid ones.
func (s *Surveyor) ready(src file.File, c *sqlite.Conn, drafts []*Draft) (bool, error) {
	if !plainSettings(s.Settings) {
		return false, nil
	}
	if version, err := Sealed(c, src); err != nil || version != SideVersion {
		return false, err
	}
	surveys, err := readSurveys(c, readyPrefix+"survey")
	if err != nil {
		return false, err
	}
	for _, d := range drafts {
		if !d.Refused() && surveys[d.Contents.Table] == nil {
			return false, nil
		}
	}
	for _, d := range drafts {
		d.survey, d.at = surveys[d.Contents.Table], "main."+readyPrefix
	}
	return true, nil
}

// Sealed returns the version of the tables in a sealed file that nobody has changed since; 0 for any other file.
func Sealed(c *sqlite.Conn, src file.File) (version int64, err error) {
	t, err := sqlite.ReadTable(c, readyPrefix+"state")
	if err != nil || t == nil || src.WAL {
		return 0, err
	}
	err = c.Query("SELECT version, counter, pages FROM "+t.Quoted(), nil, func(r sqlite.Row) error {
		if r.Int(1) == int64(src.Counter) && r.Int(2) == src.Pages {
			version = r.Int(0)
		}
		return nil
	})
	return version, err
}

// isReady reports whether the survey of the draft comes from the file itself.
func (d *Draft) isReady() bool { return d.at != inSide }

// plainSettings reports whether settings do not affect surveys.
func plainSettings(m map[string]store.Settings) bool {
	for _, x := range m {
		if strings.Join([]string{x.Instant, x.IntervalStart, x.IntervalEnd, x.ValidFrom, x.GeometryColumn}, "") != "" ||
			len(x.IDColumns)+len(x.HiddenColumns)+x.StorageCRS > 0 {
			return false
		}
	}
	return true
}
