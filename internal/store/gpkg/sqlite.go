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

// This file is the only one that knows which SQLite library is underneath, with functions.go.

// maxStatements is how many prepared statements a connection keeps.
const maxStatements = 64

// mode says how a database is opened.
type mode uint8

const (
	readOnly  mode = iota // mode=ro
	immutable             // immutable=1: no locks, no -wal and -shm; nobody may write
	readWrite             // made where missing
)

// conn is one connection; it is for one goroutine at a time.
type conn struct {
	c        *sqlite.Conn
	stmts    map[string]*statement
	clock    int64
	still    bool              // the main database is opened as immutable
	encoding string            // of the texts in the main database, as SQLite names it
	state    int64             // of the main database when it was opened; see unchanged
	foreign  int               // how many foreign writes its pages are of; see foreignWrites
	pinned   *uint64           // the revision of the transaction that is held; nil: none is
	halt     chan struct{}     // closed to break off what c does; nil: not made yet
	known    *schemaList       // see schema; nil: not read
	first    func(*conn) error // makes c ready for its first use, which reads the schema; nil: it is
	// what readTable looks names up in while all layers are read, since SQLite goes through all tables for each; nil:
	// SQLite is asked
	survey *schemaList
	index  *indexFile // attached as schema idx; nil: none
	likes  likes
	blob   []byte                       // of a geometry, the same
	trace  func(sql string, args []any) // called for each statement of query; nil: no calls
}

type statement struct {
	*sqlite.Stmt
	used int64
	busy bool
}

// fileURI returns the name of a database file for SQLite, with parameters.
func fileURI(path, params string) string {
	u := url.URL{Path: filepath.ToSlash(path)}
	return "file:" + u.EscapedPath() + "?" + params
}

// maxValue is the most bytes of a text, a blob or a row, which bounds what a view may compute.
const maxValue = 128 << 20

// openConn opens a database. What it reads first is the schema.
func openConn(path string, m mode) (*conn, error) {
	c, err := openAnother(path, m, "")
	if err != nil {
		return nil, err
	}
	if err := c.exec("PRAGMA cache_size=-" + pageCache); err != nil {
		return nil, errors.Join(err, c.close())
	}
	if err := c.query("PRAGMA main.encoding", nil, func(r row) error {
		c.encoding = r.Text(0)
		return nil
	}); err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

// pageCache bounds the pages that a connection keeps, in KiB:
// the 2 MB of SQLite hold too little of a national register.
const pageCache = "16384"

// openAnother opens a database whose texts are known to have an encoding. The schema is read when the connection is
// first asked for something, which for thousands of tables takes a second and tens of megabytes.
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
	for _, s := range c.stmts {
		s.Finalize() // its error repeats that of the last step
	}
	return c.c.Close()
}

// prepare returns a statement that release gives back.
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

// evict drops the statement that was not used for longest when there are too many.
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
		c.stmts[oldest].Finalize() // its error repeats that of the last step
		delete(c.stmts, oldest)
	}
}

func (c *conn) release(sql string, s *statement) {
	if c.stmts[sql] == s {
		s.Reset() // its error repeats that of the last step
		s.ClearBindings()
		s.busy = false
		return
	}
	s.Finalize()
}

// rowsATurn is after how many rows a statement looks whether its turn of aTurn is over.
// Making way wakes another processor, which costs as much as ten rows.
const (
	rowsATurn = 32
	aTurn     = time.Millisecond
)

// query runs one statement and calls fn for each row. An error of fn comes back as it is.
//
// Rows by the thousand make way for other goroutines: the scheduler alone lets each run for 10 ms, and ten of them
// would keep a request of a feature waiting for 100 ms whenever it has to wait for anything.
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
		if n%rowsATurn == 0 {
			turn = makeWay(turn)
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

// makeWay lets other goroutines run when a turn that began at a time is over, and returns when the present one began;
// the zero time begins one.
func makeWay(turn time.Time) time.Time {
	now := time.Now()
	switch {
	case turn.IsZero():
		return now
	case now.Sub(turn) < aTurn:
		return turn
	}
	runtime.Gosched()
	return time.Now()
}

func (c *conn) exec(sql string, args ...any) error { return c.query(sql, args, nil) }

// one returns the first column of the first row as a number; 0 when there is none.
func (c *conn) one(sql string, args ...any) (n int64, err error) {
	err = c.query(sql, args, func(r row) error { n = r.Int(0); return nil })
	return n, err
}

// script runs statements one after the other.
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

// transaction runs fn between BEGIN IMMEDIATE and COMMIT, or ROLLBACK when it fails.
func (c *conn) transaction(fn func() error) error {
	if err := c.exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	err := fn()
	if err == nil {
		err = c.exec("COMMIT")
	}
	if err != nil {
		c.c.SetInterrupt(nil) // else nothing would be rolled back
		return errors.Join(err, c.exec("ROLLBACK"))
	}
	return nil
}

// utf8Texts is the encoding that files have, but for a few (GeoPackage 1.3.1, table 1, takes UTF-16 too).
const utf8Texts = "UTF-8"

// dataVersion asks for a number that changes when another connection changes the file.
const dataVersion = "PRAGMA main.data_version"

// unchanged reports whether nobody has changed the main database since c was opened.
func (c *conn) unchanged() (bool, error) {
	if c.still {
		return true, nil
	}
	v, err := c.one(dataVersion)
	return v == c.state, err
}

// header reads, of page 1 of the main database, the file change counter (SQLite file format, 1.3.7), which no commit
// leaves as it was but those in WAL mode, and whether it is in that mode or on its way there (1.3.3).
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

// renew ends the transaction of a snapshot and begins another one, of what the file holds now.
func (c *conn) renew() error {
	if err := c.exec("COMMIT"); err != nil {
		return err
	}
	return c.exec("BEGIN")
}

// discard ends the transaction of a snapshot and begins another one, which reads pages and schema again.
func (c *conn) discard() error {
	c.state, c.known = -1, nil
	return c.script("COMMIT; PRAGMA shrink_memory; PRAGMA writable_schema=RESET; BEGIN")
}

// interrupt lets the end of ctx cancel the work of c, until the next call.
func (c *conn) interrupt(ctx context.Context) { c.c.SetInterrupt(ctx.Done()) }

// watch is interrupt until stop is called, without the goroutine that interrupt starts.
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

// snapshot runs fn in a transaction for reading, which is locked once and not for each statement.
// The state of the file is one throughout. A file that nobody changes needs none.
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

// row is the current row of a query; valid until the function it was given to returns.
type row struct{ s *sqlite.Stmt }

func (r row) Int(i int) int64     { return r.s.ColumnInt64(i) }
func (r row) Float(i int) float64 { return r.s.ColumnFloat(i) }
func (r row) Text(i int) string   { return r.s.ColumnText(i) }
func (r row) Null(i int) bool     { return r.s.ColumnType(i) == sqlite.TypeNull }
func (r row) Bool(i int) bool     { return r.s.ColumnInt64(i) != 0 }

// Bytes appends a blob or text to dst[:0], so that a buffer can be used again.
func (r row) Bytes(i int, dst []byte) []byte {
	n := r.s.ColumnLen(i)
	if cap(dst) < n {
		dst = make([]byte, n, n+n/4)
	}
	dst = dst[:n]
	r.s.ColumnBytes(i, dst)
	return dst
}

// Start copies the first bytes of a text or blob into dst and returns how many; a text must be stored as UTF-8.
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

// trouble is what an error of SQLite means to us.
type trouble uint8

const (
	other       trouble = iota
	damaged             // not a database, or not a whole one
	locked              // somebody else writes
	unreachable         // it cannot be opened or read
	// a journal lies beside it that is not its own, but of the file that has its name now; or its writer died
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
	case sqlite.ResultReadOnly: // readers write nothing, but they would undo what a journal says
		return replaced
	}
	return other
}

// boundValues makes SQLite refuse values and rows of more bytes.
func (c *conn) boundValues(most int) { c.c.Limit(sqlite.LimitLength, int32(most)) }

// tooBig reports whether an error is such a refusal.
func tooBig(err error) bool { return sqlite.ErrCode(err).ToPrimary() == sqlite.ResultTooBig }

// faulty reports whether an error comes from what a statement asks for, such as a view of functions or tables that are
// not there, and so is no fault of the file as a whole.
func faulty(err error) bool {
	switch sqlite.ErrCode(err).ToPrimary() {
	case sqlite.ResultError, sqlite.ResultTooBig, sqlite.ResultNoMem, sqlite.ResultMismatch, sqlite.ResultRange,
		sqlite.ResultAuth:
		return true
	}
	return false
}

// cures of what SQLite says of a view or table that it cannot read.
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

// unreadable returns for the operator why a layer cannot be read, and the cure.
func unreadable(err error) string {
	text := err.Error()
	for _, x := range cures {
		if at := strings.Index(text, x.part); at >= 0 {
			return "it cannot be read: " + strings.TrimPrefix(text[at:], "gpkg: ") + "; " + x.cure
		}
	}
	return text
}

// pool holds connections to one revision of a file.
type pool struct {
	turns chan struct{} // one for each that nobody uses
	all   []*conn
	ready func(*conn) error // is called with each connection that get returns; nil: nothing is

	mu   sync.Mutex
	idle []*conn // a stack: the last used connection has warm pages
}

// newPool opens all connections at once, so that files that are removed or replaced later do not matter.
// The caller verifies that the name still belongs to the same file.
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

// add adds a connection, which is used before the others: one beyond the size of the pool.
func (p *pool) add(c *conn) {
	p.all = append(p.all, c)
	p.put(c)
}

// attach makes a side file readable from all connections, which nobody uses yet, once they are prepared.
func (p *pool) attach(f *sideFile) {
	for _, c := range p.all {
		if first := c.first; f != nil {
			c.first = func(c *conn) error { return errors.Join(first(c), f.attach(c)) }
		}
	}
}

// prepare prepares all connections, which nobody uses yet, so that nothing depends on files that are removed later.
func (p *pool) prepare() error {
	for _, c := range p.all {
		if err := c.prepareFirst(); err != nil {
			return err
		}
	}
	return nil
}

// prepareFirst prepares a connection that has not been used.
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

// distrust makes connections that nobody uses yet take the file for changed.
func (p *pool) distrust() {
	for _, c := range p.all {
		c.still, c.state = false, -1
	}
}

// get takes a connection. The caller must put it back.
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

// turn waits until a connection is free.
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

// use runs fn with a connection that shows one state of the file; an interruption by ctx comes back as ctx's error.
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

// interrupted reports whether an error is that a statement was broken off.
func interrupted(err error) bool {
	return sqlite.ErrCode(err).ToPrimary() == sqlite.ResultInterrupt
}

// close closes all connections; nobody may use one. A nil pool has none.
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
