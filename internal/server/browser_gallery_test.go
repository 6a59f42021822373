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
)

// TestGallery takes pictures of every kind of page into the folder GRENSE_SCREENSHOTS, with a page that shows them all. It is for people to look at:
// nothing is compared.
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
	b := newTab(t, ctx, true, checks)
	looks := []struct {
		name string
		w    window
	}{
		{"desk-light", window{width: 1440, height: 900}},
		{"desk-dark", window{width: 1440, height: 900, dark: true}},
		{"phone-light", window{width: 360, height: 740}},
		{"phone-dark", window{width: 360, height: 740, dark: true}},
		{"print", window{width: 720, height: 1018, print: true}}, // A4 within its margins
	}
	printed := []string{"landing", "collection", "items-filtered", "item", "codelist"}
	var index strings.Builder
	index.WriteString("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Pages of Grense</title></head><body>\n")
	picture := func(name string, v visit) {
		fmt.Fprintf(&index, "<h2>%s <a href=%q>%s</a></h2>\n<p>", name, v.kind.path, html.EscapeString(v.kind.path))
		for _, l := range looks {
			if l.w.print && !slices.Contains(printed, name) {
				continue
			}
			status, err := b.open(l.w, v.address())
			if err != nil || status != v.status() {
				t.Errorf("%s: status %d: %v", v.address(), status, err)
				continue
			}
			if err := b.ask("mapShown()", nil); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			png, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			file := name + "-" + l.name + ".png"
			if err := os.WriteFile(filepath.Join(dir, file), png, 0o644); err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&index, "<a href=%q><img src=%q alt=%q width=\"%d\" loading=\"lazy\"></a>\n", file, file, l.name, l.w.width/4)
		}
		index.WriteString("</p>\n")
	}
	for _, k := range pageKinds {
		if only := os.Getenv("GRENSE_TEST_PAGE"); only != "" && !slices.Contains(strings.Split(only, ","), k.name) { // while these are worked on
			continue
		}
		picture(k.name, visit{k, reader{who: "open", lang: "nb"}, s.open})
		if k.name == "landing" || k.name == "items" || k.name == "item" || k.name == "collection" {
			picture(k.name+"-keyless", visit{k, reader{who: "keyless", lang: "nb"}, s.keyed})
		}
	}
	index.WriteString("</body></html>\n")
	if err := os.WriteFile(filepath.Join(dir, "index.html"), []byte(index.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Logf("open %s", filepath.Join(dir, "index.html"))
}
