package server_test

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"grense/api/placename"
	"grense/internal/config"
)

// keptPattern finds how many cached responses of a kind are in memory.
var keptPattern = regexp.MustCompile(`(?m)^grense_cache_entries\{cache="(answers|documents|previews|tiles)"\} ([0-9]+)`)

// drawn matches what changes once tile levels are built.
var drawn = regexp.MustCompile(`f=html|tiles/.*/[0-9]+$|preview`)

// TestNothingFinishedIsKeptWithoutAnswers sends each kind of request three times, with a response cache and with
// limits.answers 0. With 0 nothing is left in memory or on disk, and the responses are the same.
func TestNothingFinishedIsKeptWithoutAnswers(t *testing.T) {
	t.Parallel()
	paths := []string{"/", "/?f=html", "/preview.png", "/openapi", "/conformance", "/codelists",
		"/codelists/navneobjekttype?f=csv", "/collections", "/collections/sted", "/collections/sted?f=html",
		"/collections/sted/schema", "/collections/sted/items?limit=3", "/collections/sted/items?limit=3&f=csv",
		"/collections/sted/items?limit=3&f=jsonld", "/collections/sted/items?limit=3&f=html",
		"/collections/sted/tiles/WebMercatorQuad/3/2/4", "/collections/sted/tiles/WebMercatorQuad?f=json",
		"/collections/sted/download?f=kml", "/collections/sted/download?f=gpkg"}
	message := string(placename.ExampleRequest(placename.TheContract().Operations[0].Name, false,
		placename.DefaultBase))
	for _, most := range []config.Size{0, 64 << 20} {
		if most > 0 && onPostGIS() { // writes of other tests to the cluster invalidate the cache
			continue
		}
		dir := t.TempDir()
		a := serveRegister(t, func(c *config.Config) {
			c.DataDir, c.Limits.Downloads, c.Limits.Answers = dir, 1<<30,
				most
		})
		for _, path := range paths {
			before := ""
			for range 3 {
				r := a.get(path).wants(http.StatusOK)
				if most == 0 && a.wasCached(r) {
					t.Errorf("%s is a kept answer", path)
				}
				if text := r.Header.Get("ETag"); before != "" && text != before && !drawn.MatchString(path) &&
					!onPostGIS() {
					t.Errorf("%s has the ETag %s, had %s", path, text, before)
				} else {
					before = text
				}
			}
		}
		for range 3 {
			if r := a.post(endpoint, "text/xml; charset=utf-8", message).wants(http.StatusOK); most == 0 &&
				a.wasCached(r) {
				t.Error("a search by SOAP has a kept answer")
			}
		}
		a.makeFiles(t, "fylker")
		kinds, files := 0, 0
		for _, m := range keptPattern.FindAllStringSubmatch(httpGetMetrics(t, a), -1) {
			if n, _ := strconv.Atoi(m[2]); n > 0 {
				kinds++
			}
		}
		entries, err := os.ReadDir(filepath.Join(dir, "downloads"))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if !e.IsDir() {
				files++
			}
		}
		if keeps := most > 0; keeps != (kinds == 4) || keeps != (files > 0) || !keeps && kinds > 0 {
			t.Errorf("answers: %d: %d kinds of answers are in memory, and %d files on disk", most, kinds, files)
		}
	}
}
