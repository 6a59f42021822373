package server_test

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"grense/internal/apikey"
	"grense/internal/config"
)

// focus is the element that has the focus, as checks.js describes it.
type focus struct {
	Name, Tag, ID, Field, Type, Href, Action, Value string
	Order                                           int  // in the document
	Visible                                         bool // people see where the focus is
	Open                                            bool // the details that it opens are open
}

// keyboard is a reader without a mouse.
type keyboard struct {
	*tab
	t *testing.T
}

func (k keyboard) press(keys string) {
	k.t.Helper()
	if err := chromedp.Do(k.ctx, chromedp.KeyEvent(keys)); err != nil {
		k.t.Fatal(err)
	}
}

// enter presses the key that makes the browser load a page.
func (k keyboard) enter(want int) {
	k.t.Helper()
	status, err := k.load(chromedp.KeyEvent(kb.Enter))
	if err != nil || status != want {
		k.t.Fatalf("after Enter: status %d, want %d: %v", status, want, err)
	}
}

func (k keyboard) visit(w window, address string, want int) {
	k.t.Helper()
	if status, err := k.open(w, address); err != nil || status != want {
		k.t.Fatalf("%s: status %d, want %d: %v", address, status, want, err)
	}
}

func (k keyboard) focus() (f focus) {
	k.t.Helper()
	if err := k.ask("focused()", &f); err != nil {
		k.t.Fatal(err)
	}
	return f
}

func (k keyboard) address() *url.URL {
	k.t.Helper()
	var s string
	if err := k.ask("location.href", &s); err != nil {
		k.t.Fatal(err)
	}
	u, err := url.Parse(s)
	if err != nil {
		k.t.Fatal(err)
	}
	return u
}

// tabTo presses the tab key until the element with the focus is the one wanted. The focus must be seen at every step and go down the page.
func (k keyboard) tabTo(what string, wanted func(focus) bool) (way []focus) {
	k.t.Helper()
	order := -1
	if f := k.focus(); f.Tag != "" {
		order = f.Order
	}
	for range 300 {
		k.press(kb.Tab)
		f := k.focus()
		if f.Tag == "" {
			break
		}
		if !f.Visible {
			k.t.Errorf("the focus is not seen on %s %s%s", f.Name, f.Field, f.Href)
		}
		if f.Order <= order {
			k.t.Errorf("the focus goes back to %s %s", f.Name, f.Field)
		}
		order = f.Order
		if way = append(way, f); wanted(f) {
			return way
		}
	}
	k.t.Fatalf("the tab key does not reach %s; it goes %v", what, way)
	return nil
}

// skip checks that the first link of the page leads over its head.
func (k keyboard) skip() {
	k.t.Helper()
	k.press(kb.Tab)
	if f := k.focus(); f.Href != "#content" || !f.Visible {
		k.t.Errorf("the first stop is %+v, not the link to the content", f)
	}
	k.press(kb.Enter)
	if f := k.focus(); f.ID != "content" {
		k.t.Errorf("after the link to the content the focus is on %+v", f)
	}
}

// filterByKeyboard goes through the form of a collection's features, with scripts and without.
func filterByKeyboard(t *testing.T, ctx context.Context, s site, checks string) {
	for _, noScript := range []bool{false, true} {
		k := keyboard{newTab(t, ctx, true, checks), t}
		w := desk
		w.noScript, w.reduced = noScript, true
		start := s.open.URL + "/collections/kommuner/items?f=html&lang=nb&limit=5"
		toForm := func() {
			k.visit(w, start, http.StatusOK)
			k.skip()
			if f := k.tabTo("the filter form", func(f focus) bool { return f.Tag == "summary" || f.Action != "" })[0]; f.Tag == "summary" && !f.Open {
				k.press(kb.Enter)
				if f = k.focus(); !f.Open {
					t.Fatalf("Enter does not open the filter: %+v", f)
				}
			}
		}
		toForm()
		isName := func(f focus) bool { return f.Field == "navn" }
		k.tabTo("the field of the name", isName)
		k.press("Oslo")
		if f := k.focus(); f.Value != "Oslo" {
			t.Errorf("the field holds %q", f.Value)
		}
		way := k.tabTo("the button", func(f focus) bool { return f.Type == "submit" })
		fields := ""
		for _, f := range way {
			fields += " " + f.Field
		}
		for _, want := range []string{"bbox", "sortby", "limit", "filter"} {
			if !strings.Contains(fields+" ", " "+want+" ") {
				t.Errorf("the tab key does not stop at %s:%s", want, fields)
			}
		}
		k.enter(http.StatusOK)
		k.isFiltered()

		toForm()
		k.tabTo("the field of the name", isName)
		k.press("Oslo")
		k.enter(http.StatusOK)
		k.isFiltered()
	}
}

// isFiltered checks that the page shows what the form asked, and that its address says so.
func (k keyboard) isFiltered() {
	k.t.Helper()
	if u := k.address(); u.Query().Get("navn") != "Oslo" || u.Query().Get("limit") != "5" || u.Query().Get("lang") != "nb" {
		k.t.Errorf("the form leads to %s", u)
	}
	var shows struct {
		Rows  int
		Field string
	}
	err := k.ask(`({rows: document.querySelectorAll("tbody tr").length, field: document.querySelector("[name=navn]").value})`, &shows)
	if err != nil || shows.Rows != 1 || shows.Field != "Oslo" {
		k.t.Errorf("the page has %d rows and its field holds %q: %v", shows.Rows, shows.Field, err)
	}
}

// keyByKeyboard enters a key where data ask for one, sees the data, and takes the key away again.
func keyByKeyboard(t *testing.T, ctx context.Context, s site, checks string) {
	for _, noScript := range []bool{false, true} {
		k := keyboard{newTab(t, ctx, true, checks), t}
		w := desk
		w.noScript, w.reduced = noScript, true
		data := s.keyed.URL + "/v1/collections/fylker/items?f=html&lang=nn&limit=3"
		isKey := func(f focus) bool { return f.Field == "key" }
		k.visit(w, data, http.StatusUnauthorized)
		k.skip()
		k.tabTo("the field of the key", isKey)
		k.press("grense_wrong")
		k.enter(http.StatusUnauthorized)
		var alert string
		if err := k.ask(`document.querySelector("[role=alert]")?.innerText ?? ""`, &alert); err != nil || alert == "" {
			t.Errorf("a wrong key gives no message: %v", err)
		}
		if c := k.cookie(); c != nil {
			t.Errorf("a wrong key is kept: %+v", c)
		}
		k.tabTo("the field of the key", isKey)
		k.press(s.keyed.key)
		k.enter(http.StatusOK)
		if got := k.address().String(); got != data {
			t.Errorf("the key leads to %s, not back to %s", got, data)
		}
		if c := k.cookie(); c == nil || c.Value != s.keyed.key || !c.HTTPOnly || c.SameSite != network.CookieSameSiteStrict {
			t.Errorf("cookie %+v", c)
		}
		var rows int
		if err := k.ask(`document.querySelectorAll("tbody tr").length`, &rows); err != nil || rows != 3 {
			t.Errorf("the page shows %d rows: %v", rows, err)
		}

		k.visit(w, s.keyed.URL+"/key?f=html&lang=nn", http.StatusOK)
		buttons := 0
		k.tabTo("the button that removes the key", func(f focus) bool {
			if f.Type == "submit" {
				buttons++
			}
			return buttons == 2
		})
		k.enter(http.StatusOK)
		if c := k.cookie(); c != nil {
			t.Errorf("the key is still there: %+v", c)
		}
		k.visit(w, data, http.StatusUnauthorized)
	}
}

// cookie is the cookie with the key; nil when there is none.
func (k keyboard) cookie() *network.Cookie {
	k.t.Helper()
	res, err := chromedp.Call(k.ctx, network.GetCookies, network.GetCookiesParams{})
	if err != nil {
		k.t.Fatal(err)
	}
	for _, c := range res.Cookies {
		if c.Name == apikey.Cookie {
			return c
		}
	}
	return nil
}

// suggestByKeyboard types into the search of the landing page: the arrows and Enter open what is suggested, and an answer that comes after the
// reader has gone on opens nothing.
func suggestByKeyboard(t *testing.T, ctx context.Context, checks string) {
	a := serveRegister(t, func(c *config.Config) { c.Auth = "open" })
	const count = `document.querySelectorAll("#search-list:not([hidden]) [role=option]").length`
	k := keyboard{newTab(t, ctx, true, checks), t}
	for _, goesOn := range []bool{false, true} {
		k.visit(desk, a.URL+"/?f=html&lang=en", 200)
		if err := k.ask(`document.querySelector("#search").focus()`, nil); err != nil {
			t.Fatal(err)
		}
		k.press("oslo")
		if goesOn {
			k.press(kb.Tab)
		}
		var n int
		for range 100 {
			if err := k.ask(`new Promise((done) => setTimeout(() => done(`+count+`), 100))`, &n); err != nil {
				t.Fatal(err)
			}
			answered := 0
			for _, r := range k.happened().requests {
				if strings.Contains(r.url, "q=oslo") && r.bytes > 0 {
					answered++
				}
			}
			if n > 0 || goesOn && answered > 1 {
				break
			}
		}
		if goesOn {
			if err := k.ask(`new Promise((done) => setTimeout(() => done(`+count+`), 300))`, &n); err != nil || n != 0 {
				t.Errorf("%d suggestions open although the reader has gone on: %v", n, err)
			}
			continue
		}
		if n == 0 {
			t.Fatal("nothing is suggested")
		}
		k.press(kb.ArrowDown)
		k.enter(200)
		if path := k.address().Path; !strings.Contains(path, "/items/") {
			t.Errorf("the suggestion leads to %s", path)
		}
	}
}
