package sqlite

import (
	"fmt"

	"zombiezen.com/go/sqlite"
)

// Trouble classifies errors of SQLite.
type Trouble uint8

// The troubles. The zero Trouble is any other error.
const (
	other       Trouble = iota
	Damaged             // not a database, or a truncated one
	Locked              // another program is writing
	Unreachable         // cannot be opened or read
	// the journal next to the file belongs to another file that was renamed to its path, or its writer has crashed
	Replaced
)

// TroubleOf returns the trouble that an error is about.
func TroubleOf(err error) Trouble {
	switch sqlite.ErrCode(err).ToPrimary() {
	case sqlite.ResultNotADB, sqlite.ResultCorrupt:
		return Damaged
	case sqlite.ResultBusy, sqlite.ResultLocked:
		return Locked
	case sqlite.ResultCantOpen, sqlite.ResultIOErr:
		return Unreachable
	case sqlite.ResultReadOnly: // reading would roll back a journal, which needs write access
		return Replaced
	}
	return other
}

// IsTooBig reports whether SQLite has refused a value or row because of its size.
func IsTooBig(err error) bool { return sqlite.ErrCode(err).ToPrimary() == sqlite.ResultTooBig }

// IsFaulty reports whether an error is caused by a statement, such as a view of missing tables or functions, and not by
// the file as a whole.
func IsFaulty(err error) bool {
	switch sqlite.ErrCode(err).ToPrimary() {
	case sqlite.ResultError, sqlite.ResultTooBig, sqlite.ResultNoMem, sqlite.ResultMismatch, sqlite.ResultRange,
		sqlite.ResultAuth:
		return true
	}
	return false
}

// IsInterrupted reports whether a statement was interrupted.
func IsInterrupted(err error) bool {
	return sqlite.ErrCode(err).ToPrimary() == sqlite.ResultInterrupt
}

// ErrEnough is returned by functions that want no more rows of a query.
var ErrEnough = fmt.Errorf("gpkg: enough rows")

// Enough replaces ErrEnough by nil.
func Enough(err error) error {
	if err == ErrEnough {
		return nil
	}
	return err
}
