package server

import (
	"slices"
	"strings"

	"grense/api/ogcapi"
	"grense/internal/server/page"
	"grense/internal/store"
)

// CatalogLD returns the service as a schema.org DataCatalog. It leaves out members that are not configured.
func (c *Call) CatalogLD(links []ogcapi.Link) map[string]any {
	svc := &c.s.Config.Service
	ld := map[string]any{
		"@context":    "https://schema.org/docs/jsonldcontext.jsonld",
		"@type":       "DataCatalog",
		"@id":         c.Base() + "/",
		"url":         c.Base() + "/",
		"name":        svc.Title.In(c.Lang),
		"description": c.Described(),
		"inLanguage":  page.LanguageTag(c.Lang),
	}
	set := func(m map[string]any, name, v string) {
		if v != "" {
			m[name] = v
		}
	}
	if words := svc.Keywords.In(c.Lang); len(words) > 0 {
		ld["keywords"] = words
	}
	set(ld, "termsOfService", svc.Terms)
	set(ld, "license", svc.Licence.URL)
	provider := map[string]any{"@type": "Organization"}
	set(provider, "name", svc.Publisher.Name)
	set(provider, "url", svc.Publisher.URL)
	if svc.Publisher.Address != "" {
		provider["address"] = map[string]any{"@type": "PostalAddress", "streetAddress": svc.Publisher.Address}
	}
	if ct := svc.Contact; ct.Name+ct.Email+ct.Phone+ct.URL != "" {
		point := map[string]any{"@type": "ContactPoint"}
		set(point, "name", ct.Name)
		set(point, "email", ct.Email)
		set(point, "telephone", ct.Phone)
		set(point, "url", ct.URL)
		provider["contactPoint"] = point
	}
	if len(provider) > 1 {
		ld["provider"] = provider
	}
	if links != nil {
		ld["links"] = links
		ld["@context"] = []any{ld["@context"], map[string]any{"links": nil}}
	}
	return ld
}

// Described returns the description of the service, with a note if the data are a demo.
func (c *Call) Described() string {
	d := c.s.Config.Service.Description.In(c.Lang)
	if invented(c.Catalog, c.Collection) {
		d += " " + c.Text("demo.text")
	}
	return d
}

// invented reports whether a collection, or without one any public collection, has invented data.
func invented(cat *store.Catalog, coll *store.Collection) bool {
	if coll != nil {
		return coll.Invented
	}
	return cat != nil && slices.ContainsFunc(cat.Collections,
		func(coll *store.Collection) bool { return coll.Public && coll.Invented })
}

func (s *Kit) feedback() page.Address {
	to := strings.TrimPrefix(s.Config.Service.Feedback, "mailto:")
	if strings.Contains(to, "://") {
		return page.Address{URL: to}
	}
	return page.Address{Email: to}
}

// Routes returns all routes in the order of the API definition. It is valid after New has returned.
func (s *Kit) Routes() []*Route { return s.routes }
