package source

import (
	"slices"

	"grense/internal/config"
	"grense/internal/store"
)

// Settings converts the configuration of collections to settings of a store.
func Settings(cfg config.Config) map[string]store.Settings {
	m := make(map[string]store.Settings, len(cfg.Collections))
	for name, c := range cfg.Collections {
		s := store.Settings{ID: c.ID, Title: store.Text(c.Title), Description: store.Text(c.Description),
			Keywords: c.Keywords, Hidden: c.Hidden,
			IDColumns: c.IDColumns, HiddenColumns: c.HiddenColumns, GeometryColumn: c.GeometryColumn, Codes: c.Codes,
			TitleProperty: c.Roles.Title, Instant: c.Roles.Instant, IntervalStart: c.Roles.IntervalStart,
			IntervalEnd: c.Roles.IntervalEnd,
			ValidFrom:   c.Roles.ValidFrom, ValidTo: c.Roles.ValidTo, Inclusive: c.ValidTo == "inclusive",
			Settled: c.Settled}
		if c.MinZoom != nil || c.MaxZoom != nil {
			first, last := c.Zooms()
			s.Zooms = &store.Zooms{Min: first, Max: last}
		}
		s.PageDefault, s.PageMax, s.MaxAge = c.PageDefault, c.PageMax, c.MaxAge
		s.StorageCRS, _ = c.StorageCode()
		if c.Changes != "" {
			s.Changes = new(c.Changes == "true")
		}
		for _, l := range c.Links {
			s.Links = append(s.Links, store.Link(l))
		}
		m[name] = s
	}
	return m
}

// Unmatched returns the names of configured collections that the catalog does not have, without hidden ones.
func Unmatched(cfg config.Config, cat *store.Catalog) []string {
	known := map[string]bool{}
	for _, c := range cat.Collections {
		known[c.Table], known[c.ID] = true, true
	}
	for _, n := range cat.Notes {
		known[n.Layer] = true
	}
	for _, layer := range cat.Hidden {
		known[layer] = true
	}
	var out []string
	for name, c := range cfg.Collections {
		if !known[name] && !known[c.ID] { // a renamed collection has its new id
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}
