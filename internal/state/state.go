// Package state stores API keys, jobs and the log of changes: what Grense itself writes, apart from the data.
//
// Each statement is written once, in the SQL that PostgreSQL and SQLite share. A Driver runs it: Open returns a DB in
// an SQLite file, postgis.OpenState one in the schema grense of a database. Several processes may use one DB at a time.
package state

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"
)

// DB stores keys, jobs and changes. It is safe for concurrent use, also by several processes.
//
// Its errors are those of package store: ErrNotFound, ErrChanged, ErrUnavailable, ErrNotWritable and ErrFull.
type DB struct{ d Driver }

// New returns a DB that uses a driver. The driver creates the table grense.api_key.
func New(d Driver) *DB { return &DB{d} }

// Close waits for the transaction in flight, if any, and closes the driver.
func (db *DB) Close() error { return db.d.Close() }

// Purpose is the kind of a transaction.
type Purpose uint8

const (
	// Read only reads keys; a replica of the database may answer.
	Read Purpose = iota
	// Write changes something, or reads data that must be current.
	Write
	// Accept writes something that must be finished later. It fails with store.ErrFull if not enough space is reserved
	// for finishing it.
	Accept
	// Finish writes something that must be possible on a full disk. It may use the reserved space.
	Finish
	// Long is a Write that may take minutes.
	Long
)

// Driver is a database for the tables of a DB.
type Driver interface {
	// Do runs fn in a transaction. It returns an error of fn unchanged. After a lost connection it may run fn once
	// more, from the beginning.
	Do(ctx context.Context, p Purpose, fn func(Tx) error) error
	Close() error
}

// Tx is a transaction. Statements use the SQL that PostgreSQL and SQLite share, with arguments $1, $2, … and tables
// named grense.x. Arguments are strings, byte slices, integers and times; the zero time is null.
type Tx interface {
	// Exec runs a statement and returns the number of rows that it changed.
	Exec(sql string, args ...any) (int64, error)
	// Batch runs a statement once for each of n lists of arguments.
	Batch(sql string, n int, args func(i int) []any) error
	// Query calls fn for each row; fn calls scan to copy the columns into pointers.
	Query(sql string, args []any, fn func(scan Scan) error) error
	// Has reports whether a table exists and the role has a privilege on it: SELECT, INSERT or DELETE.
	Has(table, privilege string) (bool, error)
	// Lock waits until no other transaction writes to a table, and blocks other writers until this one ends.
	Lock(table string) error
}

// Scan copies the columns of a row into pointers to strings, byte slices and integers, or into a sql.Scanner.
type Scan = func(dest ...any) error

// table is a table that is created on first use.
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

// must runs a statement that must change a row. If it changes none, the error is otherwise.
func must(tx Tx, otherwise error, sql string, args ...any) error {
	n, err := tx.Exec(sql, args...)
	if err == nil && n == 0 {
		err = otherwise
	}
	return err
}

// moment scans a nullable time; null becomes the zero time.
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
