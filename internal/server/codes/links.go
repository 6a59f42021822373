package codes

import (
	"math/big"
	"slices"
	"strings"

	"grense/internal/history"
	"grense/internal/server"
	"grense/internal/server/wire"
)

// VersionHref returns the address of the feature of a version that still holds, or of what is known of its code.
func (c Reader) VersionHref(scheme string, v *history.Version) string {
	if href := c.FeatureOf(scheme, v.Code); v.To == 0 && href != "" {
		return href
	}
	return c.Base() + "/codes/" + wire.PathEscape(scheme) + "/" + wire.PathEscape(v.Code)
}

// FeatureOf returns the address of the feature with a code; "" if no collection has codes of the scheme.
func (c Reader) FeatureOf(scheme, code string) string {
	coll := c.CollectionOf(scheme)
	if coll == nil {
		return ""
	}
	return c.Base() + "/collections/" + coll.ID + "/items/" + wire.PathEscape(code)
}

// CodeRef describes one end of an edge.
func (c Reader) CodeRef(s *history.Scheme, v *history.Version, e *history.Edge) server.CodeRef {
	r := server.CodeRef{Code: v.Code, Name: v.Name, Date: e.Event.Date.String(), Event: e.Event.ID, Part: e.Part,
		Units: e.Units, Href: c.VersionHref(s.ID, v)}
	if e.Part && e.People.Known {
		total := int64(0)
		for _, x := range s.Out(e.From) {
			total += x.People.N
		}
		if total > 0 {
			r.Share = ShareOfWhole(big.NewRat(e.People.N, total))
		}
	}
	return r
}

func ShareOfWhole(r *big.Rat) *float64 {
	if r == nil {
		return nil
	}
	f, _ := r.Float64()
	return &f
}

// CodesLike returns the codes of all schemes that match a search.
func (c Reader) CodesLike(asked string) ([]server.CodeRef, error) {
	if asked == "" || len(asked) > 20 || strings.ContainsAny(asked, " /") || !c.HasHistory() {
		return nil, nil
	}
	h, err := c.History()
	if err != nil || h == nil {
		return nil, err
	}
	var out []server.CodeRef
	for _, s := range h.Schemes() {
		code := s.Whole(asked)
		all := s.Meanings(code)
		if len(all) == 0 {
			continue
		}
		var names []string
		for _, v := range all {
			if !slices.Contains(names, v.Name) && v.Name != "" {
				names = append(names, v.Name)
			}
		}
		out = append(out, server.CodeRef{Code: code, Name: strings.Join(names, ", "), Href: c.CodeHref(s.ID, code)})
	}
	return out, nil
}

// CodeHref returns the address of what a code stood for.
func (c Reader) CodeHref(scheme, code string) string {
	return c.Base() + "/codes/" + wire.PathEscape(scheme) + "/" + wire.PathEscape(code)
}
