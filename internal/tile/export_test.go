package tile_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"

	"grense/internal/archive"
	"grense/internal/await"
	"grense/internal/store"
	"grense/internal/tile"
)

func exported(t testing.TB, m *tile.Maker, st store.Store, e tile.Export) []byte {
	t.Helper()
	if _, err := m.Export(t.Context(), st, e); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(e.Path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestArchivesHaveTheTilesOfTheLevels: each tile that Tile makes is in the archive, and no other.
func TestArchivesHaveTheTilesOfTheLevels(t *testing.T) {
	t.Parallel()
	st, path := demoStore(t), filepath.Join(t.TempDir(), "x.pmtiles")
	m := tile.NewMaker(tile.Options{})
	defer m.Close()
	names := []string{"fylker", "kommuner"}
	exported(t, m, st, tile.Export{Path: path, Collections: names, Last: 7})
	r, err := archive.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	set, seen := find(t, "WebMercatorQuad"), 0
	var layers []tile.Query
	for _, id := range names {
		layers = append(layers, tile.Query{Collection: id})
	}
	for z := range 8 {
		for row := range min(1<<z, 48) {
			for col := range 1 << z {
				made, err := m.Tile(t.Context(), st,
					tile.Ask{Set: set, Tile: tile.Tile{Z: z, Row: row, Col: col}, Layers: layers})
				if err != nil {
					t.Fatal(err)
				}
				b, err := r.Tile(z, row, col)
				if err != nil {
					t.Fatal(err)
				}
				if b != nil {
					seen++
					g, err := gzip.NewReader(bytes.NewReader(b))
					if err != nil {
						t.Fatal(err)
					}
					if b, err = io.ReadAll(g); err != nil {
						t.Fatal(err)
					}
				}
				if !bytes.Equal(b, made.Data) {
					t.Fatalf("%d/%d/%d has %d bytes in the archive and %d live", z, row, col, len(b), len(made.Data))
				}
			}
		}
	}
	if seen < 50 {
		t.Errorf("%d tiles", seen)
	}
}

// TestExportsAreGoneOnWith: what is broken off again and again is in the end what it would have been at once.
func TestExportsAreGoneOnWith(t *testing.T) {
	t.Parallel()
	st, dir := demoStore(t), t.TempDir()
	m := tile.NewMaker(tile.Options{})
	defer m.Close()
	e := tile.Export{Path: filepath.Join(dir, "whole.pmtiles"), Collections: []string{"kommuner"}, Last: 10}
	whole := exported(t, m, st, e)
	e.Path = filepath.Join(dir, "parts.pmtiles")
	resumed := 0
	for n := 1; ; n++ {
		ctx, cancel := context.WithCancel(t.Context())
		began := -1
		e.Report = func(collection string, done, total int) {
			if collection == "" && began < 0 {
				began = done
			}
			if collection == "" && done > began+200 && done < total {
				cancel()
			}
		}
		made, err := m.Export(ctx, st, e)
		cancel()
		if err == nil {
			if !made.Resumed {
				t.Error("it began anew")
			}
			break
		}
		if _, there := os.Stat(e.Path); there == nil || !errors.Is(err, context.Canceled) || n > 50 {
			t.Fatal(err)
		}
		resumed++
	}
	if b, err := os.ReadFile(e.Path); err != nil || !bytes.Equal(b, whole) || resumed < 3 {
		t.Errorf("%d bytes in %d parts, %d at once, %v", len(b), resumed, len(whole), err)
	}
}

// TestBothStoresGiveTheSameArchive, byte by byte.
func TestBothStoresGiveTheSameArchive(t *testing.T) {
	t.Parallel()
	_, pg := demoDatabase(t)
	var files [][]byte
	for _, st := range []store.Store{demoStore(t), pg} {
		m := tile.NewMaker(tile.Options{})
		defer m.Close()
		files = append(
			files,
			exported(
				t,
				m,
				st,
				tile.Export{
					Path:        filepath.Join(t.TempDir(), "x.pmtiles"),
					Collections: []string{"kommuner", "fylker"},
					First:       2,
					Last:        7,
				},
			),
		)
	}
	if !bytes.Equal(files[0], files[1]) {
		t.Errorf("%d and %d bytes", len(files[0]), len(files[1]))
	}
}

// TestArchiveServesItsDataAlone: its tiles are those of the levels, without making any, until the data are others.
func TestArchiveServesItsDataAlone(t *testing.T) {
	t.Parallel()
	for _, ending := range []string{".pmtiles", ".mbtiles"} {
		st, path := demoStore(t), filepath.Join(t.TempDir(), "x"+ending)
		m := tile.NewMaker(tile.Options{})
		names := []string{"fylker", "kommuner"}
		exported(t, m, st, tile.Export{Path: path, Collections: names, Last: 6})
		a, err := tile.OpenArchive(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := a.Fits(st.Catalog()); err != nil || !slices.Equal(a.Layers(), names) {
			t.Fatal(err)
		}
		n := tile.NewMaker(tile.Options{Archive: a})
		set := find(t, "WebMercatorQuad")
		for _, layers := range [][]string{{"kommuner"}, {"fylker"}, {"kommuner", "fylker"}, {"fylker", "kommuner"}} {
			ask := tile.Ask{Set: set}
			for _, id := range layers {
				ask.Layers = append(ask.Layers, tile.Query{Collection: id})
			}
			for _, at := range []tile.Tile{{}, {Z: 3, Row: 2, Col: 4}, {Z: 5, Row: 8, Col: 17},
				{Z: 6, Row: 17, Col: 33}, {Z: 6, Row: 40, Col: 40}} {
				ask.Tile = at
				live, err := m.Tile(t.Context(), st, ask)
				if err != nil {
					t.Fatal(err)
				}
				read, err := n.Tile(t.Context(), st, ask)
				if err != nil || !read.Keep || !bytes.Equal(read.Data, live.Data) || read.Empty != live.Empty ||
					read.Rev != n.Rev(st, set, layers...) {
					t.Errorf("%s %v of %v: %d and %d bytes, %v", ending, at, layers, len(read.Data),
						len(live.Data), err)
				}
			}
			x, err := m.Range(t.Context(), st, set, layers[0])
			if err != nil {
				t.Fatal(err)
			}
			y, err := n.Range(t.Context(), st, set, layers[0])
			if err != nil || !y.Settled || y.First != x.First || y.Last != x.Last || !slices.Equal(y.Limits, x.Limits) {
				t.Errorf("%+v and %+v, %v", x, y, err)
			}
		}
		if p := n.Progress(); len(p) > 0 {
			t.Errorf("levels were made: %+v", p)
		}
		q := tile.Query{Collection: "kommuner", Properties: []string{}}
		if made, err := n.Tile(t.Context(), st, tile.Ask{Set: set, Layers: []tile.Query{q}}); err != nil || made.Keep {
			t.Errorf("a choice of properties is not in the archive: %+v, %v", made, err)
		}
		for _, x := range []interface{ Close() error }{m, n, a} {
			if err := x.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestArchiveOfOtherDataIsRefused, or left aside where only its values differ.
func TestArchiveOfOtherDataIsRefused(t *testing.T) {
	t.Parallel()
	st, path := small(t, 3, 0), filepath.Join(t.TempDir(), "x.pmtiles")
	m := tile.NewMaker(tile.Options{})
	exported(t, m, st, tile.Export{Path: path, Collections: []string{"areas"}, Last: 14})
	m.Close()
	a, err := tile.OpenArchive(path)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	for of, want := range map[string]store.Store{"2": small(t, 2, 0), "no such collection": demoStore(t)} {
		if err := a.Fits(want.Catalog()); err == nil || !strings.Contains(err.Error(), of) {
			t.Errorf("%s: %v", of, err)
		}
	}
	moved := small(t, 3, 250)
	if err := a.Fits(moved.Catalog()); err != nil {
		t.Fatal(err)
	}
	log := &strings.Builder{}
	n := tile.NewMaker(tile.Options{Archive: a, Log: logger(log)})
	set := find(t, "WebMercatorQuad")
	before := n.Rev(moved, set, "areas")
	await.True(t, "the archive of other data is set aside", func() bool { return n.Rev(moved, set, "areas") != before })
	if err := n.Close(); err != nil || !strings.Contains(log.String(), "Export them again") {
		t.Error(err, log)
	}
	if err := os.WriteFile(path, []byte("PMTiles? no, a letter"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := tile.OpenArchive(path); err == nil {
		t.Error("a letter was opened")
	}
}
