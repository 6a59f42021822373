package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"grense/internal/config"
)

// visitor is a user with a task. It counts clicks; Enter counts as one.
type visitor struct {
	keyboard
	name   string
	clicks int
	w      window
}

// follow clicks the element that a selector names, and waits for the page that it leads to.
func (v *visitor) follow(selector string) {
	v.t.Helper()
	v.clicks++
	v.must(fmt.Sprintf(`if (!document.querySelector(%q)) throw new Error("there is no such element")`, selector), nil)
	status, err := v.load(chromedp.Steps(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, runtime.Evaluate, runtime.EvaluateParams{
			Expression: fmt.Sprintf(`document.querySelector(%q).click()`, selector), ContextID: v.world})
		return err
	})))
	if err != nil || status != http.StatusOK {
		v.t.Fatalf("%s: %s leads to status %d: %v", v.name, selector, status, err)
	}
}

// click clicks an element that opens no page.
func (v *visitor) click(selector string) {
	v.t.Helper()
	v.clicks++
	v.must(fmt.Sprintf(`document.querySelector(%q).click()`, selector), nil)
}

// write puts a text into a field; choose takes an option by its text.
func (v *visitor) write(selector, text string) {
	v.t.Helper()
	v.must(fmt.Sprintf(`(() => { const e = document.querySelector(%q); e.value = %q; })()`, selector, text), nil)
}

func (v *visitor) choose(selector, text string) {
	v.t.Helper()
	v.must(fmt.Sprintf(`(() => { const e = document.querySelector(%q), o = [...e.options].find((o) => `+
		`o.text === %q); if (!o) throw new Error("there is no such option"); e.value = o.value; })()`,
		selector, text), nil)
}

func (v *visitor) must(expression string, to any) {
	v.t.Helper()
	if err := v.ask(expression, to); err != nil {
		v.t.Fatalf("%s: %v", v.name, err)
	}
}

func (v *visitor) text(selector string) (s string) {
	v.t.Helper()
	v.must(fmt.Sprintf(`document.querySelector(%q)?.textContent ?? ""`, selector), &s)
	return s
}

// visitorTasks are typical tasks from the landing page on, each with its limit of clicks.
var visitorTasks = []struct {
	name   string
	clicks int
	do     func(v *visitor, s site)
}{
	{"find Bærum and take its GeoJSON link", 3, func(v *visitor, s site) {
		v.write("#search", "bærum kommune")
		v.follow("form.search button[type=submit]")
		v.follow("main h2 + ul a")
		link := v.text(".copies code")
		if !v.w.noScript {
			v.click(".copies button")
			v.must(`new Promise((done, failed) => { let n = 0; const look = () => `+
				`document.querySelector(".copies [role=status]").textContent.trim() === `+
				`document.querySelector(".copies").dataset.done || `+
				`getSelection().toString() === document.querySelector(".copies code").textContent ? done(true) : `+
				`n++ > 100 ? failed(new Error("it is neither copied nor marked")) : setTimeout(look, 20); `+
				`look(); })`, nil)
		}
		a := s.open.get(link).wants(200).json()
		if props, _ := a["properties"].(map[string]any); props["navn"] != "Bærum" || strings.Contains(link, "lang=") {
			v.t.Errorf("%s leads to %v", link, a["id"])
		}
	}},
	{"all counties as a file", 2, func(v *visitor, s site) {
		v.follow(`.cards a[href*="/collections/fylker?"]`)
		v.clicks++
		var href string
		v.must(`document.querySelector('.files a[href*="f=geojson"], .files a').href`, &href)
		if r := s.open.get(href).wants(200); !strings.Contains(r.Header.Get("Content-Disposition"), "attachment") {
			v.t.Errorf("%s is no file: %v", href, r.Header)
		}
	}},
	{"municipalities above 2,000 km² by area", 3, func(v *visitor, _ site) {
		v.follow(`.cards a[href*="/collections/kommuner/items"]`)
		v.click("main details summary")
		v.write(`[name="areal_km2.from"]`, "2 000")
		v.choose("#p-sortby", "Areal, synkende")
		v.follow("main details button")
		if name := v.text(".table tbody th a"); !strings.Contains(name, "Kautokeino") {
			v.t.Errorf("the largest is %q", name)
		}
		var right, bottom, wide float64
		v.must(`document.querySelector(".table tbody tr").children[`+
			`[...document.querySelectorAll(".table thead th")].findIndex((th) => th.ariaSort)].`+
			`getBoundingClientRect().right`, &right)
		v.must(`document.querySelector(".table tbody tr").getBoundingClientRect().bottom`, &bottom)
		v.must("innerWidth", &wide)
		if right > wide || bottom > float64(v.w.height) {
			v.t.Errorf("the largest lies at %.0f, %.0f of %.0f x %d", right, bottom, wide, v.w.height)
		}
	}},
	{"a place name in a municipality", 3, func(v *visitor, _ site) {
		v.follow(`.cards a[href*="/collections/stedsnavn/items"]`)
		v.click("main details summary")
		v.write("#p-search", "os")
		v.choose(`[name="kommunenummer"]`, "0301 Oslo")
		v.follow("main details button")
		if n := v.text("#count"); !strings.Contains(n, "treff for «os»") {
			v.t.Errorf("it finds %q", n)
		}
	}},
	{"the code of a county", 2, func(v *visitor, _ site) {
		v.write("#search", "rogaland fylke")
		v.follow("form.search button[type=submit]")
		v.follow("main h2 + ul a")
		if code := v.text("table.properties td"); code != "11" {
			v.t.Errorf("the code is %q", code)
		}
	}},
	{"which municipality is a point in", 1, func(v *visitor, _ site) {
		v.write("#search", "59.9 N 10.7 E")
		v.follow("form.search button[type=submit]")
		if found := v.text("main table tbody"); !strings.Contains(found, "Kommuner0301Oslo") {
			v.t.Errorf("the point is in %q", found)
		}
	}},
	{"correct a wrong filter", 1, func(v *visitor, s site) {
		v.visit(v.w, s.open.URL+"/collections/kommuner/items?f=html&lang=nb&navn.like=oslo&areal_km2.from=mange"+
			"&limit=5", http.StatusBadRequest)
		v.write(`[name="areal_km2.from"]`, "100")
		v.follow("main details button")
		if u := v.address().Query(); u.Get("navn.like") != "oslo" || u.Get("limit") != "5" ||
			v.text(".table tbody th a") != "Oslo" {
			v.t.Errorf("the form leads to %v", u)
		}
	}},
	{"a place by SOAP form", 3, func(v *visitor, _ site) {
		v.follow(`.more a[href*="/soap/"]`)
		v.write(`[name="Stedsnavn"]`, "Oslo")
		v.write(`[name="KommunerIds"]`, "oslo")
		v.follow("main form[method=post] button")
		if v.address().Fragment != "answer" {
			v.t.Errorf("the page is not at the answer: %s", v.address())
		}
		v.follow("#answer + .scroll td a")
		if path := v.address().Path; !strings.HasPrefix(path, "/collections/sted/items/") {
			v.t.Errorf("the hit leads to %s", path)
		}
	}},
	{"get at a key's contact", 1, func(v *visitor, s site) {
		v.visit(v.w, s.keyed.URL+"/?f=html&lang=nb", http.StatusOK)
		v.follow(`main a.button[href*="/key"]`)
		var contact []string
		v.must(`[...document.querySelectorAll("main a[href^='mailto:']")].map((a) => a.href)`, &contact)
		if len(contact) != 1 || contact[0] != "mailto:kart@example.org" {
			b, _ := json.Marshal(contact)
			v.t.Errorf("the page has the addresses %s", b)
		}
	}},
}

// visitTasks performs typical tasks of users, with and without scripts, on a large and on a small screen. Each has a
// limit of clicks.
func visitTasks(t *testing.T, ctx context.Context, checks string) {
	path, err := wholeDemo()
	if err != nil {
		t.Fatal(err)
	}
	s := site{open: serve(t, path, nil), keyed: serve(t, path, func(c *config.Config) {
		c.Auth = "required"
		c.Service.Contact = config.Contact{Name: "Kartkontoret", Email: "kart@example.org"}
	})}
	k := keyboard{newTab(t, ctx, true, checks), t}
	for _, noScript := range []bool{false, true} {
		for _, w := range []window{{width: 1440, height: 900}, phone} {
			w.noScript, w.reduced = noScript, true
			for _, task := range visitorTasks {
				v := &visitor{keyboard: k, name: fmt.Sprintf("%s, %d wide, scripts %t", task.name, w.width, !noScript),
					w: w}
				k.visit(w, s.open.URL+"/?f=html&lang=nb", http.StatusOK)
				task.do(v, s)
				if v.clicks > task.clicks {
					t.Errorf("%s takes %d clicks", v.name, v.clicks)
				}
			}
		}
	}
}
