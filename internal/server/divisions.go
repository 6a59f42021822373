package server

import (
	"cmp"
	"slices"
	"strings"

	"grense/internal/cql2"
	"grense/internal/store"
)

// searchesMost is how many collections the search of the landing page offers.
const searchesMost = 4

// Searches are the first of the collections that are searched.
func (c *Call) Searches() (out []Searched) {
	order := c.SearchOrder()
	for _, coll := range order[:min(len(order), searchesMost)] {
		x := Searched{ID: coll.ID, Title: c.TitleOf(coll), Property: coll.TitleProperty}
		if l := LanguageProperty(coll); l != nil {
			x.Language = l.Name
		}
		out = append(out, x)
	}
	return out
}

// Searched is a collection that the search of the landing page offers.
type Searched struct {
	ID, Title, Property string
	Language            string // property with the language of the titles; "" when there is none
}

// Divisions are the public collections of areas, those with the fewest features first: counties before municipalities.
func (c *Call) Divisions() (out []*store.Collection) {
	for _, coll := range c.Catalog.Collections {
		if g := coll.Geometry; coll.Public && g != nil && (g.Type == "Polygon" || g.Type == "MultiPolygon") {
			out = append(out, coll)
		}
	}
	slices.SortStableFunc(out, func(a, b *store.Collection) int { return a.Count - b.Count })
	return out
}

// WithoutTypes leaves out words of type beside others, as in "Bærum kommune".
func WithoutTypes(typed string) string {
	words := strings.Fields(typed)
	if kept := slices.DeleteFunc(slices.Clone(words),
		func(w string) bool { return TypeWords[strings.ToLower(w)] != "" }); len(kept) > 0 {
		words = kept
	}
	return strings.Join(words, " ")
}

// TypeWords are words for kinds of divisions, with the ids of their collections.
var TypeWords = map[string]string{
	"kommune": "kommuner", "kommunen": "kommuner", "kommuner": "kommuner", "kommunar": "kommuner",
	"municipality": "kommuner", "municipalities": "kommuner",
	"fylke": "fylker", "fylket": "fylker", "fylker": "fylker", "county": "fylker", "counties": "fylker",
}

// NearName is the name of a division of these collections that is most like what was asked; "" where none is near.
func (c *Call) NearName(asked string, of []*store.Collection) (string, error) {
	var names []string
	for _, coll := range of {
		if coll.Geometry == nil || Dimensions[coll.Geometry.Type] != 2 || coll.Count > OptionsMost {
			continue
		}
		offered, err := c.OptionsFrom(coll)
		if err != nil {
			return "", err
		}
		for _, x := range offered {
			names = append(names, strings.TrimPrefix(x.Title, x.Value+" "))
		}
	}
	return cql2.Nearest(WithoutTypes(asked), names), nil
}

// SearchOrder are the collections that are searched: divisions first, then the smallest ones.
func (c *Call) SearchOrder() []*store.Collection {
	var out []*store.Collection
	for _, coll := range c.Catalog.Collections {
		if p, ok := coll.Find(coll.TitleProperty); coll.Public && ok && !p.Hidden && len(coll.SearchNames()) > 0 {
			out = append(out, coll)
		}
	}
	rank := func(coll *store.Collection) int {
		switch {
		case coll.Geometry != nil && Dimensions[coll.Geometry.Type] == 2:
			return 0
		case coll.Geometry != nil:
			return 1
		}
		return 2
	}
	slices.SortStableFunc(out, func(a, b *store.Collection) int { return cmp.Or(rank(a)-rank(b), a.Count-b.Count) })
	return out[:min(len(out), 2*searchesMost)]
}
