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
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"grense/internal/store"
)

// revision is one state of the file, opened. Apart from the counts it caches, it is immutable.
type revision struct {
	catalog *store.Catalog
	layers  map[string]*layer // by collection id
	served  map[string]string // ids of public collections, by the ids that the source gives them
	rev     uint64            // of every feature, as long as nobody changes the file; see revOf
	pool    *pool
	signs   *pool        // of one connection, for Ready and revBeside
	signed  uint64       // random: the kind of numbers that the connection of signs gives
	refs    atomic.Int64 // users, and one for being current
	drained func()       // called once, when the last user has gone

	source  source    // as it was found
	path    string    // of the file that is read
	still   bool      // nobody writes into it
	opened  fileStamp // of the file when it was opened; the zero value where stamps are not to be trusted
	known   atomic.Pointer[fileVersion]
	foreign foreignWrites

	promise *promise // nil: none

	counts *countCache // of the store
	shapes *shapeCache // of the store

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

// use runs fn with a connection; within Hold with the one that is held.
func (r *revision) use(ctx context.Context, fn func(*conn) error) error {
	if x, ok := ctx.Value(heldKey{}).(*held); ok && x.r == r {
		return r.explain(x.use(ctx, fn))
	}
	return r.explain(r.pool.use(ctx, fn))
}

func (r *revision) explain(err error) error {
	switch troubleOf(err) {
	case locked, unreachable:
		return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	case replaced:
		return fmt.Errorf("%w: %w", store.ErrChanged, err)
	case damaged:
		if r.promise.broken() {
			return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
		}
	}
	return err
}

// revOf returns the revision of the features that a transaction on c reads; the transaction must not have read anything
// yet. A file that was changed in place since it was opened has another revision for each version.
// It returns store.ErrChanged if the revision is not the one in the context, or if commits to a file in WAL mode follow
// each other too fast to distinguish.
func (r *revision) revOf(ctx context.Context, c *conn) (uint64, error) {
	rev, err := r.revNow(ctx, c)
	if err == nil {
		err = meet(ctx, rev)
	}
	return rev, err
}

// revNow is revOf, whatever the context has to meet.
func (r *revision) revNow(ctx context.Context, c *conn) (uint64, error) {
	if c.pinned != nil {
		return *c.pinned, nil
	}
	same, err := c.unchanged()
	if err != nil || c.still {
		return r.rev, err
	}
	foreign, err := r.foreign.refresh(c)
	if err != nil || same && foreign == 0 {
		return r.rev, err
	}
	n, wal, err := c.header()
	if err == nil && wal {
		return r.revBeside(ctx, c)
	}
	return r.revNamed(uint64(foreign), uint64(n)), err
}

// revNamed is the revision of a state with a number among those of a kind.
func (r *revision) revNamed(kind, n uint64) uint64 {
	var b [24]byte
	for i, x := range [...]uint64{r.rev, kind, n} {
		binary.BigEndian.PutUint64(b[8*i:], x)
	}
	sum := sha256.Sum256(b[:])
	return binary.BigEndian.Uint64(sum[:])
}

const (
	// how often a transaction is restarted until nobody commits at that moment, at 50 µs each
	besideTries  = 200
	signPatience = 5 * time.Second // as long as SQLite waits for a lock, whatever else the question waited for
)

// revBeside is revOf in WAL mode, where commits leave the change counter of the file unchanged.
// Only a connection can notice a new version, by a number of its own. So one connection numbers the versions for all:
// it reads its number before and after a transaction on c begins. If the numbers are equal,
// nobody committed in between.
func (r *revision) revBeside(ctx context.Context, c *conn) (uint64, error) {
	w, err := r.signs.get(store.WithPatience(ctx, signPatience))
	if err != nil {
		return 0, err
	}
	defer r.signs.put(w)
	for range besideTries {
		before, err := w.one(dataVersion)
		if err == nil {
			err = c.renew()
		}
		if err != nil {
			return 0, err
		}
		n, wal, err := c.header() // the first that is read
		if err != nil || !wal {
			return r.revNamed(0, uint64(n)), err
		}
		after, err := w.one(dataVersion)
		if err != nil {
			return 0, err
		}
		if before == after {
			return r.revNamed(r.signed, uint64(after)), nil
		}
	}
	return 0, fmt.Errorf("gpkg: others commit all the time: %w", store.ErrChanged)
}

// loads is how often a file is opened again because another one took its name during loading.
const loads = 5

// load opens the file that has the name now. If the file is replaced during loading, load opens the new one.
// Under constant replacement the result may be a file that was replaced before load returns, but never a mix of two.
func (s *Store) load(ctx context.Context) (r *revision, err error) {
	for n := 1; ; n++ {
		r, err = s.loadOnce(ctx)
		if n == loads || ctx.Err() != nil || !errors.Is(err, errReplaced) && (err != nil || r.source.named()) {
			return r, err
		}
		if err == nil {
			if err := r.close(); err != nil {
				return nil, err
			}
		}
	}
}

// errReplaced reports that another file took the name of the source while connections to it were opened.
var errReplaced = errors.New(
	"gpkg: the file was replaced again and again while it was opened; it is opened at the next reload")

// loadOnce opens the file that has the name now, or returns errReplaced.
func (s *Store) loadOnce(ctx context.Context) (r *revision, err error) {
	src, err := inspect(s.path)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, src.close())
		}
	}()
	if !s.options.Unchanging && src.recent() {
		time.Sleep(timeStep) // later writes have another time
		if src, err = src.read(); err != nil {
			return nil, err
		}
	}
	path, m, err := src.readable(s.options.DataDir, s.options.Unchanging)
	if err != nil {
		return nil, err
	}
	f, err := s.openFile(src, path, m)
	if err != nil {
		return nil, src.explain(err)
	}
	r, err = s.loadFrom(ctx, src, f)
	if err != nil {
		if !src.named() {
			err = fmt.Errorf("%w: %w", errReplaced, err) // SQLite may have met the journal of the other file
		}
		return nil, errors.Join(src.explain(err), f.pool.close(), f.signs.close())
	}
	return r, nil
}

// openedFile has all connections to one file. Nothing else is opened by name later, so that all are to the same file.
type openedFile struct {
	path   string
	mode   mode
	stamp  fileStamp
	survey *conn // of the pool, reads the layers in
	pool   *pool
	signs  *pool
}

// openFile opens all connections to the file of src, or to the copy of it that path names.
// It returns errReplaced where the name has gone to another file, since some of them may be to that one.
func (s *Store) openFile(src source, path string, m mode) (_ *openedFile, err error) {
	f := &openedFile{path: path, mode: m}
	f.stamp, _ = stampOf(path)
	if f.survey, err = openConn(path, m); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.pool.close(), f.signs.close())
		}
	}()
	f.survey.first = s.limitPages
	if f.pool, err = newPool(s.options.MaxConns-1, func() (*conn, error) {
		return s.reader(path, m, f.survey.encoding)
	}); err != nil {
		return nil, errors.Join(err, f.survey.close())
	}
	f.pool.add(f.survey)
	if f.signs, err = newPool(1, func() (*conn, error) { return openAnother(path, m, f.survey.encoding) }); err != nil {
		return nil, err
	}
	if !src.named() {
		return nil, errReplaced
	}
	return f, nil
}

// lastChange is the latest date in the contents (OGC 12-128r18, table 4), else the given one.
func lastChange(c *conn, otherwise time.Time) time.Time {
	latest := otherwise
	err := c.query("SELECT max(last_change) FROM gpkg_contents", nil, func(r row) error {
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
func (s *Store) loadFrom(ctx context.Context, src source, f *openedFile) (*revision, error) {
	c := f.survey
	c.interrupt(ctx)
	defer c.interrupt(context.Background())
	if t, err := readTable(c, "gpkg_contents"); err != nil {
		return nil, err
	} else if t == nil {
		return nil,
			fmt.Errorf("gpkg: %s is an SQLite file but not a GeoPackage: it has no table gpkg_contents; "+
				"convert it, for example "+
				"with ogr2ogr -f GPKG out.gpkg %s", s.path, filepath.Base(s.path))
	}
	schemaNow, err := c.schema()
	if err != nil {
		return nil, err
	}
	c.survey = schemaNow
	defer func() { c.survey = nil; c.exec("PRAGMA shrink_memory") }()
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
	version := []string{src.state(), schema, string(settings), strconv.Itoa(sideVersion)}
	var rest *store.Survey
	if slices.ContainsFunc(drafts, (*draft).isSampled) {
		version, rest = append(version, "sampled"), &store.Survey{}
	}
	r := &revision{
		catalog: &store.Catalog{Version: hash(version...), Modified: lastChange(c, src.mtime),
			Hidden: unserved.hidden, Bookkeeping: unserved.bookkeeping, Survey: rest},
		layers: map[string]*layer{},
		served: map[string]string{},
		source: src, path: f.path,
		pool: f.pool, signs: f.signs,
		still:  f.mode == immutable,
		counts: s.counts,
		shapes: s.shapes,
	}
	if s.options.Unchanging {
		r.promise = &promise{path: s.path, file: src.info, log: s.options.Logger}
	}
	if b, err := hex.DecodeString(r.catalog.Version); err == nil {
		r.rev = binary.BigEndian.Uint64(b)
	}
	if err := r.publish(c, drafts); err != nil {
		return nil, err
	}
	if !s.options.AllowEmpty {
		if err := r.catalog.RequireCollections(noLayer); err != nil {
			return nil, fmt.Errorf("gpkg: %w", err)
		}
	}
	if f.pool.attach(side); len(schemaNow.tables) < manyTables {
		if err := f.pool.prepare(); err != nil {
			return nil, err
		}
	}
	if !src.asItWas() {
		r.still = false
		r.pool.distrust() // somebody wrote while it was opened
	}
	r.signed, r.records = rand.Uint64()|1, newRecordsHome(s.options.DataDir, src, r.catalog.Version)
	r.memory = newMemory(s)
	r.indexes = newIndexes(s.options.DataDir, src, r.catalog.Version, s.options.Index)
	r.pool.ready = r.indexes.attach
	if now, ok := stampOf(f.path); ok && now.same(f.stamp) && local(f.path) {
		r.opened = f.stamp
	}
	r.foreign.seen, r.foreign.settled = src, true
	r.refs.Store(1)
	return r, nil
}

// manyTables is the number of tables from which connections read the schema when they are first used.
// SQLite needs 0.3 ms and 30 KB for a table with the index and the triggers that GDAL creates.
// If the side file is deleted before that, these connections fail until the next reload.
const manyTables = 2500

// noLayer is why a file without refused layers serves nothing.
const noLayer = "gpkg_contents lists no table of features or attributes, or the configuration hides all; " +
	"add a layer, or set allow_empty"

// close closes a revision that nobody uses.
func (r *revision) close() error {
	return errors.Join(r.pool.close(), r.signs.close(), r.source.close())
}

// reader opens a connection of a pool to a file whose texts have an encoding.
func (s *Store) reader(path string, m mode, encoding string) (*conn, error) {
	c, err := openAnother(path, m, encoding)
	if err != nil {
		return nil, err
	}
	c.first = s.limitPages
	return c, nil
}

// limitPages bounds the pages that a connection keeps.
func (s *Store) limitPages(c *conn) error {
	kib := pageCache
	if n := s.options.PageCache; n > 0 {
		kib = strconv.FormatInt(max(512, min(16<<10, n>>10/int64(s.options.MaxConns+1))), 10)
	}
	return c.exec("PRAGMA cache_size=-" + kib)
}

// unserved are layers that no draft is made of.
type unserved struct{ hidden, bookkeeping []string }

// drafts lists the layers, refused ones among them.
func (s *Store) drafts(c *conn) (served []*draft, not unserved, err error) {
	list, err := readContents(c)
	if err != nil {
		return nil, not, err
	}
	own, err := readDefinitions(c)
	if err != nil {
		return nil, not, err
	}
	var drafts []*draft
	for _, x := range list {
		d := &draft{contents: x, at: inSide, settings: s.settingsOf(x.table), own: own[strings.ToLower(x.table)],
			uncut: s.options.Uncut}
		delete(own, strings.ToLower(x.table))
		drafts = append(drafts, d)
	}
	for _, name := range sortedKeys(own) { // tables that are no layer for others
		def := own[name]
		drafts = append(drafts, &draft{contents: contents{table: def.Table, kind: "attributes"}, at: inSide,
			settings: s.settingsOf(def.Table), own: def})
	}
	texts, textsErr := readColumnTexts(c)
	if textsErr != nil && !faulty(textsErr) {
		return nil, not, textsErr
	}
	served = drafts[:0]
	for i, d := range drafts {
		name := d.contents.table
		switch {
		case d.settings.Hidden:
			not.hidden = append(not.hidden, name)
			continue
		case d.own == nil && len(d.geometries) == 0 && store.IsBookkeeping("", name) && !s.configures(name):
			not.bookkeeping = append(not.bookkeeping, name)
			continue
		}
		d.n = i
		if err := d.check(c, texts, textsErr); faulty(err) {
			d.refuse("%s", unreadable(err))
		} else if err != nil {
			return nil, not, err
		}
		served = append(served, d)
	}
	return served, not, nil
}

// settingsOf returns the settings of a layer, by its name or else by the id that the name gives.
func (s *Store) settingsOf(layer string) store.Settings {
	if x, ok := s.options.Settings[layer]; ok {
		return x
	}
	return s.options.Settings[store.CollectionID(layer)]
}

// configures reports whether there are settings of a layer.
func (s *Store) configures(layer string) bool {
	_, byName := s.options.Settings[layer]
	_, byID := s.options.Settings[store.CollectionID(layer)]
	return byName || byID
}

// check refuses what is no table of features or attributes. texts are those of readColumnTexts, or textsErr says
// why they cannot be read.
func (d *draft) check(c *conn, texts map[string]map[string]columnText, textsErr error) (err error) {
	if d.own != nil && foldedOtherwise(d.own.Properties, d.own.Relations) {
		d.refuse(store.OldFold)
		return nil
	}
	switch d.kind {
	case "features", "attributes", "aspatial": // the last is of GDAL before GeoPackage 1.2
	case "tiles", "2d-gridded-coverage", "vector-tiles":
		d.refuse("the data type %q is not served, only features and attributes", d.kind)
		return nil
	default:
		d.refuse("the data type %q is not known", d.kind)
		return nil
	}
	if d.table, err = readTable(c, d.contents.table); err != nil {
		return err
	}
	if d.table == nil || len(d.table.columns) == 0 {
		d.refuse("there is no table or view of that name")
		return nil
	}
	hidden := func(column string) bool { return slices.Contains(d.settings.HiddenColumns, column) }
	d.table.columns = slices.DeleteFunc(d.table.columns, func(col tableColumn) bool { return hidden(col.name) })
	if d.kind == "features" && len(d.geometries) == 0 {
		d.refuse("gpkg_geometry_columns does not name its geometry column")
		return nil
	}
	d.chooseGeometry(slices.DeleteFunc(d.geometries, func(g geometryColumn) bool { return hidden(g.geometry) }))
	if textsErr != nil {
		return textsErr
	}
	d.texts = texts[lowered(d.table.name)]
	if d.geometry != "" && !d.refused() {
		col, ok := d.table.column(d.geometry)
		if !ok {
			d.refuse("the geometry column %q does not exist", d.geometry)
			return nil
		}
		d.geometry = col.name
		d.place()
	}
	return nil
}

// chooseGeometry takes the geometry column that the settings name, else the first in the table, and leaves the others
// out. Hidden ones are not among them.
func (d *draft) chooseGeometry(columns []geometryColumn) {
	wanted := d.settings.GeometryColumn
	if d.own != nil && d.own.Geometry != nil && len(columns) > 0 {
		wanted = d.own.Geometry.Column
	}
	place := func(g geometryColumn) int {
		return slices.IndexFunc(d.table.columns, func(col tableColumn) bool {
			return strings.EqualFold(col.name, g.geometry)
		})
	}
	slices.SortStableFunc(columns, func(a, b geometryColumn) int { return place(a) - place(b) })
	at := slices.IndexFunc(columns, func(g geometryColumn) bool {
		return wanted == "" || strings.EqualFold(g.geometry, wanted)
	})
	if at < 0 {
		if wanted != "" {
			d.refuse("there is no column %q with a geometry that is served; name another one in geometry_column",
				wanted)
		}
		return
	}
	d.geometryColumn = columns[at]
	for _, g := range slices.Delete(slices.Clone(columns), at, at+1) {
		if d.settings.GeometryColumn == "" {
			d.warn("column %q is left out: %q is the geometry; geometry_column chooses another one",
				g.geometry, d.geometry)
		}
		d.table.columns = slices.DeleteFunc(d.table.columns, func(col tableColumn) bool {
			return strings.EqualFold(col.name, g.geometry)
		})
	}
}

// side finds or makes the side file and gives each draft its survey. A file that is ready needs none: nil.
func (s *Store) side(ctx context.Context, src source, c *conn, drafts []*draft) (*sideFile, error) {
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
		err := atomically(path, func(tmp string) error { return s.makeSide(ctx, tmp, c, drafts) })
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
		removeOthers(s.options.DataDir, prefix, stem, ".side")
	}
	for _, d := range drafts {
		d.survey = f.surveys[d.contents.table]
	}
	return f, nil
}

// sideOf returns the side file at a path if it has all layers; else nil.
func sideOf(path string, drafts []*draft) *sideFile {
	f := readSide(path)
	for _, d := range drafts {
		if f != nil && !d.refused() && f.surveys[d.contents.table] == nil {
			return nil
		}
	}
	return f
}

// isSampled reports whether most rows of some layer have not been read.
func (f *sideFile) isSampled() bool {
	for _, sv := range f.surveys {
		if sv.Sampled {
			return true
		}
	}
	return false
}

// isSampled reports whether most rows have not been read.
func (d *draft) isSampled() bool { return d.survey != nil && d.survey.Sampled }

func (s *Store) makeSide(ctx context.Context, path string, c *conn, drafts []*draft) error {
	w, err := newSideWriter(path, c.encoding)
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
		if sv == nil && (err == nil || faulty(err)) {
			sv, err = s.examine(ctx, c, w, d)
		}
		if err == nil {
			err = w.put(d.contents.table, sv)
		}
		if err != nil {
			return errors.Join(fmt.Errorf("layer %s: %w", d.contents.table, err), w.c.close())
		}
	}
	return w.finish()
}

// progress reports the progress of reading, to Options.Progress and store.Survey.
func (s *Store) progress(layer string, done, total int) {
	if s.survey != nil {
		s.survey.Note(layer == "", done, total)
	}
	if s.options.Progress != nil {
		s.options.Progress(layer, done, total)
	}
}

// examine surveys a layer. What is wrong with the layer alone stands in its survey, so that the others are served;
// it is an error when the file cannot be read, or the side file not be written.
func (s *Store) examine(ctx context.Context, c *conn, w *sideWriter, d *draft) (*survey, error) {
	bounded, cancel := ctx, context.CancelFunc(func() {})
	if d.table.view {
		bounded, cancel = context.WithTimeout(ctx, s.options.ViewTimeout)
		c.boundValues(s.options.ViewRow)
		defer c.boundValues(maxValue)
	}
	defer cancel()
	c.interrupt(bounded)
	defer c.interrupt(ctx)
	sv, err := d.examine(bounded, c, w, s.progress)
	switch {
	case err == nil || ctx.Err() != nil:
		return sv, err
	case bounded.Err() != nil:
		return &survey{Fault: fmt.Sprintf("the view did not end within %v; store its rows as a table, "+
			"or raise limits.view_timeout", s.options.ViewTimeout)}, nil
	case d.table.view && tooBig(err):
		return &survey{
			Fault: fmt.Sprintf("the view reads or computes a value of more than %d MiB, the most for a view; "+
				"shorten it by substr, store the rows as a table, or raise limits.memory, of which that is a part",
				s.options.ViewRow>>20)}, nil
	case faulty(err):
		return &survey{Fault: unreadable(err)}, nil
	}
	return nil, err
}

// publish makes the catalog of the drafts.
func (r *revision) publish(c *conn, drafts []*draft) error {
	for _, d := range drafts {
		if !d.refused() {
			l, err := d.open(c)
			if err != nil {
				return fmt.Errorf("gpkg: layer %s: %w", d.contents.table, err)
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

// resolveReferences gives references the ids under which collections are served, and drops those to
// collections that are not.
func (r *revision) resolveReferences() {
	for _, c := range r.catalog.Collections {
		for i := range c.Properties {
			if p := &c.Properties[i]; p.Ref != "" {
				p.Ref = r.served[p.Ref]
			}
		}
	}
}

func (r *revision) add(d *draft, l *layer) {
	id := l.ID
	if d.settings.ID != "" {
		id = d.settings.ID
	} else if id == "" {
		id = d.table.name
	}
	own := store.CollectionID(cmp.Or(l.ID, d.table.name))
	l.ID = store.Unique(store.CollectionID(id), func(s string) bool { return r.layers[s] != nil })
	l.shapes = r.shapes
	r.layers[l.ID] = l
	if l.Public {
		r.served[own] = l.ID
	}
	l.Collection.IndexNames()
	r.catalog.Collections = append(r.catalog.Collections, l.Collection)
}

// schemaText returns the statements that made the schema.
func schemaText(c *conn) (string, error) {
	var b strings.Builder
	err := c.query("SELECT coalesce(sql, name) FROM main.sqlite_schema ORDER BY rowid", nil, func(r row) error {
		b.WriteString(r.Text(0) + "\n")
		return nil
	})
	return b.String(), err
}

// layer returns the layer of a collection.
func (r *revision) layer(id string) (*layer, error) {
	if l := r.layers[id]; l != nil {
		return l, nil
	}
	return nil, fmt.Errorf("gpkg: collection %q: %w", id, store.ErrNotFound)
}
