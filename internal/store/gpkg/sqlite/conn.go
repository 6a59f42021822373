// Package sqlite opens SQLite databases, runs statements with our SQL functions and describes tables. It is the only
// package that depends on the SQLite library.
package sqlite

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"zombiezen.com/go/sqlite"

	"grense/internal/store"
	"grense/internal/store/sqlq"
)

// maxStatements is the number of prepared statements that a connection caches.
const maxStatements = 64

// Mode is how a database is opened.
type Mode uint8

const (
	ReadOnly  Mode = iota // mode=ro; the file must exist
	Immutable             // immutable=1: no locks, no -wal and -shm; nobody may write
	ReadWrite             // created if missing
)

// Conn is a connection. Only one goroutine at a time may use it.
type Conn struct {
	c        *sqlite.Conn
	stmts    map[string]*statement
	clock    int64
	still    bool              // the main database is opened as immutable
	Encoding string            // text encoding of the main database, as SQLite names it
	state    int64             // data_version when it was opened; see Unchanged
	halt     chan struct{}     // closed to interrupt c; nil: not created yet
	known    *Schema           // see Schema; nil: not read
	frozen   *Schema           // see FreezeSchema; nil: ask SQLite
	First    func(*Conn) error // prepares c when a Pool first returns it, which reads the schema; nil: done
	likes    likes
	// size of the page cache of each attached database in KiB; 0: SQLite's default
	AttachedCache int64
	Trace         func(sql string, args []any) // called for each statement; may be nil
	Owner         any                          // for the user of the connection; this package does not use it
}

type statement struct {
	*sqlite.Stmt
	used int64
	busy bool
}

// uri returns the URI of a database file for SQLite.
func uri(path, params string) string {
	u := url.URL{Path: filepath.ToSlash(path)}
	return "file:" + u.EscapedPath() + "?" + params
}

// MaxValue is the largest size of a text, blob or row in bytes, which limits what a view can compute.
const MaxValue = 128 << 20

// Open opens a database. Its first read is the schema.
func Open(path string, m Mode) (*Conn, error) {
	c, err := OpenUnread(path, m, "")
	if err != nil {
		return nil, err
	}
	if err := c.prepareSchema(); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// OpenWithoutTrees is Open for a connection that cannot use R-trees.
func OpenWithoutTrees(path string, m Mode) (*Conn, error) {
	c, err := OpenUnread(path, m, "")
	if err != nil {
		return nil, err
	}
	if err := errors.Join(ForgetTrees(c), c.prepareSchema()); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// ForgetTrees makes SQLite unable to use R-trees on a connection, before it has read a schema. It then reads one of
// thousands of tables fast: otherwise it compares the name of each R-tree with those of all tables.
func ForgetTrees(c *Conn) error { return c.c.SetModule("rtree", nil) }

// prepareSchema sets the size of the page cache and reads the schema with the text encoding.
func (c *Conn) prepareSchema() error {
	if err := c.Exec("PRAGMA cache_size=-" + PageCache); err != nil {
		return err
	}
	return c.Query("PRAGMA main.encoding", nil, func(r Row) error {
		c.Encoding = r.Text(0)
		return nil
	})
}

// PageCache is the size of a connection's page cache in KiB. SQLite's default of 2 MB is too small for a national
// register.
const PageCache = "16384"

// Attach attaches a database without locks, since nobody writes to it.
func (c *Conn) Attach(path, schema string) error {
	err := c.Exec("ATTACH ? AS "+schema, uri(path, "mode=ro&immutable=1"))
	if err == nil && c.AttachedCache > 0 {
		err = c.Exec(fmt.Sprintf("PRAGMA %s.cache_size=-%d", schema, c.AttachedCache))
	}
	return err
}

// OpenUnread opens a database with a known text encoding. It reads the schema only on first use, since that takes a
// second and tens of megabytes for thousands of tables.
func OpenUnread(path string, m Mode, encoding string) (*Conn, error) {
	flags, params := sqlite.OpenReadOnly, "mode=ro"
	switch m {
	case Immutable:
		params = "mode=ro&immutable=1"
	case ReadWrite:
		flags, params = sqlite.OpenReadWrite|sqlite.OpenCreate, "mode=rwc"
	}
	c, err := sqlite.OpenConn(uri(path, params), flags|sqlite.OpenURI)
	if err != nil {
		return nil, err
	}
	c.SetBusyTimeout(5 * time.Second)
	cn := &Conn{c: c, stmts: map[string]*statement{}, still: m == Immutable, Encoding: encoding}
	cn.BoundValues(MaxValue)
	err = cn.Exec("PRAGMA mmap_size=0")
	if err == nil {
		err = registerFunctions(cn)
	}
	if err == nil {
		cn.state, err = cn.One(dataVersion)
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return cn, nil
}

// Close closes the connection and its statements. c may be nil.
func (c *Conn) Close() error {
	if c == nil {
		return nil
	}
	for _, s := range c.stmts {
		s.Finalize() // repeats the error of the last step
	}
	return c.c.Close()
}

// prepare returns a cached or new statement. The caller must call release.
func (c *Conn) prepare(sql string) (*statement, error) {
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
func (c *Conn) evict() {
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

func (c *Conn) release(sql string, s *statement) {
	if c.stmts[sql] == s {
		s.Reset() // repeats the error of the last step
		s.ClearBindings()
		s.busy = false
		return
	}
	s.Finalize()
}

// RowsPerSlice is the number of rows after which a statement checks whether its timeSlice is over. Yielding wakes
// another processor, which costs as much as ten rows.
const (
	RowsPerSlice = 32
	timeSlice    = time.Millisecond
)

// Query runs a statement and calls fn for each row. It returns an error of fn unchanged.
//
// It yields to other goroutines between rows. The scheduler alone lets each goroutine run for 10 ms: with ten of them,
// a small request would wait for 100 ms whenever it blocks.
func (c *Conn) Query(sql string, args []any, fn func(Row) error) error {
	if c.Trace != nil {
		c.Trace(sql, args)
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
		if n%RowsPerSlice == 0 {
			turn = YieldAfter(turn)
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
		if err := fn(Row{s.Stmt}); err != nil {
			return err
		}
	}
}

// YieldAfter lets other goroutines run if the time slice that began at turn is over. It returns the start of the
// current slice; the zero time starts one.
func YieldAfter(turn time.Time) time.Time {
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

// Exec runs a statement and ignores its rows.
func (c *Conn) Exec(sql string, args ...any) error { return c.Query(sql, args, nil) }

// ExecAll runs statements until one fails.
func (c *Conn) ExecAll(list []string) error {
	for _, sql := range list {
		if err := c.Exec(sql); err != nil {
			return err
		}
	}
	return nil
}

// One returns the first column of the first row as an integer; 0 if there is no row.
func (c *Conn) One(sql string, args ...any) (n int64, err error) {
	err = c.Query(sql, args, func(r Row) error { n = r.Int(0); return nil })
	return n, err
}

// Script runs several statements.
func (c *Conn) Script(sql string) error {
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

// UTF8 is the usual text encoding (GeoPackage 1.3.1, table 1, also allows UTF-16).
const UTF8 = "UTF-8"

// BoundValues makes SQLite refuse larger values and rows.
func (c *Conn) BoundValues(most int) { c.c.Limit(sqlite.LimitLength, int32(most)) }
