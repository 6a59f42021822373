package sqlite

import (
	"context"
	"encoding/binary"
	"errors"
)

// Transaction runs fn between BEGIN IMMEDIATE and COMMIT, or ROLLBACK if fn fails.
func (c *Conn) Transaction(fn func() error) error {
	if err := c.Exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	err := fn()
	if err == nil {
		err = c.Exec("COMMIT")
	}
	if err != nil {
		c.c.SetInterrupt(nil) // otherwise the rollback would be interrupted
		return errors.Join(err, c.Exec("ROLLBACK"))
	}
	return nil
}

const dataVersion = "PRAGMA main.data_version"

// Version returns a number that changes when another connection changes the file.
func (c *Conn) Version() (int64, error) { return c.One(dataVersion) }

// InTransaction reports whether a transaction is open.
func (c *Conn) InTransaction() bool { return !c.c.AutocommitEnabled() }

// IsImmutable reports whether the file was opened as immutable, so that its content cannot change.
func (c *Conn) IsImmutable() bool { return c.still }

// Unchanged reports whether nobody has changed the main database since c was opened.
func (c *Conn) Unchanged() (bool, error) {
	if c.still {
		return true, nil
	}
	v, err := c.One(dataVersion)
	return v == c.state, err
}

// Header reads page 1 of the main database: the file change counter (SQLite file format, 1.3.7), which every commit
// changes except in WAL mode, and whether the file is in WAL mode or about to enter it (1.3.3).
func (c *Conn) Header() (counter uint32, wal bool, err error) {
	err = c.Query("SELECT substr(data, 19, 10) FROM sqlite_dbpage('main') WHERE pgno = 1", nil, func(r Row) error {
		b := r.Bytes(0, nil)
		if wal = len(b) != 10 || b[0] != 1 || b[1] != 1; len(b) == 10 {
			counter = binary.BigEndian.Uint32(b[6:])
		}
		return nil
	})
	return counter, wal, err
}

// Renew ends the read transaction and begins a new one, of the current content.
func (c *Conn) Renew() error {
	if err := c.Exec("COMMIT"); err != nil {
		return err
	}
	return c.Exec("BEGIN")
}

// Discard does the same as Renew, and also discards cached pages and the schema.
func (c *Conn) Discard() error {
	c.state, c.known = -1, nil
	return c.Script("COMMIT; PRAGMA shrink_memory; PRAGMA writable_schema=RESET; BEGIN")
}

// Interrupt makes the end of ctx cancel the work of c, until the next call.
func (c *Conn) Interrupt(ctx context.Context) { c.c.SetInterrupt(ctx.Done()) }

// Watch is Interrupt until stop is called. Unlike Interrupt, it starts no goroutine.
func (c *Conn) Watch(ctx context.Context) (stop func()) {
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

// Within runs fn, which the end of ctx interrupts. The end of the context of Watch does not interrupt fn.
func (c *Conn) Within(ctx context.Context, fn func() error) error {
	outer := c.halt
	c.halt = nil
	stop := c.Watch(ctx)
	err := fn()
	stop()
	c.halt = outer
	c.c.SetInterrupt(outer)
	return err
}

// snapshot runs fn in a read transaction: the content does not change, and the file is locked once instead of for each
// statement. An immutable file needs no transaction.
func (c *Conn) snapshot(ctx context.Context, fn func(*Conn) error) (err error) {
	stop := c.Watch(ctx)
	defer func() {
		stop()
		if c.still || c.c.AutocommitEnabled() {
			return
		}
		if end := c.Exec("COMMIT"); end != nil {
			err = errors.Join(err, end, c.Exec("ROLLBACK"))
		}
	}()
	if !c.still {
		if err := c.Exec("BEGIN"); err != nil {
			return err
		}
	}
	return fn(c)
}
