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

// readResult opens a page and waits for the result that its script publishes. It stores a screenshot if
// GRENSE_SCREENSHOTS names a folder.
func readResult[T any](t *testing.T, ctx context.Context, name, address string) (x T) {
	t.Helper()
	ctx, stop := chromedp.NewContext(ctx)
	defer stop()
	ctx, enough := context.WithTimeout(ctx, time.Minute)
	defer enough()
	if err := chromedp.Do(ctx, chromedp.EmulateViewport(800, 1000), chromedp.Navigate(address)); err != nil {
		t.Fatalf("%s: %v", address, err)
	}
	x, err := chromedp.Run(ctx, chromedp.Evaluate[T]("window.result", chromedp.EvalAwaitPromise))
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
	ctx := chromium(t, chromedp.Flag("enable-unsafe-swiftshader", true), chromedp.Flag("disable-gpu", false),
		chromedp.Flag("use-angle", "swiftshader"))
	for name, path := range map[string]string{"all": "/style", "one": "/collections/kommuner/style",
		"v1": "/v1/collections/fylker/style", "chosen": "/style?collections=kommuner"} {
		x := readResult[shownByMapLibre](
			t, ctx, "maplibre-"+name, pages+"/maplibre.html?style="+url.QueryEscape(a.URL+path))
		if len(x.Faults) > 0 || x.Areas < 5 || x.Lines < 5 || len(x.Names) < 3 || x.Twice > 0 || x.ID == "" ||
			!x.Promoted || !x.State || x.Colours < 20 {
			t.Errorf("%s: %+v", path, x)
		}
	}
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
