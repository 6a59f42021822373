package enrich

import (
	"errors"

	"grense/internal/history"
	"grense/internal/problem"
)

// Translation is a Finder that adds the code and the name on another day. It is for one goroutine.
type Translation struct {
	Codes *history.Translator
	Added [2]string // names of the columns

	Ambiguous int    // rows with a code that corresponds to several codes
	Asked     string // for history.ErrAmbiguous: the code
	Several   string // for history.ErrAmbiguous: its successors, separated by blanks
}

// Columns returns the columns for the other day's code and name.
func (t *Translation) Columns() []string { return t.Added[:] }

// At returns a fault: only codes can be translated.
func (t *Translation) At(dst []string, _, _ float64) ([]string, string, error) {
	return dst, "there is no code", nil
}

// Code translates a code. An error other than *Fault is history.ErrAmbiguous.
func (t *Translation) Code(dst []string, code string) ([]string, bool, error) {
	r, err := t.Codes.Translate(code)
	if errors.Is(err, history.ErrAmbiguous) {
		t.Asked, t.Several = code, r.Code
	}
	if err != nil {
		return dst, false, err
	}
	if r.Ambiguous {
		t.Ambiguous++
	}
	if r.Fault != "" {
		return dst, r.Restored, &Fault{problem.Sayf("%s", r.Fault)}
	}
	return append(dst, r.Code, r.Name), r.Restored, nil
}
