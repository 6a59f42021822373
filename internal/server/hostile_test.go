package server_test

import (
	"bytes"
	"encoding/json"
	"html"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/paulmach/orb"
	"github.com/paulmach/orb/encoding/wkb"

	"grense/internal/config"
	"grense/internal/cql2"
	"grense/internal/geo/crs"
	"grense/internal/store"
	"grense/internal/store/gpkg"
	"grense/internal/store/storetest"
)

// hostile are texts that would become markup, links or script where a page does not escape them.
var hostile = []string{`<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `' onmouseover='alert(1)`,
	`javascript:alert(1)`, `</title></svg></select><b>x</b>`, `&lt;b&gt;&#39;`, `../../x?f=json#y`, `%3Cb%3E`}

// hostileData serves features with hostile texts, codes and names; half of them have hostile ids too. Every second
// reference leads nowhere.
func hostileData(t *testing.T, configure func(*config.Config)) *api {
	t.Helper()
	path := filepath.Join(t.TempDir(), "hostile.gpkg")
	storetest.Write(t, func(w store.Writer) {
		bad := strings.Join(hostile, " ")
		column := func(name string, typ cql2.Type) store.Property {
			return store.Property{Name: name, Column: name, Type: typ, Title: store.Text{"nb": bad},
				Description: store.Text{"nb": bad}}
		}
		ref, enum, list := column("eier", cql2.TypeText), column("slag", cql2.TypeText), column("liste", cql2.TypeJSON)
		ref.Ref, enum.Enum, list.Ref, enum.CodeList = "eiere", hostile, "eiere", "javascript:alert(1)"
		number := column("tall", cql2.TypeNumber)
		number.Unit = bad
		key := store.FeatureKey{Column: "kode", Type: cql2.TypeText}
		owners := &store.Collection{ID: "eiere", Table: "eiere", Title: store.Text{"nb": bad}, Public: true, Key: key,
			Properties:    []store.Property{column("navn", cql2.TypeText), column("spraak", cql2.TypeText)},
			TitleProperty: "navn"}
		things := &store.Collection{ID: "ting", Table: "ting", Title: store.Text{"nb": bad},
			Description: store.Text{"nb": bad}, Keywords: hostile,
			Links:  []store.Link{{Rel: "license", Href: "javascript:alert(1)", Title: bad}},
			Public: true, Key: key, Geometry: &store.Geom{Name: "geom", Column: "geom", Type: "Point", CRS: crs.CRS84},
			Properties: []store.Property{column("navn", cql2.TypeText), column("spraak", cql2.TypeText), ref, enum,
				list, column("objekt", cql2.TypeJSON), number}, TitleProperty: "navn"}
		for _, c := range []*store.Collection{owners, things} {
			if err := w.Define(t.Context(), c, false); err != nil {
				t.Fatal(err)
			}
		}
		addOwner, err := w.Insert(t.Context(), "eiere", []string{"kode", "navn", "spraak"})
		if err != nil {
			t.Fatal(err)
		}
		add, err := w.Insert(t.Context(), "ting", []string{"kode", "navn", "spraak", "eier", "slag", "liste", "objekt",
			"tall", "geom"})
		if err != nil {
			t.Fatal(err)
		}
		for i, x := range hostile {
			if i%2 == 0 {
				if err := addOwner(x, x, `"><b>`); err != nil {
					t.Fatal(err)
				}
			}
			text, err := json.Marshal([]any{12345678, 0.5, nil, true, map[string]any{"a": x}, x})
			if err != nil {
				t.Fatal(err)
			}
			if err := add(x, x, x, x, x, string(text), `{"a":"</script>"}`, float64(i),
				store.Geometry{WKB: wkb.MustMarshal(orb.Point{10 + float64(i)/10, 60})}); err != nil {
				t.Fatal(err)
			}
			if err := add("plain"+strconv.Itoa(i), x, x, x, x, string(text), `{"a":"</script>"}`, float64(i),
				store.Geometry{WKB: wkb.MustMarshal(orb.Point{10 + float64(i)/10, 61})}); err != nil {
				t.Fatal(err)
			}
		}
	})(gpkg.Create(t.Context(), path))
	return serve(t, path, configure)
}

// markup matches hostile texts that were not escaped.
var markup = regexp.MustCompile(
	`(?i)<script>|<b>|<img src=x|\son(error|mouseover)='?"?alert|(href|src|action|formaction)=["']?javascript:`)

func TestHostileTextsStayTexts(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long: the run without the race detector has it")
	}
	a := hostileData(t, nil)
	look := func(path string) string {
		r := a.get(path).wants(http.StatusOK)
		body := string(r.Body)
		outside := strings.ReplaceAll(body, "\n", " ")
		for _, tag := range regexp.MustCompile(`<[^>]*>`).FindAllString(outside, -1) {
			bare := regexp.MustCompile(`"[^"]*"`).ReplaceAllString(tag, `""`)
			if m := markup.FindString(bare); m != "" {
				t.Errorf("%s has %q in %s", path, m, tag)
			}
		}
		for _, m := range regexp.MustCompile(
			`(?i)<script>|<b>|<img src=x|(href|src|action)="\s*javascript:`).FindAllString(body, -1) {
			t.Errorf("%s has %q", path, m)
		}
		for _, f := range htmlFaults(r.Body) {
			if !strings.Contains(f, "ZgotmplZ") { // in place of a link that would run a script
				t.Errorf("%s: %s", path, f)
			}
		}
		return body
	}
	for _, path := range []string{"/?f=html", "/collections?f=html", "/collections/ting?f=html",
		"/collections/ting/schema?f=html", "/collections/ting/queryables?f=html", "/openapi?f=html",
		"/collections/eiere/items?f=html", "/collections/ting/items?f=html&sortby=-navn"} {
		look(path)
	}
	for _, x := range hostile {
		look("/collections/ting/items?f=html&navn=" + url.QueryEscape(x) + "&lang=en")
		look("/collections/ting/items?f=html&eier=" + url.QueryEscape(x+"none"))
	}
	body := look("/collections/ting/items?f=html")
	ids := 0
	for _, m := range regexp.MustCompile(`<th scope="row"><a href="([^"]*)">`).FindAllStringSubmatch(body, -1) {
		ids++
		look(html.UnescapeString(m[1]))
	}
	if ids != 2*len(hostile) {
		t.Errorf("%d features of %d", ids, 2*len(hostile))
	}
	// list elements that are no texts are written as JSON
	if want := "12345678, 0.5, null, true, {&#34;a&#34;:"; !strings.Contains(body, want) {
		t.Errorf("the lists lack %s", want)
	}
}

// TestPagesAreUTF8WhateverIsAsked: pages repeat the query, also if its bytes are no valid text.
func TestPagesAreUTF8WhateverIsAsked(t *testing.T) {
	t.Parallel()
	a := serveWithout(t)
	for _, path := range []string{"/collections/kommuner/items?f=html&q=%ff%fe",
		"/collections/kommuner/items?f=html&%ff=1", "/collections/kommuner/items/%ff?f=html", "/collections/%ff?f=html",
		"/search?f=html&q=%ff"} {
		r := a.get(path, "Accept-Encoding", "identity")
		if !strings.HasPrefix(r.Header.Get("Content-Type"), "text/html") || !utf8.Valid(r.Body) ||
			!bytes.ContainsRune(r.Body, utf8.RuneError) {
			t.Errorf("%s: status %d, %s, not UTF-8: %q", path, r.StatusCode, r.Header.Get("Content-Type"), r.Body)
		}
	}
}
