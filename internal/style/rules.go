package style

import (
	"image/color"
	"math"
)

// Rules is a layer with its values parsed, for evaluation at a zoom and for a feature. It is immutable.
type Rules struct {
	*Layer
	filter Expr
	props  map[string]property
	values map[string]Expr
}

// Rules returns the layers that a renderer draws, in their order: those of the types that Rules evaluates whose
// visibility is not none. s passes Check.
func (s *Style) Rules() ([]*Rules, error) {
	var list []*Rules
	for i := range s.Layers {
		l := &s.Layers[i]
		props, ok := drawn[l.Type]
		if !ok || l.Layout["visibility"] == "none" {
			continue
		}
		r := &Rules{Layer: l, props: props, values: map[string]Expr{}}
		var err error
		if l.Filter != nil {
			if r.filter, err = parseFilter(l.Filter); err != nil {
				return nil, err
			}
		}
		for _, of := range []Values{l.Layout, l.Paint} {
			for name, v := range of {
				p, ok := props[name]
				if !ok {
					continue
				}
				if r.values[name], err = p.parse(v); err != nil {
					return nil, err
				}
			}
		}
		list = append(list, r)
	}
	return list, nil
}

// Fixed returns the layer for drawing at one zoom. It evaluates values that are equal for all features once.
func (r *Rules) Fixed(zoom float64) *Rules {
	fixed := *r
	fixed.values = make(map[string]Expr, len(r.values))
	for name, e := range r.values {
		if !e.feature {
			e = constant(e.Eval(zoom, nil))
		}
		fixed.values[name] = e
	}
	return &fixed
}

// At reports whether the layer is shown at a zoom.
func (r *Rules) At(zoom float64) bool {
	return zoom >= r.MinZoom && (r.MaxZoom == 0 || zoom < r.MaxZoom)
}

// Shows reports whether the filter chooses a feature.
func (r *Rules) Shows(zoom float64, f *Feature) bool {
	return r.Filter == nil || !r.filter.unknown && truth(r.filter.Eval(zoom, f))
}

// PerFeature reports whether a property may have another value for each feature.
func (r *Rules) PerFeature(name string) bool { return r.values[name].feature }

// Has reports whether the style sets a property.
func (r *Rules) Has(name string) bool { _, ok := r.values[name]; return ok }

// value is the value of a property, or its default.
func (r *Rules) value(name string, zoom float64, f *Feature) any {
	if v := r.values[name].Eval(zoom, f); v != nil {
		return v
	}
	return r.props[name].value
}

// Number returns the value of a number; NaN if there is none.
func (r *Rules) Number(name string, zoom float64, f *Feature) float64 {
	v := float(r.value(name, zoom, f))
	if math.IsNaN(v) {
		v = float(r.props[name].value)
	}
	return v
}

// Color returns the value of a colour; transparent if there is none.
func (r *Rules) Color(name string, zoom float64, f *Feature) color.NRGBA {
	if c, ok := asColor(r.value(name, zoom, f)); ok {
		return c
	}
	c, _ := asColor(r.props[name].value)
	return c
}

// Text returns the value of a text or an enum; "" if there is none.
func (r *Rules) Text(name string, zoom float64, f *Feature) string {
	return text(r.value(name, zoom, f))
}

// Bool returns the value of a boolean.
func (r *Rules) Bool(name string, zoom float64, f *Feature) bool {
	return truth(r.value(name, zoom, f))
}

// Numbers returns the value of an array of numbers; nil if there is none.
func (r *Rules) Numbers(name string, zoom float64, f *Feature) (list []float64) {
	array, _ := r.value(name, zoom, f).([]any)
	for _, v := range array {
		list = append(list, float(v))
	}
	return list
}

// Texts returns the value of an array of texts; nil if there is none.
func (r *Rules) Texts(name string, zoom float64, f *Feature) (list []string) {
	array, _ := r.value(name, zoom, f).([]any)
	for _, v := range array {
		list = append(list, text(v))
	}
	return list
}
