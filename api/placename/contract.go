// Package placename defines the messages of the place-name search service, a SOAP service described with WSDL 1.1
// (document/literal wrapped): search objects, hits, requests and faults as Go types, and their XML.
//
// The contract (schemas, types, fields, operations) is defined by one table, in table.go. The XSDs, the WSDL, the
// decoder, the encoder of requests and the tests are derived from it; the Go structs are bound to it by name when the
// program starts. Hits are written by one function per type (hit_append.go). Names in Go are those of the contract with
// an upper-case first letter. Ids and codes, which the contract wraps in objects with a value, are strings in Go.
package placename

import (
	"fmt"
	"slices"
	"strings"
)

// DefaultBase is the namespace base of other services with the same interface.
const DefaultBase = "http://stedsnavn.statkart.no/ssr/wsapi/v1"

// Paths below the base of the namespaces that are used by the protocol code.
const (
	servicePath   = "/service/soek"
	exceptionPath = "/exception"
	domainPath    = "/domain"
)

// Schema is one namespace of the contract. It is written to a file of its own.
type Schema struct {
	Path   string // of the namespace, below the base, for example "/domain/sted"
	File   string // for example "sted.xsd"
	Prefix string // namespace prefix in generated documents
	Types  []*Type
}

// Type is a complex type.
type Type struct {
	Name     string
	Schema   *Schema
	Abstract bool
	Base     *Type   // the type that it extends; nil if none
	Fields   []Field // without inherited ones, in the order of the xs:sequence
}

// Field is one element of the xs:sequence of a type.
type Field struct {
	Name string
	// a built-in type (string, int, long, boolean, dateTime, date) or the name of a Type; type names are unique in the
	// contract
	Type     string
	Optional bool // minOccurs="0"
	Nillable bool
	List     bool // minOccurs="0" maxOccurs="unbounded"
}

// Operation is one search operation.
type Operation struct {
	Name   string
	Params []Field // parameters after the context
	Result *Type   // a list type
}

// Contract is the whole interface. It is immutable.
type Contract struct {
	Schemas    []*Schema
	Operations []Operation
	types      map[string]*Type
	files      map[string]*Schema
}

// Type returns the type with a name; nil if it is built in or unknown. The wrapper elements of an operation have types
// too: "findSteder", "findStederResponse".
func (c *Contract) Type(name string) *Type { return c.types[name] }

// Operation returns the operation with a name; false if there is none.
func (c *Contract) Operation(name string) (Operation, bool) {
	i := slices.IndexFunc(c.Operations, func(o Operation) bool { return o.Name == name })
	if i < 0 {
		return Operation{}, false
	}
	return c.Operations[i], true
}

// all returns own and inherited fields in the order in which they are written, with the schemas that declare them.
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

// subtypes returns the concrete types that extend t, in the order of the table.
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

// link sets the schema and base of every type, and adds the wrapper types of the operations to the schema of the
// service. It panics if the table is inconsistent.
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

// fields parses the notation of the table: "name:Type" separated by white space. After the name, "?" means optional and
// "*" a list; a "!" after these means nillable.
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

// schema returns a Schema with groups of types.
func schema(path, file, prefix string, groups ...[]*Type) *Schema {
	return &Schema{Path: path, File: file, Prefix: prefix, Types: slices.Concat(groups...)}
}

// object returns a type that extends no other.
func object(name, notation string) []*Type {
	return []*Type{{Name: name, Fields: fields(notation)}}
}

// extends returns a type that adds fields to another type.
func extends(base, name, notation string) []*Type {
	return []*Type{{Name: name, Base: &Type{Name: base}, Fields: fields(notation)}}
}

// abstract makes types abstract and returns them.
func abstract(types []*Type) []*Type {
	for _, t := range types {
		t.Abstract = true
	}
	return types
}

// empty returns types that extend base without adding fields. names are separated by spaces.
func empty(base, names string) []*Type {
	var out []*Type
	for name := range strings.FieldsSeq(names) {
		out = append(out, extends(base, name, "")...)
	}
	return out
}

// lists returns list types, whose names are separated by spaces: "KommuneIdList" holds items of type KommuneId,
// "StringList" items of the built-in type string.
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
