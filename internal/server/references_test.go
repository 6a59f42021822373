package server_test

import (
	"log/slog"
	"strings"
	"testing"

	"grense/internal/config"
	"grense/internal/store"
	"grense/internal/store/gpkg"
)

// TestReferencesFollowTheNamesOfCollections: a collection that is renamed or hidden leaves no link that leads nowhere.
func TestReferencesFollowTheNamesOfCollections(t *testing.T) {
	t.Parallel()
	path, err := demoFile()
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		settings store.Settings
		want     any
	}{"renamed": {store.Settings{ID: "counties"}, "counties"}, "hidden": {store.Settings{Hidden: true}, nil},
		"as it is": {store.Settings{}, "fylker"}} {
		st, err := gpkg.Open(t.Context(), path, gpkg.Options{
			DataDir: t.TempDir(), Logger: slog.New(slog.DiscardHandler),
			Settings: map[string]store.Settings{"fylker": tt.settings}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { st.Close() })
		a := serveStore(t, st, nil)
		props := a.get("/collections/kommuner/schema").wants(200).json()["properties"].(map[string]any)
		if got := props["fylke_nr"].(map[string]any)["x-ogc-collectionId"]; got != tt.want {
			t.Errorf("%s: fylke_nr refers to %v, want %v", name, got, tt.want)
		}
		page := string(a.get("/collections/kommuner/items/0301?f=html").wants(200).Body)
		if strings.Contains(page, "/collections/fylker/") != (tt.want == "fylker") {
			t.Errorf("%s: the page of a municipality links to fylker", name)
		}
	}
}

// TestOtherLanguagesMakeNoOtherDocuments: an unknown lang means nb, and is not replayed.
func TestOtherLanguagesMakeNoOtherDocuments(t *testing.T) {
	t.Parallel()
	a := serve(t, "", func(c *config.Config) {})
	want := a.get("/collections?f=json").wants(200)
	for _, lang := range []string{"xx", "", "%00", "zz-ZZ"} {
		if got := a.get("/collections?f=json&lang=" + lang).wants(200); got.Header.Get("ETag") != want.Header.Get(
			"ETag") {
			t.Errorf("lang=%s makes another document", lang)
		}
	}
}
