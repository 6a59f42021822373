package format_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/paulmach/orb"

	"grense/internal/format"
	"grense/internal/format/output"
	"grense/internal/geo/crs"
	"grense/internal/geo/wkb"
	"grense/internal/store"
)

// layer is a collection of geometries in CRS84 with ids of digits.
func layer(kind string, gs ...[]byte) (*store.Collection, []store.Feature) {
	c := &store.Collection{ID: "layer", Table: "layer",
		Geometry: &store.Geom{Name: "geometry", Type: kind, CRS: crs.CRS84}}
	var fs []store.Feature
	for i, g := range gs {
		fs = append(fs, store.Feature{ID: string(rune('1' + i)), Geometry: store.Geometry{WKB: g}})
	}
	return c, fs
}

var (
	shortLine = wkb.Append(nil, orb.LineString{{10, 60}, {11, 61}})
	twoLines  = wkb.Append(nil, orb.MultiLineString{{{10, 60}, {11, 62}}, {{10, 60}, {11, 63}}})
	oneLine   = wkb.Append(nil, orb.MultiLineString{{{10, 60}, {11, 62}}})
)

// TestFlatGeobufOfLines: the file states its type, and every multiline has its ends, without which GDAL
// before 3.9.3 reads none.
func TestFlatGeobufOfLines(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		kind string
		gs   [][]byte
		want string // the texts that ogrinfo writes
	}{
		"lines":             {"LineString", [][]byte{shortLine, shortLine}, "LINESTRING (10 60,11 61)"},
		"lines of any kind": {"", [][]byte{shortLine, shortLine}, "LINESTRING (10 60,11 61)"},
		"lines and multilines": {"LineString", [][]byte{shortLine, twoLines, oneLine},
			"MULTILINESTRING ((10 60,11 62),(10 60,11 63))"},
		"multilines": {"MultiLineString", [][]byte{shortLine, oneLine},
			"MULTILINESTRING ((10 60,11 61))"},
		"multilines of one, of any": {"", [][]byte{oneLine}, "MULTILINESTRING ((10 60,11 62))"},
	} {
		coll, fs := layer(c.kind, c.gs...)
		b := write(t, format.Find("flatgeobuf"), output.Options{Collection: coll}, fs)
		if got := readers["flatgeobuf"](t, b); len(got) != len(c.gs) {
			t.Errorf("%s: %d features", name, len(got))
		}
		ogrinfo, err := exec.LookPath("ogrinfo")
		if err != nil {
			continue // gdal-bin
		}
		path := filepath.Join(t.TempDir(), "x.fgb")
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(ogrinfo, "-al", "-q", path).CombinedOutput()
		if err != nil || !strings.Contains(string(out), c.want) ||
			strings.Count(string(out), "LINESTRING") != len(c.gs) {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}

func TestKMLHasIdsOfPlacemarks(t *testing.T) {
	t.Parallel()
	c, fs := layer("LineString", shortLine, shortLine, shortLine)
	fs[0].ID, fs[1].ID, fs[2].ID = "0301", "a b", "a_x0020_b"
	text := string(write(t, format.Find("kml"), output.Options{Collection: c}, fs))
	var ids []string
	for _, part := range strings.Split(text, `<Placemark id="`)[1:] {
		id, _, _ := strings.Cut(part, `"`)
		ids = append(ids, id)
	}
	if want := []string{"id.0301", "id.a_x0020_b", "id.a_x005F_x0020_b"}; !slices.Equal(ids, want) {
		t.Errorf("%q, want %q", ids, want)
	}
}

// TestGMLWithHeightsSaysSoInAWayThatGDALReads: srsDimension="3" in double quotes makes a layer of any geometry one of
// no type that callers of GDAL know.
func TestGMLWithHeightsSaysSoInAWayThatGDALReads(t *testing.T) {
	t.Parallel()
	point := wkb.AppendXYZ(wkb.AppendHeader(nil, wkb.Point, true), 10, 60, 5)
	for kind, want := range map[string]string{"": ` srsDimension='3'>`, "Polygon": ` srsDimension='3'>`,
		"Point": ` srsDimension="3">`} {
		c, fs := layer(kind, point)
		if text := string(write(t, format.Find("gml"),
			output.Options{Collection: c, Address: "http://localhost/collections/layer"}, fs)); !strings.Contains(text,
			want) || !strings.Contains(text, "<gml:pos>10 60 5</gml:pos>") {
			t.Errorf("%q: %s", kind, text)
		}
	}
}
