package store

import (
	"slices"

	"grense/internal/cql2/fold"
)

// OldFold is the reason for refusing a collection whose search columns were filled by other folding rules.
const OldFold = "its texts for searching are folded as an older Grense did, which finds other names; " +
	"run grense register upgrade FILE; of a database, import the register again"

// Folded returns a copy of the collection with the current fold version on all search columns. A Writer stores this
// copy.
func (c Collection) Folded() Collection {
	c.Properties, c.Relations = foldedProperties(c.Properties), foldedRelations(c.Relations)
	return c
}

func foldedRelations(rs []Relation) []Relation {
	rs = slices.Clone(rs)
	for i := range rs {
		rs[i].Columns, rs[i].Relations = foldedProperties(rs[i].Columns), foldedRelations(rs[i].Relations)
	}
	return rs
}

func foldedProperties(ps []Property) []Property {
	ps = slices.Clone(ps)
	for i := range ps {
		if s := &ps[i].Search; s.Norm != "" || s.Rev != "" {
			s.Fold = fold.NormVersion
		}
	}
	return ps
}

// FoldedOtherwise reports whether some search columns were filled by folding rules other than those of fold.Norm.
func FoldedOtherwise(ps []Property, rs []Relation) bool {
	return slices.ContainsFunc(ps, func(p Property) bool { return p.Search.Old() }) ||
		slices.ContainsFunc(rs, func(r Relation) bool { return FoldedOtherwise(r.Columns, r.Relations) })
}

// Old reports whether the columns were filled by folding rules other than those of fold.Norm.
func (s Search) Old() bool { return (s.Norm != "" || s.Rev != "") && s.Fold != fold.NormVersion }
