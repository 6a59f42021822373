package style

import (
	"image/color"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Feature is a feature as expressions see it.
type Feature struct {
	ID   any                   // nil: none
	Kind string                // Point, LineString or Polygon, also of several of them
	Get  func(name string) any // a property: a string, float64, int64 or bool; nil: none
	// State is the feature state, as hover and selected; nil: none
	State map[string]any
}

// An Expr is a value of a style that was parsed. It is immutable.
type Expr struct {
	eval    func(zoom float64, f *Feature) any
	feature bool // depends on the feature
	zoom    bool // depends on the zoom
	unknown bool // has an operator that is not evaluated
}

// PerFeature reports whether the value may differ from feature to feature.
func (e Expr) PerFeature() bool { return e.feature }

// Eval returns the value: nil, a string, float64, bool or []any. f may be nil if the value is not per feature.
func (e Expr) Eval(zoom float64, f *Feature) any {
	if e.eval == nil || e.unknown {
		return nil
	}
	if f == nil {
		f = &Feature{}
	}
	return e.eval(zoom, f)
}

func constant(v any) Expr { return Expr{eval: func(float64, *Feature) any { return v }} }

func (f *Feature) get(name string) any {
	if f.Get == nil {
		return nil
	}
	return number(f.Get(name))
}

// number turns integers into the numbers of JSON.
func number(v any) any {
	switch v := v.(type) {
	case int64:
		return float64(v)
	case uint64:
		return float64(v)
	case int:
		return float64(v)
	}
	return v
}

// text is a value as to-string writes it.
func text(v any) string {
	switch v := number(v).(type) {
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case bool:
		return strconv.FormatBool(v)
	}
	return ""
}

func truth(v any) bool { b, ok := v.(bool); return ok && b }

func float(v any) float64 {
	if n, ok := number(v).(float64); ok {
		return n
	}
	return math.NaN()
}

// equal compares values that are no arrays.
func equal(a, b any) bool {
	switch number(a).(type) {
	case []any, map[string]any:
		return false
	}
	switch number(b).(type) {
	case []any, map[string]any:
		return false
	}
	return number(a) == number(b)
}

// Color reads a colour of CSS: #rgb, #rrggbb, with alpha too, rgb(), rgba(), hsl(), hsla() or one of the names that
// maps need; ok is false for another text.
func Color(s string) (c color.NRGBA, ok bool) {
	s = strings.ToLower(strings.TrimSpace(s))
	if hex, found := strings.CutPrefix(s, "#"); found {
		if len(hex) == 3 || len(hex) == 4 {
			var long strings.Builder
			for _, r := range hex {
				long.WriteRune(r)
				long.WriteRune(r)
			}
			hex = long.String()
		}
		n, err := strconv.ParseUint(hex, 16, 32)
		switch {
		case err != nil:
			return c, false
		case len(hex) == 6:
			return color.NRGBA{byte(n >> 16), byte(n >> 8), byte(n), 255}, true
		case len(hex) == 8:
			return color.NRGBA{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}, true
		}
		return c, false
	}
	if name, rest, found := strings.Cut(s, "("); found && strings.HasSuffix(rest, ")") {
		return colorFunction(name, strings.TrimSuffix(rest, ")"))
	}
	c, ok = named[s]
	return c, ok
}

var named = map[string]color.NRGBA{
	"transparent": {}, "black": {0, 0, 0, 255}, "white": {255, 255, 255, 255}, "red": {255, 0, 0, 255},
	"green": {0, 128, 0, 255}, "blue": {0, 0, 255, 255}, "yellow": {255, 255, 0, 255}, "orange": {255, 165, 0, 255},
	"purple": {128, 0, 128, 255}, "brown": {165, 42, 42, 255}, "pink": {255, 192, 203, 255},
	"gray": {128, 128, 128, 255}, "grey": {128, 128, 128, 255}, "silver": {192, 192, 192, 255},
	"lightgray": {211, 211, 211, 255}, "lightgrey": {211, 211, 211, 255}, "darkgray": {169, 169, 169, 255},
	"darkgrey": {169, 169, 169, 255}, "navy": {0, 0, 128, 255}, "teal": {0, 128, 128, 255},
	"lime": {0, 255, 0, 255}, "aqua": {0, 255, 255, 255}, "cyan": {0, 255, 255, 255},
	"magenta": {255, 0, 255, 255}, "fuchsia": {255, 0, 255, 255}, "maroon": {128, 0, 0, 255},
	"olive": {128, 128, 0, 255}, "beige": {245, 245, 220, 255}, "ivory": {255, 255, 240, 255},
	"steelblue": {70, 130, 180, 255}, "lightblue": {173, 216, 230, 255}, "darkgreen": {0, 100, 0, 255},
	"lightgreen": {144, 238, 144, 255}, "gold": {255, 215, 0, 255}, "tomato": {255, 99, 71, 255},
}

func colorFunction(name, rest string) (c color.NRGBA, ok bool) {
	parts := strings.FieldsFunc(rest, func(r rune) bool { return r == ',' || r == ' ' || r == '/' })
	if len(parts) != 3 && len(parts) != 4 {
		return c, false
	}
	var v [4]float64
	v[3] = 1
	for i, p := range parts {
		whole, percent := strings.CutSuffix(strings.TrimSuffix(p, "deg"), "%")
		n, err := strconv.ParseFloat(whole, 64)
		if err != nil || math.IsNaN(n) {
			return c, false
		}
		if percent {
			n /= 100
			if i < 3 && strings.HasPrefix(name, "rgb") {
				n *= 255
			}
		}
		v[i] = n
	}
	switch name {
	case "rgb", "rgba":
		return rgba(v[0], v[1], v[2], v[3]), true
	case "hsl", "hsla":
		return hsla(v[0], v[1], v[2], v[3]), true
	}
	return c, false
}

func rgba(r, g, b, a float64) color.NRGBA {
	of := func(v float64) byte { return byte(math.Round(min(max(v, 0), 255))) }
	return color.NRGBA{of(r), of(g), of(b), of(a * 255)}
}

// hsla is a colour by its hue in degrees, and saturation, lightness and alpha from 0 to 1.
func hsla(h, s, l, a float64) color.NRGBA {
	f := func(n float64) float64 {
		k := math.Mod(n+h/30+12, 12)
		return 255 * (l - s*min(l, 1-l)*max(-1, min(k-3, 9-k, 1)))
	}
	return rgba(f(0), f(8), f(4), a)
}

// mix is a value between two, which are numbers, colours or arrays of numbers.
func mix(a, b any, t float64) any {
	switch x := number(a).(type) {
	case float64:
		if y, ok := number(b).(float64); ok {
			return x + t*(y-x)
		}
	case []any:
		y, ok := b.([]any)
		if !ok || len(x) != len(y) {
			break
		}
		out := make([]any, len(x))
		for i := range x {
			out[i] = mix(x[i], y[i], t)
		}
		return out
	default:
		c, ok := asColor(a)
		d, also := asColor(b)
		if !ok || !also {
			break
		}
		return mixColors(c, d, t)
	}
	return a
}

// mixColors mixes as MapLibre does, with the alpha multiplied.
func mixColors(c, d color.NRGBA, t float64) color.NRGBA {
	ca, da := float64(c.A), float64(d.A)
	a := ca + t*(da-ca)
	if a == 0 {
		return color.NRGBA{}
	}
	of := func(x, y byte) float64 { return (float64(x)*ca + t*(float64(y)*da-float64(x)*ca)) / a }
	return rgba(of(c.R, d.R), of(c.G, d.G), of(c.B, d.B), a/255)
}

func asColor(v any) (color.NRGBA, bool) {
	switch v := v.(type) {
	case color.NRGBA:
		return v, true
	case string:
		return Color(v)
	}
	return color.NRGBA{}, false
}

// member reports whether a value is in an array or a text in a text.
func member(v, in any) bool {
	switch in := in.(type) {
	case []any:
		return slices.ContainsFunc(in, func(x any) bool { return equal(v, x) })
	case string:
		return strings.Contains(in, text(v))
	}
	return false
}
