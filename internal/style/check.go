package style

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Check reports everything that keeps a map library from showing the style, each fault with the id of its layer.
func (s *Style) Check() error {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf("style: "+format, args...)) }
	if s.Version != 8 {
		fault("its version is %d. Write \"version\": 8", s.Version)
	}
	if len(s.Layers) == 0 {
		fault("it has no layers. List them in \"layers\"")
	}
	seen := map[string]bool{}
	for i := range s.Layers {
		l := &s.Layers[i]
		switch {
		case l.ID == "":
			fault("layer %d has no id", i+1)
		case seen[l.ID]:
			fault("two layers have the id %q. Rename one", l.ID)
		}
		seen[l.ID] = true
		for _, err := range s.layerFaults(l) {
			fault("layer %q: %w", l.ID, err)
		}
	}
	return errors.Join(faults...)
}

func (s *Style) layerFaults(l *Layer) (faults []error) {
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	props, ok := drawn[l.Type]
	if !ok && !slices.Contains(undrawn, l.Type) {
		fault("there is no type %q; use one of background, circle, fill, line, symbol, %s", l.Type,
			strings.Join(undrawn, ", "))
		return faults
	}
	source, found := s.Sources[l.Source]
	switch {
	case l.Type == "background" || l.Type == "sky":
	case !found:
		fault("there is no source %q; \"sources\" has %s", l.Source, names(s.Sources))
	case source["type"] == "vector" && l.SourceLayer == "":
		fault("a layer of vector tiles names a source-layer, as the id of a collection")
	}
	if l.MaxZoom != 0 && l.MaxZoom <= l.MinZoom || l.MinZoom < 0 || l.MaxZoom > 24 {
		fault("zooms are from 0 to 24, and minzoom is below maxzoom")
	}
	if l.Filter != nil {
		if _, err := parseFilter(l.Filter); err != nil {
			fault("filter: %w", err)
		}
	}
	if !ok {
		return faults
	}
	for _, of := range []struct {
		values Values
		layout bool
		name   string
	}{{l.Layout, true, "layout"}, {l.Paint, false, "paint"}} {
		for _, name := range sortedKeys(of.values) {
			p, ok := props[strings.TrimSuffix(name, "-transition")]
			if !ok || p.layout != of.layout {
				fault("%s has no property %q in a layer of type %s", of.name, name, l.Type)
				continue
			}
			if strings.HasSuffix(name, "-transition") {
				continue
			}
			if err := p.check(of.values[name]); err != nil {
				fault("%s: %w", name, err)
			}
		}
	}
	return faults
}

// check reports a value that the property cannot have. Results of expressions are not looked at.
func (p *property) check(v any) error {
	e, err := p.parse(v)
	if err != nil || e.feature || e.zoom || e.unknown || p.kind == isAny || v == nil {
		return err
	}
	if list, ok := v.([]any); ok && isCall(list) {
		return nil
	}
	if p.is(e.Eval(0, nil)) {
		return nil
	}
	want := [...]string{"a number", "a colour, as #a0b1c2", "true or false", "a text",
		"one of" + strings.TrimSuffix(p.words, " "), "an array of numbers", "an array of texts", ""}[p.kind]
	return fmt.Errorf("%v is not %s", v, want)
}

func (p *property) is(v any) bool {
	switch v := v.(type) {
	case float64:
		return p.kind == isNumber
	case bool:
		return p.kind == isBool
	case string:
		_, isAColor := Color(v)
		return p.kind == isText || p.kind == isColor && isAColor ||
			p.kind == isEnum && strings.Contains(p.words, " "+v+" ")
	case []any:
		ok := func(x any) bool {
			_, isNum := number(x).(float64)
			_, isWord := x.(string)
			return p.kind == isNumbers && isNum || p.kind == isTexts && isWord
		}
		return !slices.ContainsFunc(v, func(x any) bool { return !ok(x) })
	}
	return false
}

// parse parses a value of the property. Arrays of texts are literals unless they call an operator, and texts may have
// {names} of properties in them.
func (p *property) parse(v any) (Expr, error) {
	switch v := v.(type) {
	case []any:
		if !isCall(v) && (p.kind == isTexts || p.kind == isNumbers) {
			return constant(v), nil
		}
	case string:
		if p.kind == isText && strings.Contains(v, "{") {
			return tokens(v), nil
		}
	}
	return Parse(v)
}

// isCall reports whether an array is an expression of the specification.
func isCall(list []any) bool {
	if len(list) == 0 {
		return false
	}
	op, _ := list[0].(string)
	_, ok := operators[op]
	return ok || slices.Contains(others, op)
}

// tokens is a text with names of properties in braces.
func tokens(s string) Expr {
	return Expr{feature: true, eval: func(_ float64, f *Feature) any {
		var b strings.Builder
		for rest := s; rest != ""; {
			before, after, found := strings.Cut(rest, "{")
			b.WriteString(before)
			name, next, closed := strings.Cut(after, "}")
			if found && closed {
				b.WriteString(text(f.get(name)))
			}
			rest = next
		}
		return b.String()
	}}
}

// parseFilter parses a filter, also one of older styles, in which names of properties stand without get.
func parseFilter(v any) (Expr, error) {
	list, ok := v.([]any)
	if !ok {
		return Parse(v)
	}
	if len(list) == 0 {
		return Expr{}, errors.New("it is empty")
	}
	if !isOldFilter(list) {
		return Parse(v)
	}
	e, err := oldFilter(list)
	if err != nil {
		return Expr{}, err
	}
	return Parse(e)
}

// isOldFilter reports whether a filter is of the form before expressions.
func isOldFilter(list []any) bool {
	op, _ := list[0].(string)
	switch op {
	case "none", "!in", "!has":
		return true
	case "==", "!=", "<", "<=", ">", ">=":
		_, plain := list[min(1, len(list)-1)].(string)
		return len(list) == 3 && plain && !isList(list[2])
	case "in":
		_, plain := list[min(1, len(list)-1)].(string)
		return plain && (len(list) != 3 || !isList(list[2]))
	case "all", "any":
		return slices.ContainsFunc(list[1:], func(x any) bool {
			inner, ok := x.([]any)
			return ok && len(inner) > 0 && isOldFilter(inner)
		})
	}
	return false
}

func isList(v any) bool { _, ok := v.([]any); return ok }

// oldFilter writes a filter of the old form as an expression.
func oldFilter(list []any) (any, error) {
	op, _ := list[0].(string)
	prop := func() any {
		switch name := list[1].(string); name {
		case "$type":
			return []any{"geometry-type"}
		case "$id":
			return []any{"id"}
		default:
			return []any{"get", name}
		}
	}
	switch op {
	case "none":
		e, err := oldFilter(append([]any{"any"}, list[1:]...))
		return []any{"!", e}, err
	case "all", "any":
		out := []any{op}
		for _, x := range list[1:] {
			inner, ok := x.([]any)
			if !ok || len(inner) == 0 {
				return nil, fmt.Errorf("%q joins filters", op)
			}
			if !isOldFilter(inner) {
				out = append(out, x)
				continue
			}
			e, err := oldFilter(inner)
			if err != nil {
				return nil, err
			}
			out = append(out, e)
		}
		return out, nil
	}
	if len(list) < 2 || !isString(list[1]) {
		return nil, fmt.Errorf("%q is followed by the name of a property", op)
	}
	switch op {
	case "in":
		return []any{"in", prop(), []any{"literal", list[2:]}}, nil
	case "!in":
		return []any{"!", []any{"in", prop(), []any{"literal", list[2:]}}}, nil
	case "!has":
		return []any{"!", []any{"has", list[1]}}, nil
	}
	return []any{op, prop(), list[2]}, nil
}

func isString(v any) bool { _, ok := v.(string); return ok }

func names(m map[string]Source) string {
	if len(m) == 0 {
		return "none"
	}
	return strings.Join(sortedKeys(m), ", ")
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
