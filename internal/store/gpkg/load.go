package gpkg

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"grense/internal/store"
	"grense/internal/store/gpkg/file"
	"grense/internal/store/gpkg/index"
	"grense/internal/store/gpkg/layer"
	"grense/internal/store/gpkg/sqlite"
	"grense/internal/store/gpkg/survey"
)

// loads is the number of attempts to open a file that is being replaced.
const loads = 5

// load opens the file at the path of the store. If the file is replaced during loading, it opens the new one. If the
// file is replaced all the time, the result may be an old file, but never a mix of two.
func (s *Store) load(ctx context.Context) (r *revision, err error) {
	for n := 1; ; n++ {
		r, err = s.loadOnce(ctx)
		if n == loads || ctx.Err() != nil || !errors.Is(err, errReplaced) && (err != nil || r.source.IsNamed()) {
			return r, err
		}
		if err == nil {
			if err := r.close(); err != nil {
				return nil, err
			}
		}
	}
}

// errReplaced reports that the source was replaced while connections to it were opened.
var errReplaced = errors.New(
	"gpkg: the file was replaced again and again while it was opened; it is opened at the next reload")

// loadOnce opens the file at the path of the store. It returns errReplaced if the file is replaced.
func (s *Store) loadOnce(ctx context.Context) (r *revision, err error) {
	src, err := file.Inspect(s.path)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, src.Close())
		}
	}()
	if !s.options.Unchanging && src.IsRecent() {
		time.Sleep(file.TimeStep) // later writes then have another modification time
		if src, err = src.Read(); err != nil {
			return nil, err
		}
	}
	path, m, err := src.Readable(s.options.DataDir, s.options.Unchanging)
	if err != nil {
		return nil, err
	}
	f, err := s.openFile(src, path, m)
	if err != nil {
		return nil, src.Explain(err)
	}
	r, err = s.loadFrom(ctx, src, f)
	if err = errors.Join(err, f.survey.Close()); err != nil {
		if !src.IsNamed() {
			err = fmt.Errorf("%w: %w", errReplaced, err) // SQLite may have met the journal of the other file
		}
		return nil, errors.Join(src.Explain(err), f.pool.Close(), f.signs.Close())
	}
	return r, nil
}

// openedFile has all connections to a file. They are opened together, so that all are to the same file.
type openedFile struct {
	path   string
	mode   sqlite.Mode
	stamp  file.Stamp
	survey *sqlite.Conn // surveys the layers; closed then, unless it joins the pool; nil: it did
	pool   *sqlite.Pool
	signs  *sqlite.Pool
}

// openFile opens all connections to the file of src, or to a copy of it at path. It returns errReplaced if the source
// was replaced during that, since some connections may be to the new file.
func (s *Store) openFile(src file.File, path string, m sqlite.Mode) (_ *openedFile, err error) {
	f := &openedFile{path: path, mode: m}
	f.stamp, _ = file.StampOf(path)
	if f.survey, err = survey.Open(path, m); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.survey.Close(), f.pool.Close(), f.signs.Close())
		}
	}()
	if f.pool, err = sqlite.NewPool(s.options.MaxConns, func() (*sqlite.Conn, error) {
		return s.reader(path, m, f.survey.Encoding)
	}); err != nil {
		return nil, err
	}
	if f.signs, err = sqlite.NewPool(1, func() (*sqlite.Conn,
		error) {
		return sqlite.OpenUnread(path, m, f.survey.Encoding)
	}); err != nil {
		return nil, err
	}
	if !src.IsNamed() {
		return nil, errReplaced
	}
	return f, nil
}

// keepSurvey adds the connection that has surveyed the layers to the pool, so that its schema is not read again.
func (f *openedFile) keepSurvey(s *Store, side *survey.SideFile) {
	c := f.survey
	c.Interrupt(context.Background())
	c.Exec("PRAGMA shrink_memory") // a failure costs memory only
	c.ThawSchema()
	f.survey = nil
	c.AttachedCache = s.pagesBeside()
	c.First = func(c *sqlite.Conn) error { return errors.Join(s.limitPages(c), side.Attach(c)) }
	f.pool.Add(c)
}

// lastChange returns the latest last_change in gpkg_contents (OGC 12-128r18, table 4), or otherwise.
func lastChange(c *sqlite.Conn, otherwise time.Time) time.Time {
	latest := otherwise
	err := c.Query("SELECT max(last_change) FROM gpkg_contents", nil, func(r sqlite.Row) error {
		if t, err := time.Parse(time.RFC3339, r.Text(0)); err == nil {
			latest = t
		}
		return nil
	})
	if err != nil {
		return otherwise
	}
	return latest
}

// loadFrom surveys the layers of an opened file.
func (s *Store) loadFrom(ctx context.Context, src file.File, f *openedFile) (*revision, error) {
	c := f.survey
	c.Interrupt(ctx)
	schemaNow, err := c.FreezeSchema()
	if err != nil {
		return nil, err
	}
	if t, err := sqlite.ReadTable(c, "gpkg_contents"); err != nil {
		return nil, err
	} else if t == nil {
		return nil,
			fmt.Errorf("gpkg: %s is an SQLite file but not a GeoPackage: it has no table gpkg_contents; "+
				"convert it, for example "+
				"with ogr2ogr -f GPKG out.gpkg %s", s.path, filepath.Base(s.path))
	}
	x := s.surveyor()
	drafts, unserved, err := x.Drafts(c)
	if err != nil {
		return nil, err
	}
	side, err := x.Side(ctx, src, c, drafts)
	if err != nil {
		return nil, err
	}
	schema, err := schemaText(c)
	if err != nil {
		return nil, err
	}
	settings, err := json.Marshal(s.options.Settings)
	if err != nil {
		return nil, err
	}
	version := []string{src.State(), schema, string(settings), strconv.Itoa(survey.SideVersion)}
	var rest *store.Survey
	if slices.ContainsFunc(drafts, (*survey.Draft).IsSampled) {
		version, rest = append(version, "sampled"), &store.Survey{}
	}
	r := &revision{
		catalog: &store.Catalog{Version: file.Hash(version...), Modified: lastChange(c, src.Modified),
			Hidden: unserved.Hidden, Bookkeeping: unserved.Bookkeeping, Survey: rest},
		layers: map[string]*layer.Layer{},
		served: map[string]string{},
		source: src, path: f.path,
		pool: f.pool, signs: f.signs,
		still:  f.mode == sqlite.Immutable,
		counts: s.counts,
		shapes: s.shapes,
	}
	if s.options.Unchanging {
		r.promise = &promise{path: s.path, file: src.Info, log: s.options.Logger}
	}
	if b, err := hex.DecodeString(r.catalog.Version); err == nil {
		r.rev = binary.BigEndian.Uint64(b)
	}
	forget := survey.ForgetTrees(drafts, schemaNow)
	if err := r.publish(c, drafts); err != nil {
		return nil, err
	}
	if !s.options.AllowEmpty {
		if err := r.catalog.RequireCollections(noLayer); err != nil {
			return nil, fmt.Errorf("gpkg: %w", err)
		}
	}
	if side != nil {
		f.pool.AtFirst(side.Attach)
	}
	if forget {
		f.pool.AtFirst(sqlite.ForgetTrees)
		f.keepSurvey(s, side)
	}
	if len(schemaNow.Tables) < manyTables {
		if err := f.pool.Prepare(); err != nil {
			return nil, err
		}
	}
	if !src.IsUnchanged() {
		r.still = false
		r.pool.Distrust() // the file was written to while it was opened
	}
	r.signed, r.records = rand.Uint64()|1, newRecordsHome(s.options.DataDir, src, r.catalog.Version)
	r.memory = newMemory(s)
	r.indexes = index.Open(s.options.DataDir, src, r.catalog.Version, s.options.Index,
		index.Source{Use: r.use, Keep: r.keep, Wanted: r.isWanted})
	r.pool.Ready = r.attachIndex
	if now, ok := file.StampOf(f.path); ok && now.Same(f.stamp) && file.IsLocal(f.path) {
		r.opened = f.stamp
	}
	r.foreign.seen, r.foreign.settled = src, true
	r.refs.Store(1)
	return r, nil
}

// manyTables is the number of tables from which connections read the schema on first use instead of at once. SQLite
// needs 0.3 ms and 30 KB for a table with the index and triggers of GDAL. If the side file is deleted before the first
// use, the connection fails until the next reload.
const manyTables = 2500

// noLayer is the reason why a file serves nothing although no layer was refused.
const noLayer = "gpkg_contents lists no table of features or attributes, or the configuration hides all; " +
	"add a layer, or set allow_empty"

// close closes a revision without users.
func (r *revision) close() error {
	return errors.Join(r.pool.Close(), r.signs.Close(), r.source.Close())
}

// reader opens a connection for the pool; encoding is the text encoding of the file.
func (s *Store) reader(path string, m sqlite.Mode, encoding string) (*sqlite.Conn, error) {
	c, err := sqlite.OpenUnread(path, m, encoding)
	if err != nil {
		return nil, err
	}
	c.First, c.AttachedCache = s.limitPages, s.pagesBeside()
	return c, nil
}

// limitPages limits the page cache for the main database of a connection.
func (s *Store) limitPages(c *sqlite.Conn) error {
	kib := sqlite.PageCache
	if n := s.pages(); n > 0 {
		kib = strconv.FormatInt(max(512, min(16<<10, n/2)), 10)
	}
	return c.Exec("PRAGMA cache_size=-" + kib)
}

// pagesBeside is the size of the page cache for an attached database, of which a connection has two: at most SQLite's
// default, in KiB.
func (s *Store) pagesBeside() int64 {
	if n := s.pages(); n > 0 {
		return max(256, min(2000, n/4))
	}
	return 0
}

// pages is the size of the page caches of a connection in KiB; 0 if nothing bounds them.
func (s *Store) pages() int64 { return s.options.PageCache >> 10 / int64(s.options.MaxConns+1) }

// progress reports progress to Options.Progress and store.Survey.
func (s *Store) progress(layer string, done, total int) {
	if s.survey != nil {
		s.survey.Note(layer == "", done, total)
	}
	if s.options.Progress != nil {
		s.options.Progress(layer, done, total)
	}
}

// schemaText returns the SQL of the schema.
func schemaText(c *sqlite.Conn) (string, error) {
	var b strings.Builder
	err := c.Query("SELECT coalesce(sql, name) FROM main.sqlite_schema ORDER BY rowid", nil, func(r sqlite.Row) error {
		b.WriteString(r.Text(0) + "\n")
		return nil
	})
	return b.String(), err
}

// surveyor returns a surveyor of the layers of the file.
func (s *Store) surveyor() *survey.Surveyor {
	o := &s.options
	return &survey.Surveyor{Path: s.path, DataDir: o.DataDir, Settings: o.Settings, Logger: o.Logger,
		Progress: s.progress, Sampling: s.sampling, SampleFrom: o.SampleFrom, ViewTimeout: o.ViewTimeout,
		ViewRow: o.ViewRow, Uncut: o.Uncut}
}

// surveyAll creates the full side file after a start with samples, and calls Options.Surveyed.
func (s *Store) surveyAll(ctx context.Context) error {
	src, err := file.Inspect(s.path)
	if err != nil {
		return err
	}
	defer src.Close()
	path, m, err := src.Readable(s.options.DataDir, s.options.Unchanging)
	if err != nil {
		return err
	}
	c, err := survey.Open(path, m)
	if err != nil {
		return src.Explain(err)
	}
	defer c.Close()
	c.Interrupt(ctx)
	x, drafts := s.surveyor(), []*survey.Draft(nil)
	if _, err = c.FreezeSchema(); err == nil {
		drafts, _, err = x.Drafts(c)
	}
	if err == nil {
		_, err = x.Side(ctx, src, c, drafts)
	}
	if err == nil {
		s.options.Surveyed(ctx)
	}
	return err
}
