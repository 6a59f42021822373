package server_test

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
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

// tabTo presses the tab key until the wanted element has the focus. At every step the focus must be visible and move
// down the page.
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

// filterByKeyboard fills in the filter form of a collection, with and without scripts.
func filterByKeyboard(t *testing.T, ctx context.Context, s site, checks string) {
	for _, noScript := range []bool{false, true} {
		k := keyboard{newTab(t, ctx, true, checks), t}
		w := desk
		w.noScript, w.reduced = noScript, true
		start := s.open.URL + "/collections/kommuner/items?f=html&lang=nb&limit=5"
		toForm := func() {
			k.visit(w, start, http.StatusOK)
			k.skip()
			if f := k.tabTo("the filter form", func(f focus) bool {
				return f.Tag == "summary" || f.Action != ""
			})[0]; f.Tag == "summary" && !f.Open {
				k.press(kb.Enter)
				if f = k.focus(); !f.Open {
					t.Fatalf("Enter does not open the filter: %+v", f)
				}
			}
		}
		toForm()
		isName := func(f focus) bool { return f.Field == "navn.like" }
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

// processResults runs a process from its page on a phone. A long result scrolls in its own box and prints without the
// form. A refusal appears beside its field, marked with its language.
func processResults(t *testing.T, ctx context.Context, s site, checks string) {
	k := keyboard{newTab(t, ctx, true, checks), t}
	w := window{width: 360, height: 740}
	k.visit(w, s.open.URL+"/processes/get-distinct-values?f=html&lang=nb", http.StatusOK)
	run := func(property string) (text string) {
		t.Helper()
		err := k.ask(`(async () => {
  const form = document.querySelector("form.run"), outcome = form.querySelector(".outcome");
  form.elements.queryable.value = "`+property+`";
  form.querySelector("[value=now]").click();
  while (outcome.hidden || outcome.querySelector("progress")) await new Promise((done) => setTimeout(done, 20));
  return outcome.querySelector("pre, .alert")?.textContent ?? "";
})()`, &text)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	var faults []string
	if text := run("navn"); !strings.Contains(text, "Oslo") {
		t.Errorf("the result is told as %q", text)
	}
	if err := k.ask("narrow()", &faults); err != nil || len(faults) > 0 {
		t.Errorf("%v %q", err, faults)
	}
	w.print, w.width = true, 720
	if err := k.set(w); err != nil {
		t.Fatal(err)
	}
	var printed string
	if err := k.ask(`document.querySelector("main").innerText`, &printed); err != nil ||
		!strings.Contains(printed, "Oslo") || strings.Contains(printed, "Kjør nå") {
		t.Errorf("%v printed: %.300s", err, printed)
	}
	if err := k.ask("narrow()", &faults); err != nil || len(faults) > 0 {
		t.Errorf("printed: %v %q", err, faults)
	}
	w.print, w.width = false, 360
	if err := k.set(w); err != nil {
		t.Fatal(err)
	}
	if text := run("x"); !strings.Contains(text, "Dette må rettes") || strings.Contains(text, "queryable") {
		t.Errorf("what is wrong is told as %q", text)
	}
	refused := func() (field struct{ Title, Field, Fault, Value string }) {
		t.Helper()
		if err := k.ask(`(() => { const e = document.activeElement; return { `+
			`Title: document.title, Field: e.ariaInvalid === "true" ? e.name : "", Value: e.value ?? "", `+
			`Fault: document.getElementById(e.getAttribute("aria-describedby"))?.textContent ?? "" }; })()`,
			&field); err != nil {
			t.Fatal(err)
		}
		return field
	}
	if field := refused(); !strings.HasPrefix(field.Title, "Feil: ") || field.Field != "queryable" ||
		field.Value != "x" || field.Fault == "" {
		t.Errorf("beside the field is told %+v", field)
	}
	run("navn")
	if field := refused(); strings.HasPrefix(field.Title, "Feil: ") || field.Field != "" || field.Fault != "" {
		t.Errorf("after it was mended is told %+v", field)
	}
}

// isFiltered checks that the page and its address show the values of the form.
func (k keyboard) isFiltered() {
	k.t.Helper()
	if u := k.address(); u.Query().Get("navn.like") != "Oslo" || u.Query().Get("limit") != "5" ||
		u.Query().Get("lang") != "nb" {
		k.t.Errorf("the form leads to %s", u)
	}
	var shows struct {
		Rows  int
		Field string
	}
	err := k.ask(`({rows: document.querySelectorAll("tbody tr").length, `+
		`field: document.querySelector("[name='navn.like']").value})`, &shows)
	if err != nil || shows.Rows != 1 || shows.Field != "Oslo" {
		k.t.Errorf("the page has %d rows and its field holds %q: %v", shows.Rows, shows.Field, err)
	}
}

// keyByKeyboard enters a key on a page that requires one, sees the data, and removes the key again.
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
		if c := k.cookie(); c == nil || c.Value != s.keyed.key || !c.HTTPOnly ||
			c.SameSite != network.CookieSameSiteStrict {
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

// suggestByKeyboard types into the search of the landing page. The arrows and Enter open a suggestion; a response
// that arrives after the reader has moved on opens nothing.
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
		k.suggests(true, 0)
		k.press(kb.Escape)
		k.suggests(false, -1)
		k.press(kb.ArrowDown)
		k.press(kb.ArrowDown)
		k.press(kb.ArrowUp)
		k.suggests(true, 0)
		k.enter(200)
		if path := k.address().Path; !strings.Contains(path, "/items/") {
			t.Errorf("the suggestion leads to %s", path)
		}
	}
}

// suggests checks what a screen reader says of the suggestions: whether the list is open, and which of them is active
// (-1: none).
func (k keyboard) suggests(open bool, active int) {
	k.t.Helper()
	var got struct {
		Expanded, Active, Selected string
		Open                       bool
	}
	err := k.ask(`(() => {
		const field = document.querySelector("#search"), list = document.getElementById(field.getAttribute("aria-controls"));
		const place = (e) => e ? String([...list.children].indexOf(e)) : "-1";
		return {expanded: field.getAttribute("aria-expanded"), open: !list.hidden,
			active: place(document.getElementById(field.getAttribute("aria-activedescendant"))),
			selected: place(list.querySelector("[aria-selected=true]:not([hidden] *)"))};
	})()`, &got)
	want := strconv.Itoa(active)
	if err != nil || got.Expanded != strconv.FormatBool(open) || got.Open != open || got.Active != want ||
		got.Selected != want {
		k.t.Errorf("want open %v with %d active; told is %+v: %v", open, active, got, err)
	}
}

// searchWithoutScripts searches from the landing page where scripts do not run.
func searchWithoutScripts(t *testing.T, ctx context.Context, s site, checks string) {
	k := keyboard{newTab(t, ctx, true, checks), t}
	w := desk
	w.noScript, w.reduced = true, true
	k.visit(w, s.open.URL+"/v1?f=html&lang=nn", 200)
	k.skip()
	k.tabTo("the search field", func(f focus) bool { return f.Field == "q" })
	k.press("oslo")
	k.enter(200)
	if u := k.address(); u.Path != "/v1/search" || u.Query().Get("q") != "oslo" || u.Query().Get("lang") != "nn" {
		t.Errorf("the search leads to %s", u)
	}
	var rows int
	if err := k.ask(`document.querySelectorAll("main h2 + ul li").length`, &rows); err != nil || rows == 0 {
		t.Errorf("the search finds %d: %v", rows, err)
	}
}

// moveMapByKeyboard zooms and moves the map beside a table. Without scripts a map is a picture with links.
func moveMapByKeyboard(t *testing.T, ctx context.Context, s site, checks string) {
	type box struct{ X, Y, W, H float64 }
	look := func(k keyboard) (b box) {
		k.t.Helper()
		var v []float64
		if err := k.ask(`document.querySelector("svg.map").getAttribute("viewBox").split(" ").map(Number)`,
			&v); err != nil || len(v) != 4 {
			k.t.Fatalf("view box %v: %v", v, err)
		}
		return box{v[0], v[1], v[2], v[3]}
	}
	address := s.open.URL + "/collections/fylker/items?f=html&lang=en"
	k := keyboard{newTab(t, ctx, true, checks), t}
	w := desk
	w.reduced = true
	k.visit(w, address, 200)
	k.skip()
	onMap := func(f focus) bool { return f.Tag == "svg" }
	k.tabTo("the map", onMap)
	whole := look(k)
	k.press("+")
	if b := look(k); b.W >= whole.W || b.X <= whole.X || b.Y <= whole.Y {
		t.Errorf("+ shows %+v of %+v", b, whole)
	}
	k.press("+")
	near := look(k)
	k.press("-")
	if b := look(k); b.W <= near.W || b.W >= whole.W {
		t.Errorf("after zooming out once: %+v", b)
	}
	k.press("0")
	if b, f := look(k), k.focus(); b != whole || !onMap(f) || !f.Visible {
		t.Errorf("0 shows %+v, not %+v; the focus is on %+v", b, whole, f)
	}
	place := func() (at struct {
		X, Y       float64
		Name, Told string
	}) {
		t.Helper()
		if err := k.ask(`(() => { const a = document.activeElement, b = a.getBoundingClientRect();
			return { X: b.x + b.width / 2, Y: b.y + b.height / 2, Name: a.querySelector("title")?.textContent ?? "", Told: document.querySelector("figure [role=status]").textContent }; })()`, &at); err != nil {
			t.Fatal(err)
		}
		return at
	}
	for _, step := range []struct {
		key    string
		dx, dy float64
	}{{kb.ArrowDown, 0, 1}, {kb.ArrowRight, 1, 0}, {kb.ArrowUp, 0, -1}, {kb.ArrowLeft, -1, 0}} {
		before := place()
		k.press(step.key)
		after := place()
		if (after.X-before.X)*step.dx+(after.Y-before.Y)*step.dy <= 0 || after.Name == "" ||
			after.Name == before.Name || after.Told != after.Name {
			t.Errorf("an arrow (%v, %v) goes from %+v to %+v", step.dx, step.dy, before, after)
		}
	}
	name := place().Name
	k.enter(200)
	if heading := ""; k.ask(`document.querySelector("h1").textContent`, &heading) != nil || heading != name {
		t.Errorf("Enter on %s opens %s", name, heading)
	}
	k.visit(w, s.open.URL+"/?f=html&lang=en", 200)
	k.skip()
	k.tabTo("the map", onMap)
	k.press(kb.Tab)
	if f := k.focus(); f.Href == "" || strings.Contains(f.Href, "/items/") || f.Tag == "svg" {
		t.Errorf("after the map comes %+v", f)
	}

	w.noScript = true
	k.visit(w, s.open.URL+"/?f=html&lang=en", 200)
	var tools int
	if err := k.ask(`document.querySelectorAll(".tools").length`, &tools); err != nil || tools != 0 {
		t.Errorf("%d rows of buttons that do nothing: %v", tools, err)
	}
	k.skip()
	k.tabTo("a county on the map", func(f focus) bool { return strings.HasSuffix(f.Href, "/items/03?lang=en") })
	k.enter(200)
	if path := k.address().Path; path != "/collections/fylker/items/03" {
		t.Errorf("the map leads to %s", path)
	}
}
