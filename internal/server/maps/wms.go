package maps

import (
	"cmp"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"html"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/paulmach/orb"

	"grense/internal/cql2"
	"grense/internal/geo/crs"
	"grense/internal/problem"
	"grense/internal/render"
	"grense/internal/server"
	"grense/internal/server/drawing"
	"grense/internal/server/media"
	"grense/internal/server/wire"
	"grense/internal/store"
	"grense/internal/style"
)

// wmsRoute returns the route of the Web Map Service (OGC 06-042), if it is configured.
func (s *surface) wmsRoute() []server.Route {
	if !s.Config.Compat.WMS {
		return nil
	}
	return []server.Route{s.oldRoute("/wms", "wms", "Web Map Service 1.3.0", wms)}
}

// wmsCall is a request to the Web Map Service.
type wmsCall struct{ *oldCall }

// wms answers a request to the Web Map Service. It reports faults as the standard has them.
func wms(old *oldCall, w http.ResponseWriter) error {
	x := wmsCall{old}
	var err error
	switch strings.ToLower(x.asked["REQUEST"]) {
	case "getcapabilities", "capabilities", "":
		err = x.capabilities(w)
	case "getmap":
		if err = x.admit(x.asked["LAYERS"]); err == nil {
			err = x.getMap(w)
		}
	case "getfeatureinfo":
		layers := cmp.Or(x.asked["QUERY_LAYERS"], x.asked["LAYERS"])
		if err = x.admit(layers); err == nil {
			err = x.featureInfo(w, layers)
		}
	case "getlegendgraphic":
		err = x.legendGraphic(w)
	default:
		err = &exception{"OperationNotSupported", problem.Invalidf("request", problem.Clip(x.asked["REQUEST"]),
			"use GetCapabilities, GetMap, GetFeatureInfo or GetLegendGraphic")}
	}
	if !isServiceException(x.call, err) {
		return err
	}
	return x.refuse(w, err)
}

// refuse writes an exception.
func (x wmsCall) refuse(w http.ResponseWriter, err error) error {
	code := ""
	var e *exception
	if errors.As(err, &e) {
		code = ` code="` + e.code + `"`
	}
	text := err.Error()
	if p := problem.Of(err); len(p.Faults) > 0 {
		text = p.Faults[0].Param + ": " + p.Faults[0].Cure
	}
	return writeFault(w, http.StatusBadRequest, `<ServiceExceptionReport version="1.3.0" `+
		`xmlns="http://www.opengis.net/ogc"><ServiceException`+code+">"+inXML(text)+
		"</ServiceException></ServiceExceptionReport>\n")
}

// pictureForms are the formats of maps by their names.
var pictureForms = map[string]media.Format{"image/png": asPNG, "image/jpeg": asJPEG, "image/svg+xml": asSVG,
	"image/png; mode=8bit": asPNG, "image/png8": asPNG}

// themeOf returns the one theme that the styles of so many layers name. No style at all is the default of each
// (OGC 06-042, 7.3.3.4).
func themeOf(styles []string, layers int) (style.Theme, error) {
	if len(styles) != layers && !slices.Equal(styles, []string{""}) {
		return "", problem.Invalidf("styles", problem.Clip(strings.Join(styles, ",")),
			"name one style for each of the %d layers, or none", layers)
	}
	var themes []style.Theme
	for _, name := range styles {
		theme := style.Theme(name)
		switch name {
		case "", "default":
			theme = style.Light
		case string(style.Light), string(style.Dark), string(style.Print):
		default:
			return "", &exception{"StyleNotDefined", problem.Invalidf("styles", problem.Clip(name),
				"use default, light, dark or print")}
		}
		themes = append(themes, theme)
	}
	if len(slices.Compact(themes)) > 1 {
		return "", problem.Invalidf("styles", problem.Clip(strings.Join(styles, ",")),
			"a map has one style; name the same for all layers")
	}
	return themes[0], nil
}

// look reads layers, styles, format and ground.
func (x *oldCall) look(layers, styles string) error {
	x.p.ground = x.asked["BGCOLOR"]
	if layers == "" {
		return &exception{"LayerNotDefined", problem.Invalidf("layers", "", "name one or more of %s",
			strings.Join(x.names(), ", "))}
	}
	var names []string // each where it is drawn last
	for _, name := range slices.Backward(strings.Split(layers, ",")) {
		if !slices.Contains(names, name) && len(names) <= len(x.Catalog.Collections) {
			names = append(names, name)
		}
	}
	slices.Reverse(names)
	err := x.p.Choose(x.Call, strings.Join(names, ","))
	if err != nil {
		return &exception{"LayerNotDefined", err}
	}
	if x.p.theme, err = themeOf(strings.Split(styles, ","), len(strings.Split(layers, ","))); err != nil {
		return err
	}
	form, ok := pictureForms[strings.ToLower(x.asked["FORMAT"])]
	if !ok && x.asked["FORMAT"] != "" {
		return &exception{"InvalidFormat", problem.Invalidf("format", problem.Clip(x.asked["FORMAT"]),
			"use image/png, image/jpeg or image/svg+xml")}
	}
	if !ok {
		form = asPNG
	}
	x.Format = form
	through := strings.EqualFold(x.asked["TRANSPARENT"], "true")
	x.p.transparent = &through
	if x.p.ground == "" && x.p.theme != style.Dark {
		x.p.ground = "0xFFFFFF" // OGC 06-042, 7.3.3.10
	}
	if x.p.ground == "" {
		return nil
	}
	_, err = colorOf("bgcolor", x.p.ground)
	return err
}

// names are the layers that there are.
func (x *oldCall) names() (out []string) {
	for _, coll := range server.Tiled(x.Catalog, nil) {
		out = append(out, coll.ID)
	}
	return out
}

// view reads CRS, box and size.
func (x wmsCall) view() (*view, error) {
	if x.asked["VERSION"] == "" {
		return nil, problem.Invalidf("version", "", "use 1.3.0")
	}
	name := x.asked["CRS"]
	if name == "" {
		name = x.asked["SRS"] // of version 1.1.1
	}
	id, ok := crs.Parse(name)
	if name == "CRS:84" {
		id, ok = crs.CRS84, true
	}
	if !ok || !slices.Contains(x.p.offered(), id) {
		return nil, &exception{"InvalidCRS", problem.Invalidf("crs", problem.Clip(name),
			"use one of those that GetCapabilities names for each of the layers, such as EPSG:25833")}
	}
	order := id
	if strings.HasPrefix(x.asked["VERSION"], "1.1") && id.NorthFirst() && id.Geographic() { // which has x first
		order = crs.CRS84
	}
	box, err := x.box(order)
	if err != nil {
		return nil, err
	}
	v := &view{crs: id, box: box}
	if v.width, err = side("width", x.asked["WIDTH"]); err != nil {
		return nil, err
	}
	if v.height, err = side("height", x.asked["HEIGHT"]); err != nil {
		return nil, err
	}
	return v, x.checkPixels(v)
}

// box reads the box of a map, which may lie outside of the CRS: nothing is there (OGC 06-042, 7.3.3.6).
func (x wmsCall) box(in crs.ID) (b orb.Bound, err error) {
	text := x.asked["BBOX"]
	parts := strings.Split(text, ",")
	var v [4]float64
	for i := range v {
		if len(parts) == len(v) {
			v[i], err = strconv.ParseFloat(strings.TrimSpace(parts[i]), 64)
		}
		if len(parts) != len(v) || err != nil || !finite(v[i]) {
			return b, problem.Invalidf("bbox", problem.Clip(text), "give four numbers: minx,miny,maxx,maxy in the axis"+
				" order of the CRS")
		}
	}
	if in.NorthFirst() {
		v = [4]float64{v[1], v[0], v[3], v[2]}
	}
	b = orb.Bound{Min: orb.Point{v[0], v[1]}, Max: orb.Point{v[2], v[3]}}
	if !(v[0] < v[2] && v[1] < v[3]) {
		return b, problem.Invalidf("bbox", problem.Clip(text), "the map has no area there; write minx,miny,maxx,maxy")
	}
	return b, nil
}

func (x wmsCall) getMap(w http.ResponseWriter) error {
	if err := x.look(x.asked["LAYERS"], x.asked["STYLES"]); err != nil {
		return err
	}
	v, err := x.view()
	if err != nil {
		return err
	}
	return x.answer(w, v)
}

func (x wmsCall) legendGraphic(w http.ResponseWriter) error {
	if err := x.look(x.asked["LAYER"], x.asked["STYLE"]); err != nil {
		return err
	}
	return x.s.legend(x.call, w)
}

// mostInfo bounds the features of one layer in the answer to GetFeatureInfo.
const mostInfo = 50

// infoFeature is a feature in the answer to GetFeatureInfo.
type infoFeature struct {
	Type       string         `json:"type"`
	ID         string         `json:"id"`
	Collection string         `json:"collection"`
	Geometry   any            `json:"geometry"`
	Properties map[string]any `json:"properties"`
	names      []string
}

func (x wmsCall) featureInfo(w http.ResponseWriter, layers string) error {
	if err := x.look(layers, ""); err != nil {
		return err
	}
	v, err := x.view()
	if err != nil {
		return err
	}
	count := 1
	if text := x.asked["FEATURE_COUNT"]; text != "" {
		if count, err = strconv.Atoi(text); err != nil || count < 1 {
			return problem.Invalidf("feature_count", problem.Clip(text), "use a whole number of at least 1")
		}
	}
	return x.infoAt(w, v, count)
}

// infoAt writes what lies at a pixel of a view.
func (x *oldCall) infoAt(w http.ResponseWriter, v *view, count int) error {
	i, errI := strconv.Atoi(x.asked["I"] + x.asked["X"])
	j, errJ := strconv.Atoi(x.asked["J"] + x.asked["Y"])
	if errI != nil || errJ != nil || i < 0 || j < 0 || i >= v.width || j >= v.height {
		return &exception{"InvalidPoint", problem.Invalidf("i", problem.Clip(x.asked["I"]),
			"use whole numbers for I and J, below width and height")}
	}
	cellX, cellY := v.cell()
	at := orb.Point{v.box.Min[0] + (float64(i)+.5)*cellX, v.box.Max[1] - (float64(j)+.5)*cellY}
	var found []*infoFeature
	for _, l := range x.p.Calls() {
		more, err := x.infoOf(l.Collection, v, at, min(count, mostInfo))
		if err != nil {
			return err
		}
		found = append(found, more...)
	}
	return x.writeInfo(w, found)
}

// infoOf reads the features of a collection at a position: areas that hold it, and what lies some pixels around it.
func (x *oldCall) infoOf(coll *store.Collection, v *view, at orb.Point, count int) (out []*infoFeature, err error) {
	var rows []store.Row
	if style.Dimensions[coll.Geometry.Type] == 2 {
		rows, err = x.At(coll, v.crs, at[0], at[1], time.Time{})
	} else {
		const reach = 4 // pixels
		cellX, cellY := v.cell()
		b := orb.Bound{Min: orb.Point{at[0] - reach*cellX, at[1] - reach*cellY},
			Max: orb.Point{at[0] + reach*cellX, at[1] + reach*cellY}}
		var e cql2.Expr
		if e, err = cql2.Check(cql2.BBox{Prop: coll.Geometry.Name, CRS: v.crs, Box: b}, coll); err == nil {
			rows, err = x.AllOf(x.Current(coll, store.Query{Collection: coll.ID, Filter: e}))
		}
	}
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	names := slices.DeleteFunc(coll.Shown(), func(name string) bool { return name == coll.Geometry.Name })
	err = x.Ask(func(ctx context.Context) error {
		out = nil
		return x.s.Store.Fetch(ctx, coll.ID, rows[:min(len(rows), count)],
			store.Want{Properties: names, NoGeometry: true}, func(f *store.Feature) error {
				one := &infoFeature{Type: "Feature", ID: f.Public(), Collection: coll.ID, names: names,
					Properties: map[string]any{}}
				for i, name := range names {
					one.Properties[name] = plainValue(f.Values[i])
				}
				out = append(out, one)
				return nil
			})
	})
	return out, err
}

// plainValue is a value that lasts longer than its feature, as JSON has it.
func plainValue(v any) any {
	switch v := v.(type) {
	case string:
		return strings.Clone(v)
	case store.JSON:
		return json.RawMessage(strings.Clone(string(v)))
	}
	return v
}

// writeInfo writes features as text, as a table in HTML, or as GeoJSON without geometries.
func (x *oldCall) writeInfo(w http.ResponseWriter, found []*infoFeature) error {
	var b []byte
	media := strings.ToLower(x.asked["INFO_FORMAT"])
	switch media {
	case "application/json", "application/geo+json":
		if found == nil {
			found = []*infoFeature{}
		}
		var err error
		if b, err = wire.Marshal(map[string]any{"type": "FeatureCollection", "features": found}); err != nil {
			return err
		}
	case "text/html":
		b = append(b, "<!DOCTYPE html><meta charset=utf-8><title>GetFeatureInfo</title>"...)
		for _, f := range found {
			b = append(b, "<table><caption>"+html.EscapeString(f.Collection+" "+f.ID)+"</caption>"...)
			for _, name := range f.names {
				b = append(b, "<tr><th>"+html.EscapeString(name)+"<td>"+
					html.EscapeString(server.Cell(f.Properties[name]))...)
			}
			b = append(b, "</table>"...)
		}
	case "", "text/plain":
		for _, f := range found {
			b = append(b, f.Collection+" "+f.ID+"\n"...)
			for _, name := range f.names {
				b = append(b, "  "+name+" = "+server.Cell(f.Properties[name])+"\n"...)
			}
		}
		if len(found) == 0 {
			b = append(b, "no features\n"...)
		}
		media = "text/plain"
	default:
		return &exception{"InvalidFormat", problem.Invalidf("info_format", problem.Clip(media),
			"use text/plain, text/html or application/json")}
	}
	x.DataHeaders(w)
	w.Header().Set("Content-Type", media)
	return x.WriteOnce(w, b)
}

// capabilities describes the service (OGC 06-042, 7.2).
func (x wmsCall) capabilities(w http.ResponseWriter) error {
	svc := &x.s.Config.Service
	href := inXML(x.Root + "/wms?")
	online := `<OnlineResource xmlns:xlink="http://www.w3.org/1999/xlink" xlink:type="simple" xlink:href="` + href +
		`"/>`
	operation := func(name string, formats ...string) string {
		s := "<" + name + ">"
		for _, f := range formats {
			s += "<Format>" + f + "</Format>"
		}
		return s + "<DCPType><HTTP><Get>" + online + "</Get></HTTP></DCPType></" + name + ">"
	}
	var b strings.Builder
	b.WriteString(xml.Header + `<WMS_Capabilities version="1.3.0" xmlns="http://www.opengis.net/wms" ` +
		`xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:schemaLocation="http://www.opengis.net/wms ` +
		`http://schemas.opengis.net/wms/1.3.0/capabilities_1_3_0.xsd"><Service>` +
		"<Name>WMS</Name><Title>" + inXML(svc.Title.In(x.Lang)) + "</Title><Abstract>" + inXML(x.Described()) +
		"</Abstract>" + keywords(svc.Keywords.In(x.Lang)) + online + x.contact() +
		"<Fees>none</Fees><AccessConstraints>none</AccessConstraints><MaxWidth>" +
		strconv.Itoa(mostPixels) + "</MaxWidth><MaxHeight>" + strconv.Itoa(mostPixels) +
		"</MaxHeight></Service><Capability><Request>")
	b.WriteString(operation("GetCapabilities", "text/xml"))
	b.WriteString(operation("GetMap", "image/png", "image/jpeg", "image/svg+xml"))
	b.WriteString(operation("GetFeatureInfo", "text/plain", "text/html", "application/json"))
	b.WriteString("</Request><Exception><Format>XML</Format></Exception><Layer><Title>" + inXML(svc.Title.In(x.Lang)) +
		"</Title>")
	for _, id := range drawing.CommonCRS(server.Tiled(x.Catalog, nil)) {
		b.WriteString("<CRS>" + wmsName(id) + "</CRS>")
	}
	for _, coll := range server.Tiled(x.Catalog, nil) {
		x.layer(&b, coll, href)
	}
	b.WriteString("</Layer></Capability></WMS_Capabilities>\n")
	return x.writeXML(w, "text/xml", b.String())
}

// keywords lists words; "" if there are none.
func keywords(words []string) string {
	if len(words) == 0 {
		return ""
	}
	var b strings.Builder
	for _, word := range words {
		b.WriteString("<Keyword>" + inXML(word) + "</Keyword>")
	}
	return "<KeywordList>" + b.String() + "</KeywordList>"
}

// contact writes who answers questions; "" if the configuration names nobody.
func (x wmsCall) contact() string {
	c := &x.s.Config.Service.Contact
	if c.Name == "" && c.Email == "" {
		return ""
	}
	s := "<ContactInformation><ContactPersonPrimary><ContactPerson>" + inXML(c.Name) +
		"</ContactPerson><ContactOrganization>" + inXML(x.provided()) +
		"</ContactOrganization></ContactPersonPrimary>"
	if c.Phone != "" {
		s += "<ContactVoiceTelephone>" + inXML(c.Phone) + "</ContactVoiceTelephone>"
	}
	if c.Email != "" {
		s += "<ContactElectronicMailAddress>" + inXML(c.Email) + "</ContactElectronicMailAddress>"
	}
	return s + "</ContactInformation>"
}

// layer describes a collection.
func (x wmsCall) layer(b *strings.Builder, coll *store.Collection, href string) {
	b.WriteString(`<Layer queryable="1"><Name>` + inXML(coll.ID) + "</Name><Title>" + inXML(coll.TitleIn(x.Lang)) +
		"</Title>")
	if text := coll.Description.In(x.Lang); text != "" {
		b.WriteString("<Abstract>" + inXML(text) + "</Abstract>")
	}
	b.WriteString(keywords(coll.Keywords))
	ids := server.OfferedCRS(coll)
	for _, id := range ids {
		b.WriteString("<CRS>" + wmsName(id) + "</CRS>")
	}
	if e := coll.Extent; e != nil {
		b.WriteString("<EX_GeographicBoundingBox><westBoundLongitude>" + number(e.Min[0]) + "</westBoundLongitude>" +
			"<eastBoundLongitude>" + number(e.Max[0]) + "</eastBoundLongitude><southBoundLatitude>" + number(e.Min[1]) +
			"</southBoundLatitude><northBoundLatitude>" + number(e.Max[1]) + "</northBoundLatitude>" +
			"</EX_GeographicBoundingBox>")
		for _, id := range ids {
			box, err := crs.EnvelopeOf(*e, crs.CRS84, id)
			if err != nil {
				continue
			}
			lo, hi := box.Min, box.Max
			if id.NorthFirst() {
				lo, hi = orb.Point{lo[1], lo[0]}, orb.Point{hi[1], hi[0]}
			}
			b.WriteString(`<BoundingBox CRS="` + wmsName(id) + `" minx="` + number(lo[0]) + `" miny="` + number(lo[1]) +
				`" maxx="` + number(hi[0]) + `" maxy="` + number(hi[1]) + `"/>`)
		}
	}
	b.WriteString(`<MetadataURL type="other"><Format>application/json</Format><OnlineResource ` +
		`xmlns:xlink="http://www.w3.org/1999/xlink" xlink:type="simple" xlink:href="` + inXML(x.Root+"/collections/"+
		wire.PathEscape(coll.ID)+"?f=json") + `"/></MetadataURL>`)
	width := legendWidth(render.Caption{Text: coll.TitleIn(x.Lang), Size: legendText}, 1)
	for _, name := range stylesOf() {
		legend := "service=WMS&version=1.3.0&request=GetLegendGraphic&format=image/png&layer=" + coll.ID + "&style=" +
			name
		b.WriteString("<Style><Name>" + name + "</Name><Title>" + name + "</Title>" +
			`<LegendURL width="` + strconv.Itoa(width) + `" height="50"><Format>image/png</Format><OnlineResource ` +
			`xmlns:xlink="http://www.w3.org/1999/xlink" xlink:type="simple" xlink:href="` + href + inXML(legend) +
			`"/></LegendURL></Style>`)
	}
	b.WriteString("</Layer>")
}

func wmsName(id crs.ID) string {
	if id == crs.CRS84 {
		return "CRS:84"
	}
	return id.String()
}
