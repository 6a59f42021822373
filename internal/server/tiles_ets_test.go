package server_test

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"grense/openapi"
)

// registeredSets are the tile matrix sets of the catalog that OGC's register has.
var registeredSets = []string{"WebMercatorQuad", "WorldCRS84Quad", "EuropeanETRS89_LAEAQuad", "UTM32WGS84Quad",
	"UTM33WGS84Quad", "UTM35WGS84Quad"}

type limitsDoc struct {
	TileMatrix                                     string
	MinTileRow, MaxTileRow, MinTileCol, MaxTileCol int
}

type tilesetDoc struct {
	Title, DataType, CRS, TileMatrixSetURI, TileMatrixSetID string
	TileMatrixSetLimits                                     []limitsDoc
	Links                                                   []link
}

// TestOfficialTilesSuite checks the assertions of the executable test suite of OGC API Tiles Part 1, at both mounts.
func TestOfficialTilesSuite(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long: the run without the race detector has it")
	}
	for name, source := range map[string]string{"demo": "", "ne110m": "cql2/ne110m4cql2.gpkg"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if source != "" {
				source = shared(t, source)
			}
			a := serve(t, source, nil)
			a.settled((&tileSuite{api: a, iut: a.URL}).corners()...) // limits are estimates until then
			for _, mount := range []string{"", "/v1"} {
				t.Run("mount"+mount, func(t *testing.T) {
					s := tileSuite{api: &api{Server: a.Server, t: t}, iut: a.URL + mount}
					s.conformance()
					s.definition()
					s.lists()
				})
			}
		})
	}
}

// tileSuite is one run against one implementation under test.
type tileSuite struct {
	*api
	iut string
}

func (s *tileSuite) conformance() {
	var c struct{ ConformsTo []string }
	decode(s.t.(*testing.T), s.get(s.iut+"/conformance").wants(200).Body, &c)
	for class := range strings.FieldsSeq("core tileset tilesets-list geodata-tilesets dataset-tilesets " +
		"collections-selection mvt oas30") {
		if !slices.Contains(c.ConformsTo, "http://www.opengis.net/spec/ogcapi-tiles-1/1.0/conf/"+class) {
			s.t.Errorf("the class %s is not declared", class)
		}
	}
}

// definition looks for the operations by the ends of their ids (OGC 20-057, /req/oas30/operation-id).
func (s *tileSuite) definition() {
	doc, err := openapi.Load(s.t.Context(), s.get(s.iut+"/openapi").wants(200).Body)
	if err != nil {
		s.t.Fatal(err)
	}
	found := map[string]int{}
	for path, item := range doc.Paths.Map() {
		if item.Get == nil {
			continue
		}
		for _, what := range []string{"getTileSetsList", "getTileSet", "getTile"} {
			for _, of := range []string{".collection.vector.", ".dataset.vector."} {
				if strings.HasSuffix("."+item.Get.OperationID, of+what) {
					found[of+what]++
					if n := strings.Count(path, "{"); n != map[string]int{
						"getTileSetsList": 0, "getTileSet": 1, "getTile": 4}[what] {
						s.t.Errorf("%s has the path %s", item.Get.OperationID, path)
					}
				}
			}
		}
	}
	if len(found) != 6 {
		s.t.Errorf("operations %v", found)
	}
}

// listed are the lists of tilesets that the landing page and the collections link to.
func (s *tileSuite) listed() []string {
	const rel = "http://www.opengis.net/def/rel/ogc/1.0/tilesets-vector"
	l, ok := find(s.get(s.iut+"/", "Accept", "application/json").wants(200).links(), rel, "application/json")
	if !ok {
		s.t.Fatal("the landing page has no link to tilesets")
	}
	hrefs := []string{l.Href}
	var all struct{ Collections []collectionDoc }
	decode(s.t.(*testing.T), s.get(s.iut+"/collections?f=json").wants(200).Body, &all)
	for _, c := range all.Collections {
		l, ok := find(c.Links, rel, "application/json")
		if !ok {
			s.t.Errorf("%s has no link to tilesets", c.ID)
			continue
		}
		hrefs = append(hrefs, l.Href)
	}
	return hrefs
}

// corners are a tile of each tileset.
func (s *tileSuite) corners() (tiles []string) {
	for _, href := range s.listed() {
		var list struct{ Tilesets []tilesetDoc }
		decode(s.t.(*testing.T), s.get(href).wants(200).Body, &list)
		for _, x := range list.Tilesets {
			item, _ := find(x.Links, "item", "")
			l := x.TileMatrixSetLimits[len(x.TileMatrixSetLimits)-1]
			tiles = append(tiles, address(item.Href, l.TileMatrix, l.MinTileRow, l.MinTileCol))
		}
	}
	return tiles
}

// lists requests the tilesets of each list.
func (s *tileSuite) lists() {
	for _, href := range s.listed() {
		r := s.get(href, "Accept", "application/json").wants(200)
		if r.Header.Get("Content-Type") != "application/json" {
			s.t.Errorf("%s: %s", href, r.Header.Get("Content-Type"))
		}
		var list struct{ Tilesets []tilesetDoc }
		decode(s.t.(*testing.T), r.Body, &list)
		if len(list.Tilesets) == 0 {
			s.t.Errorf("%s lists nothing", href)
		}
		for _, x := range list.Tilesets {
			s.tileset(x)
		}
	}
}

func (s *tileSuite) tileset(x tilesetDoc) {
	root := strings.TrimSuffix(s.iut, "/v1")
	uri := root + "/TileMatrixSets/" + x.TileMatrixSetID
	if slices.Contains(registeredSets, x.TileMatrixSetID) {
		uri = "http://www.opengis.net/def/tilematrixset/OGC/1.0/" + x.TileMatrixSetID
	}
	if x.TileMatrixSetURI != uri || x.DataType != "vector" || x.CRS == "" || len(x.TileMatrixSetLimits) == 0 {
		s.t.Errorf("%+v, want the URI %s", x, uri)
		return
	}
	for _, rel := range []string{"self", "item", "http://www.opengis.net/def/rel/ogc/1.0/tiling-scheme"} {
		l, ok := find(x.Links, rel, "")
		if u, err := url.Parse(l.Href); !ok || err != nil || !u.IsAbs() || !strings.HasPrefix(l.Href, s.iut+"/") ||
			l.Type == "" {
			s.t.Errorf("%s: link %s is %+v", x.TileMatrixSetID, rel, l)
		}
	}
	self, _ := find(x.Links, "self", "application/json")
	var one tilesetDoc
	decode(s.t.(*testing.T), s.get(self.Href).wants(200).Body, &one)
	if one.TileMatrixSetURI != x.TileMatrixSetURI || !slices.Equal(one.TileMatrixSetLimits, x.TileMatrixSetLimits) ||
		len(one.Links) == 0 {
		s.t.Errorf("%s: the tileset differs from its entry: %+v", self.Href, one)
	}
	scheme, _ := find(x.Links, "http://www.opengis.net/def/rel/ogc/1.0/tiling-scheme", "application/json")
	var set struct{ TileMatrices []struct{ ID string } }
	decode(s.t.(*testing.T), s.get(scheme.Href).wants(200).Body, &set)
	item, _ := find(x.Links, "item", "application/vnd.mapbox-vector-tile")
	for i, l := range x.TileMatrixSetLimits {
		if !slices.ContainsFunc(set.TileMatrices, func(m struct{ ID string }) bool { return m.ID == l.TileMatrix }) {
			s.t.Errorf("%s has no matrix %s", scheme.Href, l.TileMatrix)
		}
		if i > 1 && i < len(x.TileMatrixSetLimits)-1 { // the first, and the last, which is the smallest tile
			continue
		}
		if got := s.get(address(item.Href, l.TileMatrix, l.MaxTileRow, l.MinTileCol)).StatusCode; got != 200 &&
			got != 204 {
			s.t.Errorf("%s %s/%d/%d: %d", x.TileMatrixSetID, l.TileMatrix, l.MaxTileRow, l.MinTileCol, got)
		}
		for _, out := range [][2]int{{l.MaxTileRow + 1, l.MinTileCol}, {l.MinTileRow, l.MaxTileCol + 1},
			{2147483647, l.MinTileCol}, {l.MinTileRow, 2147483647}} {
			if got := s.get(address(item.Href, l.TileMatrix, out[0], out[1])).StatusCode; got != 400 && got != 404 {
				s.t.Errorf("%s %s/%d/%d, outside: %d", x.TileMatrixSetID, l.TileMatrix, out[0], out[1], got)
			}
		}
	}
}

// address fills a template of tiles.
func address(template, matrix string, row, col int) string {
	return strings.NewReplacer("{tileMatrix}", matrix, "{tileRow}", strconv.Itoa(row), "{tileCol}",
		strconv.Itoa(col)).Replace(template)
}
