package server_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// mapPages serves pages with map libraries, on another origin than the tiles; make accept installs the libraries.
func mapPages(t *testing.T) string {
	t.Helper()
	if os.Getenv("GRENSE_ACCEPT") == "" {
		t.Skip("map libraries run in make accept")
	}
	if !slices.ContainsFunc([]string{"chromium", "chromium-browser", "google-chrome"},
		func(name string) bool { _, err := exec.LookPath(name); return err == nil }) {
		t.Fatal("map libraries need Chromium; make chromium installs it") // a check that did not run must not pass
	}
	if _, err := os.Stat(filepath.Join("testdata", "maps", "node_modules", "ol")); err != nil {
		t.Fatal("there are no map libraries; make map-libraries installs them")
	}
	pages := httptest.NewServer(http.FileServer(http.Dir(filepath.Join("testdata", "maps"))))
	t.Cleanup(pages.Close)
	return pages.URL
}

// published is the result of a page, whose script loads a library first.
const published = `new Promise((done) => {
	const look = () => window.result ? done(window.result) : setTimeout(look, 20);
	look();
})`

// readResult opens a page and waits for the result that its script publishes. It stores a screenshot if
// GRENSE_SCREENSHOTS names a folder.
func readResult[T any](t *testing.T, ctx context.Context, name, address string) (x T) {
	t.Helper()
	ctx, stop := chromedp.NewContext(ctx)
	defer stop()
	ctx, enough := context.WithTimeout(ctx, 5*time.Minute)
	defer enough()
	if err := chromedp.Do(ctx, chromedp.EmulateViewport(800, 1000), chromedp.Navigate(address)); err != nil {
		t.Fatalf("%s: %v", address, err)
	}
	x, err := chromedp.Run(ctx, chromedp.Evaluate[T](published, chromedp.EvalAwaitPromise))
	if err != nil {
		t.Fatalf("%s: %v", address, err)
	}
	if dir := os.Getenv("GRENSE_SCREENSHOTS"); dir != "" {
		picture, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name+".png"), picture, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return x
}

// shownByMapLibre is the result of maplibre.html.
type shownByMapLibre struct {
	Faults, Names, Sources []string
	Areas, Lines, Colours  int
	Twice                  int // labels that are not the first of their feature
	ID                     string
	Promoted, State        bool
	Version                string
	Zooms                  []struct{ Zoom, Names, Twice int }
}

// shownByOpenLayers is the result of openlayers.html.
type shownByOpenLayers struct {
	Faults     []string
	Areas, IDs int
	Drawn      float64
	Layer      string
}

func TestAcceptMapLibreShowsTheStyleOfOneAddress(t *testing.T) {
	pages := mapPages(t)
	a := serve(t, "", nil)
	a.settled("/tiles/WebMercatorQuad/3/2/4")
	ctx := chromium(t, chromedp.Flag("enable-unsafe-swiftshader", true), chromedp.Flag("disable-gpu", false),
		chromedp.Flag("use-angle", "swiftshader"))
	for name, path := range map[string]string{"all": "/style", "one": "/collections/kommuner/style",
		"v1": "/v1/collections/fylker/style", "chosen": "/style?collections=kommuner"} {
		query := url.Values{"style": {a.URL + path}}
		if strings.Contains(path, "kommuner") { // which have room for names at larger scales only
			query.Set("center", "10.75,59.91")
			query.Set("zooms", "8")
		}
		x := readResult[shownByMapLibre](t, ctx, "maplibre-"+name, pages+"/maplibre.html?"+query.Encode())
		if len(x.Faults) > 0 || x.Areas < 5 || x.Lines < 5 || len(x.Names) < 3 || x.Twice > 0 || x.ID == "" ||
			!x.Promoted || !x.State || x.Colours < 20 {
			t.Errorf("%s: %+v", path, x)
		}
	}
}

// TestAcceptMapLibreNamesEachFeatureOnce looks at each zoom over towns, where tiles meet, in two releases of MapLibre.
func TestAcceptMapLibreNamesEachFeatureOnce(t *testing.T) {
	pages := mapPages(t)
	const oslo, tromso, corner = "10.75,59.91", "18.95,69.65", "11.25,61.6" // the last is a corner of tiles
	for name, x := range map[string]struct {
		source  func(t *testing.T) string // nil: the demo
		centers []string
	}{
		"demo": {nil, []string{oslo, tromso, corner}},
		"N1000": {func(t *testing.T) string {
			return shared(t, "norway/hmalmedal-n1000/n1000-kommune-25833.gpkg")
		}, []string{oslo, corner}},
		"France": {func(t *testing.T) string {
			shared(t, "france/france-communes-2018.geojsonl.gz")
			path, err := france()
			if err != nil {
				t.Fatal(err)
			}
			return path
		}, []string{"2.35,48.85", "5.625,45.09"}}, // the last is a corner of tiles
	} {
		t.Run(name, func(t *testing.T) {
			source := ""
			if x.source != nil {
				source = x.source(t)
			}
			a := serve(t, source, nil)
			a.settled("/tiles/WebMercatorQuad/3/2/4")
			ctx := chromium(t, chromedp.Flag("enable-unsafe-swiftshader", true),
				chromedp.Flag("disable-gpu", false), chromedp.Flag("use-angle", "swiftshader"))
			for _, release := range []string{"5", "6"} {
				for _, center := range x.centers {
					namesOnce(t, ctx, pages, a.URL+"/style", release, center)
				}
			}
		})
	}
}

// namesOnce counts the names of a style around a center in a release of MapLibre.
func namesOnce(t *testing.T, ctx context.Context, pages, style, release, center string) {
	t.Helper()
	query := url.Values{"style": {style}, "release": {release}, "center": {center},
		"zooms": {"3,4,5,6,7,8,9,10,11,12,13,14"}}
	x := readResult[shownByMapLibre](t, ctx, "maplibre-"+release+"-"+center, pages+"/maplibre.html?"+query.Encode())
	if len(x.Faults) > 0 || !strings.HasPrefix(x.Version, release+".") || len(x.Zooms) != 12 {
		t.Fatalf("%s: %+v", release, x)
	}
	shown := 0
	for _, z := range x.Zooms {
		shown += z.Names
		// at smaller scales names have no room, at larger ones a view may lie within one area
		if z.Twice != 0 || z.Names == 0 && z.Zoom > 7 && z.Zoom < 10 {
			t.Errorf("MapLibre %s at %s, zoom %d: %d names, %d of them again", x.Version, center, z.Zoom, z.Names,
				z.Twice)
		}
	}
	t.Logf("MapLibre %s at %s: %d names", x.Version, center, shown)
}

func TestAcceptOpenLayersReadsTilesInEveryGrid(t *testing.T) {
	pages := mapPages(t)
	a := serve(t, "", nil)
	ctx := chromium(t)
	for grid, at := range map[string][2]string{
		"WebMercatorQuad": {"EPSG:3857", "500000,7900000,3500000,11500000"},
		"utm33n":          {"EPSG:25833", "-75000,6450000,1115000,7940000"},
		"utm32n":          {"EPSG:25832", "260000,6400000,1500000,7990000"},
		"EPSG3575Quad":    {"EPSG:3575", "-400000,-3700000,1300000,-1800000"},
		"UTM33WGS84Quad":  {"EPSG:32633", "-75000,6450000,1115000,7940000"},
	} {
		for _, path := range []string{"/collections/kommuner/tiles/", "/v1/tiles/"} {
			x := readResult[shownByOpenLayers](t, ctx, "openlayers-"+grid,
				pages+"/openlayers.html?"+url.Values{"tileset": {a.URL + path + grid + "?f=json"}, "crs": {at[0]},
					"box": {at[1]}}.Encode())
			if len(x.Faults) > 0 || x.Areas < 50 || x.IDs < 50 || x.Drawn < .05 || x.Layer == "" {
				t.Errorf("%s%s: %+v", path, grid, x)
			}
		}
	}
}
