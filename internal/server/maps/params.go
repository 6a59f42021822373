package maps

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"grense/internal/geo/crs"
	"grense/internal/problem"
	"grense/internal/server"
	"grense/internal/server/drawing"
	"grense/internal/server/tiles"
	"grense/internal/style"
	"grense/openapi"
)

// mapParams holds the parameters of maps.
type mapParams struct {
	*tiles.Layers
	look
	crs, bboxCRS, centerCRS, subsetCRS crs.ID // 0: not given

	bbox, center  string // "": not given
	subset        []string
	width, height int     // 0: not given
	scale         float64 // denominator; 0: not given
}

// look holds the parameters of appearance that all pictures have.
type look struct {
	ground      string // colour as it came; "": not given
	transparent *bool  // nil: not given
	mm          float64
	theme       style.Theme
}

// pixelMM is how large a pixel is where nobody says, in millimetres (OGC 20-058, /req/display-resolution).
const pixelMM = 0.28

func newLook() look { return look{mm: pixelMM, theme: style.Light} }

func newMapParams(c *server.Call) any {
	return &mapParams{Layers: tiles.NewLayers(c), look: newLook()}
}

// lookOf is implemented by parameters of routes whose pictures have a look.
type lookOf interface{ lookOf() *look }

func (l *look) lookOf() *look { return l }

const mostPixels = drawing.MostPixels

// side reads a width or a height.
func side(name, v string) (int, error) {
	n, err := strconv.Atoi(v)
	if err != nil || n < 1 || n > mostPixels || strings.HasPrefix(v, "+") {
		return 0, problem.Invalidf(name, v, "use a whole number from 1 to %d", mostPixels)
	}
	return n, nil
}

// above reads a number above zero.
func above(name, v, example string) (float64, error) {
	x, ok := server.PlainNumber(v)
	if !ok || !(x > 0) {
		return 0, problem.Invalidf(name, v, "use a number above 0, such as %s", example)
	}
	return x, nil
}

var sizeSchema = map[string]any{"type": "integer", "minimum": 1, "maximum": mostPixels}

var numberAbove = map[string]any{"type": "number", "minimum": 0, "exclusiveMinimum": true}

var mapParameters = append([]*server.Param{
	crsParam("crs", "map-crs", "CRS of the map; default the one that the data are stored in",
		func(p *mapParams) *crs.ID { return &p.crs }),
	{Name: "bbox", Shared: "map-bbox", Description: "Box that the map shows: west, south, east, north, in the axis " +
		"order of bbox-crs. With width and height it is stretched to them. Without it, center or subset: all data",
		Schema: map[string]any{"type": "array", "minItems": 4, "maxItems": 6,
			"items": map[string]any{"type": "number"}},
		Parse: server.Into(func(_ *server.Call, p *mapParams, v []string) error { p.bbox = v[0]; return nil })},
	crsParam("bbox-crs", "map-bbox-crs", "CRS of bbox; default CRS84",
		func(p *mapParams) *crs.ID { return &p.bboxCRS }),
	{Name: "center", Description: "Middle of the map: two coordinates in the axis order of center-crs",
		Schema: map[string]any{"type": "array", "minItems": 2, "maxItems": 2,
			"items": map[string]any{"type": "number"}},
		Parse: server.Into(func(_ *server.Call, p *mapParams, v []string) error {
			if p.center = v[0]; len(p.centerNumbers()) != 2 {
				return p.badCenter()
			}
			return nil
		})},
	crsParam("center-crs", "map-center-crs", "CRS of center; default CRS84",
		func(p *mapParams) *crs.ID { return &p.centerCRS }),
	{Name: "subset", Repeat: true, Description: "Box that the map shows, by its axes: Lat and Lon, or E and N, such " +
		"as Lat(59:60),Lon(10:11). One axis alone is enough", Schema: map[string]any{"type": "array", "minItems": 1,
		"items": map[string]any{"type": "string", "minLength": 1}},
		Parse: server.Into(func(_ *server.Call, p *mapParams, v []string) error {
			p.subset = v
			_, _, err := subsetBox(v, crs.CRS84)
			if _, _, inMetres := subsetBox(v, crs.UTM33); inMetres == nil {
				return nil // subset-crs decides later
			}
			return err
		})},
	crsParam("subset-crs", "map-subset-crs", "CRS of subset; default CRS84",
		func(p *mapParams) *crs.ID { return &p.subsetCRS }),
}, sizeParameters...)

// sizeParameters say how large a picture is, and how it looks.
var sizeParameters = append([]*server.Param{
	{Name: "width", Description: "Width of the map in pixels", Schema: sizeSchema,
		Parse: server.Into(func(_ *server.Call, p *mapParams, v []string) (err error) {
			p.width, err = side("width", v[0])
			return err
		})},
	{Name: "height", Description: "Height of the map in pixels", Schema: sizeSchema,
		Parse: server.Into(func(_ *server.Call, p *mapParams, v []string) (err error) {
			p.height, err = side("height", v[0])
			return err
		})},
	{Name: "scale-denominator", Description: "Scale of the map: 50000 is 1:50,000. Without it the size of the " +
		"picture says it", Schema: numberAbove,
		Parse: server.Into(func(_ *server.Call, p *mapParams, v []string) (err error) {
			p.scale, err = above("scale-denominator", v[0], "50000")
			return err
		})},
}, lookParameters...)

// lookParameters are the parameters that look holds.
var lookParameters = []*server.Param{
	{Name: "mm-per-pixel", Description: "Size of a pixel where the map is shown, in millimetres. Lines and letters " +
		"have more pixels where it is smaller", Schema: map[string]any{"type": "number", "minimum": 0,
		"exclusiveMinimum": true, "default": pixelMM},
		Parse: server.Into(func(_ *server.Call, p lookOf, v []string) (err error) {
			p.lookOf().mm, err = above("mm-per-pixel", v[0], "0.28")
			return err
		})},
	{Name: "bgcolor", Description: "Colour of the ground: six hexadecimal digits, such as 0xFFFFFF, or a name of " +
		"CSS. Without it the ground is transparent, or as the style has it", Schema: server.SchemaFilled,
		Parse: server.Into(func(_ *server.Call, p lookOf, v []string) error {
			p.lookOf().ground = v[0]
			_, err := colorOf("bgcolor", v[0])
			return err
		})},
	{Name: "transparent", Description: "Whether the ground is transparent; default true, or false with bgcolor",
		Schema: map[string]any{"type": "boolean"},
		Parse: server.Into(func(_ *server.Call, p lookOf, v []string) error {
			is, err := server.Truth("transparent", v[0])
			p.lookOf().transparent = &is
			return err
		})},
	{Name: "void-color", Description: "Colour of what lies outside of the CRS. Maps here have no such parts, so " +
		"that it shows nowhere", Schema: server.SchemaFilled,
		Parse: func(_ *server.Call, _ any, v []string) error {
			_, err := colorOf("void-color", v[0])
			return err
		}},
	{Name: "void-transparent", Description: "Whether what lies outside of the CRS is transparent, as void-color",
		Schema: map[string]any{"type": "boolean"},
		Parse: func(_ *server.Call, _ any, v []string) error {
			_, err := server.Truth("void-transparent", v[0])
			return err
		}},
	paramTheme,
}

// paramTheme chooses the colours of the style.
var paramTheme = &server.Param{Name: "theme", Shared: "map-theme",
	Description: "Colours of the map: light, dark, or print, which is black on white. Defaults to light",
	Schema:      map[string]any{"type": "string", "enum": style.Themes, "default": style.Light},
	Parse: server.Into(func(_ *server.Call, p lookOf, v []string) error {
		l := p.lookOf()
		if l.theme = style.Theme(v[0]); !slices.Contains(style.Themes, l.theme) {
			return problem.Invalidf("theme", v[0], "use one of light, dark, print")
		}
		return nil
	})}

// crsParam is a parameter that names a CRS which the collections of the call are offered in.
func crsParam(name, shared, description string, field func(*mapParams) *crs.ID) *server.Param {
	return &server.Param{Name: name, Shared: shared, Description: description, Schema: server.SchemaURI,
		Define: func(c *server.Call, d *openapi.Parameter) {
			if c.Collection != nil && c.Collection != server.AnyCollection {
				d.Shared = ""
				d.Schema = map[string]any{"type": "string", "enum": uris(server.OfferedCRS(c.Collection))}
			}
		},
		Parse: server.Into(func(c *server.Call, p *mapParams, v []string) error {
			id, ok := crs.Parse(v[0])
			if all := p.offered(); !ok || !slices.Contains(all, id) {
				return problem.Invalidf(name, v[0], "use one of %s", strings.Join(uris(all), ", "))
			}
			*field(p) = id
			return nil
		})}
}

func uris(ids []crs.ID) []string {
	out := make([]string, len(ids))
	for i, id := range ids {
		out[i] = id.URI()
	}
	return out
}

// offered returns the CRSs that all collections of the map offer.
func (p *mapParams) offered() []crs.ID { return drawing.CommonCRS(p.Collections()) }

// centerNumbers returns the numbers of center, in the axis order of center-crs; nil if one is no number.
func (p *mapParams) centerNumbers() (v []float64) {
	for part := range strings.SplitSeq(p.center, ",") {
		x, ok := server.PlainNumber(strings.TrimSpace(part))
		if !ok {
			return nil
		}
		v = append(v, x)
	}
	return v
}

func (p *mapParams) badCenter() error {
	return problem.Invalidf("center", problem.Clip(p.center),
		"give two coordinates of %s with a comma between them, such as 10.75,59.91 in CRS84", or84(p.centerCRS))
}

// subsetBox reads subset: the sides of a box by its axes, x before y, and which of them it names. Axes are Lat and Lon
// in degrees, E and N in metres; X and Y are understood as well.
func subsetBox(parts []string, in crs.ID) (box [2][2]float64, seen [2]bool, err error) {
	text := strings.Join(parts, ",")
	bad := func(cure string) error {
		names := "Lon(10:11),Lat(59:60)"
		if !in.Geographic() {
			names = "E(250000:260000),N(6640000:6650000)"
		}
		return problem.Invalidf("subset", problem.Clip(text), "%s; write %s", cure, names)
	}
	for part := range strings.SplitSeq(text, ",") {
		name, rest, ok := strings.Cut(strings.TrimSpace(part), "(")
		low, high, interval := strings.Cut(strings.TrimSuffix(rest, ")"), ":")
		if !ok || !strings.HasSuffix(rest, ")") || !interval {
			return box, seen, bad("each axis has an interval")
		}
		axis := -1
		switch strings.ToLower(name) {
		case "lon", "long", "x", "e":
			axis = 0
		case "lat", "y", "n":
			axis = 1
		}
		if axis >= 0 && len(name) > 1 != in.Geographic() && !strings.ContainsAny(strings.ToLower(name), "xy") {
			axis = -1
		}
		a, okA := server.PlainNumber(low)
		b, okB := server.PlainNumber(high)
		switch {
		case axis < 0:
			return box, seen, bad("there is no axis " + problem.Clip(name) + " in " + in.String())
		case seen[axis]:
			return box, seen, bad("an axis stands twice")
		case !okA || !okB:
			return box, seen, bad("an interval has two numbers")
		}
		box[axis], seen[axis] = [2]float64{a, b}, true
	}
	return box, seen, nil
}

// finite reports whether all numbers are.
func finite(vs ...float64) bool {
	for _, v := range vs {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return false
		}
	}
	return true
}
