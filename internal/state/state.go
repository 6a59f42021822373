// Package state keeps API keys, jobs and the log of changes: what is written by us and is not data.
//
// All statements are written once, for PostgreSQL. A Driver runs them: Open returns a DB in an SQLite file of the data
// folder, postgis.OpenState one in the schema grense of a database. Several processes may use one DB at the same time.
package state

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"
)

// DB keeps keys, jobs and changes. It is safe for concurrent use, also by several processes.
//
// Errors are those of package store: ErrNotFound, ErrChanged, ErrUnavailable, ErrNotWritable and ErrFull.
type DB struct{ d Driver }

// New returns a DB that keeps everything through a driver. The driver sees to the table grense.api_key.
func New(d Driver) *DB { return &DB{d} }

// Close waits for what is in flight.
func (db *DB) Close() error { return db.d.Close() }

// Purpose says what a transaction is for.
type Purpose uint8

const (
	// Read reads keys, which a server that follows another may answer.
	Read Purpose = iota
	// Write changes something, or reads what must be the latest.
	Write
	// Accept writes what has to be finished later: it fails with store.ErrFull unless enough space is reserved for
	// that.
	Accept
	// Finish writes what must be possible on a full disk. It may use the reserved space.
	Finish
	// Long is a Write that may take minutes.
	Long
)

// Driver is a database in which a DB keeps its tables.
type Driver interface {
	// Do runs fn in a transaction, all or nothing. After a lost connection it may run fn once more, from the start.
	// An error of fn comes back as it is.
	Do(ctx context.Context, p Purpose, fn func(Tx) error) error
	Close() error
}

// Tx is a transaction. Statements are those of PostgreSQL that SQLite has too, with arguments $1, $2, … and tables
// named grense.x. Arguments are texts, bytes, integers and times; the zero time is null.
type Tx interface {
	// Exec runs a statement and returns how many rows it changed.
	Exec(sql string, args ...any) (int64, error)
	// Batch runs a statement once for each of n lists of arguments.
	Batch(sql string, n int, args func(i int) []any) error
	// Query calls fn for each row, whose columns scan copies into pointers.
	Query(sql string, args []any, fn func(scan Scan) error) error
	// Has reports whether a table exists and may be used in a way: SELECT, INSERT, DELETE.
	Has(table, privilege string) (bool, error)
	// Lock waits until no other transaction writes to a table, and keeps others from it.
	Lock(table string) error
}

// Scan copies the columns of a row into pointers to texts, bytes and integers, or into a sql.Scanner.
type Scan = func(dest ...any) error

// table is a table that is created when it is first needed.
type table struct{ name, columns string }

// create creates the tables of a list that do not exist.
func create(tx Tx, tables ...table) error {
	missing := false
	for _, t := range tables {
		for _, privilege := range [...]string{"SELECT", "INSERT", "DELETE"} {
			has, err := tx.Has(t.name, privilege)
			if err != nil {
				return err
			}
			missing = missing || !has
		}
	}
	if !missing {
		return nil
	}
	if err := tx.Lock(""); err != nil {
		return err
	}
	for _, t := range tables {
		if _, err := tx.Exec("CREATE TABLE IF NOT EXISTS " + t.name + " (" + t.columns + ")"); err != nil {
			return err
		}
	}
	return nil
}

// must runs a statement that has to change a row; none is the error otherwise.
func must(tx Tx, otherwise error, sql string, args ...any) error {
	n, err := tx.Exec(sql, args...)
	if err == nil && n == 0 {
		err = otherwise
	}
	return err
}

// moment scans a time that may be null, into the zero time.
type moment struct{ *time.Time }

func (m moment) Scan(v any) (err error) {
	switch v := v.(type) {
	case nil:
		*m.Time = time.Time{}
	case time.Time:
		*m.Time = v.UTC()
	case string:
		*m.Time, err = time.Parse(time.RFC3339Nano, v)
	default:
		err = fmt.Errorf("state: a time is a %T", v)
	}
	return err
}

// Nanos returns a time as nanoseconds since 1970; 0 for the zero time.
func Nanos(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

// FromNanos is the inverse of Nanos, in UTC.
func FromNanos(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.Unix(0, n).UTC()
}

// SecretSize is the length of DB.Secret in bytes.
const SecretSize = 32

// NewSecret returns SecretSize random bytes.
func NewSecret() []byte {
	b := make([]byte, SecretSize)
	rand.Read(b) // never fails (crypto/rand)
	return b
}
