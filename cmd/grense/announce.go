package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"grense/internal/apikey"
	"grense/internal/source"
	"grense/internal/store"
)

// firstKeyName is the name of the key that serve makes when there is none.
const firstKeyName = "first key, made by serve"

// announce prints where the service listens and, once, the first key.
func (s *service) announce(ctx context.Context, p *process, src string) error {
	var b strings.Builder
	base := s.cfg.BaseURL
	if src == "" {
		src = "the demo"
	}
	public := publicCollections(s.store.Catalog())
	fmt.Fprintf(&b, "Grense serves %s of %s\n", count(len(public), "collection"), source.Shown(src))
	refused := slices.DeleteFunc(slices.Clone(s.store.Catalog().Notes), func(n store.Note) bool { return !n.Refused })
	for _, line := range notesByReason(refused) {
		fmt.Fprintf(&b, "  not served      %s\n", line)
	}
	fmt.Fprintf(&b, "  listening on    %s\n", s.cfg.Addr)
	fmt.Fprintf(&b, "  in a browser    %s/?f=html\n", base)
	fmt.Fprintf(&b, "  for programs    %s/\n", base)
	if s.metrics != nil {
		fmt.Fprintf(&b, "  metrics         http://%s/metrics\n", s.metrics.Addr())
	}
	if s.cfg.Auth == "required" {
		text, err := s.firstKey(ctx, public)
		if err != nil {
			return err
		}
		b.WriteString(text)
	} else {
		b.WriteString("Data are open: no API key is asked for.\n")
	}
	_, err := fmt.Fprint(p.Stdout, b.String())
	return err
}

// firstKey makes a key when there is none, and returns the text that shows it.
func (s *service) firstKey(ctx context.Context, public []*store.Collection) (string, error) {
	now := time.Now()
	if all, active := s.keys.Count(now); all > 0 {
		if active == 0 {
			s.log.Warn("no API key is valid, so no data can be read; make one with: grense key create --name NAME")
		}
		return "Data need an API key: grense key create --name NAME\n", nil
	}
	key, rec, err := apikey.New(firstKeyName, time.Time{}, now)
	made := false
	if err == nil {
		made, err = s.state.PutFirstKey(ctx, rec)
	}
	if err == nil {
		err = s.keys.Refresh(ctx)
	}
	if err != nil {
		return "", fmt.Errorf("cannot make the first key: %w", err)
	}
	if !made { // another process that was started on the same folder did, and showed it
		return "Data need an API key: grense key create --name NAME\n", nil
	}
	path := "/collections"
	if len(public) > 0 {
		path += "/" + public[0].ID + "/items?limit=1"
	}
	return fmt.Sprintf("\nData need an API key. Here is the first one; it is shown only now:\n  %s\nTry it:\n  curl -H 'X-API-Key: %s' '%s'\nOr in a browser, once within 10 minutes:\n  %s/key?code=%s\n",
		key, key, s.cfg.BaseURL+path, s.cfg.BaseURL, s.codes.Issue(key, now)), nil
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
