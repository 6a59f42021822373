package server

import (
	"slices"
	"strings"

	"grense/api/ogcapi"
	"grense/internal/history"
)

// CodesLike are the codes that a search asks for, of all schemes.
func (c *Call) CodesLike(asked string) ([]CodeRef, error) {
	if asked == "" || len(asked) > 20 || strings.ContainsAny(asked, " /") || !c.HasHistory() {
		return nil, nil
	}
	h, err := c.History()
	if err != nil || h == nil {
		return nil, err
	}
	var out []CodeRef
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
		out = append(out, CodeRef{Code: code, Name: strings.Join(names, ", "), Href: c.CodeHref(s.ID, code)})
	}
	return out, nil
}

// CodeHref is the address of what a code stood for.
func (c *Call) CodeHref(scheme, code string) string {
	return c.Base() + "/codes/" + PathEscape(scheme) + "/" + PathEscape(code)
}

// versionsElsewhere is the address of the versions of features that have none themselves, but whose ids are codes of a
// history; "" where the request names no time, or where there is no such history. Code is that of one feature, or "".
func (c *Call) VersionsElsewhere(code string) string {
	at := First(c.Values["datetime"])
	if at == "" || c.Collection == nil || IsVersioned(c.Collection) || !c.tellsTime(c.Collection) {
		return ""
	}
	scheme := schemeID(c.Collection)
	switch {
	case history.Has(c.Catalog):
		href := c.Base() + "/collections/" + history.VersionsID + "/items?scheme=" + QueryEscape(scheme)
		if code != "" {
			href += "&code=" + QueryEscape(code)
		}
		return href + "&datetime=" + QueryEscape(at)
	case code != "":
		return c.CodeHref(scheme, code)
	}
	return c.Base() + "/codes/" + PathEscape(scheme)
}

// versionsLink is the link to versionsElsewhere; none where there are none.
func (c *Call) VersionsLink(code string) []ogcapi.Link {
	href := c.VersionsElsewhere(code)
	if href == "" {
		return nil
	}
	return []ogcapi.Link{{Rel: "version-history", Type: AsJSON.Media,
		Title: "The divisions as they were, without borders", Href: href}}
}
