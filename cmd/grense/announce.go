package main

import (
	"fmt"
	"slices"
	"strings"

	"grense/internal/source"
	"grense/internal/store"
)

// announce prints the address of the service, and a text about the keys.
func (s *service) announce(p *process, keys string) error {
	var b strings.Builder
	base, src := s.cfg.BaseURL, s.cfg.Source
	if src == "" {
		src = "the demo"
	}
	cat := s.now.Load().store.Catalog()
	public := publicCollections(cat)
	fmt.Fprintf(&b, "Grense serves %s of %s\n", count(len(public), "collection"), source.Shown(src))
	refused := slices.DeleteFunc(slices.Clone(cat.Notes), func(n store.Note) bool { return !n.Refused })
	for _, line := range notesByReason(refused) {
		fmt.Fprintf(&b, "  not served      %s\n", line)
	}
	fmt.Fprintf(&b, "  listening on    %s\n", s.cfg.Addr)
	fmt.Fprintf(&b, "  in a browser    %s/?f=html\n", base)
	fmt.Fprintf(&b, "  for programs    %s/\n", base)
	if s.metrics != nil {
		fmt.Fprintf(&b, "  metrics         http://%s/metrics\n", s.metrics.Addr())
	}
	b.WriteString(keys)
	_, err := fmt.Fprint(p.Stdout, b.String())
	return err
}

func publicCollections(cat *store.Catalog) []*store.Collection {
	var out []*store.Collection
	for _, c := range cat.Collections {
		if c.Public {
			out = append(out, c)
		}
	}
	return out
}
