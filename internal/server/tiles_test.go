package server_test

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"grense/internal/await"
	"grense/internal/config"
	"grense/internal/server/surface"
)

const mvtMedia = "application/vnd.mapbox-vector-tile"

// mvtLayer is the part of a layer of a vector tile that tests read (Mapbox Vector Tile 2.1, 4.1).
type mvtLayer struct {
	name     string
	keys     []string
	features int
	texts    []string // values
}

// mvtLayers reads a tile.
func mvtLayers(t testing.TB, tile []byte) (layers []mvtLayer) {
	t.Helper()
	each := func(b []byte, fn func(field uint64, v uint64, raw []byte)) {
		for len(b) > 0 {
			tag, n := binary.Uvarint(b)
			b = b[n:]
			v, n := binary.Uvarint(b)
			switch tag & 7 {
			case 0:
				fn(tag>>3, v, nil)
				b = b[n:]
			case 1:
				fn(tag>>3, 0, b[:8])
				b = b[8:]
			case 2:
				fn(tag>>3, 0, b[n:n+int(v)])
				b = b[n+int(v):]
			default:
				t.Fatalf("no vector tile: wire type %d", tag&7)
			}
		}
	}
	each(tile, func(_, _ uint64, raw []byte) {
		var l mvtLayer
		each(raw, func(field, _ uint64, raw []byte) {
			switch field {
			case 1:
				l.name = string(raw)
			case 2:
				l.features++
			case 3:
				l.keys = append(l.keys, string(raw))
			case 4:
				each(raw, func(field, _ uint64, raw []byte) {
					if field == 1 {
						l.texts = append(l.texts, string(raw))
					}
				})
			}
		})
		layers = append(layers, l)
	})
	return layers
}

// populated is a tile of the demo with all of its municipalities, in each kind of set.
var populated = []string{"WebMercatorQuad/3/2/4", "WorldCRS84Quad/2/0/4", "utm33n/0/0/0", "EPSG3575Quad/1/1/1",
	"EuropeanETRS89_LAEAQuad/1/0/1", "UTM33WGS84Quad/3/2/1"}

func TestTilesHaveTheLayerIDsAndPropertiesOfTheirCollection(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	for _, tile := range populated {
		for _, mount := range []string{"", "/v1"} {
			r := a.get(mount+"/collections/kommuner/tiles/"+tile, "Accept-Encoding", "identity").wants(200)
			layers := mvtLayers(t, r.Body)
			if r.Header.Get("Content-Type") != mvtMedia || len(layers) != 2 || layers[0].name != "kommuner" ||
				layers[1].name != "kommuner_label" || layers[0].features == 0 ||
				!slices.Contains(layers[0].keys, "id") || !slices.Contains(layers[0].keys, "navn") {
				t.Errorf("%s: %s, %+v", tile, r.Header.Get("Content-Type"), layers)
			}
		}
	}
}

func TestTilesAreFilteredAsItems(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	const at = "/collections/kommuner/tiles/WebMercatorQuad/3/2/4"
	for query, wants := range map[string]struct {
		features int
		keys     string
	}{
		"filter=nr='0301'":              {1, ""},
		"filter=nr+IN+('0301','4601')":  {2, ""},
		"filter=nr='nobody'":            {0, ""},
		"properties=navn":               {-1, "navn"},
		"properties=navn,geometry":      {-1, "navn"},
		"properties=geometry":           {-1, ""},
		"datetime=1700-01-01T00:00:00Z": {-1, "*"}, // as the municipalities of the demo, which have a time or none
		`filter={"op":"=","args":[{"property":"nr"},"0301"]}&filter-lang=cql2-json`: {1, "*"},
	} {
		q := url.Values{}
		for pair := range strings.SplitSeq(query, "&") {
			k, v, _ := strings.Cut(pair, "=")
			q.Set(k, strings.ReplaceAll(v, "+", " "))
		}
		r := a.get(at + "?" + q.Encode())
		if wants.features == 0 {
			r.wants(204)
			continue
		}
		if strings.HasPrefix(query, "datetime") {
			n := a.get("/collections/kommuner/items?limit=1000&" + query).wants(200).page().NumberMatched
			if n == 0 {
				r.wants(204)
				continue
			}
		}
		l := mvtLayers(t, r.wants(200).plain())[0]
		if wants.features > 0 && l.features != wants.features {
			t.Errorf("%s: %d features, want %d", query, l.features, wants.features)
		}
		if wants.keys == "navn" && len(l.keys) != 2 || query == "properties=geometry" &&
			!slices.Equal(l.keys, []string{"id"}) {
			t.Errorf("%s: properties %q", query, l.keys)
		}
	}
	for _, bad := range []string{"filter=nothing=1", "filter=%28", "datetime=soon", "properties=nothing",
		"filter-lang=sql", "bbox=1,2,3,4", "limit=1", "collections=fylker", "f=png", "f=json", "properties="} {
		r := a.get(at + "?" + bad).wants(400)
		if r.json()["faults"] == nil {
			t.Errorf("%s: %s", bad, r.Body)
		}
	}
}

// settled requests tiles or pages and waits until they come from tile levels and the sizes of files are known.
// Earlier responses may differ.
func (a *api) settled(paths ...string) *api {
	for _, p := range paths {
		a.get(p)
	}
	tilesReady(a.t, a.srv)
	return a
}

// tilesReady waits until all tiles requested so far come from tile levels.
func tilesReady(t testing.TB, s *surface.Server) {
	t.Helper()
	await.True(t, "levels for tiles", s.TilesReady)
}

// plain is the body without its coding.
func (r answer) plain() []byte {
	if r.Header.Get("Content-Encoding") != "gzip" {
		return r.Body
	}
	z, err := gzip.NewReader(bytes.NewReader(r.Body))
	if err != nil {
		r.t.Fatal(err)
	}
	b, err := io.ReadAll(z)
	if err != nil {
		r.t.Fatal(err)
	}
	return b
}

func TestTilesHaveAValidatorForEachCoding(t *testing.T) {
	t.Parallel()
	const path = "/tiles/WebMercatorQuad/2/1/2?f=pbf"
	a := serve(t, "", nil).settled(path)
	tags := map[string]string{}
	for _, coding := range []string{"gzip", "identity"} {
		r := a.get(path, "Accept-Encoding", coding).wants(200)
		tag := r.Header.Get("ETag")
		tags[coding] = tag
		if got := r.Header.Get("Content-Encoding"); (got == "gzip") != (coding == "gzip") ||
			!strings.HasPrefix(tag, `"`) || r.Header.Get("Vary") == "" || r.Header.Get("Content-Length") == "" {
			t.Errorf("%s: coding %q, ETag %s, Vary %q", coding, got, tag, r.Header.Get("Vary"))
		}
		if l := r.Header.Get("Link-Template"); !strings.Contains(
			l, `"`+a.URL+`/tiles/WebMercatorQuad/{tileMatrix}/{tileRow}/{tileCol}?f=mvt"; rel="item"`) {
			t.Errorf("Link-Template: %s", l)
		}
		if l := a.get("/tiles/WebMercatorQuad").Header.Get("Link-Template"); !strings.Contains(l, "{tileRow}") {
			t.Errorf("the tileset has Link-Template %q", l)
		}
		if again := a.get(path, "Accept-Encoding", coding, "If-None-Match", tag); again.StatusCode != 304 ||
			len(again.Body) != 0 || again.Header.Get("ETag") != tag {
			t.Errorf("%s with its ETag: %d", coding, again.StatusCode)
		}
		head := a.do("HEAD", path, "Accept-Encoding", coding).wants(200)
		if len(head.Body) != 0 || head.Header.Get("ETag") != tag ||
			head.Header.Get("Content-Length") != r.Header.Get("Content-Length") {
			t.Errorf("HEAD %s: %v", coding, head.Header)
		}
	}
	if tags["gzip"] == tags["identity"] {
		t.Errorf("one ETag for both codings: %s", tags["gzip"])
	}
	for _, coding := range []string{"gzip", "identity"} { // an empty tile
		r := a.get("/collections/kommuner/tiles/WebMercatorQuad/3/2/4?filter=nr='nobody'", "Accept-Encoding",
			coding).wants(204)
		if r.Header.Get("OATiles-hint") != "empty" || len(r.Body) != 0 {
			t.Errorf("an empty tile: %v", r.Header)
		}
	}
}

func TestTilesNeedAKeyAndWhatDescribesThemDoesNot(t *testing.T) {
	t.Parallel()
	a := serve(t, "", func(c *config.Config) { c.Auth = "required" })
	for _, of := range []string{"", "/collections/kommuner"} {
		for _, open := range []string{"/tiles", "/tiles?f=html", "/tiles/WebMercatorQuad", "/tiles/utm33n?f=html",
			"/tiles/WebMercatorQuad/metadata?f=json", "/tiles/WebMercatorQuad?f=tilejson", "/style"} {
			a.get(of + open).wants(200)
		}
		a.get(of + "/tiles/WebMercatorQuad/3/2/4").wants(401)
		a.get(of + "/tiles/WebMercatorQuad/99/x/-4?filter=(").wants(401)
		r := a.get(of+"/tiles/WebMercatorQuad/3/2/4", "X-API-Key", a.key).wants(200)
		if r.Header.Get("Cache-Control") != "private, no-cache" ||
			!strings.Contains(r.Header.Get("Vary"), "X-API-Key") {
			t.Errorf("headers %v", r.Header)
		}
	}
}

func TestCollectionsChooseTheLayersOfTilesInTheirOrder(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	names := func(path string) (names []string) { // each is followed by that of its labels
		all := mvtLayers(t, a.get(path).wants(200).plain())
		for i, l := range all {
			switch {
			case !strings.HasSuffix(l.name, "_label"):
				names = append(names, l.name)
			case i == 0 || all[i-1].name+"_label" != l.name:
				t.Errorf("%s: %s follows no areas", path, l.name)
			}
		}
		return names
	}
	for choice, want := range map[string][]string{"kommuner": {"kommuner"}, "kommuner,fylker": {"kommuner", "fylker"},
		"fylker,kommuner": {"fylker", "kommuner"},
		a.URL + "/collections/kommuner," + a.URL + "/collections/fylker?f=json": {"kommuner", "fylker"},
		a.URL + "/v1/collections/fylker/," + a.URL + "/collections/kommuner":    {"fylker", "kommuner"},
		"fylker, kommuner": {"fylker", "kommuner"}} {
		q := "?collections=" + url.QueryEscape(choice)
		if got := names("/tiles/WebMercatorQuad/3/2/4" + q); !slices.Equal(got, want) {
			t.Errorf("%s: layers %q, want %q", choice, got, want)
		}
		var doc struct {
			Layers []struct{ ID string }
			Links  []link
		}
		decode(t, a.get("/tiles/WebMercatorQuad"+q).wants(200).Body, &doc)
		if len(doc.Layers) != 2*len(want) || doc.Layers[0].ID != want[0] {
			t.Errorf("%s: metadata has layers %v", choice, doc.Layers)
		}
		item, _ := find(doc.Links, "item", "")
		if got := names(strings.TrimPrefix(address(item.Href, "3", 2, 4), a.URL)); !slices.Equal(got, want) {
			t.Errorf("%s: tiles by the template have layers %q", choice, got)
		}
		tj := a.get("/tiles/WebMercatorQuad" + q + "&f=tilejson").wants(200).json()
		if n := len(tj["vector_layers"].([]any)); n != 2*len(want) ||
			!strings.Contains(tj["tiles"].([]any)[0].(string), "collections=") {
			t.Errorf("%s: TileJSON %v", choice, tj)
		}
		source := a.get("/style" + q).wants(200).json()["sources"].(map[string]any)["grense"].(map[string]any)
		if n := len(source["promoteId"].(map[string]any)); n != 2*len(want) {
			t.Errorf("%s: the style has %d layers", choice, n)
		}
	}
	if got := names("/tiles/WebMercatorQuad/3/2/4"); !slices.Equal(got, []string{"fylker", "kommuner"}) {
		t.Errorf("all collections: %q", got)
	}
	for _, bad := range []string{"", "nothing", "kommuner,", "kommuner,kommuner",
		"https://elsewhere.example/collections/kommuner", "kommuner&collections=fylker"} {
		for _, path := range []string{"/tiles/WebMercatorQuad", "/tiles/WebMercatorQuad/3/2/4", "/style"} {
			if r := a.get(path + "?collections=" + bad).wants(400); !strings.Contains(string(r.Body), "collections") {
				t.Errorf("%s of %q: %s", path, bad, r.Body)
			}
		}
	}
}

func TestTileJSONAndStyleAreWhatMapLibrariesRead(t *testing.T) {
	t.Parallel()
	a := serve(t, "", func(c *config.Config) { c.Service.Glyphs = "https://example.org/{fontstack}/{range}.pbf" })
	for _, of := range []string{"", "/collections/kommuner"} {
		for _, mount := range []string{"", "/v1"} {
			r := a.get(mount + of + "/tiles/WebMercatorQuad?f=tilejson").wants(200)
			var tj struct {
				TileJSON, Scheme, Attribution string
				Tiles                         []string
				MinZoom, MaxZoom              int
				Bounds, Center                []float64
				VectorLayers                  []struct {
					ID     string
					Fields map[string]string
				} `json:"vector_layers"`
			}
			decode(t, r.Body, &tj)
			if tj.TileJSON != "3.0.0" || tj.Scheme != "xyz" || !strings.Contains(tj.Attribution, "<a href=") ||
				len(tj.Bounds) != 4 || len(tj.Center) != 3 || tj.MaxZoom < 10 || len(tj.VectorLayers) == 0 ||
				tj.VectorLayers[0].Fields["id"] != "String" ||
				tj.Tiles[0] != a.URL+mount+of+"/tiles/WebMercatorQuad/{z}/{y}/{x}?f=mvt" {
				t.Errorf("%s: %s", r.Request.URL, r.Body)
			}
			tile := strings.NewReplacer("{z}", "3", "{y}", "2", "{x}", "4").Replace(tj.Tiles[0])
			a.get(tile).wants(200)
			var style struct {
				Version int
				Glyphs  string
				Sources map[string]struct {
					Type, URL string
					PromoteID map[string]string
				}
				Layers []struct {
					ID, Type, Source string
					Layer            string `json:"source-layer"`
				}
			}
			r = a.get(mount + of + "/style").wants(200)
			decode(t, r.Body, &style)
			src := style.Sources["grense"]
			if style.Version != 8 || src.Type != "vector" ||
				src.URL != a.URL+mount+of+"/tiles/WebMercatorQuad?f=tilejson" || src.PromoteID["kommuner"] != "id" ||
				style.Glyphs == "" || r.Header.Get("Content-Type") != "application/vnd.mapbox.style+json" {
				t.Errorf("%s: %s", r.Request.URL, r.Body)
			}
			kinds, ids := map[string]bool{}, map[string]bool{}
			for _, l := range style.Layers {
				kinds[l.Type] = true
				if ids[l.ID] {
					t.Errorf("the layer %s stands twice", l.ID)
				}
				ids[l.ID] = true
			}
			if !kinds["fill"] || !kinds["line"] || !kinds["symbol"] {
				t.Errorf("layers %v", kinds)
			}
		}
		for _, grid := range []string{"utm33n", "EPSG3575Quad"} {
			if r := a.get(of + "/tiles/" + grid + "?f=tilejson").wants(400); !strings.Contains(
				string(r.Body), of+"/tiles/WebMercatorQuad?f=tilejson") {
				t.Errorf("TileJSON of %s: %s", grid, r.Body)
			}
		}
	}
	b := serve(t, "", nil)
	for _, mount := range []string{"", "/v1"} {
		if glyphs := b.get(mount + "/style").wants(
			200).json()["glyphs"]; glyphs != b.URL+mount+"/fonts/{fontstack}/{range}.pbf" {
			t.Errorf("%s: the style has the fonts %v", mount, glyphs)
		}
	}
	light := string(b.get("/style").wants(200).Body)
	for _, theme := range []string{"light", "dark", "print"} {
		if r := b.get("/style?theme=" + theme).wants(200); (string(r.Body) == light) != (theme == "light") {
			t.Errorf("theme %s is that of another", theme)
		}
	}
	if r := b.get("/collections/kommuner/style?theme=blue").wants(400); !strings.Contains(
		string(r.Body), "light, dark, print") {
		t.Errorf("%s", r.Body)
	}
}

func TestFontsAreServedWithoutAKey(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	for _, stack := range []string{"Go%20Regular", "Go%20Bold", "Open%20Sans%20Semibold,Arial%20Unicode%20MS%20Bold"} {
		for _, mount := range []string{"", "/v1"} {
			r := a.get(mount + "/fonts/" + stack + "/0-255.pbf").wants(200)
			if r.Header.Get("Content-Type") != "application/x-protobuf" || len(r.plain()) < 20_000 ||
				!strings.Contains(r.Header.Get("Cache-Control"), "max-age") {
				t.Errorf("%s: %v, %d bytes", stack, r.Header, len(r.Body))
			}
		}
	}
	a.get("/fonts/Go%20Regular/65280-65535.pbf").wants(200)
	for _, bad := range []string{"0-256", "1-256", "65536-65791", "-256--1", "0", "x-255"} {
		if r := a.get("/fonts/Go%20Regular/" + bad + ".pbf").wants(404); !strings.Contains(string(r.Body), "256-511") {
			t.Errorf("%s: %s", bad, r.Body)
		}
	}
}

// TestNonsenseAddressesOfTilesAreRefused requests random addresses, made of valid and invalid parts.
func TestNonsenseAddressesOfTilesAreRefused(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	n := 1500
	if testing.Short() {
		n = 200
	}
	rnd := rand.New(rand.NewPCG(16, 1))
	pick := func(list ...string) string { return list[rnd.IntN(len(list))] }
	part := func() string {
		return pick("0", "1", "3", "-1", "1.5", "1e3", "99", "2147483647", "2147483648", "9223372036854775808", "x",
			"%00", "%2F", "%ff", "NaN", "+1", "0x1", "٣", "{z}", "", ".", "..", strconv.Itoa(rnd.IntN(100000)))
	}
	for range n {
		path := pick("", "/v1", "/v2") + pick("", "/collections/kommuner", "/collections/nothing", "/collections/%ff") +
			"/tiles/" +
			pick("WebMercatorQuad", "webmercatorquad", "utm33n", "EPSG3575Quad", "nothing", "%20", "UTM32WGS84Quad") +
			"/" + part() + "/" + part() + "/" + part() + pick("", "", "/x", ".pbf") +
			pick("", "", "?f=mvt", "?f=x", "?collections=,", "?filter=%ff", "?filter=", "?properties=%00",
				"?datetime=/", "?"+strings.Repeat("a", 300)+"=1")
		r := a.get(path)
		if s := r.StatusCode; s >= 500 || s < 400 && s != 200 && s != 204 {
			t.Errorf("%s: %d", path, s)
		}
		if r.StatusCode >= 400 && r.Header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s: %d %s", path, r.StatusCode, r.Header.Get("Content-Type"))
		}
	}
	for path, want := range map[string]int{
		"/collections/kommuner/tiles/WebMercatorQuad/x/0/0":   400,
		"/collections/kommuner/tiles/WebMercatorQuad/3/-1/0":  400,
		"/collections/kommuner/tiles/WebMercatorQuad/3/2.0/4": 400,
		"/collections/kommuner/tiles/WebMercatorQuad/3/7/7":   204,
		"/collections/kommuner/tiles/WebMercatorQuad/20/0/0":  404,
		"/collections/kommuner/tiles/WebMercatorQuad/3/8/0":   404,
		"/collections/kommuner/tiles/WebMercatorQuad/99/0/0":  404,
		"/collections/kommuner/tiles/nothing/0/0/0":           404, "/collections/kommuner/tiles/nothing": 404,
		"/tiles/nothing": 404, "/collections/nothing/tiles": 404,
		"/collections/kommuner/tiles/webmercatorquad/3/2/4":  200,
		"/collections/kommuner/tiles/WebMercatorQuad/03/2/4": 200,
	} {
		a.get(path).wants(want)
	}
}

// TestAdvertisedTilesAreNeverNotFound takes limits before there are levels, and asks for the tiles afterwards.
func TestAdvertisedTilesAreNeverNotFound(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	const path = "/collections/kommuner/tiles/WebMercatorQuad"
	limits := func() (x tilesetDoc) {
		decode(t, a.get(path).wants(200).Body, &x)
		return x
	}
	before := limits()
	a.settled(path + "/3/2/4")
	for _, l := range limits().TileMatrixSetLimits {
		if !slices.Contains(before.TileMatrixSetLimits, l) {
			t.Errorf("%+v was not told of before", l)
		}
	}
	for _, l := range before.TileMatrixSetLimits {
		for _, at := range [][2]int{{l.MinTileRow, l.MinTileCol}, {l.MinTileRow, l.MaxTileCol},
			{l.MaxTileRow, l.MinTileCol}, {l.MaxTileRow, l.MaxTileCol}} {
			if r := a.get(fmt.Sprintf("%s/%s/%d/%d", path, l.TileMatrix, at[0], at[1])); r.StatusCode != 200 &&
				r.StatusCode != 204 {
				t.Errorf("%s %v: %d", l.TileMatrix, at, r.StatusCode)
			}
		}
	}
}

// TestLimitsAreWholeMatrices: clients that reproject tiles also request tiles outside the data, which are empty.
func TestLimitsAreWholeMatrices(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	var list struct{ Tilesets []tilesetDoc }
	decode(t, a.get("/collections/kommuner/tiles").wants(200).Body, &list)
	if len(list.Tilesets) == 0 {
		t.Fatal("no tilesets")
	}
	for _, x := range list.Tilesets {
		var scheme struct {
			TileMatrices []struct {
				ID                        string
				MatrixWidth, MatrixHeight int
			}
		}
		decode(t, a.get("/TileMatrixSets/"+x.TileMatrixSetID).wants(200).Body, &scheme)
		whole := map[string]limitsDoc{}
		for _, m := range scheme.TileMatrices {
			whole[m.ID] = limitsDoc{TileMatrix: m.ID, MaxTileRow: m.MatrixHeight - 1, MaxTileCol: m.MatrixWidth - 1}
		}
		for _, path := range []string{"/collections/kommuner/tiles/", "/tiles/"} {
			var one tilesetDoc
			decode(t, a.get(path+x.TileMatrixSetID).wants(200).Body, &one)
			for i, l := range one.TileMatrixSetLimits {
				if l != whole[l.TileMatrix] {
					t.Errorf("%s%s: limits %+v, the matrix is %+v", path, x.TileMatrixSetID, l, whole[l.TileMatrix])
				}
				if i%6 != 5 {
					continue
				}
				for _, at := range [][2]int{{0, 0}, {0, l.MaxTileCol}, {l.MaxTileRow, 0},
					{l.MaxTileRow, l.MaxTileCol}} {
					r := a.get(fmt.Sprintf("%s%s/%s/%d/%d", path, x.TileMatrixSetID, l.TileMatrix, at[0], at[1])).wants(
						204)
					if hint := r.Header.Get("OATiles-hint"); hint != "empty" {
						t.Errorf("%s %v: hint %q", l.TileMatrix, at, hint)
					}
				}
				a.get(fmt.Sprintf("%s%s/%s/%d/0", path, x.TileMatrixSetID, l.TileMatrix, l.MaxTileRow+1)).wants(404)
				a.get(fmt.Sprintf("%s%s/%s/0/%d", path, x.TileMatrixSetID, l.TileMatrix, l.MaxTileCol+1)).wants(404)
			}
		}
	}
}

// TestATileIsTheSameForAll: many requests for one tile at once get the same bytes.
func TestATileIsTheSameForAll(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil).settled("/tiles/utm33n/1/0/0")
	var wg sync.WaitGroup
	tags := make([]string, 12)
	for i := range tags {
		wg.Go(func() {
			tags[i] = fmt.Sprint(a.get("/tiles/utm33n/1/0/0").StatusCode,
				a.get("/tiles/utm33n/1/0/0").Header.Get("ETag"))
		})
	}
	wg.Wait()
	if slices.Sort(tags); tags[0] != tags[len(tags)-1] || !strings.HasPrefix(tags[0], "200") {
		t.Errorf("answers differ: %q", tags)
	}
}

// TestFaultsOfSeveralLayersAreReportedOnce, with the collections where it is not a fault of all.
func TestFaultsOfSeveralLayersAreReportedOnce(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	for query, want := range map[string][]string{
		"datetime=abc":                 {`datetime="abc": 'abc' is no date`},
		"filter=nr%3D1":                {`filter="nr=1": line 1, column 1: 'nr' is text`},
		"filter=nr%3D'1'&filter-crs=x": {`filter-crs="x": use one of the collection's crs`},
		"properties=fylke_nr": {
			`properties="fylke_nr": fylker: name properties of the collection: nr, navn, geometry; ` +
				`collections= chooses the layers`},
		"filter=areal_km2>1&properties=fylke_nr": {`filter="areal_km2>1": fylker: `, `properties="fylke_nr": fylker: `},
	} {
		detail, _ := a.get("/tiles/WebMercatorQuad/3/2/4?" + query).wants(400).json()["detail"].(string)
		for _, w := range want {
			if strings.Count(detail, w) != 1 {
				t.Errorf("%s: %s", query, detail)
			}
		}
		for _, param := range []string{"datetime=", "filter=", "filter-crs=", "properties="} {
			if n := strings.Count(detail, param+`"`); n > 1 {
				t.Errorf("%s is told %d times: %s", param, n, detail)
			}
		}
	}
	a.get("/tiles/WebMercatorQuad/3/2/4?filter=areal_km2>1&collections=kommuner").wants(200)
}

func TestCollectionsWithoutGeometryHaveNoTiles(t *testing.T) {
	t.Parallel()
	path, err := registerFile()
	if err != nil {
		t.Fatal(err)
	}
	a := serve(t, path, func(c *config.Config) { c.SOAP.Collections = "public" })
	a.get("/collections/bok").wants(200)
	if l, ok := find(a.get("/collections/bok").links(), "http://www.opengis.net/def/rel/ogc/1.0/tilesets-vector",
		""); ok {
		t.Errorf("a collection without geometry links to %s", l.Href)
	}
	for _, p := range []string{"/tiles", "/tiles/WebMercatorQuad", "/tiles/WebMercatorQuad/0/0/0", "/style"} {
		if r := a.get("/collections/bok" + p).wants(404); !strings.Contains(string(r.Body), "no geometry") {
			t.Errorf("%s: %s", p, r.Body)
		}
	}
	if strings.Contains(string(a.get("/openapi").wants(200).Body), "/collections/bok/tiles") {
		t.Error("the definition has tiles of it")
	}
	a.get("/collections/sted/tiles/WebMercatorQuad/4/4/8").wants(200)
}

func TestStylesOfTheConfigurationAreListedAndFilled(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "roads.json")
	const text = `{"version":8,"name":"Roads","sources":{"own":{"type":"vector"},"other":{"type":"vector","url":"https://example.org"}},"layers":[
		{"id":"water","type":"background"},{"id":"a","type":"fill","source":"own","source-layer":"kommuner"},{"id":"b","type":"symbol","source":"own","source-layer":"fylker_label"}]}`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	a := serve(t, "", func(c *config.Config) {
		c.Styles = map[string]config.MapStyle{"roads": {File: path, Title: config.Text{"en": "Road map"}}}
	})
	for of, want := range map[string][]string{"": {"divisions", "divisions-dark", "divisions-print", "roads"},
		"/collections/kommuner": {"divisions", "divisions-dark", "divisions-print", "roads"}} {
		for _, mount := range []string{"", "/v1"} {
			var list struct {
				Default string
				Styles  []struct {
					ID, Title string
					Links     []link
				}
			}
			decode(t, a.get(mount+of+"/styles?lang=en").wants(200).Body, &list)
			var ids []string
			for _, x := range list.Styles {
				ids = append(ids, x.ID)
				sheet, ok := find(x.Links, "stylesheet", "application/vnd.mapbox.style+json")
				about, also := find(x.Links, "describedby", "")
				if !ok || !also {
					t.Fatalf("%s: links %v", x.ID, x.Links)
				}
				doc := a.get(strings.TrimPrefix(sheet.Href, a.URL)).wants(200).json()
				if doc["version"] != 8.0 || doc["glyphs"] != a.URL+mount+"/fonts/{fontstack}/{range}.pbf" {
					t.Errorf("%s: %v", sheet.Href, doc["glyphs"])
				}
				if m := a.get(strings.TrimPrefix(about.Href, a.URL)).wants(200).json(); m["id"] != x.ID ||
					m["scope"] != "style" || len(m["layers"].([]any)) == 0 {
					t.Errorf("%s: %v", about.Href, m)
				}
			}
			if !slices.Equal(ids, want) || list.Default != "divisions" || list.Styles[3].Title != "Road map" {
				t.Errorf("%s%s: styles %+v", mount, of, list)
			}
			roads := a.get(mount + of + "/styles/roads").wants(200).json()
			sources := roads["sources"].(map[string]any)
			if sources["own"].(map[string]any)["url"] != a.URL+mount+of+"/tiles/WebMercatorQuad?f=tilejson" ||
				sources["other"].(map[string]any)["url"] != "https://example.org" {
				t.Errorf("sources %v", sources)
			}
			if n := len(roads["layers"].([]any)); n != map[string]int{"": 3, "/collections/kommuner": 2}[of] {
				t.Errorf("%s: %d layers", of, n)
			}
			page := string(a.get(mount + of + "/styles?f=html&lang=en").wants(200).Body)
			if !strings.Contains(page, "Road map") || !strings.Contains(page, "<wbr>roads?f=json") {
				t.Errorf("%s: the page does not list the styles", of)
			}
			a.get(mount + of + "/styles/none").wants(404)
		}
	}
	for _, from := range []string{"", "/collections/fylker"} {
		if body := string(a.get(from + "?f=json").wants(200).Body); !strings.Contains(
			body, "http://www.opengis.net/def/rel/ogc/1.0/styles") {
			t.Errorf("%s has no link to styles", from)
		}
	}
}
