package config

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// decoder fills a Config from a YAML syntax tree. It continues after a fault, to report all of them.
type decoder struct {
	name   string           // of the file, for error messages
	where  map[string]place // where each setting was set, by path
	faults Faults
}

// place is a line of the file, or the name of a variable or flag.
type place struct {
	name string
	line int
}

// maxNesting bounds the nesting of brackets. No setting needs more than 5.
const maxNesting = 100

// file decodes the YAML document b into c.
func (d *decoder) file(c *Config, name string, b []byte) {
	d.name = name
	if line := nestedTooDeep(b); line > 0 {
		d.faults = append(d.faults,
			Fault{Where: d.name, Line: line, Cure: fmt.Sprintf("brackets nest deeper than %d levels", maxNesting)})
		return
	}
	f, err := parser.ParseBytes(b, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		d.syntax(err)
		return
	}
	docs := 0
	for _, doc := range f.Docs {
		if doc.Body == nil || doc.Body.Type() == ast.NullType || doc.Body.Type() == ast.CommentType {
			continue
		}
		if docs++; docs > 1 {
			d.fault(doc.Body, "", "a second document; write one document without \"---\"")
			return
		}
		d.node("", reflect.ValueOf(c).Elem(), doc.Body)
	}
}

func (d *decoder) syntax(err error) {
	f := Fault{Where: d.name, Cure: "not YAML: " + err.Error()}
	if ye := yaml.Error(nil); errors.As(err, &ye) {
		f.Cure = "not YAML: " + ye.GetMessage()
		if t := ye.GetToken(); t != nil && t.Position != nil {
			f.Line = t.Position.Line
		}
	}
	d.faults = append(d.faults, f)
}

// nestedTooDeep returns the first line on which brackets nest deeper than maxNesting, or 0. It also counts brackets in
// quotes. The YAML parser recurses; this check prevents a stack overflow.
func nestedTooDeep(b []byte) int {
	depth, line := 0, 1
	for _, c := range b {
		switch c {
		case '\n':
			line++
		case '[', '{':
			depth++
		case ']', '}':
			depth = max(depth-1, 0)
		}
		if depth > maxNesting {
			return line
		}
	}
	return 0
}

// line returns the line on which a node begins; for a mapping, the line of its first key.
func line(n ast.Node) int {
	var t *token.Token
	switch n := n.(type) {
	case *ast.MappingNode:
		if len(n.Values) > 0 {
			return line(n.Values[0])
		}
		t = n.Start
	case *ast.MappingValueNode:
		t = n.Key.GetToken()
	case *ast.SequenceNode:
		t = n.Start
	default:
		t = n.GetToken()
	}
	if t == nil || t.Position == nil {
		return 1
	}
	return t.Position.Line
}

func (d *decoder) fault(n ast.Node, path, format string, a ...any) {
	d.faults = append(d.faults, Fault{d.name, line(n), path, fmt.Sprintf(format, a...)})
}

// known reports whether a fault of the same setting at the same place has been found already.
func (d *decoder) known(f Fault) bool {
	return slices.ContainsFunc(d.faults,
		func(g Fault) bool { return g.Setting == f.Setting && g.Where == f.Where && g.Line == f.Line })
}

// origin returns where a setting was set; if it was not, where the nearest enclosing setting was.
func (d *decoder) origin(path string) place {
	for {
		if w, ok := d.where[path]; ok || path == "" {
			return w
		}
		path = path[:max(strings.LastIndexByte(path, '.'), 0)]
	}
}

// node decodes n into v, the setting at path. Its recursion is bounded by the type of v.
func (d *decoder) node(path string, v reflect.Value, n ast.Node) {
	switch n := n.(type) {
	case nil:
		return
	case *ast.NullNode:
		d.fault(n, path, "has no value; give it one or remove the key")
	case *ast.AnchorNode, *ast.AliasNode, *ast.TagNode, *ast.MergeKeyNode, *ast.DirectiveNode:
		d.fault(n, path, "anchors, aliases and tags are not read; write the value")
	case *ast.MappingNode:
		d.mapping(path, v, n, n.Values)
	case *ast.MappingValueNode:
		d.mapping(path, v, n, []*ast.MappingValueNode{n})
	case *ast.SequenceNode:
		d.sequence(path, v, n)
	default:
		text, ok := scalar(n)
		if !ok || !isText(v) {
			d.fault(n, path, "must be %s", expected(v))
			return
		}
		if err := setText(v, text); err != nil {
			d.fault(n, path, "%s", err)
		}
	}
}

// mapping decodes the entries of n into a struct or a map.
func (d *decoder) mapping(path string, v reflect.Value, n ast.Node, entries []*ast.MappingValueNode) {
	if v.Kind() != reflect.Map && (v.Kind() != reflect.Struct || isText(v)) {
		d.fault(n, path, "must be %s", expected(v))
		return
	}
	seen := map[string]bool{}
	for _, e := range entries {
		key, ok := scalar(e.Key)
		if !ok || key == "" {
			d.fault(e, path, "a key must be a plain word")
			continue
		}
		sub := join(path, key)
		if seen[key] {
			d.fault(e, sub, "given twice; keep one")
			continue
		}
		seen[key] = true
		d.where[sub] = place{d.name, line(e)}
		if v.Kind() == reflect.Struct {
			d.field(sub, key, v, e)
			continue
		}
		elem := reflect.New(v.Type().Elem()).Elem()
		d.node(sub, elem, e.Value)
		if v.IsNil() {
			v.Set(reflect.MakeMap(v.Type()))
		}
		v.SetMapIndex(reflect.ValueOf(key), elem)
	}
}

func (d *decoder) field(path, key string, v reflect.Value, e *ast.MappingValueNode) {
	var names []string
	for i := range v.NumField() {
		name := v.Type().Field(i).Tag.Get("yaml")
		if name == key {
			d.node(path, v.Field(i), e.Value)
			return
		}
		names = append(names, name)
	}
	d.fault(e, path, "unknown setting; known here: %s", strings.Join(names, ", "))
}

// sequence decodes a list into a slice, or into the words without a language.
func (d *decoder) sequence(path string, v reflect.Value, n *ast.SequenceNode) {
	if v.Type() == reflect.TypeFor[Words]() {
		words := reflect.New(reflect.TypeFor[[]string]()).Elem()
		d.sequence(path, words, n)
		v.Set(reflect.ValueOf(Words{"": words.Interface().([]string)}))
		return
	}
	if v.Kind() != reflect.Slice {
		d.fault(n, path, "must be %s", expected(v))
		return
	}
	list := reflect.MakeSlice(v.Type(), len(n.Values), len(n.Values))
	for i, x := range n.Values {
		sub := join(path, strconv.Itoa(i))
		d.where[sub] = place{d.name, line(x)}
		d.node(sub, list.Index(i), x)
	}
	v.Set(list)
}

// scalar returns the text of a scalar as it was written, so that 0301 stays 0301.
func scalar(n ast.Node) (string, bool) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.LiteralNode:
		return n.Value.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return n.GetToken().Value, true
	}
	return "", false
}
