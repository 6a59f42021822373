package server_test

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"testing"

	"github.com/paulmach/orb"
	"github.com/paulmach/orb/encoding/wkb"
	"github.com/peterstace/simplefeatures/geom"

	"grense/internal/cql2"
	"grense/internal/geo/crs"
	"grense/internal/store"
	"grense/internal/store/gpkg"
	"grense/internal/store/storetest"
)

// boxCRS does the work of verifyBboxCrsParameter of the official suite, without its two faults. The suite transforms
// two corners of the extent and compares first pages. Here the box contains all four edges, which bend, and every
// page is read. The features of a box in CRS84 are among those of the same box in the other system; for the extent
// they are all features. An inner box may have additional features in its corners, so each feature is compared with
// the box as it is delivered in that system.
func (s *suite) boxCRS(itemsURL, uri string, extent []float64) {
	id, ok := crs.Parse(uri)
	if !ok {
		s.t.Fatalf("%s is no system that we know", uri)
	}
	query := "&crs=" + queryEscape(uri)
	delivered := s.everyPage(itemsURL, query)
	w, h := (extent[2]-extent[0])/4, (extent[3]-extent[1])/4
	for _, box := range [][]float64{extent, {extent[0] + w, extent[1] + h, extent[2] - w, extent[3] - h}} {
		plain := idsOf(s.everyPage(itemsURL, "&skipGeometry=true&bbox="+floats(box)))
		other := s.around(box, id)
		got := idsOf(s.everyPage(itemsURL, "&skipGeometry=true&bbox="+floats(
			ordered(other, id))+"&bbox-crs="+queryEscape(uri)))
		for _, f := range plain {
			if !slices.Contains(got, f) {
				s.t.Errorf("%s: %s is in bbox %v, and not in the same box in %v, %v", itemsURL, f, box, id, other)
			}
		}
		if &box[0] == &extent[0] && len(got) != len(delivered) {
			s.t.Errorf("%s: %d features in the extent in %v, of %d", itemsURL, len(got), id, len(delivered))
		}
		for _, f := range delivered {
			if in, out := s.against(f, id, other); slices.Contains(got, f.ID) && out ||
				!slices.Contains(got, f.ID) && in {
				s.t.Errorf("%s: %s is in the answer to %v in %v: %v", itemsURL, f.ID, other, id, out)
			}
		}
	}
}

// everyPage follows next from pages that are a part of the whole.
func (s *suite) everyPage(itemsURL, query string) (all []delivery) {
	next := itemsURL + "?limit=100" + query
	for pages := 1; next != ""; pages++ {
		var p struct {
			NumberMatched int
			Features      []delivery
			Links         []link
		}
		decode(s.t, s.get(next, "Accept", "application/geo+json").wants(200).Body, &p)
		all = append(all, p.Features...)
		l, ok := find(p.Links, "next", "")
		if next = l.Href; !ok && len(all) != p.NumberMatched {
			s.t.Errorf("%s%s: %d features on %d pages, numberMatched is %d", itemsURL, query, len(all), pages,
				p.NumberMatched)
		}
	}
	return all
}

// delivery is a feature as a page has it, its geometry null or not read.
type delivery struct {
	ID       string
	Geometry rawGeometry
}

// rawGeometry is the text of a geometry.
type rawGeometry []byte

func (g *rawGeometry) UnmarshalJSON(b []byte) error {
	*g = slices.Clone(b)
	return nil
}

func idsOf(all []delivery) []string {
	ids := make([]string, len(all))
	for i, f := range all {
		ids[i] = f.ID
	}
	return ids
}

// around transforms a box (degrees, x before y) into another system, x before y. It uses 1,000 points of each edge
// and adds a metre.
func (s *suite) around(box []float64, id crs.ID) []float64 {
	if id.Geographic() {
		return box
	}
	to, err := crs.Between(crs.CRS84, id)
	if err != nil {
		s.t.Fatal(err)
	}
	out := []float64{math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)}
	for i := range 1001 {
		lon, lat := box[0]+(box[2]-box[0])*float64(i)/1000, box[1]+(box[3]-box[1])*float64(i)/1000
		for _, p := range [][2]float64{{lon, box[1]}, {lon, box[3]}, {box[0], lat}, {box[2], lat}} {
			x, y := to(p[0], p[1])
			out = []float64{min(out[0], x-1), min(out[1], y-1), max(out[2], x+1), max(out[3], y+1)}
		}
	}
	for i := range out {
		out[i] = math.Round(out[i]*100) / 100
	}
	return out
}

// ordered returns the box in the axis order of the system.
func ordered(b []float64, id crs.ID) []float64 {
	if id.NorthFirst() {
		return []float64{b[1], b[0], b[3], b[2]}
	}
	return b
}

// against reports whether a feature surely is inside the box (a vertex lies in it) or surely outside (its envelope is
// apart). Features without geometry are in every box. Both tests keep a centimetre, or 1e-6 degrees, from the edge,
// since coordinates are rounded.
func (s *suite) against(f delivery, id crs.ID, box []float64) (in, out bool) {
	if f.Geometry == nil || string(f.Geometry) == "null" {
		return true, false
	}
	g, err := geom.UnmarshalGeoJSON(f.Geometry, geom.NoValidate{})
	if err != nil {
		s.t.Fatal(err)
	}
	near := 0.01
	if id.Geographic() {
		near = 1e-6
	}
	box = ordered(box, id)
	at := g.DumpCoordinates()
	for i := range at.Length() {
		p := at.GetXY(i)
		in = in || p.X > box[0]+near && p.X < box[2]-near && p.Y > box[1]+near && p.Y < box[3]-near
	}
	low, high, ok := g.Envelope().MinMaxXYs()
	return in, ok && (low.X > box[2]+near || high.X < box[0]-near || low.Y > box[3]+near || high.Y < box[1]-near)
}

// lattices are collections of 144 small squares each, stored in systems that name the northing first.
func lattices(t *testing.T) string {
	path := filepath.Join(t.TempDir(), "lattices.gpkg")
	storetest.Write(t, func(w store.Writer) {
		for id, at := range map[crs.ID]orb.Bound{3006: {Min: orb.Point{12, 56}, Max: orb.Point{22, 68}},
			2180: {Min: orb.Point{15, 49.5}, Max: orb.Point{23, 54.5}},
			3034: {Min: orb.Point{-8, 38}, Max: orb.Point{25, 60}}} {
			name := fmt.Sprint("in_", int(id))
			c := &store.Collection{ID: name, Table: name, Public: true,
				Key:        store.FeatureKey{Column: "nr", Type: cql2.TypeInteger, Property: "nr"},
				Geometry:   &store.Geom{Name: "geometry", Column: "geom", Type: "Polygon", CRS: id},
				Properties: []store.Property{{Name: "nr", Column: "nr", Type: cql2.TypeInteger}}}
			if err := w.Define(t.Context(), c, false); err != nil {
				t.Fatal(err)
			}
			insert, err := w.Insert(t.Context(), name, []string{"nr", "geom"})
			if err != nil {
				t.Fatal(err)
			}
			to, err := crs.Between(crs.CRS84, id)
			if err != nil {
				t.Fatal(err)
			}
			for i := range 144 {
				x, y := to(at.Min[0]+(at.Max[0]-at.Min[0])*float64(i%12)/11,
					at.Min[1]+(at.Max[1]-at.Min[1])*float64(i/12)/11)
				if err := insert(int64(i),
					store.Geometry{WKB: wkb.MustMarshal(orb.Bound{
						Min: orb.Point{x, y}, Max: orb.Point{x + 500, y + 300}}.ToPolygon())}); err != nil {
					t.Fatal(err)
				}
			}
		}
	})(gpkg.Create(t.Context(), path))
	return path
}
