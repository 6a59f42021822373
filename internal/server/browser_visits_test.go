package server_test

import (
	"bytes"
	"context"
	"fmt"
	"image/color"
	"image/png"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// phone is a small screen.
var phone = window{width: 360, height: 740}

// hitsFirst opens search results on a large and on a small screen. The first hit and the property that sorts the hits
// are visible without scrolling.
func hitsFirst(t *testing.T, ctx context.Context, s site, checks string) {
	k := keyboard{newTab(t, ctx, true, checks), t}
	for _, path := range []string{"/collections/kommuner/items?f=html&q=b%C3%A6rum",
		"/collections/sted/items?f=html&kommunenummer=1101", "/collections/stedsnavn/items?f=html&q=os&limit=5",
		"/collections/kommuner/items?f=html&sortby=-areal_km2&filter=areal_km2%3E2000",
		"/collections/kommuner/items?f=html"} {
		for _, w := range []window{phone, {width: 1440, height: 900}} {
			for _, lang := range []string{"nb", "nn", "en"} {
				k.visit(w, s.open.URL+path+"&lang="+lang, http.StatusOK)
				var seen struct {
					Open                  bool
					Bottom, Sorted, Width float64
					Link                  bool
				}
				err := k.ask(`(() => {
					const row = document.querySelector(".table tbody tr"), head = [...document.querySelectorAll(".table thead th")].findIndex((th) => th.ariaSort);
					return { Open: document.querySelector("main details").open, Bottom: row.getBoundingClientRect().bottom, Link: !!row.querySelector("th[scope=row] a"),
						Sorted: head < 0 ? 0 : row.children[head].getBoundingClientRect().right, Width: innerWidth };
				})()`, &seen)
				if err != nil {
					t.Fatal(err)
				}
				if seen.Open || !seen.Link || seen.Bottom > float64(w.height) || seen.Sorted > seen.Width {
					t.Errorf("%s in %s on %d x %d: %+v", path, lang, w.width, w.height, seen)
				}
			}
		}
	}
}

// luminance is that of WCAG 2.2.
func luminance(c color.RGBA) float64 {
	part := func(v uint8) float64 {
		if x := float64(v) / 255; x > .04045 {
			return math.Pow((x+.055)/1.055, 2.4)
		} else {
			return x / 12.92
		}
	}
	return .2126*part(c.R) + .7152*part(c.G) + .0722*part(c.B)
}

func contrast(a, b color.RGBA) float64 {
	x, y := luminance(a)+.05, luminance(b)+.05
	return max(x, y) / min(x, y)
}

// tileContrast measures the pixels of the tile map of a feature as mapContrast does: the outline stands out from
// every background, and land differs from sea.
func tileContrast(t *testing.T, ctx context.Context, s site, checks string) {
	k := keyboard{newTab(t, ctx, true, checks), t}
	for _, path := range []string{"/collections/kommuner/items/1103", "/collections/fylker/items/11",
		"/collections/sted/items/2"} {
		for _, dark := range []bool{false, true} {
			k.visit(window{width: 1280, height: 900, dark: dark}, s.open.URL+path+"?f=html&lang=en", http.StatusOK)
			k.mapShown()
			var px struct {
				Point, Chosen, Sea [3]uint8
				Counts             map[string]int
				All                int
			}
			if err := k.ask("mapPixels()", &px); err != nil {
				t.Fatal(err)
			}
			rgb := func(c [3]uint8) color.RGBA { return color.RGBA{c[0], c[1], c[2], 255} }
			if !strings.Contains(path, "sted") {
				px.Point = px.Chosen // an area has its outline
			}
			outline, grounds := rgb(px.Point), map[color.RGBA]bool{}
			for name, n := range px.Counts {
				var c [3]uint8
				if _, err := fmt.Sscanf(name, "%d,%d,%d", &c[0], &c[1], &c[2]); err != nil {
					t.Fatal(err)
				}
				if n > px.All/50 && rgb(c) != outline {
					grounds[rgb(c)] = true
					if got := contrast(rgb(c), outline); got < 3 {
						t.Errorf("%s dark %t: the outline %v stands out from %v by %.2f", path, dark, outline, c, got)
					}
				}
			}
			if name := fmt.Sprintf("%d,%d,%d", px.Point[0], px.Point[1], px.Point[2]); px.Counts[name] < 20 {
				t.Errorf("%s dark %t: only %d pixels of the outline %s", path, dark, px.Counts[name], name)
			}
			if delete(grounds, rgb(px.Sea)); len(grounds) == 0 {
				t.Errorf("%s dark %t: land has the colour of the sea, %v", path, dark, px.Sea)
			}
		}
	}
}

// mapContrast measures the pixels of the drawn map of a feature: the outline has a contrast of 3:1 to everything else
// on the map.
func mapContrast(t *testing.T, ctx context.Context, s site, checks string) {
	k := keyboard{newTab(t, ctx, true, checks), t}
	for _, path := range []string{"/collections/kommuner/items/3201", "/collections/kommuner/items/1103",
		"/collections/fylker/items/11"} {
		for _, dark := range []bool{false, true} {
			k.visit(window{width: 1280, height: 900, dark: dark, noScript: true}, s.open.URL+path+"?f=html&lang=en",
				http.StatusOK)
			var line []float64 // the colour of the outline, as the style sheet has it, and where the map is
			err := k.ask(`(() => { const m = document.querySelector("svg.map"), b = m.getBoundingClientRect();
				return [...getComputedStyle(m.querySelector(".here path")).stroke.match(/\d+/g).map(Number), b.left, b.top, b.right, b.bottom]; })()`, &line)
			if err != nil || len(line) != 7 {
				t.Fatalf("%v: %v", line, err)
			}
			shot, err := chromedp.Run(k.ctx, chromedp.FullScreenshot(100))
			if err != nil {
				t.Fatal(err)
			}
			img, err := png.Decode(bytes.NewReader(shot))
			if err != nil {
				t.Fatal(err)
			}
			seen, all := map[color.RGBA]int{}, 0
			for y := int(line[4]) + 6; y < int(line[6])-6; y++ {
				for x := int(line[3]) + 6; x < int(line[5])-6; x++ {
					seen[color.RGBAModel.Convert(img.At(x, y)).(color.RGBA)]++
					all++
				}
			}
			outline := color.RGBA{uint8(line[0]), uint8(line[1]), uint8(line[2]), 255}
			if seen[outline] < 100 {
				t.Errorf("%s dark %t: only %d pixels of the outline %v", path, dark, seen[outline], outline)
			}
			var grounds []color.RGBA
			for c, n := range seen {
				if n > all/50 && c != outline {
					grounds = append(grounds, c)
					if got := contrast(c, outline); got < 3 {
						t.Errorf("%s dark %t: the outline %v stands out from %v by %.2f", path, dark, outline, c, got)
					}
				}
			}
			if len(grounds) < 2 {
				t.Errorf("%s dark %t: the map is of %v", path, dark, slices.Clone(grounds))
			}
		}
	}
}
