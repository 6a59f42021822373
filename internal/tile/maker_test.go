package tile_test

import (
	"context"
	"path/filepath"
	"sync"
	"testing"

	"grense/internal/cql2"
	"grense/internal/demo"
	"grense/internal/store"
	"grense/internal/store/gpkg"
	"grense/internal/store/storetest"
	"grense/internal/tile"
)

// demoStore makes the demo and opens it.
func demoStore(t testing.TB) store.Store {
	t.Helper()
	path := filepath.Join(t.TempDir(), "demo.gpkg")
	storetest.Write(t, func(w store.Writer) {
		if err := demo.Write(t.Context(), w); err != nil {
			t.Fatal(err)
		}
	})(gpkg.Create(t.Context(), path))
	return open(t, path)
}

func open(t testing.TB, path string) store.Store {
	t.Helper()
	st, err := gpkg.Open(context.Background(), path, gpkg.Options{DataDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	var once sync.Once
	t.Cleanup(func() { once.Do(func() { st.Close() }) })
	return st
}

func TestTileOfTheDemo(t *testing.T) {
	t.Parallel()
	st := demoStore(t)
	m := tile.NewMaker(tile.Options{})
	defer m.Close()
	for _, c := range []struct {
		set string
		at  tile.Tile
		n   int // features of kommuner
	}{{"WebMercatorQuad", tile.Tile{}, 357}, {"utm33n", tile.Tile{}, 357},
		{"WorldCRS84Quad", tile.Tile{Z: 0, Col: 1}, 357}, {"EPSG3575Quad", tile.Tile{}, 357}} {
		set := find(t, c.set)
		r, err := m.Range(t.Context(), st, set, "kommuner")
		if err != nil || !r.Contains(c.at) || r.Settled {
			t.Errorf("%s: %+v, %v", c.set, r, err)
		}
		made, err := m.Tile(
			t.Context(),
			st,
			tile.Ask{
				Set:    set,
				Tile:   c.at,
				Layers: []tile.Query{{Collection: "fylker"}, {Collection: "kommuner", Properties: []string{"navn"}}},
			},
		)
		if err != nil {
			t.Fatal(c.set, err)
		}
		layers, err := unlabelled(made.Data)
		if err != nil || len(layers) != 2 || layers[0].Name != "fylker" || len(layers[0].Features) != 15 ||
			len(layers[1].Features) < c.n*7/10 {
			t.Fatalf("%s: %v, %d layers", c.set, err, len(layers))
		}
		for _, f := range layers[1].Features {
			if f.Properties["id"] == nil || f.Properties["navn"] == nil || len(f.Properties) != 2 {
				t.Fatalf("%s: %v", c.set, f.Properties)
			}
		}
	}
}

// TestLevelsAreBegunByTilesAlone: asking where there are tiles builds none, and the result holds when they are
// there.
func TestLevelsAreBegunByTilesAlone(t *testing.T) {
	t.Parallel()
	st := demoStore(t)
	m := tile.NewMaker(tile.Options{})
	defer m.Close()
	before := map[string]tile.Range{}
	for _, set := range tile.All() {
		r, err := m.Range(t.Context(), st, set, "fylker")
		if err != nil || r.Settled || r.Limits == nil {
			t.Fatalf("%s: %+v, %v", set.ID, r, err)
		}
		m.Rev(st, set, "fylker")
		before[set.ID] = r
	}
	if p := m.Progress(); len(p) != 0 {
		t.Fatalf("nobody has asked for a tile: %+v", p)
	}
	for _, set := range tile.All() {
		for _, l := range ready(t, m, st, set.ID, "fylker").Limits {
			r := before[set.ID]
			if !r.Contains(tile.Tile{Z: l.Z, Row: l.MinRow, Col: l.MinCol}) ||
				!r.Contains(tile.Tile{Z: l.Z, Row: l.MaxRow, Col: l.MaxCol}) {
				t.Errorf("%s: %+v was not within %+v", set.ID, l, r.Limits[l.Z-r.First])
			}
		}
	}
	if p := m.Progress(); len(p) != 2*len(tile.All()) { // those of kommuner, which has the same borders, with them
		t.Errorf("%d levels are made", len(p))
	}
}

func TestFilterChoosesFeaturesOfATile(t *testing.T) {
	t.Parallel()
	st := demoStore(t)
	m := tile.NewMaker(tile.Options{})
	defer m.Close()
	c, _ := st.Catalog().Collection("kommuner")
	e, err := cql2.ParseText("nr = '0301'")
	if err == nil {
		e, err = cql2.Check(e, c)
	}
	if err != nil {
		t.Fatal(err)
	}
	q := tile.Query{Collection: "kommuner", Filter: e}
	made, err := m.Tile(t.Context(), st,
		tile.Ask{Set: find(t, "WebMercatorQuad"), Tile: tile.Tile{Z: 4, Row: 4, Col: 8}, Layers: []tile.Query{q}})
	if err != nil {
		t.Fatal(err)
	}
	layers, err := unlabelled(made.Data)
	if err != nil || len(layers) != 1 || len(layers[0].Features) != 1 ||
		layers[0].Features[0].Properties["id"] != "0301" {
		t.Errorf("%v, %v", layers, err)
	}
	made, err = m.Tile(t.Context(), st,
		tile.Ask{Set: find(t, "WebMercatorQuad"), Tile: tile.Tile{Z: 4, Row: 12, Col: 8}, Layers: []tile.Query{q}})
	if err != nil || !made.Empty || len(made.Data) > 0 {
		t.Errorf("%v, %v", made, err)
	}
}
