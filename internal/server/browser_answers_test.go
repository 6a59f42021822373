package server_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// answeredForms submits forms on a small screen, light and dark, and checks the result: axe-core and the console
// report nothing, and nothing is wider than the screen. Other tests open the pages that GET returns.
func answeredForms(t *testing.T, ctx context.Context, s site, checks string, haveAxe bool) {
	k := keyboard{newTab(t, ctx, true, checks), t}
	for _, f := range []struct {
		name, path, fill string // fill is the script that fills in the form, called form
		status           int    // of the page that follows; 0: the page stays and shows the outcome in place
		noScript         bool
	}{
		{"SOAP form with hits", "/soap/stedsnavn/v1?f=html&operation=findStedsnavn",
			`form.elements.Stedsnavn.value = "os*"`, http.StatusOK, false},
		{"SOAP form that is refused", "/soap/stedsnavn/v1?f=html",
			`form.elements.Stedsnavn.value = "*"; form.elements.KommunerIds.value = "Atlantis"`, http.StatusOK, false},
		{"process with results", "/processes/get-distinct-values?f=html", `form.elements.queryable.value = "navn"`, 0,
			false},
		{"process that is refused", "/processes/get-distinct-values?f=html", `form.elements.queryable.value = "x"`, 0,
			false},
		{"process that is refused, without scripts", "/processes/get-distinct-values?f=html",
			`form.elements.queryable.value = "x"`, http.StatusBadRequest, true},
		{"upload that is refused", "/processes/enrich-table?f=html",
			`form.elements.crs.value = "x"; form.elements.table.required = false`, 0, false},
		{"wrong key", "/key?f=html", `form.elements.key.value = "grense_wrong"`, http.StatusUnauthorized, false},
	} {
		for _, dark := range []bool{false, true} {
			w := phone
			w.dark, w.reduced, w.noScript = dark, true, f.noScript
			a := s.open
			if f.name == "wrong key" {
				a = s.keyed
			}
			k.visit(w, a.URL+f.path+"&lang=nb", http.StatusOK)
			if status, err := k.post(f.fill, f.status == 0); err != nil || status != f.status {
				t.Fatalf("%s: status %d, want %d: %v", f.name, status, f.status, err)
			}
			w.noScript = false // for axe-core, which needs timers
			if err := k.set(w); err != nil {
				t.Fatal(err)
			}
			for _, check := range []string{"accessible()", "narrow()", "unbroken()"} {
				var faults []string
				if check == "accessible()" && !haveAxe {
					continue
				}
				if err := k.ask(check, &faults); err != nil || len(faults) > 0 {
					t.Errorf("%s, dark %t: %v %q", f.name, dark, err, faults)
				}
			}
			if hits := 0; f.name == "SOAP form with hits" &&
				(k.ask(`document.querySelectorAll("#answer + .scroll tbody tr").length`, &hits) != nil || hits == 0) {
				t.Error("the search has no hits")
			}
			w.print, w.width = true, 720 // A4
			if err := k.set(w); err != nil {
				t.Fatal(err)
			}
			var cut []string
			if err := k.ask("narrow()", &cut); err != nil || len(cut) > 0 {
				t.Errorf("%s is printed: %v %q", f.name, err, cut)
			}
			for _, fault := range k.happened().faults {
				if f.status != 0 || !containsStatus(fault) {
					t.Errorf("%s: %s", f.name, fault)
				}
			}
		}
	}
}

// post fills in and submits the form with method post, which fill knows as form. It returns the status of the page
// that follows. If the page stays, post waits until it shows the outcome in place, and returns 0.
func (b *tab) post(fill string, stays bool) (int, error) {
	yes, send := true, `(() => { const form = document.querySelector("main form[method=post]"); `+fill+`; `+
		`form.querySelector("button").click(); })()`
	if stays {
		return 0, b.ask(send+`; new Promise((done) => { const look = () => { `+
			`const o = document.querySelector(".outcome:not([hidden])"); `+
			`o && !o.querySelector("progress") ? done() : setTimeout(look, 20); }; look(); })`, nil)
	}
	return b.load(chromedp.Steps(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, runtime.Evaluate, runtime.EvaluateParams{
			Expression: send, ContextID: b.world, UserGesture: &yes})
		return err
	})))
}

// wideTables opens a page of features with all properties. On a large screen headings do not break inside words, and
// on paper no column is cut off.
func wideTables(t *testing.T, ctx context.Context, s site, checks string) {
	k := keyboard{newTab(t, ctx, true, checks), t}
	w := window{width: 1440, height: 900}
	k.visit(w, s.open.URL+"/collections/sted/items?f=html&lang=nb&limit=5&properties=visningsnavn,stedsnummer,"+
		"stedsnavn,navneobjekttype,navneobjektgruppe,navneobjekthovedgruppe,stedstatus,"+
		"kommunenummer,kommuner,fylkesnummer,land,spraakprioritering,vedtaksmyndighet,sortering1,sortering2,lokal_id,"+
		"registrert,oppdatert,sluttdato", http.StatusOK)
	var width float64
	if err := k.ask(`document.querySelector(".table tbody th").getBoundingClientRect().width`, &width); err != nil ||
		width < 140 {
		t.Errorf("titles are %.0f px wide: %v", width, err)
	}
	w.print, w.width = true, 720
	if err := k.set(w); err != nil {
		t.Fatal(err)
	}
	var cut []string
	if err := k.ask("narrow()", &cut); err != nil || len(cut) > 0 {
		t.Errorf("on paper: %v %q", err, cut)
	}
	k.visit(w, s.open.URL+"/processes/enrich-table?f=html&lang=nb", http.StatusOK)
	if err := k.ask(`[...document.querySelectorAll("h2, h3")].filter((h) => h.checkVisibility() && `+
		`/Kjør|fil|Lim/.test(h.textContent)).map((h) => h.textContent)`, &cut); err != nil || len(cut) > 0 {
		t.Errorf("on paper stand headings of forms, which do not: %v %q", err, cut)
	}
}

// containsStatus reports whether a fault is the browser's own line about a refused request. The test submits the form
// to get that refusal.
func containsStatus(fault string) bool {
	var status int
	_, err := fmt.Sscanf(fault, "network error: Failed to load resource: the server responded with a status of %d",
		&status)
	return err == nil && status == http.StatusBadRequest
}
