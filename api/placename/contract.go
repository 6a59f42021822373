// Package placename holds the messages of the place-name search service, a SOAP service described by WSDL 1.1
// (document/literal wrapped): search objects, hits, requests, faults as Go types, and their XML.
//
// One table (table.go) states the contract: schemas, types, fields, operations. The XSDs, the WSDL, the decoder, the
// encoder of requests and the tests are made from it; the Go structs are bound to it by name when the program starts.
// Hits are written by a function for each type (hit_append.go). Names in Go are the contract's with an upper-case
// first letter. Ids and codes, which the contract wraps in objects with a value, are strings in Go.
package placename

import (
	"fmt"
	"slices"
	"strings"
)

// DefaultBase is the namespace base that the sibling services of the same interface use.
const DefaultBase = "http://stedsnavn.statkart.no/ssr/wsapi/v1"

// Paths of the namespaces that the protocol names itself, below the base.
const (
	servicePath   = "/service/soek"
	exceptionPath = "/exception"
	domainPath    = "/domain"
)

// Schema is one namespace of the contract, in a file of its own.
type Schema struct {
	Path   string // of the namespace, below the base: "/domain/sted"
	File   string // "sted.xsd"
	Prefix string // that our documents use
	Types  []*Type
}

// Type is a complex type.
type Type struct {
	Name     string
	Schema   *Schema
	Abstract bool
	Base     *Type   // the type extended; nil when none
	Fields   []Field // own ones, in the order of the sequence
}

// Field is one element of a type's sequence.
type Field struct {
	Name string
	// built in (string, int, long, boolean, dateTime, date) or the name of a Type; names are unique in the contract
	Type     string
	Optional bool // minOccurs 0
	Nillable bool
	List     bool // 0 to unbounded
}

// Operation is one search.
type Operation struct {
	Name   string
	Params []Field // after the context
	Result *Type   // a list type
}

// Contract is the whole interface. It does not change.
type Contract struct {
	Schemas    []*Schema
	Operations []Operation
	types      map[string]*Type
	files      map[string]*Schema
}

// Type returns the type with that name; nil when it is built in or unknown. The wrappers of an operation are types
// too: "findSteder", "findStederResponse".
func (c *Contract) Type(name string) *Type { return c.types[name] }

// Operation returns the operation with that name.
func (c *Contract) Operation(name string) (Operation, bool) {
	i := slices.IndexFunc(c.Operations, func(o Operation) bool { return o.Name == name })
	if i < 0 {
		return Operation{}, false
	}
	return c.Operations[i], true
}

// all returns own and inherited fields with the types that declare them, in the order in which they are written.
func (t *Type) all() []declared {
	var out []declared
	if t.Base != nil {
		out = t.Base.all()
	}
	for _, f := range t.Fields {
		out = append(out, declared{f, t.Schema})
	}
	return out
}

// declared is a field and the schema whose namespace its element has.
type declared struct {
	Field
	schema *Schema
}

// subtypes returns the concrete types that extend t, in the table's order.
func (c *Contract) subtypes(t *Type) []*Type {
	var out []*Type
	for _, s := range c.Schemas {
		for _, x := range s.Types {
			if x.Base == t && !x.Abstract {
				out = append(out, x)
			}
		}
	}
	return out
}

// link gives every type its schema and base, and adds the wrappers of the operations to the service's schema. It
// panics when the table contradicts itself.
func link(schemas []*Schema, operations []operation) *Contract {
	c := &Contract{Schemas: schemas, types: map[string]*Type{}, files: map[string]*Schema{}}
	bases := map[*Type]string{}
	for _, s := range schemas {
		c.files[s.File] = s
		for _, t := range s.Types {
			t.Schema = s
			if t.Base != nil {
				bases[t] = t.Base.Name
			}
			if c.types[t.Name] != nil {
				panic("placename: type " + t.Name + " stands twice in the contract")
			}
			c.types[t.Name] = t
		}
	}
	for t, name := range bases {
		if t.Base = c.types[name]; t.Base == nil {
			panic("placename: no type " + name + " to extend")
		}
	}
	service := schemas[slices.IndexFunc(schemas, func(s *Schema) bool { return s.Path == servicePath })]
	for _, o := range operations {
		op := Operation{Name: o.name, Params: fields(o.params), Result: c.types[o.result]}
		in := append(fields("stedsnavnContext:StedsnavnContext"), op.Params...)
		for _, w := range []*Type{
			{Name: o.name, Schema: service, Fields: in},
			{Name: o.name + "Response", Schema: service, Fields: fields("return:" + o.result)},
		} {
			service.Types = append(service.Types, w)
			c.types[w.Name] = w
		}
		c.Operations = append(c.Operations, op)
	}
	return c
}

// fields reads the notation of the table: "name:Type" separated by white space; after the name "?" is optional, "*"
// is a list, after these "!" is nillable.
func fields(notation string) []Field {
	var out []Field
	for _, word := range strings.Fields(notation) {
		name, typ, ok := strings.Cut(word, ":")
		if !ok {
			panic(fmt.Sprintf("placename: %q is no field", word))
		}
		f := Field{Type: typ}
		name, f.Nillable = strings.CutSuffix(name, "!")
		name, f.List = strings.CutSuffix(name, "*")
		f.Name, f.Optional = strings.CutSuffix(name, "?")
		out = append(out, f)
	}
	return out
}

// schema joins groups of types into a Schema.
func schema(path, file, prefix string, groups ...[]*Type) *Schema {
	return &Schema{Path: path, File: file, Prefix: prefix, Types: slices.Concat(groups...)}
}

// object is a type of its own.
func object(name, notation string) []*Type {
	return []*Type{{Name: name, Fields: fields(notation)}}
}

// extends is a type that adds fields to another.
func extends(base, name, notation string) []*Type {
	return []*Type{{Name: name, Base: &Type{Name: base}, Fields: fields(notation)}}
}

// abstract makes types abstract.
func abstract(types []*Type) []*Type {
	for _, t := range types {
		t.Abstract = true
	}
	return types
}

// empty is a row of types that add nothing to base.
func empty(base, names string) []*Type {
	var out []*Type
	for name := range strings.FieldsSeq(names) {
		out = append(out, extends(base, name, "")...)
	}
	return out
}

// lists is a row of list types: "KommuneIdList" holds items of type KommuneId, "StringList" of the built-in string.
func lists(names string) []*Type {
	var out []*Type
	for name := range strings.FieldsSeq(names) {
		item := strings.TrimSuffix(name, "List")
		if item == "String" {
			item = "string"
		}
		out = append(out, object(name, "item*!:"+item)...)
	}
	return out
}
