package server_test

import (
	"testing"

	"grense/internal/store"
	"grense/internal/store/gpkg"
	"grense/internal/store/storetest"
)

// TestPagesAndZoomsOfACollection: the page sizes and tile levels that the settings give one collection do not change
// the others.
func TestPagesAndZoomsOfACollection(t *testing.T) {
	t.Parallel()
	st := storetest.Opened[*gpkg.Store](t)(gpkg.Open(t.Context(), demoPath(t),
		gpkg.Options{DataDir: t.TempDir(), Settings: map[string]store.Settings{
			"fylker": {PageDefault: 3, PageMax: 5, Zooms: &store.Zooms{Min: 3, Max: 6}}}}))
	a := serveStore(t, st, nil)
	for path, want := range map[string]float64{
		"/collections/fylker/items": 3, "/collections/fylker/items?limit=4": 4,
		"/collections/fylker/items?limit=1000": 5, "/collections/kommuner/items": 100,
	} {
		if got := a.get(path).wants(200).json()["numberReturned"]; got != want {
			t.Errorf("%s: %v features, want %v", path, got, want)
		}
	}
	for path, want := range map[string]int{
		"/collections/fylker/tiles/WebMercatorQuad/4/4/8?f=mvt":     200,
		"/collections/fylker/tiles/WebMercatorQuad/7/37/67?f=mvt":   404,
		"/collections/fylker/tiles/WebMercatorQuad/2/1/2?f=mvt":     204,
		"/collections/kommuner/tiles/WebMercatorQuad/7/37/67?f=mvt": 200, "/tiles/WebMercatorQuad/7/37/67?f=mvt": 200,
	} {
		if r := a.get(path); r.StatusCode != want {
			t.Errorf("%s: %d, want %d: %.200s", path, r.StatusCode, want, r.Body)
		}
	}
	doc := a.get("/collections/fylker/tiles/WebMercatorQuad?f=json").wants(200).json()
	limits, _ := doc["tileMatrixSetLimits"].([]any)
	if len(limits) != 4 || limits[0].(map[string]any)["tileMatrix"] != "3" {
		t.Errorf("%v", limits)
	}
}
