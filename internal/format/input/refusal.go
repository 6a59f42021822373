package input

import (
	"errors"
	"fmt"
	"strings"
)

// Action is what was done about a fault.
type Action string

const (
	Refused  Action = "refused"  // nothing is imported
	Repaired Action = "repaired" // the geometry was changed: made valid, a ring closed, an extra ordinate dropped
	Turned   Action = "turned"   // rings were reversed; the geometry is the same
	Dropped  Action = "dropped"  // rings or lines with too few positions were left out
	Kept     Action = "kept"     // an invalid geometry that cannot be repaired; it is written unchanged
	Warning  Action = "warning"  // data are written unchanged, but should be reviewed
)

// ErrRefused is in the chain of every error that is caused by the content of a file. The report has the faults.
var ErrRefused = errors.New("ingest: refused")

// Refuse returns an error about a whole file. Its text includes the cure.
func Refuse(format string, a ...any) error {
	return fmt.Errorf("%w: %s", ErrRefused, fmt.Sprintf(format, a...))
}

// Reason returns the text of an error without the prefix of ErrRefused.
func Reason(err error) string { return strings.ReplaceAll(err.Error(), ErrRefused.Error()+": ", "") }
