package gpkg

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"zombiezen.com/go/sqlite"

	"grense/internal/store"
	"grense/internal/store/sqlq"
)

// Only this file and functions.go depend on the SQLite library.

// maxStatements is the number of prepared statements that a connection caches.
const maxStatements = 64

// mode is how a database is opened.
type mode uint8

const (
	readOnly  mode = iota // mode=ro
	immutable             // immutable=1: no locks, no -wal and -shm; nobody may write
	readWrite             // created if missing
)

// conn is a connection. Only one goroutine at a time may use it.
type conn struct {
	c        *sqlite.Conn
	stmts    map[string]*statement
	clock    int64
	still    bool              // the main database is opened as immutable
	encoding string            // text encoding of the main database, as SQLite names it
	state    int64             // data_version when it was opened; see unchanged
	foreign  int               // foreignWrites.writes when its pages were last discarded
	pinned   *uint64           // revision of the held transaction; nil: none
	halt     chan struct{}     // closed to interrupt c; nil: not created yet
	known    *schemaList       // see schema; nil: not read
	first    func(*conn) error // prepares c on first use, which reads the schema; nil: done
	// used by readTable while all layers are read, since SQLite scans all tables for each; nil: ask SQLite
	survey *schemaList
	index  *indexFile // attached as schema idx; nil: none
	beside int64      // size of the page cache of each attached database in KiB; 0: SQLite's default
	likes  likes
	blob   []byte                       // buffer for a geometry
	trace  func(sql string, args []any) // called for each statement; may be nil
}

type statement struct {
	*sqlite.Stmt
	used int64
	busy bool
}

// fileURI returns the URI of a database file for SQLite.
func fileURI(path, params string) string {
	u := url.URL{Path: filepath.ToSlash(path)}
	return "file:" + u.EscapedPath() + "?" + params
}

// maxValue is the largest size of a text, blob or row in bytes, which limits what a view can compute.
const maxValue = 128 << 20

// openConn opens a database. Its first read is the schema.
func openConn(path string, m mode) (*conn, error) {
	c, err := openAnother(path, m, "")
	if err != nil {
		return nil, err
	}
	if err := c.prepareSchema(); err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

// openWithoutTrees is openConn for a connection that cannot use R-trees.
func openWithoutTrees(path string, m mode) (*conn, error) {
	c, err := openAnother(path, m, "")
	if err != nil {
		return nil, err
	}
	if err := errors.Join(forgetTrees(c), c.prepareSchema()); err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

// openSurvey is openConn for a connection that surveys a file. It cannot use R-trees if the file has very many of them,
// and no view that may read one.
func openSurvey(path string, m mode) (*conn, error) {
	c, err := openWithoutTrees(path, m)
	if err != nil {
		return nil, err
	}
	schema, err := c.schema()
	if err != nil {
		return nil, errors.Join(err, c.close())
	}
	trees := 0
	for _, sql := range schema.tables {
		if strings.HasPrefix(strings.ToUpper(sql), "CREATE VIRTUAL ") {
			trees++
		}
	}
	if trees >= manyTrees && len(schema.views) == 0 {
		return c, nil
	}
	if err := c.close(); err != nil {
		return nil, err
	}
	return openConn(path, m)
}

// forgetTrees makes SQLite unable to use R-trees on a connection, before it has read a schema. It then reads one of
// thousands of tables fast: otherwise it compares the name of each R-tree with those of all tables.
func forgetTrees(c *conn) error { return c.c.SetModule("rtree", nil) }

// prepareSchema sets the size of the page cache and reads the schema with the text encoding.
func (c *conn) prepareSchema() error {
	if err := c.exec("PRAGMA cache_size=-" + pageCache); err != nil {
		return err
	}
	return c.query("PRAGMA main.encoding", nil, func(r row) error {
		c.encoding = r.Text(0)
		return nil
	})
}

// pageCache is the size of a connection's page cache in KiB. SQLite's default of 2 MB is too small for a national
// register.
const pageCache = "16384"

// attach attaches a database without locks, since nobody writes to it.
func (c *conn) attach(path, schema string) error {
	err := c.exec("ATTACH ? AS "+schema, fileURI(path, "mode=ro&immutable=1"))
	if err == nil && c.beside > 0 {
		err = c.exec(fmt.Sprintf("PRAGMA %s.cache_size=-%d", schema, c.beside))
	}
	return err
}

// openAnother opens a database with a known text encoding. It reads the schema only on first use, since that takes a
// second and tens of megabytes for thousands of tables.
func openAnother(path string, m mode, encoding string) (*conn, error) {
	flags, params := sqlite.OpenReadOnly, "mode=ro"
	switch m {
	case immutable:
		params = "mode=ro&immutable=1"
	case readWrite:
		flags, params = sqlite.OpenReadWrite|sqlite.OpenCreate, "mode=rwc"
	}
	c, err := sqlite.OpenConn(fileURI(path, params), flags|sqlite.OpenURI)
	if err != nil {
		return nil, err
	}
	c.SetBusyTimeout(5 * time.Second)
	cn := &conn{c: c, stmts: map[string]*statement{}, still: m == immutable, encoding: encoding}
	cn.boundValues(maxValue)
	err = cn.exec("PRAGMA mmap_size=0")
	if err == nil {
		err = registerFunctions(cn)
	}
	if err == nil {
		cn.state, err = cn.one(dataVersion)
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return cn, nil
}

func (c *conn) close() error {
	if c == nil {
		return nil
	}
	for _, s := range c.stmts {
		s.Finalize() // repeats the error of the last step
	}
	return c.c.Close()
}

// prepare returns a cached or new statement. The caller must call release.
func (c *conn) prepare(sql string) (*statement, error) {
	if s := c.stmts[sql]; s != nil && !s.busy {
		c.clock++
		s.busy, s.used = true, c.clock
		return s, nil
	}
	stmt, tail, err := c.c.PrepareTransient(sql)
	if err != nil {
		return nil, fmt.Errorf("gpkg: %w", err)
	}
	if tail != 0 {
		return nil, errors.Join(fmt.Errorf("gpkg: more than one statement in %q", sql), stmt.Finalize())
	}
	s := &statement{Stmt: stmt, busy: true}
	if c.stmts[sql] == nil {
		c.evict()
		c.clock++
		s.used = c.clock
		c.stmts[sql] = s
	}
	return s, nil
}

// evict finalizes the least recently used statement if there are too many.
func (c *conn) evict() {
	if len(c.stmts) < maxStatements {
		return
	}
	var oldest string
	for sql, s := range c.stmts {
		if !s.busy && (oldest == "" || s.used < c.stmts[oldest].used) {
			oldest = sql
		}
	}
	if oldest != "" {
		c.stmts[oldest].Finalize() // repeats the error of the last step
		delete(c.stmts, oldest)
	}
}

func (c *conn) release(sql string, s *statement) {
	if c.stmts[sql] == s {
		s.Reset() // repeats the error of the last step
		s.ClearBindings()
		s.busy = false
		return
	}
	s.Finalize()
}

// rowsPerSlice is the number of rows after which a statement checks whether its timeSlice is over. Yielding wakes
// another processor, which costs as much as ten rows.
const (
	rowsPerSlice = 32
	timeSlice    = time.Millisecond
)

// query runs a statement and calls fn for each row. It returns an error of fn unchanged.
//
// It yields to other goroutines between rows. The scheduler alone lets each goroutine run for 10 ms: with ten of them,
// a small request would wait for 100 ms whenever it blocks.
func (c *conn) query(sql string, args []any, fn func(row) error) error {
	if c.trace != nil {
		c.trace(sql, args)
	}
	s, err := c.prepare(sql)
	if err != nil {
		return err
	}
	defer c.release(sql, s)
	for i, a := range args {
		if p, ok := a.(sqlq.Folded); ok {
			a = c.likes.add(p)
		}
		if err := bind(s.Stmt, i+1, a); err != nil {
			return err
		}
	}
	var turn time.Time
	for n := 1; ; n++ {
		if n%rowsPerSlice == 0 {
			turn = yieldAfter(turn)
		}
		more, err := s.Step()
		if sqlite.ErrCode(err).ToPrimary() == sqlite.ResultFull {
			return fmt.Errorf("gpkg: %w: %w", store.ErrFull, err)
		}
		if err != nil {
			return fmt.Errorf("gpkg: %w", err)
		}
		if !more {
			return nil
		}
		if fn == nil {
			continue
		}
		if err := fn(row{s.Stmt}); err != nil {
			return err
		}
	}
}

// yieldAfter lets other goroutines run if the time slice that began at turn is over. It returns the start of the
// current slice; the zero time starts one.
func yieldAfter(turn time.Time) time.Time {
	now := time.Now()
	switch {
	case turn.IsZero():
		return now
	case now.Sub(turn) < timeSlice:
		return turn
	}
	runtime.Gosched()
	return time.Now()
}

func (c *conn) exec(sql string, args ...any) error { return c.query(sql, args, nil) }

// one returns the first column of the first row as an integer; 0 if there is no row.
func (c *conn) one(sql string, args ...any) (n int64, err error) {
	err = c.query(sql, args, func(r row) error { n = r.Int(0); return nil })
	return n, err
}

// script runs several statements.
func (c *conn) script(sql string) error {
	for strings.TrimSpace(sql) != "" {
		s, tail, err := c.c.PrepareTransient(sql)
		if err != nil {
			return fmt.Errorf("gpkg: %w", err)
		}
		if s != nil { // nil for a comment
			_, err = s.Step()
			if err = errors.Join(err, s.Finalize()); err != nil {
				return fmt.Errorf("gpkg: %w", err)
			}
		}
		sql = sql[len(sql)-tail:]
	}
	return nil
}

// transaction runs fn between BEGIN IMMEDIATE and COMMIT, or ROLLBACK if fn fails.
func (c *conn) transaction(fn func() error) error {
	if err := c.exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	err := fn()
	if err == nil {
		err = c.exec("COMMIT")
	}
	if err != nil {
		c.c.SetInterrupt(nil) // otherwise the rollback would be interrupted
		return errors.Join(err, c.exec("ROLLBACK"))
	}
	return nil
}

// utf8Texts is the usual text encoding (GeoPackage 1.3.1, table 1, also allows UTF-16).
const utf8Texts = "UTF-8"

// dataVersion returns a number that changes when another connection changes the file.
const dataVersion = "PRAGMA main.data_version"

// unchanged reports whether nobody has changed the main database since c was opened.
func (c *conn) unchanged() (bool, error) {
	if c.still {
		return true, nil
	}
	v, err := c.one(dataVersion)
	return v == c.state, err
}

// header reads page 1 of the main database: the file change counter (SQLite file format, 1.3.7), which every commit
// changes except in WAL mode, and whether the file is in WAL mode or about to enter it (1.3.3).
func (c *conn) header() (counter uint32, wal bool, err error) {
	err = c.query("SELECT substr(data, 19, 10) FROM sqlite_dbpage('main') WHERE pgno = 1", nil, func(r row) error {
		b := r.Bytes(0, nil)
		if wal = len(b) != 10 || b[0] != 1 || b[1] != 1; len(b) == 10 {
			counter = binary.BigEndian.Uint32(b[6:])
		}
		return nil
	})
	return counter, wal, err
}

// renew ends the read transaction and begins a new one, of the current content.
func (c *conn) renew() error {
	if err := c.exec("COMMIT"); err != nil {
		return err
	}
	return c.exec("BEGIN")
}

// discard does the same, and also discards cached pages and the schema.
func (c *conn) discard() error {
	c.state, c.known = -1, nil
	return c.script("COMMIT; PRAGMA shrink_memory; PRAGMA writable_schema=RESET; BEGIN")
}

// interrupt makes the end of ctx cancel the work of c, until the next call.
func (c *conn) interrupt(ctx context.Context) { c.c.SetInterrupt(ctx.Done()) }

// watch is interrupt until stop is called. Unlike interrupt, it starts no goroutine.
func (c *conn) watch(ctx context.Context) (stop func()) {
	if c.halt == nil {
		c.halt = make(chan struct{})
		c.c.SetInterrupt(c.halt)
	}
	halt := c.halt
	unhook := context.AfterFunc(ctx, func() { close(halt) })
	return func() {
		if !unhook() {
			<-halt
			c.halt = nil
			c.c.SetInterrupt(nil)
		}
	}
}

// snapshot runs fn in a read transaction: the content does not change, and the file is locked once instead of for each
// statement. An immutable file needs no transaction.
func (c *conn) snapshot(ctx context.Context, fn func(*conn) error) (err error) {
	stop := c.watch(ctx)
	defer func() {
		stop()
		if cap(c.blob) > batchBytes {
			c.blob = nil
		}
		if c.still || c.c.AutocommitEnabled() {
			return
		}
		if end := c.exec("COMMIT"); end != nil {
			err = errors.Join(err, end, c.exec("ROLLBACK"))
		}
	}()
	if !c.still {
		if err := c.exec("BEGIN"); err != nil {
			return err
		}
	}
	return fn(c)
}

func bind(s *sqlite.Stmt, i int, a any) error {
	switch a := a.(type) {
	case nil:
		s.BindNull(i)
	case string:
		s.BindText(i, a)
	case int64:
		s.BindInt64(i, a)
	case int:
		s.BindInt64(i, int64(a))
	case float64:
		s.BindFloat(i, a)
	case bool:
		s.BindBool(i, a)
	case []byte:
		s.BindBytes(i, a)
	default:
		return fmt.Errorf("gpkg: no SQL form of %T", a)
	}
	return nil
}

// row is the current row of a query. It is valid until the function that received it returns.
type row struct{ s *sqlite.Stmt }

func (r row) Int(i int) int64     { return r.s.ColumnInt64(i) }
func (r row) Float(i int) float64 { return r.s.ColumnFloat(i) }
func (r row) Text(i int) string   { return r.s.ColumnText(i) }
func (r row) Null(i int) bool     { return r.s.ColumnType(i) == sqlite.TypeNull }
func (r row) Bool(i int) bool     { return r.s.ColumnInt64(i) != 0 }

// Bytes appends a blob or text to dst[:0], to reuse its memory.
func (r row) Bytes(i int, dst []byte) []byte {
	n := r.s.ColumnLen(i)
	if cap(dst) < n {
		dst = make([]byte, n, n+n/4)
	}
	dst = dst[:n]
	r.s.ColumnBytes(i, dst)
	return dst
}

// Start copies the first bytes of a text or blob into dst and returns their number. Texts must be stored as UTF-8.
func (r row) Start(i int, dst []byte) int { return r.s.ColumnBytes(i, dst) }

// kind is the storage class of a value.
type kind uint8

const (
	kindNull kind = iota
	kindInt
	kindFloat
	kindText
	kindBlob
)

func (r row) Kind(i int) kind {
	switch r.s.ColumnType(i) {
	case sqlite.TypeInteger:
		return kindInt
	case sqlite.TypeFloat:
		return kindFloat
	case sqlite.TypeText:
		return kindText
	case sqlite.TypeBlob:
		return kindBlob
	}
	return kindNull
}

// Any returns nil, int64, float64, string or a new []byte.
func (r row) Any(i int) any {
	switch r.Kind(i) {
	case kindInt:
		return r.Int(i)
	case kindFloat:
		return r.Float(i)
	case kindText:
		return r.Text(i)
	case kindBlob:
		return r.Bytes(i, nil)
	}
	return nil
}

// trouble classifies errors of SQLite.
type trouble uint8

const (
	other       trouble = iota
	damaged             // not a database, or a truncated one
	locked              // another program is writing
	unreachable         // cannot be opened or read
	// the journal next to the file belongs to another file that was renamed to its path, or its writer has crashed
	replaced
)

func troubleOf(err error) trouble {
	switch sqlite.ErrCode(err).ToPrimary() {
	case sqlite.ResultNotADB, sqlite.ResultCorrupt:
		return damaged
	case sqlite.ResultBusy, sqlite.ResultLocked:
		return locked
	case sqlite.ResultCantOpen, sqlite.ResultIOErr:
		return unreachable
	case sqlite.ResultReadOnly: // reading would roll back a journal, which needs write access
		return replaced
	}
	return other
}

// boundValues makes SQLite refuse larger values and rows.
func (c *conn) boundValues(most int) { c.c.Limit(sqlite.LimitLength, int32(most)) }

// tooBig reports whether SQLite has refused a value or row because of its size.
func tooBig(err error) bool { return sqlite.ErrCode(err).ToPrimary() == sqlite.ResultTooBig }

// faulty reports whether an error is caused by a statement, such as a view of missing tables or functions, and not by
// the file as a whole.
func faulty(err error) bool {
	switch sqlite.ErrCode(err).ToPrimary() {
	case sqlite.ResultError, sqlite.ResultTooBig, sqlite.ResultNoMem, sqlite.ResultMismatch, sqlite.ResultRange,
		sqlite.ResultAuth:
		return true
	}
	return false
}

// cures maps errors of SQLite about an unreadable view or table to cures.
var cures = [...]struct{ part, cure string }{
	{"no such function", "only the functions of SQLite itself are available, not those of SpatiaLite and the like; " +
		"store the rows of the view as a table"},
	{"no such module",
		"the table needs an extension of SQLite that is not available; store its rows as an ordinary table"},
	{"no such table", "the view uses a table that was dropped or renamed; create the view again"},
	{"no such column", "the view uses a column that was dropped or renamed; create the view again"},
	{"too big",
		fmt.Sprintf("a value or a row has more than %d MiB, the most that is read; shorten it, or leave the layer "+
			"out: set hidden of the collection in the configuration", maxValue>>20)},
	{"", "mend it, or leave it out: set hidden of the collection in the configuration"},
}

// unreadable returns why a layer cannot be read, with the cure.
func unreadable(err error) string {
	text := err.Error()
	for _, x := range cures {
		if at := strings.Index(text, x.part); at >= 0 {
			return "it cannot be read: " + strings.TrimPrefix(text[at:], "gpkg: ") + "; " + x.cure
		}
	}
	return text
}

// pool is a pool of connections to a revision of a file.
type pool struct {
	turns chan struct{} // one token for each idle connection
	all   []*conn
	ready func(*conn) error // called with each connection before get returns it; may be nil

	mu   sync.Mutex
	idle []*conn // a stack: the last used connection has a warm page cache
}

// newPool opens all connections at once, so that files may be removed or replaced later. The caller must verify that
// the path still belongs to the same file.
func newPool(size int, open func() (*conn, error)) (*pool, error) {
	p := &pool{turns: make(chan struct{}, size+1)}
	for range size {
		c, err := open()
		if err != nil {
			return nil, errors.Join(err, p.close())
		}
		p.add(c)
	}
	return p, nil
}

// add adds a connection beyond the size of the pool. It will be used first.
func (p *pool) add(c *conn) {
	p.all = append(p.all, c)
	p.put(c)
}

// atFirst makes all connections, which must be idle, call fn before they are first used, and before what they would
// call now.
func (p *pool) atFirst(fn func(*conn) error) {
	for _, c := range p.all {
		first := c.first
		c.first = func(c *conn) error { return errors.Join(fn(c), first(c)) }
	}
}

// prepare prepares all connections, which must be idle, so that files may be removed later.
func (p *pool) prepare() error {
	for _, c := range p.all {
		if err := c.prepareFirst(); err != nil {
			return err
		}
	}
	return nil
}

// prepareFirst prepares a connection before its first use.
func (c *conn) prepareFirst() error {
	if c.first == nil {
		return nil
	}
	if err := c.first(c); err != nil {
		return err
	}
	c.first = nil
	return nil
}

// distrust makes all connections, which must be idle, treat the file as changed.
func (p *pool) distrust() {
	for _, c := range p.all {
		c.still, c.state = false, -1
	}
}

// get returns an idle connection. The caller must put it back.
func (p *pool) get(ctx context.Context) (*conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := p.turn(ctx); err != nil {
		return nil, err
	}
	p.mu.Lock()
	last := len(p.idle) - 1
	c := p.idle[last]
	p.idle = p.idle[:last]
	p.mu.Unlock()
	err := c.prepareFirst()
	if err == nil && p.ready != nil {
		err = p.ready(c)
	}
	if err != nil {
		p.put(c)
		return nil, err
	}
	return c, nil
}

// turn waits until a connection is idle.
func (p *pool) turn(ctx context.Context) error {
	select {
	case <-p.turns:
		return nil
	default:
	}
	var late <-chan time.Time
	if until, bounded := store.Patience(ctx); bounded {
		timer := time.NewTimer(time.Until(until))
		defer timer.Stop()
		late = timer.C
	}
	select {
	case <-p.turns:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-late:
		return fmt.Errorf("gpkg: %w", store.ErrBusy)
	}
}

func (p *pool) put(c *conn) {
	p.mu.Lock()
	p.idle = append(p.idle, c)
	p.mu.Unlock()
	p.turns <- struct{}{}
}

// use runs fn with a connection in a read transaction. If ctx ends, it returns the error of ctx.
func (p *pool) use(ctx context.Context, fn func(*conn) error) error {
	c, err := p.get(ctx)
	if err != nil {
		return err
	}
	defer p.put(c)
	if err := c.snapshot(ctx, fn); err != nil {
		if ctx.Err() != nil && interrupted(err) {
			return ctx.Err()
		}
		return err
	}
	return nil
}

// interrupted reports whether a statement was interrupted.
func interrupted(err error) bool {
	return sqlite.ErrCode(err).ToPrimary() == sqlite.ResultInterrupt
}

// close closes all connections, which must be idle. p may be nil.
func (p *pool) close() error {
	if p == nil {
		return nil
	}
	var errs []error
	for _, c := range p.all {
		errs = append(errs, c.close())
	}
	return errors.Join(errs...)
}
