package style_test

import (
	"encoding/json"
	"image/color"
	"math"
	"slices"
	"strings"
	"testing"

	"grense/internal/style"
)

// number is the value of a text-size, or of another number, in a style of one layer.
func rules(t *testing.T, layer string) *style.Rules {
	t.Helper()
	s, err := style.Read([]byte(`{"version":8,"sources":{"a":{"type":"vector"}},"layers":[` + layer + `]}`))
	if err != nil {
		t.Fatal(err)
	}
	list, err := s.Rules()
	if err != nil || len(list) != 1 {
		t.Fatalf("%d layers, %v", len(list), err)
	}
	return list[0]
}

func TestExpressionsHaveTheValuesOfTheSpecification(t *testing.T) {
	t.Parallel()
	f := &style.Feature{ID: "0301", Kind: "Polygon", State: map[string]any{"hover": true}, Get: func(name string) any {
		return map[string]any{"name": "Guovdageaidnu - Kautokeino", "n": int64(3), "x": 2.5, "yes": true}[name]
	}}
	for expr, want := range map[string]string{
		`["get","name"]`:                                                               "Guovdageaidnu - Kautokeino",
		`["to-string",["get","n"]]`:                                                    "3",
		`["to-string",["get","none"]]`:                                                 "",
		`["coalesce",["get","none"],["get","name"]]`:                                   "Guovdageaidnu - Kautokeino",
		`["concat",["get","n"]," ",["id"]]`:                                            "3 0301",
		`["upcase","ø"]`:                                                               "Ø",
		`["case",["==",["get","n"],3],"three","-"]`:                                    "three",
		`["case",["all",["has","x"],["!",["has","y"]]],"in","out"]`:                    "in",
		`["match",["get","n"],[1,2],"low",3,"three","high"]`:                           "three",
		`["match",["get","name"],"x","x","other"]`:                                     "other",
		`["step",["zoom"],"far",5,"near",6,"nearer"]`:                                  "near",
		`["case",["boolean",["feature-state","hover"],false],"hover","not"]`:           "hover",
		`["case",["boolean",["feature-state","selected"],false],"selected","not"]`:     "not",
		`["slice",["get","name"],0,["index-of"," - ",["get","name"]]]`:                 "Guovdageaidnu",
		`["case",["in",["get","n"],["literal",[1,3]]],"in","out"]`:                     "in",
		`["case",["in","keino",["get","name"]],"in","out"]`:                            "in",
		`["format",["get","n"],{"font-scale":2}," x"]`:                                 "3 x",
		`["to-string",["+",1,["*",2,["get","x"]]]]`:                                    "6",
		`["to-string",["interpolate",["linear"],["zoom"],5,10,6,20]]`:                  "15",
		`["to-string",["round",["interpolate",["exponential",2],["zoom"],5,0,6,100]]]`: "41",
		`["to-string",["length",["get","name"]]]`:                                      "26",
		`{"stops":[[0,"far"],[5,"near"]]}`:                                             "near",
		`"{name} {n}"`:                                                                 "Guovdageaidnu - Kautokeino 3",
		`["case",["<",["get","name"],"H"],["geometry-type"],""]`:                       "Polygon",
		`["case",[">=",["get","none"],1],"a","b"]`:                                     "b",
		`["let","a",1,["var","a"]]`:                                                    "", // is not evaluated
	} {
		r := rules(t, `{"id":"l","type":"symbol","source":"a","source-layer":"x","layout":{"text-field":`+expr+`}}`)
		if got := r.Text("text-field", 5.5, f); got != want {
			t.Errorf("%s: %q, want %q", expr, got, want)
		}
	}
}

func TestFiltersChooseFeatures(t *testing.T) {
	t.Parallel()
	f := &style.Feature{Kind: "Polygon", Get: func(name string) any { return map[string]any{"n": 3.0, "s": "a"}[name] }}
	for filter, want := range map[string]bool{
		`["==",["geometry-type"],"Polygon"]`: true, `["==","$type","Point"]`: false, `["==","n",3]`: true,
		`["in","s","a","b"]`: true, `["!in","s","a","b"]`: false, `["!has","n"]`: false, `["has","n"]`: true,
		`["all",["==","n",3],["has","s"]]`: true, `["none",["==","n",3]]`: false,
		`["any",["==","n",4],["<","n",4]]`:     true,
		`["in",["get","s"],["literal",["a"]]]`: true, `["within",{}]`: false,
	} {
		r := rules(t, `{"id":"l","type":"fill","source":"a","source-layer":"x","filter":`+filter+`}`)
		if got := r.Shows(3, f); got != want {
			t.Errorf("%s: %v", filter, got)
		}
	}
}

func TestColorsAreReadAndMixed(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]color.NRGBA{"#fff": {255, 255, 255, 255}, "#0102037f": {1, 2, 3, 127},
		"rgba(1, 2, 3, 0.5)": {1, 2, 3, 128}, "rgb(10%,0,0)": {26, 0, 0, 255}, "hsl(120, 100%, 25%)": {0, 128, 0, 255},
		"transparent": {}, "White": {255, 255, 255, 255}} {
		if got, ok := style.Color(text); !ok || got != want {
			t.Errorf("%s: %v %v, want %v", text, got, ok, want)
		}
	}
	for _, text := range []string{"", "#ff", "#gggggg", "rgb(1,2)", "no colour", "rgb(a,b,c)"} {
		if got, ok := style.Color(text); ok {
			t.Errorf("%s: %v", text, got)
		}
	}
	r := rules(t, `{"id":"l","type":"fill","source":"a","source-layer":"x",
		"paint":{"fill-color":["interpolate",["linear"],["zoom"],0,"#000",2,["match",["get","n"],1,"#fff","#f00"]]}}`)
	f := &style.Feature{Get: func(string) any { return int64(1) }}
	if got := r.Color("fill-color", 1, f); got != (color.NRGBA{128, 128, 128, 255}) || !r.PerFeature("fill-color") {
		t.Error(got)
	}
	if r.Number("fill-opacity", 1, nil) != 1 || !math.IsNaN(r.Number("fill-sort-key", 1, nil)) {
		t.Error("defaults are missing")
	}
}

func TestBrokenStylesAreRefusedWithEachFault(t *testing.T) {
	t.Parallel()
	ok := `{"id":"b","type":"background"}`
	const line = `"type":"line","source":"a","source-layer":"x"`
	for _, x := range [][2]string{
		{`{`, "not a style"},
		{`{"version":8,"layers":[` + ok + `],"sources":{}} x`, "follows"},
		{`{"version":7,"sources":{},"layers":[` + ok + `]}`, `"version": 8`},
		{`{"version":8,"sources":{},"layers":[]}`, "no layers"},
		{`{"version":8,"sources":{},"layers":[` + ok + `,` + ok + `]}`, `"b"`},
		{`{"version":8,"sources":{},"layer":[]}`, "layer"},
		{layerOf(`"type":"area"`), "no type"},
		{layerOf(`"type":"fill","source":"b"`), `no source "b"`},
		{layerOf(`"type":"fill","source":"a"`), "source-layer"},
		{layerOf(line + `,"paint":{"fill-color":"red"}`), "fill-color"},
		{layerOf(line + `,"layout":{"line-color":"red"}`), "layout"},
		{layerOf(line + `,"paint":{"line-color":"reddish"}`), "colour"},
		{layerOf(line + `,"layout":{"line-cap":"flat"}`), "butt"},
		{layerOf(line + `,"paint":{"line-width":"1"}`), "a number"},
		{layerOf(line + `,"paint":{"line-width":["interpolat",1]}`), "interpolat"},
		{layerOf(line + `,"paint":{"line-width":["get"]}`), "arguments"},
		{layerOf(line + `,"paint":{"line-width":["step",["zoom"],1,5,2,4,3]}`), "rising"},
		{layerOf(line + `,"minzoom":5,"maxzoom":4`), "zooms"},
		{layerOf(line + `,"filter":["=",1,2]`), "filter"},
	} {
		if _, err := style.Read([]byte(x[0])); err == nil || !strings.Contains(err.Error(), x[1]) {
			t.Errorf("%s: %v, want %s", x[0], err, x[1])
		}
	}
	both := layerOf(`"type":"fill","source":"b","paint":{"fill-colour":"red"}`)
	if _, err := style.Read([]byte(both)); err == nil || strings.Count(err.Error(), "\n") != 1 {
		t.Errorf("not all faults are reported: %v", err)
	}
}

func layerOf(rest string) string {
	return `{"version":8,"sources":{"a":{"type":"vector"}},"layers":[{"id":"l",` + rest + `}]}`
}

var norway = []style.Data{
	{ID: "kommuner", Dimension: 2, Count: 357, Extent: 800, Name: "navn", Within: []string{"fylker"}},
	{ID: "fylker", Dimension: 2, Count: 15, Extent: 800, Name: "navn", Labels: "fylker_label"},
	{ID: "stedsnavn", Dimension: 0, Count: 100_000, Extent: 800, Name: "navn"},
}

func TestDivisionsHaveAHierarchy(t *testing.T) {
	t.Parallel()
	for _, theme := range style.Themes {
		s := &style.Style{Version: 8,
			Sources: map[string]style.Source{"x": style.VectorSource("https://example.org", nil)},
			Layers:  style.Divisions(norway, style.Drawing{Source: "x", Theme: theme, Fonts: true})}
		text, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		if s, err = style.Read(text); err != nil {
			t.Fatalf("%s: %v", theme, err)
		}
		list, err := s.Rules()
		if err != nil {
			t.Fatal(err)
		}
		find := func(id string) *style.Rules {
			return list[slices.IndexFunc(list, func(r *style.Rules) bool { return r.ID == id })]
		}
		if upper, lower := find("fylker-line"), find("kommuner-line"); upper.Number("line-width", 8, nil) <=
			lower.Number("line-width", 8, nil) || lower.At(1) || !lower.At(6) || !upper.At(0) {
			t.Errorf("%s: borders of levels are alike", theme)
		}
		if last := list[len(list)-1]; last.ID != "fylker-name" || last.SourceLayer != "fylker_label" {
			t.Errorf("%s: %s is placed first", theme, last.ID)
		}
		area := find("kommuner-area")
		colors := map[color.NRGBA]bool{}
		for n := range 4 {
			f := &style.Feature{Get: func(name string) any { return map[string]any{style.ColorIndex: int64(n)}[name] }}
			colors[area.Color("fill-color", 9, f)] = true
			f.State = map[string]any{"hover": true}
			if colors[area.Color("fill-color", 9, f)] {
				t.Errorf("%s: hover is not seen", theme)
			}
		}
		if len(colors) != 4 || find("fylker-area").Color("fill-color", 0, nil) == (color.NRGBA{}) {
			t.Errorf("%s: colours %v", theme, colors)
		}
	}
}

// TestBordersAppearWhereHalfOfTheAreasHaveRoom: the size of areas decides, which few far ones do not change.
func TestBordersAppearWhereHalfOfTheAreasHaveRoom(t *testing.T) {
	t.Parallel()
	from := func(x style.Data) float64 {
		upper := style.Data{ID: "upper", Dimension: 2, Count: 3, Side: 5}
		for _, l := range style.Divisions([]style.Data{upper, x}, style.Drawing{Theme: style.Light}) {
			if l.ID == x.ID+"-line" {
				return l.MinZoom
			}
		}
		t.Fatal("there is no border")
		return 0
	}
	spread := style.Data{ID: "lower", Dimension: 2, Count: 35_000, Extent: 12_000}
	sized := spread
	sized.Side = 0.05
	if by, of := from(spread), from(sized); by >= of || of < 5 || of > 8 {
		t.Errorf("borders appear at zoom %g by the extent, at %g by the size", by, of)
	}
}

func TestWhatContainsOthersIsAnUpperLevel(t *testing.T) {
	t.Parallel()
	var ids []string
	for _, x := range style.Levels([]style.Data{{ID: "c", Dimension: 2, Count: 3, Within: []string{"a"}},
		{ID: "p", Dimension: 0, Count: 1}, {ID: "a", Dimension: 2, Count: 5}, {ID: "b", Dimension: -1, Count: 4},
		{ID: "d", Dimension: 2, Count: 6, Within: []string{"d", "e"}},
		{ID: "e", Dimension: 2, Count: 7, Within: []string{"d"}}}) {
		ids = append(ids, x.ID)
	}
	if got := strings.Join(ids, " "); got != "b a c d e" {
		t.Error(got)
	}
}

// TestFixedLayersHaveTheValuesOfTheirZoom: values that depend on the zoom alone no longer change with it, and values
// of features still do with these.
func TestFixedLayersHaveTheValuesOfTheirZoom(t *testing.T) {
	t.Parallel()
	r := rules(t, `{"id":"l","type":"line","source":"a","source-layer":"x","filter":["has","n"],"paint":{
		"line-width":["interpolate",["linear"],["zoom"],0,1,4,5],
		"line-opacity":["match",["get","n"],1,0.5,1],
		"line-color":["interpolate",["linear"],["zoom"],0,"#000",2,["match",["get","n"],1,"#fff","#f00"]]}}`)
	fixed := r.Fixed(2)
	if fixed.PerFeature("line-width") || !fixed.PerFeature("line-opacity") || !fixed.Has("line-color") ||
		fixed.Has("line-blur") {
		t.Error("other values depend on features, or are set")
	}
	for n := range int64(3) {
		f := &style.Feature{Get: func(string) any { return n }}
		for _, zoom := range []float64{2, 3} {
			if got, want := fixed.Number("line-width", zoom, f), 3.0; got != want {
				t.Errorf("zoom %g: width %g, want %g", zoom, got, want)
			}
		}
		if got, want := fixed.Number("line-opacity", 2, f), r.Number("line-opacity", 2, f); got != want {
			t.Errorf("%d: opacity %g, want %g", n, got, want)
		}
		if got, want := fixed.Color("line-color", 2, f), r.Color("line-color", 2, f); got != want {
			t.Errorf("%d: colour %v, want %v", n, got, want)
		}
		if got := fixed.Number("line-blur", 2, f); got != 0 || !fixed.Shows(2, f) {
			t.Errorf("%d: no default, or not shown", n)
		}
	}
	if r.Number("line-width", 3, nil) != 4 {
		t.Error("the layer itself has changed")
	}
}

// TestDenseLinesAreFaint on scales where they have no room; few lines never are.
func TestDenseLinesAreFaint(t *testing.T) {
	t.Parallel()
	for count, want := range map[int][2]float64{900: {0.25, 1}, 1: {1, 1}, 100_000: {0.25, 0.25}} {
		s := &style.Style{Version: 8, Layers: style.Divisions([]style.Data{{ID: "borders", Dimension: 1, Count: count,
			Extent: 800}}, style.Drawing{Theme: style.Light})}
		list, err := s.Rules()
		if err != nil || len(list) != 2 {
			t.Fatalf("%d layers, %v", len(list), err)
		}
		for i, zoom := range []float64{2, 5} {
			if got := list[1].Number("line-opacity", zoom, nil); got != want[i] {
				t.Errorf("%d lines at zoom %g: opacity %g, want %g", count, zoom, got, want[i])
			}
		}
	}
}

// TestStillStylesAreThoseWithoutHoverAndSelection in every theme, and need no feature state.
func TestStillStylesAreThoseWithoutHoverAndSelection(t *testing.T) {
	t.Parallel()
	for _, theme := range style.Themes {
		list := func(still bool) []*style.Rules {
			s := &style.Style{Version: 8, Layers: style.Divisions(norway, style.Drawing{Theme: theme, Still: still})}
			text, err := json.Marshal(s.Layers)
			if err != nil || strings.Contains(string(text), "feature-state") == still {
				t.Errorf("%s, still %v: %v: %s", theme, still, err, text)
			}
			out, err := s.Rules()
			if err != nil {
				t.Fatal(err)
			}
			return out
		}
		moving, still := list(false), list(true)
		f := &style.Feature{ID: "1",
			Get: func(name string) any { return map[string]any{style.ColorIndex: int64(2)}[name] }}
		for i, r := range still {
			for zoom := range 14 {
				at := float64(zoom)
				for _, name := range []string{"fill-color", "line-color"} {
					if got, want := r.Color(name, at, f), moving[i].Color(name, at, f); got != want {
						t.Errorf("%s, %s at %d: %v, want %v", r.ID, name, zoom, got, want)
					}
				}
				got, want := r.Number("line-width", at, f), moving[i].Number("line-width", at, f)
				if r.Has("line-width") && got != want {
					t.Errorf("%s, width at %d: %g, want %g", r.ID, zoom, got, want)
				}
			}
		}
	}
}
