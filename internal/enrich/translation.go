package enrich

import (
	"errors"

	"grense/internal/history"
	"grense/internal/problem"
)

// Translation is a Finder that adds the code of another day and its name. It is for one goroutine.
type Translation struct {
	Codes *history.Translator
	Added [2]string // the columns

	Ambiguous int    // rows whose code is several on the other day
	Asked     string // the code that history.ErrAmbiguous is about
	Several   string // what that is, with blanks between
}

// Columns are the code of the other day and its name.
func (t *Translation) Columns() []string { return t.Added[:] }

// At refuses points: only codes are translated.
func (t *Translation) At(dst []string, _, _ float64) ([]string, string, error) {
	return dst, "there is no code", nil
}

// Code translates a code. An error that is no *Fault is history.ErrAmbiguous.
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
