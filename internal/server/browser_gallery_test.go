package server_test

import (
	"fmt"
	"html"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"zombiezen.com/go/sqlite/sqlitex"
)

// TestGallery stores a picture of every kind of page in the folder GRENSE_SCREENSHOTS, also after forms were
// submitted, and an index page of them. It is for people to look at: nothing is compared. GRENSE_TEST_PAGE limits it
// to the named pictures, separated by commas.
func TestGallery(t *testing.T) {
	dir := os.Getenv("GRENSE_SCREENSHOTS")
	if dir == "" {
		t.Skip("make screenshots takes the pictures")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	ctx := chromium(t)
	checks, _ := script(t)
	s := newSite(t)
	g := &gallery{tab: newTab(t, ctx, true, checks), t: t, dir: dir}
	for _, k := range pageKinds {
		v := visit{k, reader{who: "open", lang: "nb"}, s.open}
		g.add(scene{name: k.name, address: v.address(), status: v.status()})
		if k.name == "landing" || k.name == "items" || k.name == "item" || k.name == "collection" {
			v = visit{k, reader{who: "keyless", lang: "nb"}, s.keyed}
			g.add(scene{name: k.name + "-keyless", address: v.address(), status: v.status()})
		}
	}
	for _, x := range append(scenes(s), workedScenes(t)...) {
		x.address += "&lang=nb"
		g.add(x)
	}
	g.maps(s.open)
	g.index.WriteString("</body></html>\n")
	head := "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Pages of " +
		"Grense</title></head><body>\n"
	if err := os.WriteFile(filepath.Join(dir, "index.html"), []byte(head+g.index.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Logf("open %s", filepath.Join(dir, "index.html"))
}

// scene is a page after some steps of a user.
type scene struct {
	name, address string
	status        int    // of the page at the address; 0 for 200
	fill          string // typed into the form that the page posts, as (*tab).post has it; "" posts nothing
	stays         bool   // the page shows the outcome in place
}

// scenes are additional pictures to those of pageKinds: results of searches and of forms.
func scenes(s site) (out []scene) {
	open := func(name, path, fill string) {
		out = append(out, scene{name: name, address: s.open.URL + path, fill: fill})
	}
	open("search-many", "/search?f=html&q=nes", "")
	open("search-none", "/search?f=html&q=Atlantis", "")
	open("search-coordinate", "/search?f=html&q=59.9+10.7", "")
	open("items-searched", "/collections/kommuner/items?f=html&q=os&fylke_nr=34", "")
	open("places-searched", "/collections/stedsnavn/items?f=html&q=os&limit=10", "")
	for operation, fill := range map[string]string{"findSteder": `form.elements.Stedsnavn.value = "os*"`,
		"findStedsnavn":  `form.elements.Stedsnavn.value = "os*"`,
		"findBoeker":     `form.elements.Soeketekst.value = "norske"`,
		"findNavnesaker": `form.elements.Saksnummer.value = "32"`} {
		open("soap-"+operation, "/soap/stedsnavn/v1?f=html&operation="+operation, fill)
	}
	open("soap-refused", "/soap/stedsnavn/v1?f=html",
		`form.elements.Stedsnavn.value = "*"; form.elements.KommunerIds.value = "Atlantis"`)
	open("soap-none", "/soap/stedsnavn/v1?f=html&operation=findSteder", `form.elements.Stedsnavn.value = "Atlantis"`)
	for name, value := range map[string]string{"process-results": "navn", "process-refused": "x"} {
		out = append(out, scene{name: name, address: s.open.URL + "/processes/get-distinct-values?f=html",
			fill: `form.elements.queryable.value = "` + value + `"`, stays: true})
	}
	out = append(out, scene{name: "bad-filter", address: s.open.URL +
		"/collections/kommuner/items?f=html&filter=navn+LIK+%27S%25%27&areal_km2=stor", status: 400},
		scene{name: "bad-search", address: s.open.URL + "/search?f=html&q=", status: 400},
		scene{name: "key-wrong", address: s.keyed.URL + "/key?f=html",
			fill: `form.elements.key.value = "grense_wrong"`})
	slices.SortFunc(out, func(a, b scene) int { return strings.Compare(a.name, b.name) })
	return out
}

// workedScenes are of a server that has had work: changes in its data, and jobs that run, have ended and have failed.
func workedScenes(t *testing.T) []scene {
	t.Helper()
	path, err := wholeDemo()
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(t.TempDir(), "worked.gpkg")
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
	a := serve(t, path, nil)
	record := func() {
		if err := a.srv.RecordChanges(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	record()
	if err := sqlitex.ExecuteScript(writable(t, path), "UPDATE kommuner SET navn = 'Nye Asker' WHERE nr = '3203'; "+
		"DELETE FROM kommuner WHERE nr = '1144';"+
		"UPDATE fylker SET navn = 'Viken' WHERE nr = '32';", nil); err != nil {
		t.Fatal(err)
	}
	if err := a.srv.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	record()
	out := []scene{{name: "worked-changes", address: a.URL + "/changes?f=html&limit=20"},
		{name: "worked-changes-latest", address: a.URL + "/changes/latest?f=html"}}
	for _, j := range []struct{ process, inputs, until string }{
		{"enrich-table", `{"table":"name,lon,lat\nOslo,10.75,59.91\nnowhere,2,61\n"}`, "successful"},
		{"echo", `{"string":{"href":"http://192.0.2.1/x"}}`, "failed"},
		{"echo", `{"string":"x","pause":60}`, "running"}} {
		job := a.send("/processes/"+j.process+"/execution", `{"inputs":`+j.inputs+`}`, "Prefer", "respond-async").wants(
			201).Header.Get("Location")
		a.until(job, j.until)
		out = append(out, scene{name: "worked-job-" + j.until, address: job + "?f=html"})
	}
	return append(out, scene{name: "worked-jobs", address: a.URL + "/jobs?f=html"})
}

// gallery takes pictures into a folder.
type gallery struct {
	*tab
	t     *testing.T
	dir   string
	index strings.Builder
}

// add takes the pictures of a page.
func (g *gallery) add(x scene) {
	if only := os.Getenv("GRENSE_TEST_PAGE"); only != "" && !slices.Contains(strings.Split(only, ","), x.name) {
		return
	}
	fmt.Fprintf(&g.index, "<h2>%s <a href=%q>%s</a></h2>\n<p>", x.name, x.address, html.EscapeString(x.address))
	for _, l := range []struct {
		name string
		w    window
	}{
		{"desk-light", window{width: 1440, height: 900}},
		{"desk-dark", window{width: 1440, height: 900, dark: true}},
		{"phone-light", phone},
		{"phone-dark", window{width: phone.width, height: phone.height, dark: true}},
		{"print", window{width: 720, height: 1018, print: true}}, // A4 within its margins
	} {
		png, err := g.picture(x, l.w)
		if err != nil {
			g.t.Errorf("%s, %s: %v", x.name, l.name, err)
			continue
		}
		file := x.name + "-" + l.name + ".png"
		if err := os.WriteFile(filepath.Join(g.dir, file), png, 0o644); err != nil {
			g.t.Fatal(err)
		}
		fmt.Fprintf(&g.index, "<a href=%q><img src=%q alt=%q width=\"%d\" loading=\"lazy\"></a>\n", file, file, l.name,
			l.w.width/4)
	}
	g.index.WriteString("</p>\n")
}

// maps puts the map of a collection beside each other: as PNG and SVG of each theme, and on a page.
func (g *gallery) maps(a *api) {
	if only := os.Getenv("GRENSE_TEST_PAGE"); only != "" && !strings.Contains(only, "maps") {
		return
	}
	g.index.WriteString("<h2>The same map as PNG, as SVG and on pages</h2>\n<p>")
	put := func(file string, body []byte) {
		if err := os.WriteFile(filepath.Join(g.dir, file), body, 0o644); err != nil {
			g.t.Fatal(err)
		}
		fmt.Fprintf(&g.index, "<a href=%q><img src=%q alt=%q width=\"340\"></a>\n", file, file, file)
	}
	for _, theme := range []string{"light", "dark", "print"} {
		for _, f := range []string{"png", "svg"} {
			path := "/collections/kommuner/map?width=680&height=680&transparent=false&theme=" + theme + "&f=" + f
			put("maps-"+theme+"."+f, a.get(path).wants(200).Body)
		}
	}
	for _, dark := range []bool{false, true} {
		name := map[bool]string{false: "light", true: "dark"}[dark]
		png, err := g.picture(scene{address: a.URL + "/collections/kommuner/map?f=html"},
			window{width: 900, height: 900, dark: dark})
		if err != nil {
			g.t.Errorf("maps, %s: %v", name, err)
			continue
		}
		put("maps-page-"+name+".png", png)
	}
	g.index.WriteString("</p>\n")
}

// picture takes one picture of the whole page.
func (g *gallery) picture(x scene, w window) ([]byte, error) {
	status, err := g.open(w, x.address)
	if err != nil || status != max(x.status, 200) {
		return nil, fmt.Errorf("status %d: %v", status, err)
	}
	if x.fill != "" {
		if _, err := g.post(x.fill, x.stays); err != nil {
			return nil, err
		}
	}
	if err := g.ask("mapShown()", nil); err != nil {
		return nil, err
	}
	if err := g.ask("scrollTo(0, 0)", nil); err != nil {
		return nil, err
	}
	return chromedp.Run(g.ctx, chromedp.FullScreenshot(100))
}
