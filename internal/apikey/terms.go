package apikey

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"grense/internal/state"
)

// Scopes that a key may be limited to. ScopeCollections and ScopeTiles may name one collection: "collections/kommuner".
const (
	ScopeCollections = "collections" // features, downloads, lookup, history
	ScopeTiles       = "tiles"
	ScopeProcesses   = "processes" // and their jobs, which may read every collection
	ScopeSOAP        = "soap"
)

// ParseScopes returns the scopes of a key as they are stored. None allow everything.
func ParseScopes(list []string) (string, error) {
	for _, s := range list {
		what, collection, one := strings.Cut(s, "/")
		switch {
		case s == ScopeProcesses, s == ScopeSOAP:
		case what != ScopeCollections && what != ScopeTiles, one && !isCollectionID(collection):
			return "", fmt.Errorf("apikey: %q is not a scope; write collections, collections/ID, tiles, tiles/ID, "+
				"processes or soap", s)
		}
	}
	return sorted(list), nil
}

// sorted joins texts by spaces, each once.
func sorted(list []string) string {
	list = slices.Clone(list)
	slices.Sort(list)
	return strings.Join(slices.Compact(list), " ")
}

func isCollectionID(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '_' && r != '-'
	})
}

// CheckTerms reports what is wrong with the note and the limits of a key.
func CheckTerms(t state.Terms) error {
	switch {
	case t.Rate < 0 || t.Rate > maxRate:
		return fmt.Errorf("apikey: a rate is a number of units from 1 to %d", maxRate)
	case t.Quota < 0:
		return errors.New("apikey: a quota is a number of units, at least 1")
	case len(t.Note) > maxNote || strings.ContainsFunc(t.Note, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return fmt.Errorf("apikey: a note has at most %d bytes and no control characters", maxNote)
	case Redact(t.Note) != t.Note:
		return errors.New("apikey: a note must not hold a key")
	}
	return nil
}

// Bounds of the terms of a key.
const (
	maxRate = 1_000_000
	maxNote = 1000
)

// Allows reports whether stored scopes allow one of the constants above. collection is the id of the only collection
// that is read; "" stands for several.
func Allows(scopes, what, collection string) bool {
	if scopes == "" {
		return true
	}
	for s := range strings.FieldsSeq(scopes) {
		name, only, one := strings.Cut(s, "/")
		if name == what && (!one || only == collection) {
			return true
		}
	}
	return false
}

// ParseOrigins returns the origins of web pages (RFC 6454) as they are stored.
func ParseOrigins(list []string) (string, error) {
	out := make([]string, len(list))
	for i, s := range list {
		u, err := url.Parse(strings.ToLower(s))
		if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" ||
			strings.ToLower(s) != originOf(u) {
			return "", fmt.Errorf("apikey: %q is not an origin; write scheme and host, as in https://example.org", s)
		}
		out[i] = originOf(u)
	}
	return sorted(out), nil
}

func originOf(u *url.URL) string { return u.Scheme + "://" + u.Host }

// AllowsOrigin reports whether stored origins allow a request with these header fields. A browser that sends no
// Origin with a request to the host of the page sends Referer.
func AllowsOrigin(origins, origin, referer string) bool {
	if origins == "" {
		return true
	}
	if origin == "" {
		if u, err := url.Parse(referer); err == nil && u.Host != "" {
			origin = originOf(u)
		}
	}
	return slices.Contains(strings.Fields(origins), strings.ToLower(origin))
}
