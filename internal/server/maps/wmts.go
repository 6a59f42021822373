package maps

import (
	"encoding/xml"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/paulmach/orb"

	"grense/internal/geo/crs"
	"grense/internal/problem"
	"grense/internal/server"
	"grense/internal/server/media"
	"grense/internal/server/tiles"
	"grense/internal/server/wire"
	"grense/internal/store"
	"grense/internal/style"
	"grense/internal/tile"
)

// asWMTS is the description of the Web Map Tile Service.
var asWMTS = media.Format{F: "xml", Media: "application/xml", Also: []string{"text/xml"}}

// wmtsRoutes returns the routes of the Web Map Tile Service (OGC 07-057r7), if it is configured.
func (s *surface) wmtsRoutes() []server.Route {
	if !s.Config.Compat.WMTS {
		return nil
	}
	route := func(path, op string, h func(wmtsCall, http.ResponseWriter) error) server.Route {
		return s.oldRoute(path, op, "Web Map Tile Service 1.0.0", func(x *oldCall, w http.ResponseWriter) error {
			return wmts(wmtsCall{x, path == "/wmts"}, w, h)
		})
	}
	const tile = "/wmts/1.0.0/{layer}/{style}/{tileMatrixSetId}/{tileMatrix}/{tileRow}/{tileCol}"
	described := route("/wmts/1.0.0/WMTSCapabilities.xml", "wmts.capabilities", wmtsCall.capabilities)
	described.NoAccept, described.Formats = false, []media.Format{asWMTS}
	return []server.Route{route("/wmts", "wmts", wmtsCall.byQuery), described,
		route(tile, "wmts.tile", wmtsCall.tileByPath),
		route(tile+"/{j}/{i}", "wmts.featureInfo", wmtsCall.infoByPath)}
}

// wmtsCall is a request to the Web Map Tile Service. It reads layers and features as the Web Map Service does.
type wmtsCall struct {
	*oldCall
	inQuery bool // its parameters are in the query, not in the path
}

// wmts writes the response to a request. Faults have status 400 if the parameters are in the query, and 404 if they are
// in the path (OGC 07-057r7).
func wmts(x wmtsCall, w http.ResponseWriter, h func(wmtsCall, http.ResponseWriter) error) error {
	err := h(x, w)
	if !isServiceException(x.call, err) {
		return err
	}
	code, locator, text := invalidValue, "", err.Error()
	if e, ok := errors.AsType[*exception](err); ok {
		code = e.code
	}
	if p := problem.Of(err); len(p.Faults) > 0 {
		locator, text = p.Faults[0].Param, p.Faults[0].Cure
	}
	if locator != "" && code != negotiationFailed {
		locator = ` locator="` + inXML(locator) + `"`
	} else {
		locator = ""
	}
	status := http.StatusBadRequest
	if !x.inQuery {
		status = http.StatusNotFound
	}
	return writeFault(w, status, `<ExceptionReport version="1.1.0" xmlns="http://www.opengis.net/ows/1.1">`+
		`<Exception exceptionCode="`+code+`"`+locator+"><ExceptionText>"+inXML(text)+
		"</ExceptionText></Exception></ExceptionReport>\n")
}

// Codes of exceptions (OGC 06-121r3, 8.3; OGC 07-057r7, table 23).
const (
	missingValue      = "MissingParameterValue"
	invalidValue      = "InvalidParameterValue"
	tileOutOfRange    = "TileOutOfRange"
	pointOutOfRange   = "PointIJOutOfRange"
	negotiationFailed = "VersionNegotiationFailed"
)

// invalid is an exception about the value of a parameter.
func (x wmtsCall) invalid(name, cure string, args ...any) error {
	return &exception{invalidValue, problem.Invalidf(name, problem.Clip(x.asked[strings.ToUpper(name)]), cure, args...)}
}

// needs returns an exception if the request lacks one of these parameters. Only Style may be empty.
func (x wmtsCall) needs(names ...string) error {
	for _, name := range names {
		if v, ok := x.asked[strings.ToUpper(name)]; !ok || v == "" && name != "Style" {
			return &exception{missingValue, problem.Invalidf(name, "", "give the parameter %s", name)}
		}
	}
	return nil
}

// byQuery writes the response to a request with its parameters in the query (KVP).
func (x wmtsCall) byQuery(w http.ResponseWriter) error {
	if err := x.needs("Service"); err != nil {
		return err
	}
	if !strings.EqualFold(x.asked["SERVICE"], "WMTS") {
		return x.invalid("Service", "use WMTS")
	}
	if err := x.needs("Request"); err != nil {
		return err
	}
	switch strings.ToLower(x.asked["REQUEST"]) {
	case "getcapabilities":
		return x.capabilities(w)
	case "gettile":
		return x.tile(w)
	case "getfeatureinfo":
		return x.info(w)
	}
	return x.invalid("Request", "use GetCapabilities, GetTile or GetFeatureInfo")
}

// fromPath reads the parameters that are variables of a path.
func (x wmtsCall) fromPath() {
	for _, name := range []string{"layer", "style", "tileMatrix", "tileRow", "tileCol", "j", "i"} {
		x.asked[strings.ToUpper(name)] = x.PathParam(name)
	}
	x.asked["TILEMATRIXSET"] = x.PathParam("tileMatrixSetId")
	x.asked["VERSION"], x.asked["FORMAT"] = "1.0.0", "image/png"
}

// Formats of tiles and of what lies at a pixel, by the ends of paths.
var (
	tileEnds = map[string]string{"png": "image/png", "jpg": "image/jpeg", "jpeg": "image/jpeg"}
	infoEnds = map[string]string{"txt": "text/plain", "html": "text/html", "json": "application/json"}
)

func (x wmtsCall) tileByPath(w http.ResponseWriter) error {
	x.fromPath()
	x.asked["TILECOL"], x.asked["FORMAT"], _ = strings.Cut(x.asked["TILECOL"], ".")
	if x.asked["FORMAT"] = tileEnds[x.asked["FORMAT"]]; x.asked["FORMAT"] == "" {
		return x.invalid("Format", "let the path end with .png or .jpg")
	}
	return x.tile(w)
}

func (x wmtsCall) infoByPath(w http.ResponseWriter) error {
	x.fromPath()
	x.asked["I"], x.asked["INFOFORMAT"], _ = strings.Cut(x.asked["I"], ".")
	if x.asked["INFOFORMAT"] = infoEnds[x.asked["INFOFORMAT"]]; x.asked["INFOFORMAT"] == "" {
		return x.invalid("InfoFormat", "let the path end with .txt, .html or .json")
	}
	return x.info(w)
}

// tile answers GetTile (OGC 07-057r7, 7.2).
func (x wmtsCall) tile(w http.ResponseWriter) error {
	v, err := x.place()
	if err != nil {
		return err
	}
	return x.answer(w, v)
}

// info answers GetFeatureInfo (OGC 07-057r7, 7.3).
func (x wmtsCall) info(w http.ResponseWriter) error {
	v, err := x.place("J", "I", "InfoFormat")
	if err != nil {
		return err
	}
	for _, name := range []string{"I", "J"} {
		if _, err := x.index(name, tile.Cells, pointOutOfRange); err != nil {
			return err
		}
	}
	x.asked["INFO_FORMAT"] = x.asked["INFOFORMAT"]
	if !slices.Contains(infoForms, strings.ToLower(x.asked["INFO_FORMAT"])) {
		return x.invalid("InfoFormat", "use one of %s", strings.Join(infoForms, ", "))
	}
	return x.infoAt(w, v, mostInfo)
}

// infoForms are the media types that say what lies at a pixel.
var infoForms = []string{"text/plain", "text/html", "application/json"}

// place checks the key, and reads layer, style, grid and address of a tile. further are the names of other parameters
// that the request needs.
func (x wmtsCall) place(further ...string) (*view, error) {
	if err := x.admit(x.asked["LAYER"]); err != nil {
		return nil, err
	}
	if err := x.needs(append([]string{"Version", "Layer", "Style", "Format", "TileMatrixSet", "TileMatrix", "TileRow",
		"TileCol"}, further...)...); err != nil {
		return nil, err
	}
	form := strings.ToLower(x.asked["FORMAT"])
	switch {
	case x.asked["VERSION"] != "1.0.0":
		return nil, x.invalid("Version", "use 1.0.0")
	case !slices.Contains(x.names(), x.asked["LAYER"]):
		return nil, x.invalid("Layer", "name one of %s", strings.Join(x.names(), ", "))
	case x.asked["STYLE"] != "" && !slices.Contains(stylesOf(), x.asked["STYLE"]):
		return nil, x.invalid("Style", "use one of %s", strings.Join(stylesOf(), ", "))
	case form != asPNG.Media && form != asJPEG.Media:
		return nil, x.invalid("Format", "use image/png or image/jpeg")
	}
	if x.asked["TRANSPARENT"] == "" {
		x.asked["TRANSPARENT"] = "true"
	}
	if err := x.look(x.asked["LAYER"], x.asked["STYLE"]); err != nil {
		return nil, err
	}
	set, err := tiles.GridNamed(x.Call, x.p.Layers, x.asked["TILEMATRIXSET"])
	if err != nil {
		return nil, x.invalid("TileMatrixSet", "use one of those of the layer in GetCapabilities")
	}
	at := tile.Tile{}
	first, last := set.Levels()
	if at.Z, err = strconv.Atoi(x.asked["TILEMATRIX"]); err != nil || at.Z < first || at.Z > last {
		return nil, x.invalid("TileMatrix", "use a level from %d to %d", first, last)
	}
	columns, rows := set.Size(at.Z)
	if at.Row, err = x.index("TileRow", rows, tileOutOfRange); err != nil {
		return nil, err
	}
	if at.Col, err = x.index("TileCol", columns, tileOutOfRange); err != nil {
		return nil, err
	}
	return tileView(set, at), nil
}

// index reads the row or the column of a tile or of a pixel. beyond is the code of an exception for one beyond the end.
func (x wmtsCall) index(name string, end int, beyond string) (int, error) {
	text := x.asked[strings.ToUpper(name)]
	n, err := strconv.Atoi(text)
	if errors.Is(err, strconv.ErrSyntax) {
		return 0, x.invalid(name, "use a whole number from 0 to %d", end-1)
	}
	if err != nil || n < 0 || n >= end {
		return 0, &exception{beyond, problem.Invalidf(name, problem.Clip(text), "use a number from 0 to %d", end-1)}
	}
	return n, nil
}

// stylesOf are the names of styles in older services, the default first.
func stylesOf() []string {
	names := []string{"default"}
	for _, theme := range style.Themes {
		names = append(names, string(theme))
	}
	return names
}

// sections are the parts of the description that a client may ask for alone.
var sections = []string{"ServiceIdentification", "ServiceProvider", "OperationsMetadata", "Contents", "Themes"}

// chosen reads the parameter Sections (OGC 06-121r3, 7.3.3): which parts the description has.
func (x wmtsCall) chosen() (func(section string) bool, error) {
	list, ok := x.asked["SECTIONS"]
	if !ok {
		return func(string) bool { return true }, nil
	}
	if err := x.needs("Sections"); err != nil {
		return nil, err
	}
	names := strings.Split(list, ",")
	for _, name := range names {
		if !strings.EqualFold(name, "All") && !slices.Contains(sections, name) {
			return nil, x.invalid("Sections", "use All, or some of %s", strings.Join(sections, ", "))
		}
	}
	return func(section string) bool {
		return slices.ContainsFunc(names, func(s string) bool { return s == section || strings.EqualFold(s, "All") })
	}, nil
}

// capabilities describes the service (OGC 07-057r7, 7.1).
func (x wmtsCall) capabilities(w http.ResponseWriter) error {
	if v := x.asked["ACCEPTVERSIONS"]; v != "" && !slices.Contains(strings.Split(v, ","), "1.0.0") {
		return &exception{negotiationFailed, problem.Invalidf("AcceptVersions", problem.Clip(v), "use 1.0.0")}
	}
	has, err := x.chosen()
	if err != nil {
		return err
	}
	var b strings.Builder
	b.WriteString(xml.Header + `<Capabilities version="1.0.0" xmlns="http://www.opengis.net/wmts/1.0" ` +
		`xmlns:ows="http://www.opengis.net/ows/1.1" xmlns:xlink="http://www.w3.org/1999/xlink" ` +
		`xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:schemaLocation="http://www.opengis.net/wmts/1.0 ` +
		`http://schemas.opengis.net/wmts/1.0/wmtsGetCapabilities_response.xsd">`)
	if has("ServiceIdentification") {
		b.WriteString("<ows:ServiceIdentification><ows:Title>" + inXML(x.s.Config.Service.Title.In(x.Lang)) +
			"</ows:Title><ows:ServiceType>OGC WMTS</ows:ServiceType><ows:ServiceTypeVersion>1.0.0" +
			"</ows:ServiceTypeVersion><ows:Fees>none</ows:Fees><ows:AccessConstraints>none</ows:AccessConstraints>" +
			"</ows:ServiceIdentification>")
	}
	if has("ServiceProvider") {
		x.provider(&b)
	}
	if has("OperationsMetadata") {
		x.operations(&b)
	}
	if has("Contents") {
		b.WriteString("<Contents>")
		for _, coll := range server.Tiled(x.Catalog, nil) {
			x.layer(&b, coll)
		}
		for _, set := range tile.All() {
			if server.Tiled(x.Catalog, set) != nil {
				writeSet(&b, set)
			}
		}
		b.WriteString("</Contents>")
	}
	b.WriteString(`<ServiceMetadataURL xlink:href="` + inXML(x.Root+"/wmts/1.0.0/WMTSCapabilities.xml") +
		`"/></Capabilities>` + "\n")
	return x.writeXML(w, asWMTS.Media, b.String())
}

// provider writes who serves the maps.
func (x wmtsCall) provider(b *strings.Builder) {
	svc := &x.s.Config.Service
	b.WriteString("<ows:ServiceProvider><ows:ProviderName>" + inXML(x.provided()) + "</ows:ProviderName>")
	if svc.Publisher.URL != "" {
		b.WriteString(`<ows:ProviderSite xlink:href="` + inXML(svc.Publisher.URL) + `"/>`)
	}
	b.WriteString("<ows:ServiceContact>")
	if svc.Contact.Name != "" {
		b.WriteString("<ows:IndividualName>" + inXML(svc.Contact.Name) + "</ows:IndividualName>")
	}
	if svc.Contact.Email != "" {
		b.WriteString("<ows:ContactInfo><ows:Address><ows:ElectronicMailAddress>" + inXML(svc.Contact.Email) +
			"</ows:ElectronicMailAddress></ows:Address></ows:ContactInfo>")
	}
	b.WriteString("</ows:ServiceContact></ows:ServiceProvider>")
}

// operations writes where the operations are.
func (x wmtsCall) operations(b *strings.Builder) {
	b.WriteString("<ows:OperationsMetadata>")
	for _, name := range []string{"GetCapabilities", "GetTile", "GetFeatureInfo"} {
		b.WriteString(`<ows:Operation name="` + name + `"><ows:DCP><ows:HTTP><ows:Get xlink:href="` +
			inXML(x.Root+"/wmts?") + `"><ows:Constraint name="GetEncoding"><ows:AllowedValues><ows:Value>KVP` +
			"</ows:Value></ows:AllowedValues></ows:Constraint></ows:Get></ows:HTTP></ows:DCP></ows:Operation>")
	}
	b.WriteString("</ows:OperationsMetadata>")
}

// number and pair write coordinates.
func number(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

func pair(p orb.Point) string { return number(p[0]) + " " + number(p[1]) }

// layer describes a collection.
func (x wmtsCall) layer(b *strings.Builder, coll *store.Collection) {
	b.WriteString("<Layer><ows:Title>" + inXML(coll.TitleIn(x.Lang)) + "</ows:Title>")
	if text := coll.Description.In(x.Lang); text != "" {
		b.WriteString("<ows:Abstract>" + inXML(text) + "</ows:Abstract>")
	}
	if e := coll.Extent; e != nil {
		b.WriteString("<ows:WGS84BoundingBox><ows:LowerCorner>" + pair(e.Min) + "</ows:LowerCorner><ows:UpperCorner>" +
			pair(e.Max) + "</ows:UpperCorner></ows:WGS84BoundingBox>")
	}
	b.WriteString("<ows:Identifier>" + inXML(coll.ID) + "</ows:Identifier>")
	for i, name := range stylesOf() {
		b.WriteString(`<Style isDefault="` + strconv.FormatBool(i == 0) + `"><ows:Identifier>` + name +
			"</ows:Identifier></Style>")
	}
	b.WriteString("<Format>image/png</Format><Format>image/jpeg</Format>")
	for _, media := range infoForms {
		b.WriteString("<InfoFormat>" + media + "</InfoFormat>")
	}
	for _, set := range server.TileSets(coll) {
		b.WriteString("<TileMatrixSetLink><TileMatrixSet>" + set.ID + "</TileMatrixSet></TileMatrixSetLink>")
	}
	path := inXML(x.Root+"/wmts/1.0.0/"+wire.PathEscape(coll.ID)) +
		"/{Style}/{TileMatrixSet}/{TileMatrix}/{TileRow}/{TileCol}"
	for _, end := range []string{"png", "jpg"} {
		b.WriteString(`<ResourceURL format="` + tileEnds[end] + `" resourceType="tile" template="` + path + "." + end +
			`"/>`)
	}
	for _, end := range []string{"txt", "html", "json"} {
		b.WriteString(`<ResourceURL format="` + infoEnds[end] + `" resourceType="FeatureInfo" template="` + path +
			"/{J}/{I}." + end + `"/>`)
	}
	b.WriteString("</Layer>")
}

// writeSet describes a tile matrix set. Corners are in the axis order of its CRS.
func writeSet(b *strings.Builder, set *tile.Set) {
	b.WriteString("<TileMatrixSet><ows:Identifier>" + set.ID + "</ows:Identifier><ows:SupportedCRS>" + urnOf(set.CRS) +
		"</ows:SupportedCRS>")
	for _, m := range set.Document("").TileMatrices {
		b.WriteString("<TileMatrix><ows:Identifier>" + m.ID + "</ows:Identifier><ScaleDenominator>" +
			number(m.ScaleDenominator) + "</ScaleDenominator><TopLeftCorner>" + pair(m.PointOfOrigin) +
			"</TopLeftCorner><TileWidth>" + strconv.Itoa(m.TileWidth) + "</TileWidth><TileHeight>" +
			strconv.Itoa(m.TileHeight) + "</TileHeight><MatrixWidth>" + strconv.Itoa(m.MatrixWidth) +
			"</MatrixWidth><MatrixHeight>" + strconv.Itoa(m.MatrixHeight) + "</MatrixHeight></TileMatrix>")
	}
	b.WriteString("</TileMatrixSet>")
}

// urnOf is the name of a CRS as older services write it.
func urnOf(id crs.ID) string {
	if id == crs.CRS84 {
		return "urn:ogc:def:crs:OGC:1.3:CRS84"
	}
	return "urn:ogc:def:crs:EPSG::" + strings.TrimPrefix(id.String(), "EPSG:")
}
