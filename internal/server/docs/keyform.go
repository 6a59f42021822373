package docs

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"grense/api/ogcapi"
	"grense/internal/apikey"
	"grense/internal/server"
	"grense/internal/server/media"
	"grense/internal/server/page"
	"grense/internal/server/wire"
)

// keyParams are the parameters of the key form.
type keyParams struct{ code, next string } // "" for none

func newKeyParams(*server.Call) any { return &keyParams{} }

// keyDoc describes the key form to programs.
type keyDoc struct {
	Title       string        `json:"title"`
	Description string        `json:"description"`
	KeyAccepted bool          `json:"keyAccepted"` // the request has a valid key, or needs none
	Links       []ogcapi.Link `json:"links"`
}

// keyForm shows the key form, or redeems a one-time code and puts its key into the cookie.
func (s *surface) keyForm(c *call, w http.ResponseWriter) error {
	if c.Format.F == "json" {
		return c.WriteDoc(w, keyDoc{Title: c.Text("key.title"), Description: "Send the key in the header " +
			"X-API-Key, as Authorization: Bearer, or as the password of Basic. The form of the page keeps it in a " +
			"cookie.",
			KeyAccepted: s.Identify(c.Call) == nil, Links: c.SelfLinks("/key")})
	}
	code := c.Params.(*keyParams).code
	if code == "" {
		return c.keyPage(w, http.StatusOK, "")
	}
	if c.Request.Method == http.MethodHead { // a preview must not redeem the code
		return c.keyPage(w, http.StatusOK, "")
	}
	if s.OneTime != nil {
		if key, ok := s.OneTime.Redeem(code, time.Now()); ok {
			return c.welcome(w, key)
		}
	}
	return c.keyPage(w, http.StatusGone, "key.code-used")
}

// keyPost accepts a key from the form. An empty key removes the cookie.
func (s *surface) keyPost(c *call, w http.ResponseWriter) error {
	if err := server.ReadForm(c.Request, c.Root, server.MaxForm); err != nil {
		return err
	}
	c.Params = &keyParams{next: apikey.Redact(c.Request.PostForm.Get("next"))}
	key := strings.TrimSpace(c.Request.PostForm.Get("key"))
	if key == "" {
		c.setCookie(w, "", -1)
		return c.redirect(w)
	}
	if s.Keys == nil {
		return c.redirect(w)
	}
	if _, ok := s.Keys.Check(key, time.Now()); !ok {
		if err := s.CountWrongKey(c.Call); err != nil {
			return err
		}
		return c.keyPage(w, http.StatusUnauthorized, "key.wrong")
	}
	return c.welcome(w, key)
}

// cookieAge is how long a browser stores the key, in seconds: 180 days.
const cookieAge = 180 * 24 * 3600

func (c *call) welcome(w http.ResponseWriter, key string) error {
	c.setCookie(w, key, cookieAge)
	return c.redirect(w)
}

func (c *call) setCookie(w http.ResponseWriter, value string, age int) {
	u, _ := url.Parse(c.Root)
	http.SetCookie(w, &http.Cookie{Name: apikey.Cookie, Value: value, Path: u.EscapedPath() + "/", MaxAge: age,
		HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: u.Scheme == "https"})
}

// redirect leads to the page that the form came from, if that is one of ours, otherwise to the collections.
func (c *call) redirect(w http.ResponseWriter) error {
	to := c.Base() + "/collections"
	if c.Request.URL.Query().Has("lang") {
		to += "?lang=" + c.Lang
	}
	if next := c.Params.(*keyParams).next; ours(next, c.Root) {
		to = next
	}
	path, query, has := strings.Cut(to, "?")
	path = "/" + strings.TrimLeft(page.LocalPath(path), "/") // two slashes would begin a host (RFC 3986, 4.2)
	if has {
		path += "?" + query
	}
	w.Header().Set("Location", path) // without the host, for which the browser may use another name (CSP form-action)
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusSeeOther)
	return nil
}

// ours reports whether an address is below root, so that the form cannot lead people elsewhere.
func ours(address, root string) bool {
	rest, ok := strings.CutPrefix(address, root)
	return ok && (rest == "" || rest[0] == '/' || rest[0] == '?') && !strings.ContainsAny(address, "\\\r\n\t ")
}

// keyPage writes the page with the key form. message is the key of an error message; "" if there is none.
func (c *call) keyPage(w http.ResponseWriter, status int, message string) error {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("Vary", server.VaryKeyed)
	h.Set("Content-Language", page.LanguageTag(c.Lang))
	next := c.Params.(*keyParams).next
	if !ours(next, c.Root) {
		next = "" // it would not be followed, and may be anything
	}
	plain, err := c.RenderPage(&page.Page{Name: "key", Title: c.Text("key.title"),
		Data: keyView{Message: message, Next: next, HasKey: server.CookieKey(c.Request) != ""}})
	if err != nil {
		return err
	}
	h.Set("Content-Type", media.HTML.ContentType())
	c.WriteBody(w, status, wire.Once(plain))
	return nil
}

// keyView is the view model of the key form.
type keyView struct {
	Message string // message key; "" if there is none
	Next    string // page to open afterwards
	HasKey  bool   // the browser has a key already
}
