package server_test

import (
	"net/url"
	"strings"
	"testing"
)

// TestMapsMeetTheAssertionsOfTheSuite: those of ets-ogcapi-maps10 that depend on no picture, at both mounts.
func TestMapsMeetTheAssertionsOfTheSuite(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	const rel = "http://www.opengis.net/def/rel/ogc/1.0/map"
	for _, mount := range []string{"", "/v1"} {
		var landing struct {
			CRS    []string
			Extent struct {
				Spatial struct {
					CRS  string
					BBox [][4]float64
				}
			}
		}
		decode(t, a.get(mount+"/?f=json").wants(200).plain(), &landing)
		box := landing.Extent.Spatial
		if box.CRS == "" || len(box.BBox) != 1 || box.BBox[0][0] >= box.BBox[0][2] || len(landing.CRS) == 0 {
			t.Errorf("%s: the landing page lacks the extent or the CRSs: %+v", mount, landing)
		}
		var coll struct {
			StorageCRS string
			Extent     struct {
				Spatial struct{ StorageCRSBBox [][4]float64 }
			}
		}
		decode(t, a.get(mount+"/collections/kommuner?f=json").wants(200).plain(), &coll)
		b := coll.Extent.Spatial.StorageCRSBBox
		if !strings.HasSuffix(coll.StorageCRS, "CRS84") &&
			(len(b) != 1 || b[0][0] >= b[0][2] || b[0][1] >= b[0][3]) {
			t.Errorf("%s: a box in the storage CRS: %+v", mount, coll)
		}
		// a map link takes parameters, and the form of Accept
		for _, path := range []string{"", "/collections/kommuner"} {
			l, _ := find(a.get(mount+path+"?f=json").wants(200).links(), rel, "image/png")
			if l.Href != a.URL+mount+path+"/map" {
				t.Errorf("the map of %s is at %q", path, l.Href)
			}
			r := a.get(mount+path+"/map?width=20", "Accept", "image/jpeg").wants(200)
			if r.Header.Get("Content-Type") != "image/jpeg" {
				t.Errorf("%s: %s", path, r.Header.Get("Content-Type"))
			}
			var list struct {
				Styles []struct{ Links []struct{ Rel, Href string } }
			}
			decode(t, a.get(mount+path+"/styles?f=json").wants(200).plain(), &list)
			for _, s := range list.Styles {
				n := 0
				for _, l := range s.Links {
					if l.Rel == rel {
						n++
						a.get(strings.TrimPrefix(l.Href, a.URL) + "?width=20&bbox=9,59,11,60").picture()
					}
				}
				if n != 1 {
					t.Errorf("a style of %s has %d maps", path, n)
				}
			}
		}
		var api struct {
			Info struct {
				Limits struct {
					Maps struct{ MaxWidth, MaxHeight int }
				} `json:"x-OGC-limits"`
			}
			Paths map[string]struct{ Get struct{ OperationID string } }
		}
		decode(t, a.get(mount+"/openapi").wants(200).plain(), &api)
		if m := api.Info.Limits.Maps; m.MaxWidth != 4096 || m.MaxHeight != 4096 {
			t.Errorf("limits of maps: %+v", m)
		}
		const tiles, coll1 = "/map/tiles/{tileMatrixSetId}", "/collections/kommuner"
		for path, suffix := range map[string]string{
			"/map":       ".dataset.getMap",
			"/map/tiles": ".dataset.map.getTileSetsList",
			tiles:        ".dataset.map.getTileSet",
			tiles + "/{tileMatrix}/{tileRow}/{tileCol}": ".dataset.map.getTile",
			"/styles/{styleId}/map":                     ".dataset.style.getMap",
			coll1 + "/map":                              ".collection.getMap",
			coll1 + "/map/tiles":                        ".collection.map.getTileSetsList",
			coll1 + "/styles/{styleId}/map":             ".collection.style.getMap",
		} {
			if id := api.Paths[path].Get.OperationID; !strings.HasSuffix(id, suffix) {
				t.Errorf("%s is %q", path, id)
			}
		}
		for query, status := range map[string]int{
			"subset=Lat(100:120)":                       404,
			"subset=Lon(170:-170)":                      200,
			"subset=Lat(-90:90),Lon(-180:180)":          200,
			"subset=E(1e9:2e9)&subset-crs=[EPSG:25833]": 404,
			"width=4097":                                400,
			"bbox=9,59,11,60&subset=Lat(59:60)":         400,
		} {
			a.get(mount + "/collections/kommuner/map?width=20&" + query).wants(status)
		}
	}
}

// TestTheMapPageOfKartverketsFrontEndHasItsPictures sends what src/utils/map/ogcImageSource.js of
// kartverket/OGC-API-frontend sends: each CRS of the collection, with the box in the order of its axes, from another
// origin. The page exists if the collection links to its map.
func TestTheMapPageOfKartverketsFrontEndHasItsPictures(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	for _, id := range []string{"fylker", "kommuner"} {
		var coll struct {
			CRS    []string
			Extent struct{ Spatial struct{ BBox [][]float64 } }
			Links  []struct{ Rel string }
		}
		decode(t, a.get("/collections/"+id+"?f=json").wants(200).plain(), &coll)
		linked := false
		for _, l := range coll.Links {
			linked = linked || l.Rel == "http://www.opengis.net/def/rel/ogc/1.0/map"
		}
		if !linked || len(coll.CRS) < 3 || len(coll.Extent.Spatial.BBox[0]) != 4 {
			t.Fatalf("%s: %+v", id, coll)
		}
		for i, crs := range coll.CRS {
			whole := a.get("/collections/" + id + "/map?width=10&crs=" + crs).wants(200).Header.Get("Content-Bbox")
			path := "/collections/" + id + "/map?f=png&width=300&height=200&bbox=" + url.QueryEscape(whole) + "&crs=" +
				url.QueryEscape(crs)
			if i > 0 { // CRS84 is the first
				path += "&bbox-crs=" + url.QueryEscape(crs)
			}
			r := a.get(path, "Origin", "https://data.example")
			if n := opaque(r.picture()); n < 300*200/10 {
				t.Errorf("%s: %d pixels", path, n)
			}
			if r.Header.Get("Access-Control-Allow-Origin") == "" {
				t.Errorf("%s is not for other origins", path)
			}
		}
	}
}
