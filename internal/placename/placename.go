// Package placename answers the eleven place-name searches: it turns a search object into one store.Query over the
// record kind that is searched, and the records into hits. It knows neither XML nor SQL.
//
// The rules of matching. Different fields all restrict, the values of one list are alternatives, absent fields do not
// restrict. Texts are compared folded (cql2.Norm): a name is equal as a whole, with * for any run and ? for one
// character of the folded text. Full stops at its end do not count; a slash, or a dash between blanks, separates
// several names, of which one must match. A free text (description, remark, title ...) is contained, or with a
// wildcard equal as a whole; one of a single character is equal. A pattern needs two characters other than wildcards
// and blanks, unless another criterion than a flag narrows the search. Fields that describe one related record, such
// as type and text of a remark, hold for the same record. Etter is strictly later, Foer strictly earlier; both hold
// for the same moment.
//
// Hits come by importance of the place (the register's rang), then by number; cases and decisions latest first; books
// and map products by title, sheet and year. For a name without wildcard those that are equal but for case come
// before those that are equal only when folded: Bø before Bo.
//
// A search with more hits than Options.MaxHits is refused, never cut. All hits are reached by slices: by
// municipality, and by windows of oppdatertEtter and oppdatertFoer that meet between two whole seconds (Etter
// 11:59:59.5, Foer 12:00:59.5, and so on), since register times are whole seconds and a moment on an edge belongs to
// neither window.
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

// Options bound the searches. A zero field has its default.
type Options struct {
	MaxHits      int // of one search; defaults to 5000
	MaxName      int // characters of a place name or expression; defaults to 200
	MaxText      int // characters of any other text; defaults to 1000
	MaxItems     int // values of one list; defaults to 1000
	UnknownCodes UnknownCodes
	// of geometries, which are written x before y whatever the authority says; defaults to crs.ETRS89
	CRS crs.ID
}

// UnknownCodes says what becomes of a code that its list does not have.
type UnknownCodes uint8

const (
	RefuseCodes UnknownCodes = iota // it is refused, and the nearest codes named
	NoMatch                         // it matches nothing
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

// Service answers searches from a store that holds a register of place names. It is safe for concurrent use.
type Service struct {
	store      store.Store
	options    Options
	codes      atomic.Pointer[codeLists] // of the catalog that is served
	candidates int                       // maxCandidates
	similar    int                       // maxSimilar
}

var _ api.Searcher = (*Service)(nil)

// New makes a Service. The store stays the caller's.
func New(st store.Store, o Options) *Service {
	if st == nil {
		panic("placename.New: a store is required")
	}
	return &Service{store: st, options: o.withDefaults(), candidates: maxCandidates, similar: maxSimilar}
}

// Search runs the search of r. What the caller did wrong comes back as *api.Refusal, all of it; other
// errors are *problem.Error or the context's. The ids of the hits are known when Search returns; Next reads the hits.
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

// classify gives an error of the store a class. Errors of the context stay as they are.
func classify(err error) error {
	// of a store that is shared with others, such as that it is busy
	if _, known := errors.AsType[*problem.Error](err); known {
		return err
	}
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	// the data were swapped between two queries
	case errors.Is(err, store.ErrChanged), errors.Is(err, store.ErrNotFound):
		return problem.New(problem.Unavailable, fmt.Errorf("%w: %w", api.ErrChanged, err),
			"the data have just changed; try again")
	case errors.Is(err, store.ErrUnavailable):
		return problem.New(problem.Unavailable, err, "the data cannot be reached now; try again")
	}
	return problem.New(problem.Internal, err, "")
}
