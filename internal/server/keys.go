package server

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"grense/api/ogcapi"
	"grense/internal/apikey"
	"grense/internal/problem"
	"grense/internal/server/limit"
	"grense/internal/server/page"
)

// Authorize checks the key of a request for data, and what the key is for.
func (s *Kit) Authorize(c *Call) error {
	if x, ok := c.Request.Context().Value(insideKey{}).(Inside); ok {
		c.KeyID, c.Address = x.KeyID, x.Owner
		return c.checkScope()
	}
	if err := s.identify(c); err != nil || c.KeyID == "" || s.Config.Auth == "open" {
		return err
	}
	h := c.Request.Header
	if !apikey.AllowsOrigin(s.keys.Terms(c.KeyID).Origins, h.Get("Origin"), h.Get("Referer")) {
		return problem.New(problem.Forbidden, nil, "This API key is for web pages of other origins only. Use another key.")
	}
	return c.checkScope()
}

// checkScope refuses a request that the scopes of its key do not allow.
func (c *Call) checkScope() error {
	if c.KeyID == "" || c.s.keys == nil {
		return nil
	}
	scopes, what, id := c.s.keys.Terms(c.KeyID).Scopes, apikey.ScopeCollections, ""
	if c.Route != nil && c.Route.Scope != "" {
		what = c.Route.Scope
	}
	if c.Collection != nil {
		id = c.Collection.ID
	}
	if apikey.Allows(scopes, what, id) {
		return nil
	}
	return problem.New(problem.Forbidden, nil, "This API key is for %s only. Use another key.", strings.ReplaceAll(scopes, " ", ", "))
}

// identify sets the key of a request. Missing, unknown, revoked, expired, or two that disagree: the same answer.
func (s *Kit) identify(c *Call) error {
	key, found, conflict := apikey.FromRequest(c.Request.Header, CookieKey(c.Request))
	if s.Config.Auth == "open" && s.keys == nil {
		return nil
	}
	if found && !conflict {
		if id, ok := s.keys.Check(key, time.Now()); ok {
			c.KeyID = id
			return nil
		}
	}
	if s.Config.Auth == "open" {
		return nil
	}
	if found {
		if err := s.countWrongKey(c); err != nil {
			return err
		}
	}
	return problem.New(problem.Unauthorized, nil, "Send a valid API key in the header X-API-Key (or as Authorization: Bearer, or as the password of Basic); see %s/openapi", c.Base())
}

// Scopes that a key may be limited to, for Route.Scope.
const (
	ScopeTiles     = apikey.ScopeTiles
	ScopeProcesses = apikey.ScopeProcesses
	ScopeSOAP      = apikey.ScopeSOAP
)

// Inside is whom the server asks something of itself for: somebody whose key was checked.
type Inside struct {
	KeyID string // "" for none
	Owner string // whose turns the request takes
}

type insideKey struct{}

// With returns the context of a request that the server asks of itself.
func (x Inside) With(ctx context.Context) context.Context {
	return context.WithValue(ctx, insideKey{}, x)
}

// countWrongKey counts a wrong key of an address, and refuses the request if there were too many. Valid keys are never counted.
func (s *Kit) countWrongKey(c *Call) error {
	if n, wait := s.wrongKeys.Left(shareOf(c.Address), time.Now()); n < 1 {
		return limit.TooMany("wrong_keys", wait, "Too many wrong API keys came from your address. Wait for the seconds in Retry-After, and send a valid key in the header X-API-Key; see %s/openapi", c.Base())
	}
	s.wrongKeys.Charge(shareOf(c.Address), 1, time.Now())
	return nil
}

// hasKey reports whether a request brings a key, or something in its place.
func hasKey(r *http.Request) bool {
	_, found, _ := apikey.FromRequest(r.Header, CookieKey(r))
	return found
}

// CookieKey is the key in the cookie that the key form sets; "" when there is none.
func CookieKey(r *http.Request) string {
	ck, err := r.Cookie(apikey.Cookie)
	if err != nil {
		return ""
	}
	return ck.Value
}

// keyDoc tells programs that come to the key form what to do.
type keyDoc struct {
	Title       string        `json:"title"`
	Description string        `json:"description"`
	KeyAccepted bool          `json:"keyAccepted"` // the request came with a valid key, or needs none
	Links       []ogcapi.Link `json:"links"`
}

// WriteDoc writes a JSON document that is not cached.
func (c *Call) WriteDoc(w http.ResponseWriter, doc any) error {
	b, err := Marshal(doc)
	if err != nil {
		return err
	}
	return c.WriteUncached(w, b)
}

// WriteUncached writes an answer in the chosen representation that only the key of the request may see. It is not cached.
func (c *Call) WriteUncached(w http.ResponseWriter, b []byte) error {
	h := w.Header()
	h.Set("Content-Type", c.Format.ContentType())
	h.Set("Content-Language", page.LanguageTag(c.Lang))
	h.Set("Vary", VaryKeyed)
	h.Set("Cache-Control", "private, no-cache")
	return c.WriteOnce(w, b)
}

// MaxForm bounds the body of the key form, in bytes.
const MaxForm = 4 << 10

// keyForm shows the form for the key, or takes a one-time code and puts its key into the cookie.
func (s *Kit) keyForm(c *Call, w http.ResponseWriter) error {
	if c.Format.F == "json" {
		return c.WriteDoc(w, keyDoc{Title: c.Text("key.title"), Description: "Send the key in the header X-API-Key, as Authorization: Bearer, or as the password of Basic. " +
			"The form of the page keeps it in a cookie.", KeyAccepted: s.identify(c) == nil, Links: c.SelfLinks("/key")})
	}
	code := c.Params.(*keyParams).code
	if code == "" {
		return c.keyPage(w, http.StatusOK, "")
	}
	if c.Request.Method == http.MethodHead { // a preview must not use the code up
		return c.keyPage(w, http.StatusOK, "")
	}
	if s.oneTime != nil {
		if key, ok := s.oneTime.Redeem(code, time.Now()); ok {
			return c.welcome(w, key)
		}
	}
	return c.keyPage(w, http.StatusGone, "key.code-used")
}

// keyPost takes a key from the form. An empty key removes the cookie.
func (s *Kit) keyPost(c *Call, w http.ResponseWriter) error {
	if err := c.ReadForm(MaxForm); err != nil {
		return err
	}
	c.Params = &keyParams{next: c.Request.PostForm.Get("next")}
	key := strings.TrimSpace(c.Request.PostForm.Get("key"))
	if key == "" {
		c.setCookie(w, "", -1)
		return c.redirect(w)
	}
	if s.keys == nil {
		return c.redirect(w)
	}
	if _, ok := s.keys.Check(key, time.Now()); !ok {
		if err := s.countWrongKey(c); err != nil {
			return err
		}
		return c.keyPage(w, http.StatusUnauthorized, "key.wrong")
	}
	return c.welcome(w, key)
}

// ReadForm reads the body of a form of ours, of at most size bytes. Forms of other sites are refused.
func (c *Call) ReadForm(size int64) error {
	if err := c.CheckOrigin(); err != nil {
		return err
	}
	if media, _, _ := strings.Cut(c.Request.Header.Get("Content-Type"), ";"); strings.TrimSpace(media) != "application/x-www-form-urlencoded" {
		return problem.New(problem.MediaType, nil, "send the form as application/x-www-form-urlencoded")
	}
	c.Request.Body = http.MaxBytesReader(nil, c.Request.Body, size)
	if err := c.Request.ParseForm(); err != nil {
		return problem.New(problem.Invalid, err, "send the fields of the form, %d bytes at most", size)
	}
	return nil
}

// CheckOrigin refuses forms of other sites, which would be sent with the cookie of a visitor.
func (c *Call) CheckOrigin() error {
	site, origin := c.Request.Header.Get("Sec-Fetch-Site"), c.Request.Header.Get("Origin") // the latter from browsers that do not tell the site
	if site != "" && site != "same-origin" && site != "none" || origin != "" && !c.ownOrigin(origin) {
		return problem.New(problem.Invalid, nil, "send the form from this site's own page")
	}
	return nil
}

// ownOrigin reports whether an origin (RFC 6454) is that of our pages: as links have it, or as the browser has asked.
func (c *Call) ownOrigin(origin string) bool {
	o, err := url.Parse(origin)
	if err != nil || o.Host == "" { // "null" among them
		return false
	}
	root, err := url.Parse(c.Root)
	return err == nil && o.Scheme == root.Scheme && o.Host == root.Host || o.Host == c.Request.Host
}

// cookieAge is how long a browser keeps the key, in seconds: 180 days.
const cookieAge = 180 * 24 * 3600

func (c *Call) welcome(w http.ResponseWriter, key string) error {
	c.setCookie(w, key, cookieAge)
	return c.redirect(w)
}

func (c *Call) setCookie(w http.ResponseWriter, value string, age int) {
	u, _ := url.Parse(c.Root)
	http.SetCookie(w, &http.Cookie{Name: apikey.Cookie, Value: value, Path: u.EscapedPath() + "/", MaxAge: age, HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: u.Scheme == "https"})
}

// redirect goes to the page that the form came from, if that is one of ours, else to the collections.
func (c *Call) redirect(w http.ResponseWriter) error {
	to := c.Base() + "/collections"
	if c.Request.URL.Query().Has("lang") {
		to += "?lang=" + c.Lang
	}
	if next := c.Params.(*keyParams).next; ours(next, c.Root) {
		to = next
	}
	path, query, has := strings.Cut(to, "?")
	path = "/" + strings.TrimLeft(page.LocalPath(path), "/") // two slashes would begin another host (RFC 3986, 4.2)
	if has {
		path += "?" + query
	}
	w.Header().Set("Location", path) // without the host, which may be another name of this server (CSP form-action)
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusSeeOther)
	return nil
}

// ours reports whether an address is below root, so that the form cannot send people elsewhere.
func ours(address, root string) bool {
	rest, ok := strings.CutPrefix(address, root)
	return ok && (rest == "" || rest[0] == '/' || rest[0] == '?') && !strings.ContainsAny(address, "\\\r\n\t ")
}

// keyPage writes the page with the form. message is the name of a text that says what went wrong; "" for none.
func (c *Call) keyPage(w http.ResponseWriter, status int, message string) error {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("Vary", VaryKeyed)
	h.Set("Content-Language", page.LanguageTag(c.Lang))
	plain, err := c.RenderPage(&page.Page{Name: "key", Title: c.Text("key.title"), Data: keyView{Message: message, Next: c.Params.(*keyParams).next, HasKey: CookieKey(c.Request) != ""}})
	if err != nil {
		return err
	}
	h.Set("Content-Type", AsHTML.ContentType())
	c.WriteBody(w, status, once(plain))
	return nil
}

// keyView is what the page with the key form shows.
type keyView struct {
	Message string // name of a text; "" for none
	Next    string // where to go afterwards
	HasKey  bool   // the browser holds a key already
}
