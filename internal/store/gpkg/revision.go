package gpkg

import (
	"context"
	"crypto/sha256"
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
	"sync/atomic"
	"time"

	"grense/internal/store"
	"grense/internal/store/gpkg/file"
	"grense/internal/store/gpkg/layer"
	"grense/internal/store/gpkg/sqlite"
	"grense/internal/store/gpkg/survey"
)

// revision is an opened version of the file. It is immutable, except for the counts that it caches.
type revision struct {
	catalog *store.Catalog
	layers  map[string]*layer.Layer // by collection id
	served  map[string]string       // ids of public collections, by the ids that the source gives them
	rev     uint64                  // revision of every feature while the file is unchanged; see revOf
	pool    *sqlite.Pool
	signs   *sqlite.Pool // one connection, for Ready and revBeside
	signed  uint64       // random; distinguishes the version numbers of this connection in signs
	refs    atomic.Int64 // number of users, plus one while the revision is current
	drained func()       // called once, after the last user has released it

	source  file.File  // when it was opened
	path    string     // of the file that is read: the source or a copy
	still   bool       // nobody writes to the file
	opened  file.Stamp // stamp of the file when it was opened; zero if stamps cannot be trusted
	known   atomic.Pointer[fileVersion]
	foreign foreignWrites

	promise *promise // nil: Unchanging is not set

	counts *countCache // shared by all revisions of the store
	shapes *shapeCache // shared by all revisions of the store

	memory  *memory
	records recordsHome
	indexes *indexes
}

func (r *revision) take() bool {
	for {
		n := r.refs.Load()
		if n == 0 {
			return false
		}
		if r.refs.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

func (r *revision) release() {
	if r.refs.Add(-1) == 0 {
		r.drained()
	}
}

// use runs fn with a connection of the pool or, within Hold, with the held one.
func (r *revision) use(ctx context.Context, fn func(*sqlite.Conn) error) error {
	if x, ok := ctx.Value(heldKey{}).(*held); ok && x.r == r {
		return r.explain(x.use(ctx, fn))
	}
	return r.explain(r.pool.Use(ctx, func(c *sqlite.Conn) error {
		defer sessionOf(c).shrink()
		return fn(c)
	}))
}

func (r *revision) explain(err error) error {
	switch sqlite.TroubleOf(err) {
	case sqlite.Locked, sqlite.Unreachable:
		return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	case sqlite.Replaced:
		return fmt.Errorf("%w: %w", store.ErrChanged, err)
	case sqlite.Damaged:
		if r.promise.broken() {
			return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
		}
	}
	return err
}

// revOf returns the revision of the features that a transaction on c reads. The transaction must not have read anything
// yet. After the file was changed in place, each version has another revision. It returns store.ErrChanged if the
// revision differs from the one in the context, or if commits in WAL mode are too frequent to distinguish versions.
func (r *revision) revOf(ctx context.Context, c *sqlite.Conn) (uint64, error) {
	rev, err := r.revNow(ctx, c)
	if err == nil {
		err = meet(ctx, rev)
	}
	return rev, err
}

// revNow is revOf without comparing with the context.
func (r *revision) revNow(ctx context.Context, c *sqlite.Conn) (uint64, error) {
	if pinned := sessionOf(c).pinned; pinned != nil {
		return *pinned, nil
	}
	same, err := c.Unchanged()
	if err != nil || c.IsImmutable() {
		return r.rev, err
	}
	foreign, err := r.foreign.refresh(c)
	if err != nil || same && foreign == 0 {
		return r.rev, err
	}
	n, wal, err := c.Header()
	if err == nil && wal {
		return r.revBeside(ctx, c)
	}
	return r.revNamed(uint64(foreign), uint64(n)), err
}

// revNamed derives a revision from a version number; kind distinguishes independent sequences of numbers.
func (r *revision) revNamed(kind, n uint64) uint64 {
	var b [24]byte
	for i, x := range [...]uint64{r.rev, kind, n} {
		binary.BigEndian.PutUint64(b[8*i:], x)
	}
	sum := sha256.Sum256(b[:])
	return binary.BigEndian.Uint64(sum[:])
}

const (
	// number of times that a transaction is restarted until no commit interferes, at 50 µs each
	besideTries  = 200
	signPatience = 5 * time.Second // as long as SQLite waits for a lock, whatever the query has waited for before
)

// revBeside is revOf in WAL mode, where commits do not change the counter in the header. SQLite only gives each
// connection a number of its own that changes with commits. So one connection provides the numbers for all: its number
// is read before and after a transaction on c begins. If both are equal, nobody has committed in between.
func (r *revision) revBeside(ctx context.Context, c *sqlite.Conn) (uint64, error) {
	w, err := r.signs.Get(store.WithPatience(ctx, signPatience))
	if err != nil {
		return 0, err
	}
	defer r.signs.Put(w)
	for range besideTries {
		before, err := w.Version()
		if err == nil {
			err = c.Renew()
		}
		if err != nil {
			return 0, err
		}
		n, wal, err := c.Header() // the first read of the transaction
		if err != nil || !wal {
			return r.revNamed(0, uint64(n)), err
		}
		after, err := w.Version()
		if err != nil {
			return 0, err
		}
		if before == after {
			return r.revNamed(r.signed, uint64(after)), nil
		}
	}
	return 0, fmt.Errorf("gpkg: others commit all the time: %w", store.ErrChanged)
}

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
	r.indexes = newIndexes(s.options.DataDir, src, r.catalog.Version, s.options.Index)
	r.pool.Ready = r.indexes.attach
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

// publish creates the catalog from the drafts.
func (r *revision) publish(c *sqlite.Conn, drafts []*survey.Draft) error {
	for _, d := range drafts {
		if !d.Refused() {
			l, err := d.Open(c)
			if err != nil {
				return fmt.Errorf("gpkg: layer %s: %w", d.Contents.Table, err)
			}
			if l != nil && !d.Refused() {
				r.add(d, l)
			}
		}
		r.catalog.Notes = append(r.catalog.Notes, d.Notes...)
	}
	r.resolveReferences()
	return nil
}

// resolveReferences sets the collection ids in references between collections, and removes references to collections
// that are not served.
func (r *revision) resolveReferences() {
	for _, c := range r.catalog.Collections {
		for i := range c.Properties {
			if p := &c.Properties[i]; p.Ref != "" {
				p.Ref = r.served[p.Ref]
			}
		}
	}
}

func (r *revision) add(d *survey.Draft, l *layer.Layer) {
	id, own := d.IDs(l)
	l.ID = store.Unique(id, func(s string) bool { return r.layers[s] != nil })
	r.layers[l.ID] = l
	if l.Public {
		r.served[own] = l.ID
	}
	l.Collection.IndexNames()
	r.catalog.Collections = append(r.catalog.Collections, l.Collection)
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

// layer returns the layer of a collection.
func (r *revision) layer(id string) (*layer.Layer, error) {
	if l := r.layers[id]; l != nil {
		return l, nil
	}
	return nil, fmt.Errorf("gpkg: collection %q: %w", id, store.ErrNotFound)
}

// surveyor returns a surveyor of the layers of the file.
func (s *Store) surveyor() *survey.Surveyor {
	o := &s.options
	return &survey.Surveyor{Path: s.path, DataDir: o.DataDir, Settings: o.Settings, Logger: o.Logger,
		Progress: s.progress, Sampling: s.sampling, SampleFrom: o.SampleFrom, ViewTimeout: o.ViewTimeout,
		ViewRow: o.ViewRow, Uncut: o.Uncut}
}
