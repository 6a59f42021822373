package style

import (
	"cmp"
	"math"
	"slices"
)

// Data describes the features of a source layer of vector tiles.
type Data struct {
	ID        string // of the collection, and of its source layer
	Dimension int    // of the geometries: 0 points, 1 lines, 2 areas; -1: any
	Count     int    // number of features
	// Extent is the area of the envelope of the features, in square degrees of Web Mercator; 0: unknown
	Extent float64
	Side   float64  // of a square with the median area of the areas, in degrees of Web Mercator; 0: unknown
	Name   string   // property with names; "": none
	Labels string   // source layer with one point for each area (LabelName, LabelRank); "": none
	Within []string // collections whose features contain those of this one
}

// Properties of the source layers that styles use.
const (
	FeatureID  = "id"          // of every feature; an area that stands for many has none
	ColorIndex = "color_index" // of an area: 0 to 3; neighbours differ
	LabelName  = "name"        // of a label: the name as the data have it
	LabelLines = "label"       // of a label whose name joins names of several languages: these, a line each
	LabelRank  = "rank"        // of a label: the smallest is the most important
	LabelZoom  = "min_zoom"    // of a label: level of tiles from which on it is there
)

// Theme is the colours of a style.
type Theme string

// Themes.
const (
	Light Theme = "light"
	Dark  Theme = "dark"
	Print Theme = "print"
)

// Themes lists all themes, the default first.
var Themes = []Theme{Light, Dark, Print}

// palette is the colours of a theme. What is of levels begins with the upper one.
type palette struct {
	background string
	plain      string
	areas      [4]string
	hover      string
	selected   string
	chosen     string // border of a selected area
	lines      [3]string
	texts      [3]string
	halo       string
	point      string
	stroke     string // around a point
}

var palettes = map[Theme]palette{
	Light: {
		background: "#d5e3ea", plain: "#f3efe6", areas: [4]string{"#f4ead6", "#e2ead6", "#e9e1ec", "#f3e0d6"},
		hover: "#fdf0bd", selected: "#fbdc7a", chosen: "#a8501a", lines: [3]string{"#6d5d70", "#837788", "#b3abb6"},
		texts: [3]string{"#584a5c", "#2f3138", "#4a4c55"}, halo: "rgba(255,255,255,0.85)", point: "#5b6674",
		stroke: "#ffffff",
	},
	Dark: {
		background: "#0f171e", plain: "#27303a", areas: [4]string{"#2b3540", "#2c3933", "#37313f", "#3b332f"},
		hover: "#48556a", selected: "#5d6d3a", chosen: "#ffd479", lines: [3]string{"#a3afbc", "#7d8a98", "#525d69"},
		texts: [3]string{"#b9c5d1", "#e4e9ee", "#c8d0d8"}, halo: "rgba(13,19,25,0.85)", point: "#c3ccd6",
		stroke: "#0f171e",
	},
	Print: {
		background: "#ffffff", plain: "#f7f7f7", areas: [4]string{"#ffffff", "#f3f3f3", "#eaeaea", "#f8f8f8"},
		hover: "#dddddd", selected: "#cfcfcf", chosen: "#000000", lines: [3]string{"#000000", "#4d4d4d", "#808080"},
		texts: [3]string{"#404040", "#000000", "#202020"}, halo: "rgba(255,255,255,0.9)", point: "#000000",
		stroke: "#ffffff",
	},
}

// Drawing says how Divisions draws.
type Drawing struct {
	Source string // id of the source of all layers
	Theme  Theme
	Fonts  bool // the names are in Go Regular and Go Bold; else in the fonts of the map library
	Still  bool // for a picture: no area is hovered over or selected
}

// Divisions returns the layers that draw data: areas in four quiet colours, below the borders of lower levels, those
// of upper ones, points and names, those of the upper levels last, which map libraries place first. Lower levels
// appear at the zoom where their areas have room.
func Divisions(data []Data, d Drawing) []Layer {
	m := &divisions{Drawing: d, palette: palettes[d.Theme], levels: Levels(data)}
	m.layers = []Layer{{ID: "background", Type: "background", Paint: Values{"background-color": m.background}}}
	for i, x := range m.levels {
		m.area(i, x)
	}
	for i, x := range slices.Backward(m.levels) {
		m.border(i, x)
	}
	for _, x := range data {
		if x.Dimension == 1 {
			m.line(x)
		}
	}
	for _, x := range data {
		if x.Dimension < 1 {
			m.add(x, "point", "circle", "Point", x.ID, Values{"circle-color": m.point,
				"circle-radius": byZoom(4, 1.5, 14, 4), "circle-stroke-color": m.stroke, "circle-stroke-width": 0.5},
				nil, m.pointZoom(x))
		}
	}
	for _, x := range data {
		if x.Name != "" && x.Dimension < 2 {
			m.names(x)
		}
	}
	for i, x := range slices.Backward(m.levels) {
		if x.Labels != "" || x.Name != "" {
			m.label(i, x)
		}
	}
	return m.layers
}

type divisions struct {
	Drawing
	palette
	levels []Data
	layers []Layer
}

// Levels returns the data with areas, the upper level first: what contains others before these, then what has fewer
// features.
func Levels(data []Data) []Data {
	var areas []Data
	for _, x := range data {
		if x.Dimension == 2 || x.Dimension < 0 {
			areas = append(areas, x)
		}
	}
	slices.SortStableFunc(areas, func(a, b Data) int { return cmp.Compare(a.Count, b.Count) })
	var out []Data
	for len(areas) > 0 {
		i := max(0, slices.IndexFunc(areas, func(a Data) bool { // the first that lies within none of the others
			return !slices.ContainsFunc(areas,
				func(b Data) bool { return b.ID != a.ID && slices.Contains(a.Within, b.ID) })
		}))
		out = append(out, areas[i])
		areas = slices.Delete(areas, i, i+1)
	}
	return out
}

// room returns the zoom at which features are about so many pixels apart. Where the sizes of areas are not known, they
// cover some part of the extent.
func room(x Data, pixels float64) float64 {
	const part = 0.4
	side := x.Side
	if side <= 0 {
		if x.Extent <= 0 || x.Count == 0 {
			return 0
		}
		side = math.Sqrt(part * x.Extent / float64(x.Count))
	}
	return tenths(min(max(math.Log2(pixels*360/512/side), 0), 22))
}

func tenths(zoom float64) float64 { return math.Round(10*zoom) / 10 }

// before is a zoom that is smaller by so much than another one, or 0.
func before(zoom, by float64) float64 { return tenths(max(0, zoom-by)) }

// Widths in pixels that areas need, about, for their borders and their names.
const (
	borderRoom = 14
	nameRoom   = 22
	pointRoom  = 12
)

func (m *divisions) pointZoom(x Data) float64 {
	if len(m.levels) == 0 || x.Dimension < 0 {
		return 0
	}
	return min(8, room(x, pointRoom))
}

// shade returns the index of level i in lists with one colour for each level. A single level is drawn as a lower one.
func (m *divisions) shade(i int) int {
	if len(m.levels) == 1 {
		return 1
	}
	return min(i, 2)
}

func (m *divisions) add(x Data, part, as, kind, from string, paint, layout Values, zoom float64) *Layer {
	l := Layer{ID: x.ID + "-" + part, Type: as, Source: m.Source, SourceLayer: from, MinZoom: zoom, Paint: paint,
		Layout: layout}
	if kind != "" {
		l.Filter = []any{"==", []any{"geometry-type"}, kind}
	}
	m.layers = append(m.layers, l)
	return &m.layers[len(m.layers)-1]
}

func state(name string) any { return []any{"boolean", []any{"feature-state", name}, false} }

// area fills the areas of level i: plain where they are too small for colours of their own.
func (m *divisions) area(i int, x Data) {
	zoom := room(x, borderRoom)
	colors := []any{"match", []any{"coalesce", []any{"get", ColorIndex}, -1.0}}
	for n, c := range m.areas {
		colors = append(colors, float64(n), c)
	}
	stated := func(otherwise any) any {
		if m.Still {
			return otherwise
		}
		return []any{"case", state("selected"), m.selected, state("hover"), m.hover, otherwise}
	}
	paint := Values{"fill-color": stated(append(colors, m.plain))}
	from := 0.0
	if zoom > 0 && i == 0 {
		paint["fill-color"] = byZoom(before(zoom, 1.5), stated(m.plain), zoom, stated(append(colors, m.plain)))
	}
	if i > 0 {
		from = before(zoom, 1)
		paint["fill-opacity"] = byZoom(from, 0.0, tenths(from+1), 1.0)
	}
	m.add(x, "area", "fill", "Polygon", x.ID, paint, nil, from)
}

// border draws the outlines of level i.
func (m *divisions) border(i int, x Data) {
	zoom, shade := room(x, borderRoom), m.shade(i)
	widths := [3][4]float64{{0.5, 0.9, 1.9, 3.5}, {0.4, 0.6, 1, 2.2}, {0.3, 0.4, 0.7, 1.5}}[shade]
	stated := func(selected, otherwise any) any {
		if m.Still {
			return otherwise
		}
		return []any{"case", state("selected"), selected, otherwise}
	}
	width := func(w float64) any { return stated(w+1.2, w) }
	paint := Values{
		"line-color": stated(m.chosen, m.lines[shade]),
		"line-width": byZoom(3, width(widths[0]), 6, width(widths[1]), 9, width(widths[2]), 14, width(widths[3])),
	}
	from := 0.0
	if zoom > 0 {
		var least any = 0.0
		if i > 0 {
			from = before(zoom, 1)
		} else { // an area without id stands for many and has its outline alone
			least = []any{"case", []any{"has", FeatureID}, 0.15, 1.0}
		}
		paint["line-opacity"] = byZoom(before(zoom, 1), least, tenths(zoom+0.5), 1.0)
	}
	m.add(x, "line", "line", "", x.ID, paint, Values{"line-join": "round", "line-cap": "round"}, from)
}

// line draws lines, fainter where they have no room.
func (m *divisions) line(x Data) {
	paint := Values{"line-color": m.lines[1], "line-width": byZoom(4, 0.6, 14, 2)}
	if zoom := room(x, borderRoom); zoom > 0 {
		paint["line-opacity"] = byZoom(before(zoom, 2), 0.25, zoom, 1.0)
	}
	m.add(x, "line", "line", "", x.ID, paint, Values{"line-join": "round", "line-cap": "round"}, 0)
}

// label writes the names of level i, one for each area.
func (m *divisions) label(i int, x Data) {
	shade := m.shade(i)
	sizes := [3][2]float64{{11, 19}, {10.5, 16}, {10, 14}}[shade]
	from, name, kind := x.Labels, LabelName, ""
	if from == "" { // each part of an area in each tile is named
		from, name, kind = x.ID, x.Name, "Polygon"
	}
	layout := Values{
		"text-field":      []any{"coalesce", []any{"get", LabelLines}, []any{"to-string", []any{"get", name}}},
		"text-size":       byZoom(4, sizes[0], 12, sizes[1]),
		"text-max-width":  8.0,
		"text-padding":    3.0,
		"symbol-sort-key": []any{"coalesce", []any{"get", LabelRank}, 1e9},
	}
	if shade == 0 {
		layout["text-transform"], layout["text-letter-spacing"] = "uppercase", 0.1
	}
	m.font(layout, shade == 0)
	m.add(x, "name", "symbol", kind, from, m.text(shade), layout, before(room(x, nameRoom), 1))
}

func (m *divisions) text(shade int) Values {
	return Values{"text-color": m.texts[shade], "text-halo-color": m.halo, "text-halo-width": 1.4}
}

// Fonts of styles.
const (
	Regular = "Go Regular"
	Bold    = "Go Bold"
)

func (m *divisions) font(layout Values, bold bool) {
	switch {
	case !m.Fonts:
	case bold:
		layout["text-font"] = []any{Bold}
	default:
		layout["text-font"] = []any{Regular}
	}
}

// names writes the names of lines and points.
func (m *divisions) names(x Data) {
	layout := Values{"text-field": []any{"to-string", []any{"get", x.Name}}, "text-size": byZoom(4, 10, 14, 13),
		"text-max-width": 8.0, "text-padding": 4.0}
	zoom, kind := 0.0, ""
	switch x.Dimension {
	case 1:
		layout["symbol-placement"] = "line"
	case 0:
		layout["text-anchor"], layout["text-offset"] = "top", []any{0.0, 0.4}
		zoom = m.pointZoom(x)
	default:
		kind = "Point"
		layout["text-anchor"], layout["text-offset"] = "top", []any{0.0, 0.4}
	}
	m.font(layout, false)
	m.add(x, "point-name", "symbol", kind, x.ID, m.text(2), layout, zoom)
}

// byZoom goes from one value to the next between zooms; stops are zooms, each with its value after it.
func byZoom(stops ...any) any {
	for i, v := range stops {
		if n, ok := v.(int); ok {
			stops[i] = float64(n)
		}
	}
	return append([]any{"interpolate", []any{"linear"}, []any{"zoom"}}, stops...)
}

// Dimensions maps GeoJSON types to the dimension of their geometries.
var Dimensions = map[string]int{"Point": 0, "MultiPoint": 0, "LineString": 1, "MultiLineString": 1, "Polygon": 2,
	"MultiPolygon": 2}
