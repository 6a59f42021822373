package server_test

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"math"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"grense/internal/config"
)

// picture decodes a response that is a PNG.
func (r answer) picture() image.Image {
	r.t.Helper()
	r.wants(200)
	if media := r.Header.Get("Content-Type"); media != "image/png" {
		r.t.Fatalf("%s: %.200s", media, r.Body)
	}
	img, err := png.Decode(bytes.NewReader(r.Body))
	if err != nil {
		r.t.Fatal(err)
	}
	return img
}

// opaque counts the pixels of a picture that are not transparent.
func opaque(img image.Image) (n int) {
	b := img.Bounds()
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			if _, _, _, a := img.At(x, y).RGBA(); a > 0 {
				n++
			}
		}
	}
	return n
}

// apart is by how much two pictures of one size differ: the mean of the differences of all channels.
func apart(a, b image.Image) float64 {
	if a.Bounds() != b.Bounds() {
		return math.Inf(1)
	}
	sum, n := 0.0, 0
	for y := range a.Bounds().Dy() {
		for x := range a.Bounds().Dx() {
			p, q := color.RGBAModel.Convert(a.At(x, y)).(color.RGBA), color.RGBAModel.Convert(b.At(x, y)).(color.RGBA)
			for i, v := range [4][2]uint8{{p.R, q.R}, {p.G, q.G}, {p.B, q.B}, {p.A, q.A}} {
				_ = i
				sum += math.Abs(float64(v[0]) - float64(v[1]))
				n++
			}
		}
	}
	return sum / float64(n)
}

func TestMapsOfACollectionAndOfAllData(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	for _, path := range []string{"/map", "/collections/kommuner/map", "/collections/fylker/map"} {
		for _, mount := range []string{"", "/v1"} {
			r := a.get(mount + path + "?f=png&width=300&height=200")
			img := r.picture()
			if img.Bounds() != image.Rect(0, 0, 300, 200) {
				t.Errorf("%s: %v", path, img.Bounds())
			}
			if n := opaque(img); n < 2000 || n > 55_000 {
				t.Errorf("%s: %d of 60000 pixels are not transparent", path, n)
			}
			if r.Header.Get("Content-Crs") != "http://www.opengis.net/def/crs/EPSG/0/25833" ||
				len(strings.Split(r.Header.Get("Content-Bbox"), ",")) != 4 {
				t.Errorf("%s: %v", path, r.Header)
			}
		}
	}
	for query, size := range map[string]image.Point{"": {}, "?width=100": {X: 100}, "?height=64": {Y: 64},
		"?width=1&height=1": {1, 1}, "?f=image/png&width=33&height=2": {33, 2},
		"?scale-denominator=20000000": {}, "?center=10,60&width=50&height=40&scale-denominator=1000000": {50, 40},
		"?bbox=10,59,11,60&width=64": {X: 64}, "?center=10.7,59.9&width=20": {X: 20},
		"?subset=Lat(59:60),Lon(10:11)&width=40&height=40": {40, 40},
		"?subset=Lat(59:60)":                             {},
		"?subset=Lat(59:60)&subset=Lon(10:11)&height=40": {Y: 40},
		"?subset=E(250000:260000),N(6640000:6650000)&subset-crs=[EPSG:25833]&scale-denominator=500000": {},
		"?bbox=179,59,-179,60&width=64": {X: 64}} {
		img := a.get("/collections/kommuner/map" + query).picture()
		if s := img.Bounds().Size(); size.X > 0 && s.X != size.X || size.Y > 0 && s.Y != size.Y ||
			max(s.X, s.Y) > 4096 {
			t.Errorf("%s: %v", query, s)
		}
	}
}

func TestMapsInAllForms(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil).settled("/map?width=10") // maps change once tile levels are built
	r := a.get("/collections/fylker/map?f=jpeg&width=200").wants(200)
	if img, err := jpeg.Decode(bytes.NewReader(r.Body)); err != nil || img.Bounds().Dx() != 200 ||
		r.Header.Get("Content-Type") != "image/jpeg" {
		t.Errorf("%v, %v", err, r.Header)
	}
	r = a.get("/collections/fylker/map?f=svg&width=200&height=100", "Accept-Encoding", "identity").wants(200)
	if s := string(r.Body); !strings.HasPrefix(s, "<svg ") || !strings.Contains(s, `viewBox="0 0 200 100"`) ||
		r.Header.Get("Content-Type") != "image/svg+xml" {
		t.Errorf("%.300s", s)
	}
	for _, path := range []string{"/map", "/collections/fylker/map"} {
		if r = a.get(path + "?f=html"); !strings.Contains(string(r.wants(200).Body), "data-tiles") {
			t.Errorf("%s: no map on the page", path)
		}
		if r := a.get(path, "Accept", "text/html"); !strings.HasPrefix(
			r.wants(200).Header.Get("Content-Type"), "text/html") {
			t.Errorf("%v", r.Header)
		}
		tag := a.get(path + "?width=50").wants(200).Header.Get("Etag")
		a.get(path+"?width=50", "If-None-Match", tag).wants(304)
	}
	a.get("/map?f=tiff").wants(400)
}

// TestMapsAreTheSameInBothAxisOrders: a box in EPSG:4258, latitude first, is the same map as that in CRS84.
func TestMapsAreTheSameInBothAxisOrders(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	const path = "/collections/kommuner/map?width=200&height=200"
	a.settled(path+"&crs=EPSG:25833", path+"&crs=OGC:CRS84", path+"&crs=EPSG:3857", path+"&crs=EPSG:3035")
	for _, crs := range []string{"EPSG:25833", "EPSG:4258", "OGC:CRS84", "EPSG:3857", "EPSG:3035"} {
		one := a.get(path + "&crs=" + crs + "&bbox=9,59,11,60")
		two := a.get(path + "&crs=" + crs + "&bbox=59,9,60,11&bbox-crs=http://www.opengis.net/def/crs/EPSG/0/4258")
		if d := apart(one.picture(), two.picture()); d > 0.01 {
			t.Errorf("%s: the maps differ by %.2f", crs, d)
		}
	}
	r := a.get(path + "&crs=EPSG:4258&bbox=9,59,11,60").wants(200)
	if got := r.Header.Get("Content-Bbox"); got != "59,9,60,11" {
		t.Errorf("Content-Bbox is %s", got)
	}
	r = a.get(path + "&crs=OGC:CRS84&bbox=9,59,11,60").wants(200)
	if got := r.Header.Get("Content-Bbox"); got != "9,59,11,60" || r.Header.Get("Content-Crs") != "" {
		t.Errorf("Content-Bbox is %s, Content-Crs %s", got, r.Header.Get("Content-Crs"))
	}
}

// TestMapsOfTheWorldShowWhatTheirCRSCan: a box that reaches beyond what a CRS can show is cut to that, also one across
// the antimeridian.
func TestMapsOfTheWorldShowWhatTheirCRSCan(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	for _, x := range []struct {
		crs, bbox string
		west      [2]float64 // range of the west edge in metres
		most      float64    // of the width
		empty     bool       // the data lie elsewhere
	}{
		{"25833", "-180,-90,180,90", [2]float64{-2e7, -1e7}, 4e7, false},
		{"25833", "11,59,10,60", [2]float64{-2e7, -1e6}, 4e7, false},
		{"25833", "-100,50,60,80", [2]float64{-2e7, -1e6}, 4e7, false},
		{"3857", "-180,-90,180,90", [2]float64{-20037509, -20037508}, 40075018, false},
		{"3575", "170,60,-170,70", [2]float64{-1000, 1000}, 1.3e6, true},
		{"3575", "-180,-90,180,90", [2]float64{-1.3e7, -9e6}, 2.6e7, false},
		{"3035", "-180,20,180,90", [2]float64{-2e7, 3e6}, 4e7, false},
	} {
		path := "/collections/fylker/map?width=400&crs=EPSG:" + x.crs + "&bbox=" + x.bbox
		r := a.get(path).wants(200)
		v := strings.Split(r.Header.Get("Content-Bbox"), ",")
		west, east := 0, 2
		if x.crs == "3035" { // north first
			west, east = 1, 3
		}
		low, err := strconv.ParseFloat(v[west], 64)
		high, also := strconv.ParseFloat(v[east], 64)
		if err != nil || also != nil || low < x.west[0] || low > x.west[1] || high-low > x.most {
			t.Errorf("%s: Content-Bbox is %s", path, v)
		}
		if n := opaque(r.picture()); (n == 0) != x.empty {
			t.Errorf("%s: %d pixels are drawn", path, n)
		}
	}
}

// TestMapsHaveNoGapsBetweenNeighbours: in the middle of the country no pixel shows the ground.
func TestMapsHaveNoGapsBetweenNeighbours(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	img := a.get("/collections/kommuner/map?crs=EPSG:25833&bbox=230000,6750000,290000,6810000&bbox-crs=EPSG:25833" +
		"&width=300&height=300").picture()
	gaps := 0
	for y := range 300 {
		for x := range 300 {
			if _, _, _, alpha := img.At(x, y).RGBA(); alpha < 0xfd00 {
				gaps++
			}
		}
	}
	if gaps > 0 {
		t.Errorf("%d pixels show the ground", gaps)
	}
}

func TestGroundOfMaps(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	const far = "/collections/kommuner/map?bbox=-30,40,-29,41&width=16&height=16"
	for query, want := range map[string]color.NRGBA{"": {}, "&bgcolor=CC00CC": {0xcc, 0, 0xcc, 255},
		"&bgcolor=0xCC00CC": {0xcc, 0, 0xcc, 255}, "&bgcolor=NaVy": {0, 0, 0x80, 255},
		"&bgcolor=red&transparent=true": {}, "&bgcolor=red&transparent=false": {255, 0, 0, 255},
		"&transparent=true": {}, "&void-color=ReD&void-transparent=false": {}} {
		c := color.NRGBAModel.Convert(a.get(far+query).picture().At(8, 8)).(color.NRGBA)
		if want.A == 0 && c.A != 0 || want.A > 0 && c != want {
			t.Errorf("%s: %v, not %v", query, c, want)
		}
	}
	if c := color.NRGBAModel.Convert(a.get(far+"&transparent=false").picture().At(8, 8)).(color.NRGBA); c.A != 255 {
		t.Errorf("the ground of the style is %v", c)
	}
	light, dark := a.get("/map?width=64&transparent=false").picture(),
		a.get("/map?width=64&theme=dark&transparent=false").picture()
	if apart(light, dark) < 50 {
		t.Error("the dark map is light")
	}
}

func TestNonsenseOfMapsIsRefused(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	for _, query := range []string{"width=0", "width=-1", "width=4097", "height=1e3", "width=1.5", "width=x",
		"width=99999999999999999999", "bbox=1,2,3", "bbox=a,b,c,d", "bbox=1,1,1,1", "bbox=9,59,11,60&center=10,60",
		"center=1", "center=NaN,1", "center=10,60&center-crs=EPSG:9999", "crs=EPSG:2154", "crs=", "bbox-crs=x",
		"scale-denominator=0", "scale-denominator=-5", "scale-denominator=Inf", "scale-denominator=5&bbox=9,59,11,60",
		"bbox=9,59,11,60&width=10&scale-denominator=5000", "mm-per-pixel=0", "bgcolor=nocolour", "bgcolor=12",
		"bgcolor=url(x)", "void-color=1", "transparent=yes", "void-transparent=1", "subset=Lat(59)",
		"subset=Foo(1:2)",
		"subset=Lat(59:60),Lat(59:60)", "subset=Lon(10),Lat(59:60)", "subset=(",
		"subset=Lat(59:60),Lon(10:11)&bbox=1,2,3,4",
		"subset=E(1:2),N(1:2)", "theme=pink", "collections=nothing", "nothing=1", "filter=(", "datetime=soon",
		"f=gif"} {
		r := a.get("/map?" + query)
		if r.StatusCode != 400 {
			t.Errorf("%s: %d %.200s", query, r.StatusCode, r.Body)
			continue
		}
		if r.json()["faults"] == nil {
			t.Errorf("%s: %s", query, r.Body)
		}
	}
}

// TestMapsThatWouldBeTooLargeNameTheCure of the parameter that makes them so.
func TestMapsThatWouldBeTooLargeNameTheCure(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	for query, cure := range map[string]string{
		"bbox=0,59,30,60&height=4096":             "a smaller height",
		"bbox=10,58,11,71&width=4096":             "a smaller width",
		"bbox=10,58,11,71&scale-denominator=1000": "a smaller box, or a larger denominator",
	} {
		if r := a.get("/collections/fylker/map?" + query).wants(400); !strings.Contains(string(r.Body), cure) {
			t.Errorf("%s: %s", query, r.Body)
		}
	}
}

func TestMapTilesAreThoseOfTheirGrid(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	for _, tile := range populated {
		img := a.get("/collections/kommuner/map/tiles/" + tile + "?f=png").picture()
		if img.Bounds() != image.Rect(0, 0, 256, 256) || opaque(img) == 0 {
			t.Errorf("%s: %v, %d pixels", tile, img.Bounds(), opaque(img))
		}
	}
	const tile = "/map/tiles/WebMercatorQuad/5/8/16"
	if img := a.get(tile + "?width=512&bgcolor=white").picture(); img.Bounds().Dx() != 512 || img.Bounds().Dy() != 512 {
		t.Errorf("%v", img.Bounds())
	}
	a.get("/v1" + tile + "?f=jpeg&theme=dark").wants(200)
	a.get("/map/tiles/WebMercatorQuad/3/0/0").wants(200)
	a.get("/map/tiles/WebMercatorQuad/3/0/x").wants(400)
	a.get("/map/tiles/WebMercatorQuad/3/99/0").wants(404)
	a.get("/map/tiles/nothing/3/0/0").wants(404)
	a.settled("/map/tiles/WebMercatorQuad/2/0/0") // a tile is the same as the map of its box
	box := "-20037508.3427892,10018754.1713946,-10018754.1713946,20037508.3427892"
	one, two := a.get("/map/tiles/WebMercatorQuad/2/0/0?bgcolor=white").picture(),
		a.get("/map?crs=EPSG:3857&bbox-crs=EPSG:3857&bbox="+
			box+"&width=256&height=256&bgcolor=white").picture()
	if d := apart(one, two); d > 1 {
		t.Errorf("the tile differs from the map by %.2f", d)
	}
}

func TestMapsNeedAKeyAndLegendsDoNot(t *testing.T) {
	t.Parallel()
	a := serve(t, "", func(c *config.Config) { c.Auth = "required" })
	for _, of := range []string{"", "/collections/kommuner"} {
		for _, path := range []string{"/map", "/map?width=nothing", "/map?f=html", "/map/tiles/WebMercatorQuad/3/2/4"} {
			a.get(of + path).wants(401)
		}
		r := a.get(of+"/map?width=64", "X-API-Key", a.key).wants(200)
		if r.Header.Get("Cache-Control") != "private, no-cache" ||
			!strings.Contains(r.Header.Get("Vary"), "X-API-Key") {
			t.Errorf("headers %v", r.Header)
		}
		if n := opaque(a.get(of + "/legend").picture()); n < 500 {
			t.Errorf("the legend has %d pixels", n)
		}
		if s := string(a.get(of+"/legend?f=svg", "Accept-Encoding", "identity").wants(200).Body); !strings.Contains(
			s, "ommuner") {
			t.Errorf("%.300s", s)
		}
	}
}

// TestMapsAreLinked: descriptions link to the maps (OGC 20-058, /req/collection-map/desc-links,
// /req/dataset-map/landingpage).
func TestMapsAreLinked(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	const rel = "http://www.opengis.net/def/rel/ogc/1.0/map"
	for _, path := range []string{"/", "/collections/kommuner"} {
		l, ok := find(a.get(path+"?f=json").wants(200).links(), rel, "image/png")
		if !ok {
			t.Fatalf("%s has no link to its map", path)
		}
		a.get(strings.TrimPrefix(l.Href, a.URL) + "?width=32").picture()
	}
}

func TestRepeatedMapsAreCached(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil).settled("/map?width=64")
	var first []byte
	for i := range 4 {
		r := a.get("/map?width=65").wants(200)
		if i == 0 {
			first = r.Body
		} else if !bytes.Equal(first, r.Body) {
			t.Errorf("answer %d differs", i)
		}
	}
}

func TestFiltersChooseWhatIsOnMaps(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	all := opaque(a.get("/collections/kommuner/map?width=300").picture())
	one := opaque(a.get("/collections/kommuner/map?width=300&filter=nr='0301'").picture())
	none := opaque(a.get("/collections/kommuner/map?width=300&filter=nr='none'").picture())
	if none != 0 || one == 0 || one > all/10 {
		t.Errorf("pixels: %s", fmt.Sprint(all, one, none))
	}
}

func TestWMSAnswersOldClients(t *testing.T) {
	t.Parallel()
	a := serve(t, "", func(c *config.Config) { c.Compat.WMS = true })
	doc := string(a.get("/wms?SERVICE=WMS&REQUEST=GetCapabilities", "Accept-Encoding", "identity").wants(200).Body)
	for _, part := range []string{`<WMS_Capabilities version="1.3.0"`, "<Name>kommuner</Name>", "<CRS>EPSG:25833</CRS>",
		"<CRS>CRS:84</CRS>", "/wms?", "image/png"} {
		if !strings.Contains(doc, part) {
			t.Errorf("the capabilities lack %s", part)
		}
	}
	a.settled("/map?width=10", "/map?width=10&crs=OGC:CRS84")
	const get = "/wms?service=WMS&version=1.3.0&request=GetMap&layers=fylker,kommuner&styles=,&width=200&height=200" +
		"&format=image/png"
	north := a.get(get + "&crs=EPSG:4258&bbox=59,9,60,11").picture()
	east := a.get(get + "&crs=CRS:84&bbox=9,59,11,60").picture()
	if d := apart(north, east); d > 0.01 || opaque(north) != 200*200 {
		t.Errorf("the maps of both axis orders differ by %.2f", d)
	}
	if img := a.get(get + "&crs=CRS:84&bbox=-30,40,-29,41&TRANSPARENT=TRUE").picture(); opaque(img) != 0 {
		t.Error("the map is not transparent")
	}
	if img := a.get(get + "&crs=CRS:84&bbox=-10,91,10,110&TRANSPARENT=TRUE").picture(); opaque(img) != 0 {
		t.Error("there is something north of the pole")
	}
	thrice := strings.Replace(get, "fylker,kommuner&styles=,", "kommuner,fylker,kommuner&styles=,default,light", 1)
	twice := a.get(thrice + "&crs=EPSG:4258&bbox=59,9,60,11").picture()
	if apart(twice, north) != 0 {
		t.Error("a layer that stands twice is not drawn where it stands last")
	}
	a.get("/wms?request=GetLegendGraphic&layer=kommuner&format=image/png").picture()
	const info = "/wms?version=1.3.0&request=GetFeatureInfo&layers=kommuner&query_layers=kommuner&crs=CRS:84" +
		"&bbox=9,59,11,60&width=200&height=200&i=100&j=50"
	var found struct {
		Features []struct {
			ID         string
			Properties map[string]any
		}
	}
	decode(t, a.get(info+"&info_format=application/json").wants(200).plain(), &found)
	if len(found.Features) != 1 || found.Features[0].Properties["navn"] == nil {
		t.Errorf("%+v", found)
	}
	for _, media := range []string{"text/plain", "text/html"} {
		if s := string(a.get(info + "&info_format=" + media).wants(200).plain()); !strings.Contains(s, "navn") {
			t.Errorf("%s: %s", media, s)
		}
	}
	nowhere := strings.Replace(info, "bbox=9,59,11,60", "bbox=0,0,1,1", 1) + "&info_format=text/plain"
	if s := string(a.get(nowhere).wants(200).plain()); s != "no features\n" {
		t.Errorf("where there is nothing: %q", s)
	}
	const of, box = "version=1.3.0&request=GetMap&width=9&height=9&layers=fylker", "&crs=CRS:84&bbox=1,1,2,2"
	for query, code := range map[string]string{
		"request=Nothing":                                                     "OperationNotSupported",
		of + "x" + box:                                                        "LayerNotDefined",
		of + box + "&styles=pink":                                             "StyleNotDefined",
		of + box + "&styles=,":                                                "styles: name one style",
		of + ",kommuner" + box + "&styles=,dark":                              "styles: a map has one style",
		of + "&bbox=1,1,2,2&crs=EPSG:1":                                       "InvalidCRS",
		of + box + "&format=image/tiff":                                       "InvalidFormat",
		of + "&crs=CRS:84&bbox=1,1,1,1":                                       "",
		of + "&crs=CRS:84&bbox=2,1,1,2":                                       "",
		of + "&crs=CRS:84&bbox=1,1,NaN,2":                                     "",
		strings.TrimPrefix(of, "version=1.3.0&") + box:                        "",
		strings.Replace(of, "width=9", "width=99999", 1) + box:                "",
		strings.Replace(of, "GetMap", "GetFeatureInfo", 1) + box + "&i=9&j=0": "InvalidPoint",
		strings.Replace(of, "GetMap", "GetFeatureInfo", 1) + box + "&i=0&j=0&info_format=x": "InvalidFormat",
	} {
		r := a.get("/wms?" + query).wants(400)
		if s := string(r.Body); !strings.Contains(s, "<ServiceExceptionReport") || !strings.Contains(s, code) {
			t.Errorf("%s: %s", query, s)
		}
	}
	serve(t, "", nil).get("/wms?request=GetCapabilities").wants(404)
}

func TestWMTSAnswersOldClients(t *testing.T) {
	t.Parallel()
	a := serve(t, "", func(c *config.Config) { c.Compat.WMTS = true })
	for _, path := range []string{"/wmts?service=WMTS&request=GetCapabilities", "/wmts/1.0.0/WMTSCapabilities.xml"} {
		doc := string(a.get(path, "Accept-Encoding", "identity").wants(200).Body)
		for _, part := range []string{"<ows:Identifier>kommuner</ows:Identifier>", "utm33n",
			"urn:ogc:def:crs:EPSG::25833",
			"/wmts/1.0.0/kommuner/{Style}/{TileMatrixSet}/{TileMatrix}/{TileRow}/{TileCol}.png",
			"<TopLeftCorner>-2500000 9045984</TopLeftCorner>", "ServiceProvider"} {
			if !strings.Contains(doc, part) {
				t.Errorf("%s lacks %s", path, part)
			}
		}
	}
	const query = "/wmts?service=WMTS&version=1.0.0&layer=kommuner&style=default" +
		"&tilematrixset=WebMercatorQuad&tilematrix=5"
	const tile = query + "&tilerow=8&tilecol=16&format=image/png"
	a.settled("/collections/kommuner/map/tiles/WebMercatorQuad/5/8/16")
	const path = "/wmts/1.0.0/kommuner/default/WebMercatorQuad/5/8/16"
	one, two := a.get(path+".png").picture(), a.get(tile+"&request=GetTile").picture()
	three := a.get("/collections/kommuner/map/tiles/WebMercatorQuad/5/8/16").picture()
	if apart(one, two) != 0 || apart(one, three) != 0 || opaque(one) == 0 {
		t.Error("a tile is not the same at all addresses")
	}
	if r := a.get(path + ".jpg").wants(200); r.Header.Get("Content-Type") != "image/jpeg" {
		t.Error(r.Header)
	}
	whole := one.(interface {
		SubImage(image.Rectangle) image.Image
	})
	at := image.Pt(0, 0) // inside a municipality
	for y := 20; y < 236 && at.X == 0; y++ {
		for x := 20; x < 236; x++ {
			if opaque(whole.SubImage(image.Rect(x-6, y-6, x+7, y+7))) == 13*13 {
				at = image.Pt(x, y)
				break
			}
		}
	}
	info := fmt.Sprintf("&i=%d&j=%d&infoformat=", at.X, at.Y)
	for _, media := range []string{"text/plain", "text/html", "application/json"} {
		s := string(a.get(tile + "&request=GetFeatureInfo" + info + media).wants(200).plain())
		if !strings.Contains(s, "navn") {
			t.Errorf("%s: %s", media, s)
		}
	}
	s := string(a.get(fmt.Sprintf("%s/%d/%d.json", path, at.Y, at.X)).wants(200).plain())
	if !strings.Contains(s, "navn") {
		t.Error(s)
	}
	a.get("/wmts/1.0.0/WMTSCapabilities.xml", "Accept", "example/unknown").wants(406)
	serve(t, "", nil).get("/wmts?service=WMTS&request=GetCapabilities").wants(404)
}

// TestExceptionsOfWMTSAreThoseOfTheStandard: OGC 07-057r7, tables 17, 23 and 28.
func TestExceptionsOfWMTSAreThoseOfTheStandard(t *testing.T) {
	t.Parallel()
	a := serve(t, "", func(c *config.Config) { c.Compat.WMTS = true })
	good := map[string]string{"service": "WMTS", "request": "GetTile", "version": "1.0.0", "layer": "kommuner",
		"style": "default", "format": "image/png", "tilematrixset": "WebMercatorQuad", "tilematrix": "5",
		"tilerow": "8", "tilecol": "16"}
	ask := func(changes ...string) answer {
		q := url.Values{}
		for name, v := range good {
			q.Set(name, v)
		}
		for i := 0; i < len(changes); i += 2 {
			if q.Set(changes[i], changes[i+1]); changes[i+1] == "" {
				q.Del(changes[i])
			}
		}
		return a.get("/wmts?" + q.Encode())
	}
	ask().wants(200)
	info := []string{"request", "GetFeatureInfo", "i", "1", "j", "1", "infoformat", "text/plain"}
	ask(info...).wants(200)
	for _, x := range []struct{ code, locator, changes string }{
		{"MissingParameterValue", "Service", "service="},
		{"InvalidParameterValue", "Service", "service=WMS"},
		{"MissingParameterValue", "Request", "request="},
		{"InvalidParameterValue", "Request", "request=GetMap"},
		{"MissingParameterValue", "Version", "version="},
		{"InvalidParameterValue", "Version", "version=2.0.0"},
		{"MissingParameterValue", "Layer", "layer="},
		{"InvalidParameterValue", "Layer", "layer=nothing"},
		{"InvalidParameterValue", "Layer", "layer=kommuner,fylker"},
		{"MissingParameterValue", "Style", "style="},
		{"InvalidParameterValue", "Style", "style=pink"},
		{"InvalidParameterValue", "Style", "style=light,dark"},
		{"MissingParameterValue", "Format", "format="},
		{"InvalidParameterValue", "Format", "format=image/svg+xml"},
		{"InvalidParameterValue", "TileMatrixSet", "tilematrixset=nothing"},
		{"InvalidParameterValue", "TileMatrix", "tilematrix=x"},
		{"InvalidParameterValue", "TileMatrix", "tilematrix=99"},
		{"InvalidParameterValue", "TileRow", "tilerow=x"},
		{"TileOutOfRange", "TileRow", "tilerow=32"},
		{"TileOutOfRange", "TileCol", "tilecol=-1"},
		{"TileOutOfRange", "TileCol", "tilecol=99999999999999999999"},
		{"MissingParameterValue", "I", "info i="},
		{"PointIJOutOfRange", "I", "info i=256"},
		{"PointIJOutOfRange", "J", "info j=-1"},
		{"InvalidParameterValue", "J", "info j=x"},
		{"MissingParameterValue", "InfoFormat", "info infoformat="},
		{"InvalidParameterValue", "InfoFormat", "info infoformat=x"},
		{"VersionNegotiationFailed", "", "request=GetCapabilities acceptversions=0.9.0"},
		{"InvalidParameterValue", "Sections", "request=GetCapabilities sections=Bogus"},
	} {
		var changes []string
		for part := range strings.FieldsSeq(x.changes) {
			if part == "info" {
				changes = append(changes, info...)
				continue
			}
			name, v, _ := strings.Cut(part, "=")
			changes = append(changes, name, v)
		}
		want := `<Exception exceptionCode="` + x.code + `"`
		if x.locator != "" {
			want += ` locator="` + x.locator + `"`
		}
		if s := string(ask(changes...).wants(400).Body); !strings.Contains(s, want+">") {
			t.Errorf("%s: %s", x.changes, s)
		}
	}
	s := string(ask("request", "GetCapabilities", "sections", "Contents").wants(200).plain())
	if strings.Contains(s, "ServiceProvider") || !strings.Contains(s, "<Contents>") {
		t.Error("the sections were not chosen")
	}
	for _, path := range []string{"kommuner/default/WebMercatorQuad/5/99/16.png", "kommuner/default/nothing/5/8/16.png",
		"kommuner/default/WebMercatorQuad/5/8/16.tif", "nothing/default/WebMercatorQuad/5/8/16.png",
		"kommuner/default/WebMercatorQuad/5/8/16/1/1.xml"} {
		if s := string(a.get("/wmts/1.0.0/" + path).wants(404).Body); !strings.Contains(s, "<Exception ") {
			t.Errorf("%s: %s", path, s)
		}
	}
}

// TestKeysOfOldClients: descriptions need no key, data do, and a key in a parameter counts only where it is configured.
func TestKeysOfOldClients(t *testing.T) {
	t.Parallel()
	const tile = "/wmts/1.0.0/kommuner/default/WebMercatorQuad/0/0/0.png"
	const picture = "/wms?version=1.3.0&request=GetMap&layers=fylker&styles=&crs=CRS:84&bbox=9,59,11,60" +
		"&width=9&height=9"
	for _, name := range []string{"", "apikey"} {
		a := serve(t, "", func(c *config.Config) {
			c.Auth, c.Compat = "required", config.Compat{WMS: true, WMTS: true, KeyParameter: name}
		})
		for _, path := range []string{"/wms?request=GetCapabilities", "/wmts?service=WMTS&request=GetCapabilities",
			"/wmts/1.0.0/WMTSCapabilities.xml"} {
			a.get(path).wants(200)
		}
		inQuery := 400 // a key in an address
		if name != "" {
			inQuery = 200
		}
		for _, path := range []string{tile, picture} {
			with := "?ApiKey="
			if strings.Contains(path, "?") {
				with = "&ApiKey="
			}
			a.get(path).wants(401)
			a.get(path, "Authorization", basic("any", a.key)).wants(200)
			r := a.get(path + with + a.key).wants(inQuery)
			for name := range r.Header {
				if strings.Contains(r.Header.Get(name), a.key) {
					t.Errorf("the key is in %s of %s", name, path)
				}
			}
			a.get(path + with + "wrong").wants(401)
		}
	}
}
