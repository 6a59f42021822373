package style

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// operators lists the expressions that are evaluated, with the least and the most arguments; most -1: any number.
var operators = map[string]struct {
	least, most int
	eval        func(args []any, zoom float64, f *Feature) any // of the values of the arguments
	feature     bool
}{
	"literal":       {1, 1, nil, false},
	"zoom":          {0, 0, func(_ []any, zoom float64, _ *Feature) any { return zoom }, false},
	"get":           {1, 2, func(a []any, _ float64, f *Feature) any { return getOf(a, f) }, true},
	"has":           {1, 2, func(a []any, _ float64, f *Feature) any { return getOf(a, f) != nil }, true},
	"id":            {0, 0, func(_ []any, _ float64, f *Feature) any { return number(f.ID) }, true},
	"geometry-type": {0, 0, func(_ []any, _ float64, f *Feature) any { return f.Kind }, true},
	"feature-state": {1, 1, func(a []any, _ float64, f *Feature) any { return number(f.State[text(a[0])]) }, true},
	"==":            {2, 3, func(a []any, _ float64, _ *Feature) any { return equal(a[0], a[1]) }, false},
	"!=":            {2, 3, func(a []any, _ float64, _ *Feature) any { return !equal(a[0], a[1]) }, false},
	"<":             {2, 3, ordered(func(c int) bool { return c < 0 }), false},
	"<=":            {2, 3, ordered(func(c int) bool { return c <= 0 }), false},
	">":             {2, 3, ordered(func(c int) bool { return c > 0 }), false},
	">=":            {2, 3, ordered(func(c int) bool { return c >= 0 }), false},
	"!":             {1, 1, func(a []any, _ float64, _ *Feature) any { return !truth(a[0]) }, false},
	"all":           {0, -1, func(a []any, _ float64, _ *Feature) any { return all(a) }, false},
	"any":           {0, -1, func(a []any, _ float64, _ *Feature) any { return slices.ContainsFunc(a, truth) }, false},
	"in":            {2, 2, func(a []any, _ float64, _ *Feature) any { return member(a[0], a[1]) }, false},
	"case":          {3, -1, evalCase, false},
	"coalesce":      {1, -1, evalCoalesce, false},
	"concat":        {1, -1, evalConcat, false},
	"to-string":     {1, 1, func(a []any, _ float64, _ *Feature) any { return text(a[0]) }, false},
	"string":        {1, -1, evalString, false},
	"to-number":     {1, -1, evalNumber, false},
	"number":        {1, -1, evalNumber, false},
	"boolean":       {1, -1, func(a []any, _ float64, _ *Feature) any { return truth(a[0]) }, false},
	"to-boolean":    {1, 1, func(a []any, _ float64, _ *Feature) any { return toBool(a[0]) }, false},
	"to-color":      {1, -1, evalCoalesce, false},
	"upcase":        {1, 1, func(a []any, _ float64, _ *Feature) any { return strings.ToUpper(text(a[0])) }, false},
	"downcase":      {1, 1, func(a []any, _ float64, _ *Feature) any { return strings.ToLower(text(a[0])) }, false},
	"length":        {1, 1, evalLength, false},
	"index-of":      {2, 3, evalIndexOf, false},
	"slice":         {2, 3, evalSlice, false},
	"at":            {2, 2, evalAt, false},
	"format":        {1, -1, func(a []any, _ float64, _ *Feature) any { return formatted(a) }, false},
	"+":             {1, -1, fold(func(x, y float64) float64 { return x + y }), false},
	"*":             {1, -1, fold(func(x, y float64) float64 { return x * y }), false},
	"-":             {1, 2, evalMinus, false},
	"/":             {2, 2, fold(func(x, y float64) float64 { return x / y }), false},
	"%":             {2, 2, fold(math.Mod), false},
	"^":             {2, 2, fold(math.Pow), false},
	"min":           {1, -1, fold(math.Min), false},
	"max":           {1, -1, fold(math.Max), false},
	"sqrt":          {1, 1, single(math.Sqrt), false},
	"abs":           {1, 1, single(math.Abs), false},
	"ceil":          {1, 1, single(math.Ceil), false},
	"floor":         {1, 1, single(math.Floor), false},
	"round":         {1, 1, single(math.Round), false},
	"log2":          {1, 1, single(math.Log2), false},
	"ln":            {1, 1, single(math.Log), false},
	"log10":         {1, 1, single(math.Log10), false},
	"rgb":           {3, 3, evalRGB, false},
	"rgba":          {4, 4, evalRGB, false},
	"step":          {2, -1, nil, false},
	"match":         {3, -1, nil, false},
	"interpolate":   {4, -1, nil, false},
}

// others are expressions of the specification that are not evaluated.
var others = []string{"accumulated", "acos", "array", "asin", "atan", "collator", "cos", "distance", "e", "elevation",
	"global-state", "heatmap-density", "image", "interpolate-hcl", "interpolate-lab", "is-supported-script", "let",
	"line-progress", "ln2", "number-format", "object", "pi", "properties", "resolved-locale", "sin", "split", "join",
	"tan", "to-rgba", "typeof", "var", "within"}

// Parse reads a value: a literal, an expression, or a function with stops of older styles.
func Parse(v any) (Expr, error) {
	switch v := v.(type) {
	case []any:
		if len(v) > 0 {
			if op, ok := v[0].(string); ok {
				return parseCall(op, v[1:])
			}
		}
		return constant(v), nil
	case map[string]any:
		return parseStops(v)
	}
	return constant(number(v)), nil
}

func parseCall(op string, args []any) (Expr, error) {
	is, ok := operators[op]
	if !ok {
		if slices.Contains(others, op) {
			return Expr{unknown: true, feature: true, zoom: true}, nil
		}
		return Expr{}, fmt.Errorf("%q is no expression", op)
	}
	if len(args) < is.least || is.most >= 0 && len(args) > is.most {
		return Expr{}, fmt.Errorf("%q has %d arguments, which are too many or too few", op, len(args))
	}
	switch op {
	case "literal":
		return constant(args[0]), nil
	case "interpolate":
		return parseInterpolate(args)
	case "step":
		return parseStep(args)
	case "match":
		return parseMatch(args)
	}
	e, list, err := parseAll(args)
	e.feature, e.zoom = e.feature || is.feature, e.zoom || op == "zoom"
	e.eval = func(zoom float64, f *Feature) any {
		values := make([]any, len(list))
		for i := range list {
			values[i] = list[i].Eval(zoom, f)
		}
		return is.eval(values, zoom, f)
	}
	return e, err
}

// parseAll parses arguments. e has the dependencies of all of them.
func parseAll(args []any) (e Expr, list []Expr, err error) {
	list = make([]Expr, len(args))
	for i, a := range args {
		if m, ok := a.(map[string]any); ok { // options of format and collator
			list[i] = constant(m)
			continue
		}
		if list[i], err = Parse(a); err != nil {
			return e, nil, err
		}
		e.join(list[i])
	}
	return e, list, nil
}

func (e *Expr) join(x Expr) {
	e.feature, e.zoom, e.unknown = e.feature || x.feature, e.zoom || x.zoom, e.unknown || x.unknown
}

// stops are rising inputs with outputs.
type stops struct {
	at  []float64
	out []Expr
}

func (s *stops) add(at, out any) error {
	n, ok := number(at).(float64)
	if !ok || len(s.at) > 0 && n <= s.at[len(s.at)-1] {
		return fmt.Errorf("stops are rising numbers, and %v is none", at)
	}
	e, err := Parse(out)
	s.at, s.out = append(s.at, n), append(s.out, e)
	return err
}

// below is the number of stops at or before a number.
func (s *stops) below(v float64) int {
	i, _ := slices.BinarySearch(s.at, math.Nextafter(v, math.Inf(1)))
	return i
}

func parseInterpolate(args []any) (Expr, error) {
	base := 1.0
	kind, ok := args[0].([]any)
	if !ok || len(kind) == 0 {
		return Expr{}, fmt.Errorf(`the first argument of "interpolate" is as ["linear"]`)
	}
	switch {
	case kind[0] == "linear":
	case kind[0] == "exponential" && len(kind) == 2:
		base = float(kind[1])
	case kind[0] == "cubic-bezier" && len(kind) == 5: // drawn as linear
	default:
		return Expr{}, fmt.Errorf(`"interpolate" knows linear, exponential and cubic-bezier, not %v`, kind[0])
	}
	if len(args)%2 != 0 {
		return Expr{}, fmt.Errorf(`"interpolate" has pairs of inputs and outputs`)
	}
	e, err := Parse(args[1])
	if err != nil {
		return e, err
	}
	input := e
	var s stops
	for i := 2; i < len(args); i += 2 {
		if err := s.add(args[i], args[i+1]); err != nil {
			return e, err
		}
		e.join(s.out[len(s.out)-1])
	}
	e.eval = s.interpolated(input, base)
	return e, nil
}

func (s *stops) interpolated(input Expr, base float64) func(float64, *Feature) any {
	return func(zoom float64, f *Feature) any {
		v := float(input.Eval(zoom, f))
		i := s.below(v)
		switch {
		case math.IsNaN(v):
			return nil
		case i == 0:
			return s.out[0].Eval(zoom, f)
		case i == len(s.at):
			return s.out[i-1].Eval(zoom, f)
		}
		t := (v - s.at[i-1]) / (s.at[i] - s.at[i-1])
		if base != 1 {
			t = (math.Pow(base, v-s.at[i-1]) - 1) / (math.Pow(base, s.at[i]-s.at[i-1]) - 1)
		}
		return mix(s.out[i-1].Eval(zoom, f), s.out[i].Eval(zoom, f), t)
	}
}

func parseStep(args []any) (Expr, error) {
	if len(args)%2 != 0 {
		return Expr{}, fmt.Errorf(`"step" has an input, an output, and pairs of stops and outputs`)
	}
	e, list, err := parseAll(args[:2])
	if err != nil {
		return e, err
	}
	var s stops
	for i := 2; i < len(args); i += 2 {
		if err := s.add(args[i], args[i+1]); err != nil {
			return e, err
		}
		e.join(s.out[len(s.out)-1])
	}
	e.eval = func(zoom float64, f *Feature) any {
		if i := s.below(float(list[0].Eval(zoom, f))); i > 0 {
			return s.out[i-1].Eval(zoom, f)
		}
		return list[1].Eval(zoom, f)
	}
	return e, nil
}

func parseMatch(args []any) (Expr, error) {
	if len(args)%2 != 0 {
		return Expr{}, fmt.Errorf(`"match" has an input, pairs of labels and outputs, and an output for all others`)
	}
	e, err := Parse(args[0])
	if err != nil {
		return e, err
	}
	input := e
	otherwise, err := Parse(args[len(args)-1])
	if err != nil {
		return e, err
	}
	e.join(otherwise)
	var outs []Expr
	for i := 2; i < len(args); i += 2 {
		out, err := Parse(args[i])
		if err != nil {
			return e, err
		}
		e.join(out)
		outs = append(outs, out)
	}
	e.eval = func(zoom float64, f *Feature) any {
		v := input.Eval(zoom, f)
		for i, out := range outs {
			label := args[2*i+1]
			if list, ok := label.([]any); ok && member(v, list) || !ok && equal(v, label) {
				return out.Eval(zoom, f)
			}
		}
		return otherwise.Eval(zoom, f)
	}
	return e, nil
}

// parseStops reads a function of zoom or of a property, as styles had before expressions.
func parseStops(m map[string]any) (Expr, error) {
	list, ok := m["stops"].([]any)
	if !ok {
		return Expr{}, fmt.Errorf("a value that is an object has stops; write an expression instead")
	}
	e, base, text := Expr{zoom: true}, 1.0, false
	input := Expr{eval: func(zoom float64, _ *Feature) any { return zoom }}
	if name, ok := m["property"].(string); ok {
		e = Expr{feature: true}
		input = Expr{eval: func(_ float64, f *Feature) any { return f.get(name) }}
	}
	if b, ok := m["base"].(float64); ok {
		base = b
	}
	var s stops
	for _, x := range list {
		pair, ok := x.([]any)
		if !ok || len(pair) != 2 {
			return e, fmt.Errorf("a stop is a pair of an input and an output")
		}
		if err := s.add(pair[0], pair[1]); err != nil {
			return e, err
		}
		word, ok := pair[1].(string)
		_, isColor := Color(word)
		text = text || ok && !isColor
	}
	if len(s.at) == 0 {
		return e, fmt.Errorf("there are no stops")
	}
	between := s.interpolated(input, base)
	e.eval = func(zoom float64, f *Feature) any {
		if text {
			return s.out[max(0, s.below(float(input.Eval(zoom, f)))-1)].Eval(zoom, f)
		}
		return between(zoom, f)
	}
	return e, nil
}

func getOf(a []any, f *Feature) any {
	if len(a) == 2 {
		m, _ := a[1].(map[string]any)
		return number(m[text(a[0])])
	}
	return f.get(text(a[0]))
}

func all(list []any) bool { return !slices.ContainsFunc(list, func(v any) bool { return !truth(v) }) }

// ordered compares two numbers or two texts; other values have no order.
func ordered(holds func(int) bool) func([]any, float64, *Feature) any {
	return func(a []any, _ float64, _ *Feature) any {
		switch x := number(a[0]).(type) {
		case float64:
			y, ok := number(a[1]).(float64)
			return ok && holds(cmp.Compare(x, y))
		case string:
			y, ok := a[1].(string)
			return ok && holds(strings.Compare(x, y))
		}
		return false
	}
}

func evalCase(a []any, _ float64, _ *Feature) any {
	for i := 0; i+1 < len(a); i += 2 {
		if truth(a[i]) {
			return a[i+1]
		}
	}
	return a[len(a)-1]
}

func evalCoalesce(a []any, _ float64, _ *Feature) any {
	for _, v := range a {
		if v != nil {
			return v
		}
	}
	return nil
}

func evalConcat(a []any, _ float64, _ *Feature) any {
	var b strings.Builder
	for _, v := range a {
		b.WriteString(text(v))
	}
	return b.String()
}

// formatted returns the text of sections without their options.
func formatted(a []any) string {
	var b strings.Builder
	for _, v := range a {
		if _, options := v.(map[string]any); !options {
			b.WriteString(text(v))
		}
	}
	return b.String()
}

func evalString(a []any, _ float64, _ *Feature) any {
	for _, v := range a {
		if s, ok := v.(string); ok {
			return s
		}
	}
	return nil
}

func evalNumber(a []any, _ float64, _ *Feature) any {
	for _, v := range a {
		switch v := number(v).(type) {
		case float64:
			return v
		case bool:
			if v {
				return 1.0
			}
			return 0.0
		case string:
			var n float64
			if _, err := fmt.Sscan(v, &n); err == nil {
				return n
			}
		}
	}
	return nil
}

func toBool(v any) any {
	switch v := number(v).(type) {
	case bool:
		return v
	case string:
		return v != ""
	case float64:
		return v != 0 && !math.IsNaN(v)
	}
	return v != nil
}

func evalLength(a []any, _ float64, _ *Feature) any {
	switch v := a[0].(type) {
	case string:
		return float64(utf8.RuneCountInString(v))
	case []any:
		return float64(len(v))
	}
	return nil
}

func evalIndexOf(a []any, _ float64, _ *Feature) any {
	from := 0
	if len(a) == 3 {
		from = int(float(a[2]))
	}
	switch in := a[1].(type) {
	case string:
		r := []rune(in)
		from = min(max(from, 0), len(r))
		if i := strings.Index(string(r[from:]), text(a[0])); i >= 0 {
			return float64(from + utf8.RuneCountInString(string(r[from:])[:i]))
		}
	case []any:
		for i := max(from, 0); i < len(in); i++ {
			if equal(in[i], a[0]) {
				return float64(i)
			}
		}
	}
	return -1.0
}

func evalSlice(a []any, _ float64, _ *Feature) any {
	within := func(v any, n int) int {
		i := int(float(v))
		if i < 0 {
			i += n
		}
		return min(max(i, 0), n)
	}
	s, ok := a[0].(string)
	if !ok {
		return nil
	}
	r := []rune(s)
	from, to := within(a[1], len(r)), len(r)
	if len(a) == 3 {
		to = within(a[2], len(r))
	}
	return string(r[from:max(from, to)])
}

func evalAt(a []any, _ float64, _ *Feature) any {
	list, ok := a[1].([]any)
	if i := int(float(a[0])); ok && i >= 0 && i < len(list) {
		return number(list[i])
	}
	return nil
}

func evalMinus(a []any, _ float64, _ *Feature) any {
	if len(a) == 1 {
		return -float(a[0])
	}
	return float(a[0]) - float(a[1])
}

func evalRGB(a []any, _ float64, _ *Feature) any {
	alpha := 1.0
	if len(a) == 4 {
		alpha = float(a[3])
	}
	return rgba(float(a[0]), float(a[1]), float(a[2]), alpha)
}

func fold(fn func(x, y float64) float64) func([]any, float64, *Feature) any {
	return func(a []any, _ float64, _ *Feature) any {
		v := float(a[0])
		for _, x := range a[1:] {
			v = fn(v, float(x))
		}
		return v
	}
}

func single(fn func(float64) float64) func([]any, float64, *Feature) any {
	return func(a []any, _ float64, _ *Feature) any { return fn(float(a[0])) }
}
