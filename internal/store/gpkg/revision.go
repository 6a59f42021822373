package gpkg

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"grense/internal/store"
	"grense/internal/store/gpkg/file"
	"grense/internal/store/gpkg/layer"
	"grense/internal/store/gpkg/schema"
	"grense/internal/store/gpkg/sqlite"
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
	if f.survey, err = openSurvey(path, m); err != nil {
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
func (f *openedFile) keepSurvey(s *Store, side *sideFile) {
	c := f.survey
	c.Interrupt(context.Background())
	c.Exec("PRAGMA shrink_memory") // a failure costs memory only
	c.ThawSchema()
	f.survey = nil
	c.AttachedCache = s.pagesBeside()
	c.First = func(c *sqlite.Conn) error { return errors.Join(s.limitPages(c), side.attach(c)) }
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
	drafts, unserved, err := s.drafts(c)
	if err != nil {
		return nil, err
	}
	side, err := s.side(ctx, src, c, drafts)
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
	version := []string{src.State(), schema, string(settings), strconv.Itoa(SideVersion)}
	var rest *store.Survey
	if slices.ContainsFunc(drafts, (*draft).isSampled) {
		version, rest = append(version, "sampled"), &store.Survey{}
	}
	r := &revision{
		catalog: &store.Catalog{Version: file.Hash(version...), Modified: lastChange(c, src.Modified),
			Hidden: unserved.hidden, Bookkeeping: unserved.bookkeeping, Survey: rest},
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
	trees, forget := 0, true
	for _, d := range drafts {
		if d.survey != nil && d.survey.Index != "" {
			trees++
			forget = forget && d.survey.Count <= mostWithoutTree
		}
	}
	if forget = forget && trees >= manyTrees && len(schemaNow.Views) == 0; forget {
		withoutTrees(drafts)
	}
	if err := r.publish(c, drafts); err != nil {
		return nil, err
	}
	if !s.options.AllowEmpty {
		if err := r.catalog.RequireCollections(noLayer); err != nil {
			return nil, fmt.Errorf("gpkg: %w", err)
		}
	}
	if side != nil {
		f.pool.AtFirst(side.attach)
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

// manyTrees is the number of R-trees from which they are not used, unless a layer is too large: see sqlite.ForgetTrees.
const manyTrees = 1000

// mostWithoutTree is the largest number of features among which boxes may be searched row by row.
const mostWithoutTree = 50_000

// withoutTrees makes layers be served without their R-trees.
func withoutTrees(drafts []*draft) {
	for _, d := range drafts {
		if d.survey != nil {
			sv := *d.survey
			sv.Index = ""
			d.survey = &sv
		}
	}
}

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

// unserved are layers without drafts.
type unserved struct{ hidden, bookkeeping []string }

// drafts returns a draft for each layer, including refused ones.
func (s *Store) drafts(c *sqlite.Conn) (served []*draft, not unserved, err error) {
	list, err := schema.ReadContents(c)
	if err != nil {
		return nil, not, err
	}
	own, err := schema.ReadDefinitions(c)
	if err != nil {
		return nil, not, err
	}
	var drafts []*draft
	for _, x := range list {
		d := &draft{Contents: x, at: inSide, settings: s.settingsOf(x.Table), own: own[strings.ToLower(x.Table)],
			uncut: s.options.Uncut}
		delete(own, strings.ToLower(x.Table))
		drafts = append(drafts, d)
	}
	for _, name := range slices.Sorted(maps.Keys(own)) { // our tables that are not layers for other programs
		def := own[name]
		drafts = append(drafts, &draft{Contents: schema.Contents{Table: def.Table, Kind: "attributes"}, at: inSide,
			settings: s.settingsOf(def.Table), own: def})
	}
	texts, textsErr := schema.ReadColumnTexts(c)
	if textsErr != nil && !sqlite.IsFaulty(textsErr) {
		return nil, not, textsErr
	}
	served = drafts[:0]
	for i, d := range drafts {
		name := d.Contents.Table
		switch {
		case d.settings.Hidden:
			not.hidden = append(not.hidden, name)
			continue
		case d.own == nil && len(d.Geometries) == 0 && store.IsBookkeeping("", name) && !s.configures(name):
			not.bookkeeping = append(not.bookkeeping, name)
			continue
		}
		d.n = i
		if err := d.check(c, texts, textsErr); sqlite.IsFaulty(err) {
			d.refuse("%s", unreadable(err))
		} else if err != nil {
			return nil, not, err
		}
		served = append(served, d)
	}
	return served, not, nil
}

// settingsOf returns the settings of a layer, by its name or by the collection id derived from it.
func (s *Store) settingsOf(layer string) store.Settings {
	if x, ok := s.options.Settings[layer]; ok {
		return x
	}
	return s.options.Settings[store.CollectionID(layer)]
}

// configures reports whether there are settings for a layer.
func (s *Store) configures(layer string) bool {
	_, byName := s.options.Settings[layer]
	_, byID := s.options.Settings[store.CollectionID(layer)]
	return byName || byID
}

// check refuses a draft that is not a table of features or attributes. texts and textsErr are the results of
// schema.ReadColumnTexts.
func (d *draft) check(c *sqlite.Conn, texts map[string]map[string]schema.ColumnText, textsErr error) (err error) {
	if d.own != nil && schema.IsFoldedOtherwise(d.own.Properties, d.own.Relations) {
		d.refuse(store.OldFold)
		return nil
	}
	switch d.Kind {
	case "features", "attributes", "aspatial": // aspatial: GDAL before GeoPackage 1.2
	case "tiles", "2d-gridded-coverage", "vector-tiles":
		d.refuse("the data type %q is not served, only features and attributes", d.Kind)
		return nil
	default:
		d.refuse("the data type %q is not known; set data_type in gpkg_contents to features or attributes", d.Kind)
		return nil
	}
	if d.table, err = sqlite.ReadTable(c, d.Contents.Table); err != nil {
		return err
	}
	if d.table == nil || len(d.table.Columns) == 0 {
		d.refuse("there is no table or view of that name; remove its row from gpkg_contents, or set hidden of the " +
			"collection")
		return nil
	}
	hidden := func(column string) bool { return slices.Contains(d.settings.HiddenColumns, column) }
	d.table.Columns = slices.DeleteFunc(d.table.Columns, func(col sqlite.Column) bool { return hidden(col.Name) })
	if d.Kind == "features" && len(d.Geometries) == 0 {
		d.refuse("gpkg_geometry_columns does not name its geometry column; add its row there")
		return nil
	}
	d.chooseGeometry(slices.DeleteFunc(d.Geometries, func(g schema.GeometryColumn) bool { return hidden(g.Geometry) }))
	if textsErr != nil {
		return textsErr
	}
	d.texts = texts[sqlite.Lower(d.table.Name)]
	if d.Geometry != "" && !d.refused() {
		col, ok := d.table.Column(d.Geometry)
		if !ok {
			d.refuse("the geometry column %q does not exist; correct its name in gpkg_geometry_columns", d.Geometry)
			return nil
		}
		d.Geometry = col.Name
		d.place()
	}
	return nil
}

// chooseGeometry selects the configured geometry column, else the first in the table. It ignores hidden ones.
func (d *draft) chooseGeometry(columns []schema.GeometryColumn) {
	wanted := d.settings.GeometryColumn
	if d.own != nil && d.own.Geometry != nil && len(columns) > 0 {
		wanted = d.own.Geometry.Column
	}
	place := func(g schema.GeometryColumn) int {
		return slices.IndexFunc(d.table.Columns, func(col sqlite.Column) bool {
			return strings.EqualFold(col.Name, g.Geometry)
		})
	}
	slices.SortStableFunc(columns, func(a, b schema.GeometryColumn) int { return place(a) - place(b) })
	at := slices.IndexFunc(columns, func(g schema.GeometryColumn) bool {
		return wanted == "" || strings.EqualFold(g.Geometry, wanted)
	})
	if at < 0 {
		if wanted != "" {
			d.refuse("there is no column %q with a geometry that is served; name another one in geometry_column",
				wanted)
		}
		return
	}
	d.GeometryColumn = columns[at]
	for _, g := range slices.Delete(slices.Clone(columns), at, at+1) {
		if d.settings.GeometryColumn == "" {
			d.warn("column %q is left out: %q is the geometry; geometry_column chooses another one",
				g.Geometry, d.Geometry)
		}
		d.table.Columns = slices.DeleteFunc(d.table.Columns, func(col sqlite.Column) bool {
			return strings.EqualFold(col.Name, g.Geometry)
		})
	}
}

// side opens or creates the side file and sets the surveys of drafts. It returns nil if the file itself has them.
func (s *Store) side(ctx context.Context, src file.File, c *sqlite.Conn, drafts []*draft) (*sideFile, error) {
	if ready, err := s.ready(src, c, drafts); ready || err != nil {
		return nil, err
	}
	rules := settingsKey(s.options.Settings) + s.options.ViewTimeout.String() + " " + strconv.Itoa(s.options.ViewRow) +
		" " + surveyRules
	whole, prefix, stem := sidePath(s.options.DataDir, src, rules)
	path, f := whole, sideOf(whole, drafts)
	if f == nil && s.sampling {
		path, _, _ = sidePath(s.options.DataDir, src, rules+" sampled")
		f = sideOf(path, drafts)
	}
	if f == nil {
		s.options.Logger.Info("reading the layers of a GeoPackage for the first time", "path", s.path, "side", path)
		err := file.Atomically(path, func(tmp string) error { return s.makeSide(ctx, tmp, c, drafts) })
		if err != nil {
			return nil, fmt.Errorf("gpkg: making the side file %s: %w", path, err)
		}
		if f = readSide(path); f == nil {
			return nil, fmt.Errorf("gpkg: the side file %s cannot be read back", path)
		}
		if f.isSampled() {
			_, _, stem = sidePath(s.options.DataDir, src, rules+" sampled")
		} else if err := os.Rename(path, whole); err != nil {
			return nil, fmt.Errorf("gpkg: %w", err)
		} else {
			f.path = whole
		}
		file.RemoveOthers(s.options.DataDir, prefix, stem, ".side")
	}
	for _, d := range drafts {
		d.survey = f.surveys[d.Contents.Table]
	}
	return f, nil
}

// sideOf returns the side file at path if it has surveys of all layers, else nil.
func sideOf(path string, drafts []*draft) *sideFile {
	f := readSide(path)
	for _, d := range drafts {
		if f != nil && !d.refused() && f.surveys[d.Contents.Table] == nil {
			return nil
		}
	}
	return f
}

// isSampled reports whether the survey of some layer is based on a sample.
func (f *sideFile) isSampled() bool {
	for _, sv := range f.surveys {
		if sv.Sampled {
			return true
		}
	}
	return false
}

// isSampled reports whether the survey is based on a sample.
func (d *draft) isSampled() bool { return d.survey != nil && d.survey.Sampled }

func (s *Store) makeSide(ctx context.Context, path string, c *sqlite.Conn, drafts []*draft) error {
	w, err := newSideWriter(path, c.Encoding)
	if err != nil {
		return err
	}
	for i, d := range drafts {
		s.progress("", i, len(drafts))
		if d.refused() {
			continue
		}
		var sv *survey
		var err error
		if s.sampling {
			sv, err = d.sample(c, w, s.options.SampleFrom)
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

// progress reports progress to Options.Progress and store.Survey.
func (s *Store) progress(layer string, done, total int) {
	if s.survey != nil {
		s.survey.Note(layer == "", done, total)
	}
	if s.options.Progress != nil {
		s.options.Progress(layer, done, total)
	}
}

// examine surveys a layer. Faults of the layer are part of the survey, so that other layers are served. It returns an
// error if the file cannot be read or the side file cannot be written.
func (s *Store) examine(ctx context.Context, c *sqlite.Conn, w *sideWriter, d *draft) (*survey, error) {
	bounded, cancel := ctx, context.CancelFunc(func() {})
	if d.table.View {
		bounded, cancel = context.WithTimeout(ctx, s.options.ViewTimeout)
		c.BoundValues(s.options.ViewRow)
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
		return &survey{Fault: fmt.Sprintf("the view did not end within %v; store its rows as a table, "+
			"or raise limits.view_timeout", s.options.ViewTimeout)}, nil
	case d.table.View && sqlite.IsTooBig(err):
		return &survey{
			Fault: fmt.Sprintf("the view reads or computes a value of more than %d MiB, the most for a view; "+
				"shorten it by substr, store the rows as a table, or raise limits.memory, of which that is a part",
				s.options.ViewRow>>20)}, nil
	case sqlite.IsFaulty(err):
		return &survey{Fault: unreadable(err)}, nil
	}
	return nil, err
}

// publish creates the catalog from the drafts.
func (r *revision) publish(c *sqlite.Conn, drafts []*draft) error {
	for _, d := range drafts {
		if !d.refused() {
			l, err := d.open(c)
			if err != nil {
				return fmt.Errorf("gpkg: layer %s: %w", d.Contents.Table, err)
			}
			if l != nil && !d.refused() {
				r.add(d, l)
			}
		}
		r.catalog.Notes = append(r.catalog.Notes, d.notes...)
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

func (r *revision) add(d *draft, l *layer.Layer) {
	id := l.ID
	if d.settings.ID != "" {
		id = d.settings.ID
	} else if id == "" {
		id = d.table.Name
	}
	own := store.CollectionID(cmp.Or(l.ID, d.table.Name))
	l.ID = store.Unique(store.CollectionID(id), func(s string) bool { return r.layers[s] != nil })
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

// openSurvey is sqlite.Open for a connection that surveys a file. It cannot use R-trees if the file has very many of
// them, and no view that may read one.
func openSurvey(path string, m sqlite.Mode) (*sqlite.Conn, error) {
	c, err := sqlite.OpenWithoutTrees(path, m)
	if err != nil {
		return nil, err
	}
	schema, err := c.Schema()
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	trees := 0
	for _, sql := range schema.Tables {
		if strings.HasPrefix(strings.ToUpper(sql), "CREATE VIRTUAL ") {
			trees++
		}
	}
	if trees >= manyTrees && len(schema.Views) == 0 {
		return c, nil
	}
	if err := c.Close(); err != nil {
		return nil, err
	}
	return sqlite.Open(path, m)
}
