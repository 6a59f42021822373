package input

import (
	"errors"
	"fmt"
	"strings"
)

// Action tells what was done about a fault.
type Action string

const (
	Refused  Action = "refused"  // nothing of the import is written
	Repaired Action = "repaired" // the geometry was changed: made valid, a ring closed, a stray ordinate left out
	Turned   Action = "turned"   // rings were reversed; the geometry is the same
	Dropped  Action = "dropped"  // rings or lines of too few positions were left out
	Kept     Action = "kept"     // an invalid geometry that no repair makes valid; it is written as it is
	Warning  Action = "warning"  // data are written as they are, but one should look
)

// ErrRefused is in the chain of every error that the content of a file caused. The report has the faults.
var ErrRefused = errors.New("ingest: refused")

// Refuse is an error about a whole file. Its text names the cure.
func Refuse(format string, a ...any) error {
	return fmt.Errorf("%w: %s", ErrRefused, fmt.Sprintf(format, a...))
}

// Reason is the text of an error without what every error of this package begins with.
func Reason(err error) string { return strings.ReplaceAll(err.Error(), ErrRefused.Error()+": ", "") }
