package main

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"grense/internal/store"
	"grense/internal/store/gpkg"
	"grense/internal/store/postgis/writer"
	"grense/internal/store/storetest"
)

// TestLayersAcrossTheAntimeridian: check prints the true cure, and what import makes of them is found by boxes on both
// sides, and nowhere else.
func TestLayersAcrossTheAntimeridian(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		make func(t *testing.T, dir string) (source, target string)
	}{
		"from a file": {func(t *testing.T, dir string) (string, string) {
			path := filepath.Join(dir, "am.gpkg")
			storetest.Write(t, func(w store.Writer) { storetest.WriteCrossings(t, w) })(gpkg.Create(t.Context(), path))
			return path, filepath.Join(dir, "out.gpkg")
		}},
		"from a database into one": {func(t *testing.T, _ string) (string, string) {
			if testing.Short() {
				t.Skip("long: the run without the race detector has it")
			}
			url := cluster.Database(t)
			storetest.Write(t, func(w store.Writer) {
				storetest.WriteCrossings(t, w)
			})(writer.Create(t.Context(), url))
			return url, cluster.Database(t)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			source, target := c.make(t, dir)
			_, stdout, stderr := command(t, dir, "check", source)
			if !strings.Contains(stdout, "utm60, refused: some lines or areas cross the antimeridian") ||
				!strings.Contains(stdout, "grense import cuts lines and areas there") {
				t.Errorf("%s%s", stdout, stderr)
			}
			layers := []string{"utm60", "utm1", "merc", "degrees"}
			for _, layer := range layers {
				if code, _, stderr := command(t, dir, "import", source, "--layer", layer, "--into", target,
					"--collection", layer); code != 0 ||
					!strings.Contains(stderr, "it crosses the antimeridian; cut there") {
					t.Fatalf("status %d\n%s", code, stderr)
				}
			}
			s := serve(t, dir, target, "--auth", "open")
			for _, layer := range layers {
				bothSides(t, s, layer)
			}
		})
	}
}

// bothSides asks for a collection of one area from 179 to -179 degrees.
func bothSides(t *testing.T, s *running, layer string) {
	t.Helper()
	at := "/collections/" + layer
	for box, want := range map[string]string{
		"179.5,-17,179.9,-16": "1", "179.5,-17,-179.5,-16": "1", "-179.8,-17,-179.2,-16.5": "1", "0,-17,10,-16.5": "0",
		"-178,-17,178,-16": "0",
	} {
		code, body := s.get(t, at+"/items?bbox="+box, "")
		if code != http.StatusOK || !strings.Contains(body, `"numberMatched":`+want) {
			t.Errorf("%s, %s: %d %.300s", layer, box, code, body)
		}
	}
	_, body := s.get(t, at+"/items", "")
	var page struct {
		Features []struct {
			Geometry struct{ Coordinates [][][][2]float64 }
		}
	}
	if err := json.Unmarshal([]byte(body), &page); err != nil || len(page.Features) != 1 ||
		len(page.Features[0].Geometry.Coordinates) != 2 {
		t.Errorf("%s: %v %s", layer, err, body)
	}
	if _, body := s.get(t, at+"/items?filter=S_INTERSECTS(geometry,POINT(5%20-16.5))", ""); !strings.Contains(body,
		`"numberMatched":0`) {
		t.Errorf("%s: %s", layer, body)
	}
	for tile, want := range map[string]int{"4/8/15": http.StatusOK, "4/8/0": http.StatusOK,
		"4/8/8": http.StatusNoContent} {
		if code, _ := s.get(t, at+"/tiles/WebMercatorQuad/"+tile+"?f=mvt", ""); code != want {
			t.Errorf("%s, tile %s: %d, want %d", layer, tile, code, want)
		}
	}
}

// TestGeographyAcrossTheAntimeridian: a rectangle of geodesic edges is cut by import,
// and has the area that PostGIS computes.
func TestGeographyAcrossTheAntimeridian(t *testing.T) {
	t.Parallel()
	url, dir := cluster.Database(t), t.TempDir()
	c, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(t.Context())
	if _, err := c.Exec(t.Context(),
		`CREATE TABLE other (id INT PRIMARY KEY); CREATE TABLE geogp (id INT PRIMARY KEY, g geography(MultiPolygon));
		INSERT INTO geogp VALUES (1, 'MULTIPOLYGON(((179 -17,-179 -17,-179 -16,179 -16,179 -17)))')`); err != nil {
		t.Fatal(err)
	}
	_, stdout, stderr := command(t, dir, "check", url)
	if !strings.Contains(stdout, "geogp, refused: some lines or areas cross the antimeridian") ||
		!strings.Contains(stdout, "grense import cuts") {
		t.Errorf("%s%s", stdout, stderr)
	}
	target := filepath.Join(dir, "out.gpkg")
	if code, _, stderr := command(t, dir, "import", url, "--layer", "geogp", "--into", target, "--collection",
		"geogp"); code != 0 || !strings.Contains(stderr, "it crosses the antimeridian; cut there") {
		t.Fatalf("status %d\n%s", code, stderr)
	}
	bothSides(t, serve(t, dir, target, "--auth", "open"), "geogp")
}
