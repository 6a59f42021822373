package server

import (
	"slices"
	"sync/atomic"

	"grense/internal/server/limit"
	"grense/internal/store"
)

// records are the collections behind the place-name searches that soap.collections can publish.
var records = []string{"navnesak", "vedtak", "samlevedtak", "skrivemaate", "bok", "kartprodukt"}

// withRecords is a store whose catalog publishes records.
type withRecords struct {
	limit.Store
	last atomic.Pointer[shownCatalog]
}

// shownCatalog is a catalog of the store and its version with records.
type shownCatalog struct{ of, shown *store.Catalog }

// Catalog returns the same catalog as long as the store does.
func (s *withRecords) Catalog() *store.Catalog {
	of := s.Store.Catalog()
	if last := s.last.Load(); last != nil && last.of == of {
		return last.shown
	}
	shown := *of
	shown.Collections = slices.Clone(of.Collections)
	for i, c := range shown.Collections {
		if slices.Contains(records, c.ID) && len(c.Title) > 0 {
			public := *c
			public.Public = true
			shown.Collections[i] = &public
		}
	}
	s.last.CompareAndSwap(s.last.Load(), &shownCatalog{of, &shown})
	if last := s.last.Load(); last.of == of {
		return last.shown
	}
	return &shown
}
