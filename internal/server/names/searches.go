package names

import (
	"cmp"
	"slices"
	"strings"

	"grense/internal/cql2"
	"grense/internal/server"
	"grense/internal/store"
	"grense/internal/style"
)

// searchesMost is the number of collections that the search of the landing page offers.
const searchesMost = 4

// Searches returns the first collections of the search.
func (c Namer) Searches() (out []Searched) {
	order := c.SearchOrder()
	for _, coll := range order[:min(len(order), searchesMost)] {
		x := Searched{ID: coll.ID, Title: coll.TitleIn(c.Lang), Property: coll.TitleProperty}
		if l := server.LanguageProperty(coll); l != nil {
			x.Language = l.Name
		}
		out = append(out, x)
	}
	return out
}

// Searched is a collection that the search of the landing page offers.
type Searched struct {
	ID, Title, Property string
	Language            string // property with the language of the titles; "" if there is none
}

// WithoutTypes removes words for kinds of divisions if other words remain, as in "Bærum kommune".
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

// NearName returns the name of a division of these collections that is most similar to a text; "" if none is near.
func (c Namer) NearName(asked string, of []*store.Collection) (string, error) {
	var names []string
	for _, coll := range of {
		if coll.Geometry == nil || style.Dimensions[coll.Geometry.Type] != 2 || coll.Count > OptionsMost {
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

// SearchOrder returns the collections of the search: divisions first, then the smallest ones.
func (c Namer) SearchOrder() []*store.Collection {
	var out []*store.Collection
	for _, coll := range c.Catalog.Collections {
		if p, ok := coll.Find(coll.TitleProperty); coll.Public && ok && !p.Hidden && len(coll.SearchNames()) > 0 {
			out = append(out, coll)
		}
	}
	rank := func(coll *store.Collection) int {
		switch {
		case coll.Geometry != nil && style.Dimensions[coll.Geometry.Type] == 2:
			return 0
		case coll.Geometry != nil:
			return 1
		}
		return 2
	}
	slices.SortStableFunc(out, func(a, b *store.Collection) int { return cmp.Or(rank(a)-rank(b), a.Count-b.Count) })
	return out[:min(len(out), 2*searchesMost)]
}
