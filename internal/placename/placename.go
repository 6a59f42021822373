// Package placename implements the eleven place-name searches. It converts a search object to a store.Query, and the
// records found to hits. XML and SQL are handled elsewhere.
//
// Matching. A hit must match every field that is present; it matches a list if it matches one of its values. Texts are
// compared after folding (fold.Norm). A name must equal the whole text; * stands for any characters and ? for one, of
// the folded text. Full stops at the end of a name are ignored. A slash, or a dash between spaces, separates
// alternative names. Free text (description, remark, title ...) must occur in the property, or with a wildcard match
// all of it; a single character must equal all of it. A pattern needs two characters other than wildcards and spaces,
// unless another criterion, other than a flag, narrows the search. Fields about one related record, such as type and
// text of a remark, must match the same record. Etter means strictly later and Foer strictly earlier.
//
// Order. Hits are ordered by the importance of the place (rang in the register), then by number; cases and decisions by
// time, latest first; books and map products by title, sheet and year. For a name without wildcards, hits that are
// equal except for case come before those that are equal only after folding: for "bø", Bø before Bo.
//
// A search with more hits than Options.MaxHits is refused; the result is never truncated. A client can read all hits in
// parts: by municipality, or by consecutive periods of oppdatertEtter and oppdatertFoer. Times in the register are
// whole seconds and both bounds are exclusive, so a period should begin and end between two whole seconds: Etter
// 11:59:59.5 and Foer 12:00:59.5, for example.
package placename

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	api "grense/api/placename"
	"grense/internal/geo/crs"
	"grense/internal/problem"
	"grense/internal/store"
)

// Options are limits and settings of a Service. A zero field has its default.
type Options struct {
	MaxHits      int // largest number of hits of a search; default 5000
	MaxName      int // largest length of a place name or expression in characters; default 200
	MaxText      int // largest length of any other text in characters; default 1000
	MaxItems     int // largest number of values in a list; default 1000
	UnknownCodes UnknownCodes
	// CRS of geometries, which are written x before y regardless of the axis order of the CRS; default crs.ETRS89
	CRS crs.ID
}

// UnknownCodes selects what happens to a code that is not in its list.
type UnknownCodes uint8

const (
	RefuseCodes UnknownCodes = iota // the request is refused, and similar codes are suggested
	NoMatch                         // the code matches nothing
)

func (o Options) withDefaults() Options {
	for _, f := range []struct {
		field *int
		value int
	}{{&o.MaxHits, 5000}, {&o.MaxName, 200}, {&o.MaxText, 1000}, {&o.MaxItems, 1000}} {
		if *f.field == 0 {
			*f.field = f.value
		}
	}
	if o.CRS == 0 {
		o.CRS = crs.ETRS89
	}
	return o
}

// Service executes searches in a store that holds a register of place names. It is safe for concurrent use.
type Service struct {
	store      store.Store
	options    Options
	codes      atomic.Pointer[codeLists] // for the current catalog
	candidates int                       // maxCandidates, or less in tests
	similar    int                       // maxSimilar, or less in tests
}

var _ api.Searcher = (*Service)(nil)

// New returns a Service. The caller closes the store.
func New(st store.Store, o Options) *Service {
	if st == nil {
		panic("placename.New: a store is required")
	}
	return &Service{store: st, options: o.withDefaults(), candidates: maxCandidates, similar: maxSimilar}
}

// Search executes the search r. If the request is invalid, the error is an *api.Refusal with all faults; other errors
// are *problem.Error or errors of the context. Search determines the ids of all hits; Next reads the hits.
func (s *Service) Search(ctx context.Context, r api.Request) (api.Answer, error) {
	switch r := r.(type) {
	case *api.FindSteder:
		return find(ctx, s, &stedTreff, func(l *codeLists) *criteria { return s.steder(l, r) }, r.Flags)
	case *api.FindStedsnavn:
		return find(ctx, s, &stedsnavnTreff, func(l *codeLists) *criteria { return s.stedsnavn(l, r) }, r.Flags)
	case *api.FindSkrivemaater:
		return find(ctx, s, &skrivemaateTreff, func(l *codeLists) *criteria { return s.skrivemaater(l, r) }, r.Flags)
	case *api.FindStederForMatrikkelenhetreferanse:
		return find(ctx, s, &matrikkelStedTreff, func(l *codeLists) *criteria {
			return s.matrikkel(l, r, r.Soek)
		}, r.Flags)
	case *api.FindStedsnavnForMatrikkelenhetreferanse:
		return find(ctx, s, &matrikkelStedsnavnTreff, func(l *codeLists) *criteria {
			return s.matrikkel(l, r, api.StedMatrikkelenhetreferanseSoek(r.Soek))
		}, r.Flags)
	case *api.FindSkrivemaaterForMatrikkelenhetreferanse:
		return find(ctx, s, &matrikkelSkrivemaateTreff, func(l *codeLists) *criteria {
			return s.matrikkel(l, r, api.StedMatrikkelenhetreferanseSoek(r.Soek))
		}, r.Flags)
	case *api.FindNavnesaker:
		return find(ctx, s, &navnesakTreff, func(l *codeLists) *criteria { return s.navnesaker(l, r) }, api.Flags{})
	case *api.FindVedtak:
		return find(ctx, s, &vedtakTreff, func(l *codeLists) *criteria { return s.vedtak(l, r) }, api.Flags{})
	case *api.FindSamlevedtak:
		return find(ctx, s, &samlevedtakTreff, func(l *codeLists) *criteria { return s.samlevedtak(l, r) }, api.Flags{})
	case *api.FindBoeker:
		return find(ctx, s, &bokTreff, func(l *codeLists) *criteria { return s.boeker(l, r) }, api.Flags{})
	case *api.FindKartprodukter:
		return find(ctx, s, &kartproduktTreff, func(l *codeLists) *criteria {
			return s.kartprodukter(l, r)
		}, api.Flags{})
	}
	panic(fmt.Sprintf("placename: no search for %T", r))
}

// classify converts an error of the store to a *problem.Error. It returns errors of the context unchanged.
func classify(err error) error {
	// // from a store shared with other requests, for example because it is busy
	if _, known := errors.AsType[*problem.Error](err); known {
		return err
	}
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	// // the data were replaced between two queries
	case errors.Is(err, store.ErrChanged), errors.Is(err, store.ErrNotFound):
		return problem.New(problem.Unavailable, fmt.Errorf("%w: %w", api.ErrChanged, err),
			"the data have just changed; try again")
	case errors.Is(err, store.ErrUnavailable):
		return problem.New(problem.Unavailable, err, "the data cannot be reached now; try again")
	}
	return problem.New(problem.Internal, err, "")
}
