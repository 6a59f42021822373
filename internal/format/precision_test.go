package format_test

import (
	"strings"
	"testing"

	"github.com/paulmach/orb"

	"grense/internal/format"
	"grense/internal/format/output"
	"grense/internal/geo/crs"
	"grense/internal/geo/wkb"
	"grense/internal/store"
)

// exact is a collection of one point with more decimals than text formats write.
func exact(id crs.ID, at ...float64) (*store.Collection, []store.Feature) {
	c := &store.Collection{ID: "exact", Table: "exact",
		Geometry: &store.Geom{Name: "geometry", Type: "Point", CRS: id, HasZ: true}}
	return c,
		[]store.Feature{{ID: "1",
			Geometry: store.Geometry{WKB: wkb.AppendXYZ(wkb.AppendHeader(nil, wkb.Point, true), at[0], at[1], at[2])}}}
}

func TestBinaryFormatsCarryTheStoredCoordinates(t *testing.T) {
	t.Parallel()
	for _, at := range []struct {
		id   crs.ID
		x, y float64
	}{{crs.UTM33, 250000.123456, 6650000.987654}, {crs.ETRS89, 10.123456789123, 60.987654321987},
		{crs.CRS84, 10.123456789123, 60.987654321987}} {
		c, fs := exact(at.id, at.x, at.y, 12.3456)
		for name := range unrounded {
			read := readers[name]
			if read == nil {
				continue // clients read it
			}
			got := read(t, write(t, format.Find(name), output.Options{Collection: c, CRS: at.id}, fs))
			if want := runText([][]orb.Point{{{at.x, at.y}}}); len(got) != 1 || runText(got[0].runs) != want {
				t.Errorf("%s in %v: %v, want %s", name, at.id, got, want)
			}
		}
	}
}

func TestPrecisionIsThatOfTheOptions(t *testing.T) {
	t.Parallel()
	c, fs := exact(crs.CRS84, 10.123456789123, -60.987654321987, 12.3456)
	for _, x := range []struct {
		decimals int
		want     [2]string // longitude and latitude
	}{{0, [2]string{"10", "-61"}}, {3, [2]string{"10.123", "-60.988"}}, {7, [2]string{"10.1234568", "-60.9876543"}},
		{9, [2]string{"10.123456789", "-60.987654322"}},
		{12, [2]string{"10.123456789123", "-60.987654321987"}},
		{15, [2]string{"10.123456789123", "-60.987654321987"}}} {
		for _, f := range format.All() {
			if !f.Precise {
				continue
			}
			text := string(write(t, f, output.Options{Collection: c, Precision: &x.decimals}, fs))
			if want := x.want[0] + "," + x.want[1]; !strings.Contains(text, want) {
				t.Errorf("%s with %d decimals has no %s: %s", f.Name, x.decimals, want, text)
			}
		}
	}
}

func TestLossesAreThoseOfTheFile(t *testing.T) {
	t.Parallel()
	eight := 8
	of := func(kind string) *store.Collection {
		return &store.Collection{ID: "c", Geometry: &store.Geom{Type: kind, CRS: crs.CRS84}}
	}
	const shapes, rounded = "geometries other than points", "decimals beyond 7 of degrees, 2 of metres and heights"
	for name, c := range map[string]struct {
		format      string
		o           output.Options
		has, hasNot string
	}{
		"points": {"csv", output.Options{Collection: of("Point")}, rounded, shapes},
		"mixed":  {"csv", output.Options{Collection: of("")}, shapes + "; heights; " + rounded, "beyond 8"},
		"areas":  {"csv", output.Options{Collection: of("Polygon")}, shapes, rounded},
		"a table": {"csv", output.Options{Collection: &store.Collection{ID: "c"}},
			"the types of values", "heights"},
		"without geometries": {"xlsx", output.Options{Collection: of(""), SkipGeometry: true},
			"null and an empty text", shapes},
		"a choice": {"json", output.Options{Collection: of(""), Precision: &eight},
			"decimals beyond 8 of coordinates", rounded},
		"a file of doubles": {"gpkg", output.Options{Collection: of("")}, "names that differ", "decimals"},
	} {
		if got := strings.Join(format.Find(c.format).LossesIn(c.o), "; "); !strings.Contains(got, c.has) ||
			strings.Contains(got, c.hasNot) {
			t.Errorf("%s: %q", name, got)
		}
	}
}
