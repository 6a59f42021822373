package server_test

import (
	"context"
	"net/http"
	"testing"
)

// phone is a small screen.
var phone = window{width: 360, height: 740}

// hitsFirst opens what was searched on a small and on a large screen: the first hit is seen without scrolling, and so is what it is sorted by.
func hitsFirst(t *testing.T, ctx context.Context, s site, checks string) {
	k := keyboard{newTab(t, ctx, true, checks), t}
	for _, path := range []string{"/collections/kommuner/items?f=html&q=b%C3%A6rum", "/collections/sted/items?f=html&kommunenummer=1101", "/collections/stedsnavn/items?f=html&q=os&limit=5",
		"/collections/kommuner/items?f=html&sortby=-areal_km2&filter=areal_km2%3E2000", "/collections/kommuner/items?f=html"} {
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
