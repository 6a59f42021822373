package state

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"grense/internal/store"
)

// file is a Driver that stores everything in an SQLite file.
type file struct {
	path string
	mu   sync.Mutex
	c    *sqlite.Conn // nil: closed
}

// busyTime is how long a transaction waits for other processes.
const busyTime = 5 * time.Second

// Open opens the SQLite file at path. A missing file is created with mode 0600.
func Open(ctx context.Context, path string) (*DB, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("state: %w", err)
	}
	empty, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600) // SQLite would create a file that everybody can read
	if err != nil {
		return nil, fmt.Errorf("state: %w", err)
	}
	if err := empty.Close(); err != nil {
		return nil, fmt.Errorf("state: %w", err)
	}
	uri := url.URL{Path: filepath.ToSlash(path)}
	c, err := sqlite.OpenConn("file:"+uri.EscapedPath()+"?mode=rw", sqlite.OpenReadWrite|sqlite.OpenURI)
	if err != nil {
		return nil, fmt.Errorf("state: %s: %w", path, err)
	}
	c.SetBusyTimeout(busyTime)
	f := &file{path: path, c: c}
	if err := f.Do(ctx, Write, f.migrate); err != nil {
		return nil, errors.Join(fmt.Errorf("state: %s: %w", path, err), c.Close())
	}
	return New(f), nil
}

// fileVersion is the user_version of a file. Raise it with each change of the tables, and add a step to migrate. Old
// programs wrote files of version 0, whose tables are those of version 1.
// Version 2 added the terms of keys, which older programs ignore.
const fileVersion = 2

// migrate refuses a file of a newer program, upgrades an older one and creates the tables of keys.
func (f *file) migrate(tx Tx) error {
	var v int
	if err := tx.Query("PRAGMA user_version", nil, func(scan Scan) error { return scan(&v) }); err != nil {
		return err
	}
	if v > fileVersion {
		return fmt.Errorf("it was written by a newer version of Grense (state version %d, this program knows %d); "+
			"start that version, or name another --data-dir", v, fileVersion)
	}
	if v < fileVersion {
		if _, err := tx.Exec(fmt.Sprintf("PRAGMA user_version=%d", fileVersion)); err != nil {
			return err
		}
	}
	return create(tx, keyTable, termsTable, useTable)
}

// Do runs fn between BEGIN IMMEDIATE and COMMIT. It waits for transactions of other processes.
func (f *file) Do(ctx context.Context, p Purpose, fn func(Tx) error) error {
	if p == Accept {
		if err := f.reserve(); err != nil {
			return err
		}
	}
	err := f.do(ctx, fn)
	if p != Finish || !errors.Is(err, store.ErrFull) || os.Truncate(f.reservePath(), 0) != nil {
		return err
	}
	err = f.do(ctx, fn)
	f.reserve() // as much as there is space for; Accept reports a lack
	return err
}

func (f *file) do(ctx context.Context, fn func(Tx) error) (err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.c == nil {
		return fmt.Errorf("state: it is closed: %w", store.ErrUnavailable)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	f.c.SetInterrupt(ctx.Done())
	end, err := sqlitex.ImmediateTransaction(f.c)
	if err == nil {
		err = fn(fileTx{f.c})
		end(&err)
	}
	f.c.SetInterrupt(nil)
	switch sqlite.ErrCode(err).ToPrimary() {
	case sqlite.ResultFull:
		err = fmt.Errorf("state: %w: %w", store.ErrFull, err)
	case sqlite.ResultReadOnly, sqlite.ResultCantOpen, sqlite.ResultIOErr: // the first if the file was deleted, too
		err = fmt.Errorf("state: %w: %w", store.ErrNotWritable, err)
	}
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// Close waits for the transaction in flight, if any.
func (f *file) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.c == nil {
		return nil
	}
	err := f.c.Close()
	f.c = nil
	return err
}

// reserveBytes is the size of a file that reserves disk space. When the disk is full, that space serves to revoke keys
// and to finish accepted jobs.
const reserveBytes = 64 << 10

func (f *file) reservePath() string { return f.path + "-room" }

// reserve fills the reserve file. It returns ErrFull if there is not enough space.
func (f *file) reserve() error {
	r, err := os.OpenFile(f.reservePath(), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("state: %w: %w", store.ErrNotWritable, err)
	}
	defer r.Close()
	info, err := r.Stat()
	if err != nil {
		return fmt.Errorf("state: %w", err)
	}
	if info.Size() >= reserveBytes {
		return nil
	}
	b := make([]byte, reserveBytes-info.Size())
	rand.Read(b) // no file system can compress it
	if _, err := r.Write(b); err != nil {
		return fmt.Errorf("state: %w: %w", store.ErrFull, err)
	}
	return nil
}

// fileTx is a transaction in a file. Only one process writes at a time, so tables need no locks.
type fileTx struct{ c *sqlite.Conn }

func (fileTx) Lock(string) error { return nil }

// sqliteForm translates statements from PostgreSQL to SQLite.
var sqliteForm = strings.NewReplacer("grense.api_key", "grense_key", "grense.", "grense_", "$", "?",
	"BIGINT", "INTEGER", "BYTEA", "BLOB", ` COLLATE "C"`, "",
	" FOR UPDATE SKIP LOCKED", "", " FOR UPDATE", "")

func (t fileTx) Has(table, _ string) (has bool, err error) {
	err = t.Query("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = $1", []any{sqliteForm.Replace(table)},
		func(Scan) error { has = true; return nil })
	return has, err
}

func (t fileTx) Exec(sql string, args ...any) (int64, error) {
	err := t.Query(sql, args, nil)
	return int64(t.c.Changes()), err
}

func (t fileTx) Batch(sql string, n int, args func(i int) []any) error {
	for i := range n {
		if err := t.Query(sql, args(i), nil); err != nil {
			return err
		}
	}
	return nil
}

// timeForm is the format of times in the file.
const timeForm = "2006-01-02T15:04:05.000000000Z"

func (t fileTx) Query(sql string, args []any, fn func(Scan) error) error {
	for i, a := range args {
		switch a, is := a.(time.Time); {
		case is && a.IsZero():
			args[i] = nil
		case is:
			args[i] = a.UTC().Format(timeForm)
		}
	}
	o := &sqlitex.ExecOptions{Args: args}
	if fn != nil {
		o.ResultFunc = func(row *sqlite.Stmt) error { return fn(func(dest ...any) error { return scanRow(row, dest) }) }
	}
	return sqlitex.Execute(t.c, sqliteForm.Replace(sql), o)
}

func scanRow(row *sqlite.Stmt, dest []any) error {
	for i, d := range dest {
		switch d := d.(type) {
		case *string:
			*d = row.ColumnText(i)
		case *int64:
			*d = row.ColumnInt64(i)
		case *int:
			*d = row.ColumnInt(i)
		case *[]byte:
			*d = make([]byte, row.ColumnLen(i))
			row.ColumnBytes(i, *d)
		case sql.Scanner:
			var v any
			if !row.ColumnIsNull(i) {
				v = row.ColumnText(i)
			}
			if err := d.Scan(v); err != nil {
				return err
			}
		default:
			return fmt.Errorf("state: a column is scanned into a %T", d)
		}
	}
	return nil
}
