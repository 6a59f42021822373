package server

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"grense/internal/apikey"
	"grense/internal/problem"
	"grense/internal/server/limit"
	"grense/internal/server/page"
	"grense/internal/server/wire"
)

// Authorize checks the key of a request for data, and what the key is for.
func (s *Kit) Authorize(c *Call) error {
	if x, ok := c.Request.Context().Value(insideKey{}).(Inside); ok {
		c.KeyID, c.Address = x.KeyID, x.Owner
		return s.checkScope(c)
	}
	if err := s.Identify(c); err != nil || c.KeyID == "" || s.Config.Auth == "open" {
		return err
	}
	h := c.Request.Header
	if !apikey.AllowsOrigin(s.Keys.Terms(c.KeyID).Origins, h.Get("Origin"), h.Get("Referer")) {
		return problem.New(problem.Forbidden, nil, "This API key is for web pages of other origins only. Use another "+
			"key.")
	}
	return s.checkScope(c)
}

// checkScope refuses a request that the scopes of its key do not allow.
func (s *Kit) checkScope(c *Call) error {
	if c.KeyID == "" || s.Keys == nil {
		return nil
	}
	scopes, what, id := s.Keys.Terms(c.KeyID).Scopes, apikey.ScopeCollections, ""
	if c.Route != nil && c.Route.Scope != "" {
		what = c.Route.Scope
	}
	if c.Collection != nil {
		id = c.Collection.ID
	}
	if apikey.Allows(scopes, what, id) {
		return nil
	}
	return problem.New(problem.Forbidden, nil, "This API key is for %s only. Use another key.",
		strings.ReplaceAll(scopes, " ", ", "))
}

// Identify sets the key of a request. Missing, unknown, revoked, expired, or two that disagree: the same answer.
func (s *Kit) Identify(c *Call) error {
	key, found, conflict := apikey.FromRequest(c.Request.Header, CookieKey(c.Request))
	if s.Config.Auth == "open" && s.Keys == nil {
		return nil
	}
	if found && !conflict {
		if id, ok := s.Keys.Check(key, time.Now()); ok {
			c.KeyID = id
			return nil
		}
	}
	if s.Config.Auth == "open" {
		return nil
	}
	if found {
		if err := s.CountWrongKey(c); err != nil {
			return err
		}
	}
	return problem.New(problem.Unauthorized, nil, "Send a valid API key in the header X-API-Key (or as "+
		"Authorization: Bearer, or as the password of Basic); see %s/openapi", c.Base())
}

// Scopes that a key may be limited to, for Route.Scope.
const (
	ScopeTiles     = apikey.ScopeTiles
	ScopeProcesses = apikey.ScopeProcesses
	ScopeSOAP      = apikey.ScopeSOAP
)

// Inside identifies the owner of a request that the server sends to itself. The key was checked before.
type Inside struct {
	KeyID string // "" if there is none
	Owner string // owner of the slots
}

type insideKey struct{}

// With returns ctx for a request that the server sends to itself.
func (x Inside) With(ctx context.Context) context.Context {
	return context.WithValue(ctx, insideKey{}, x)
}

// CountWrongKey counts a wrong key of an address, and refuses the request if there were too many. It never counts valid
// keys.
func (s *Kit) CountWrongKey(c *Call) error {
	if n, wait := s.wrongKeys.Left(limit.ShareOf(c.Address), time.Now()); n < 1 {
		return limit.TooMany("wrong_keys", wait, "Too many wrong API keys came from your address. Wait for the "+
			"seconds in Retry-After, and send a valid key in the header X-API-Key; see %s/openapi", c.Base())
	}
	s.wrongKeys.Charge(limit.ShareOf(c.Address), 1, time.Now())
	return nil
}

// hasKey reports whether a request has an API key, valid or not.
func hasKey(r *http.Request) bool {
	_, found, _ := apikey.FromRequest(r.Header, CookieKey(r))
	return found
}

// CookieKey returns the key in the cookie of the key form; "" if there is none.
func CookieKey(r *http.Request) string {
	ck, err := r.Cookie(apikey.Cookie)
	if err != nil {
		return ""
	}
	return ck.Value
}

// WriteDoc writes a JSON document, or bytes, that must not be cached, since it depends on the key.
func (c *Call) WriteDoc(w http.ResponseWriter, doc any) error {
	b, err := wire.Marshal(doc)
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", c.Format.ContentType())
	h.Set("Content-Language", page.LanguageTag(c.Lang))
	h.Set("Vary", VaryKeyed)
	h.Set("Cache-Control", "private, no-cache")
	return c.WriteOnce(w, b)
}

// MaxForm bounds the body of the key form, in bytes.
const MaxForm = 4 << 10

// ReadForm parses the body of a form of the site at root, at most size bytes. It refuses forms of other sites.
func ReadForm(r *http.Request, root string, size int64) error {
	if err := CheckOrigin(r, root); err != nil {
		return err
	}
	if media, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";"); strings.TrimSpace(
		media) != "application/x-www-form-urlencoded" {
		return problem.New(problem.MediaType, nil, "send the form as application/x-www-form-urlencoded")
	}
	r.Body = http.MaxBytesReader(nil, r.Body, size)
	if err := r.ParseForm(); err != nil {
		return problem.New(problem.Invalid, err, "send the fields of the form, %d bytes at most", size)
	}
	return nil
}

// CheckOrigin refuses forms of other sites than that at root, since browsers send the visitor's cookie with them.
func CheckOrigin(r *http.Request, root string) error {
	// Origin is for browsers without Sec-Fetch-Site
	site, origin := r.Header.Get("Sec-Fetch-Site"), r.Header.Get("Origin")
	if site != "" && site != "same-origin" && site != "none" || origin != "" && !ownOrigin(r, root, origin) {
		return problem.New(problem.Invalid, nil, "send the form from this site's own page")
	}
	return nil
}

// ownOrigin reports whether an origin (RFC 6454) is that of our pages, as links have it or as the browser requested it.
func ownOrigin(r *http.Request, root, origin string) bool {
	o, err := url.Parse(origin)
	if err != nil || o.Host == "" { // includes "null"
		return false
	}
	ours, err := url.Parse(root)
	return err == nil && o.Scheme == ours.Scheme && o.Host == ours.Host || o.Host == r.Host
}
