package placename

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"
)

// plan binds a type of the contract to a Go struct. Requests and faults are decoded and encoded with plans. A plan is
// immutable once it is built.
type plan struct {
	typ   *Type
	steps []step // in the order in which elements are written
	known []element
}

// step binds one element to one field.
type step struct {
	name     string
	schema   *Schema // the element has the namespace of this schema
	index    []int   // index of the Go field, as in reflect.Value.FieldByIndex
	pointer  bool    // the Go field is a pointer
	kind     kind
	optional bool
	nillable bool
	lenient  bool     // required, but may be missing: children of the context
	many     bool     // the Go field is a slice
	item     *element // item of a list type; nil if the element itself is repeated, or is single
	box      *element // the one child of an id, timestamp or date; nil if the text is directly in the element
	sub      *plan    // for kindObject
	subs     []*plan  // for kindAbstract: plans of the concrete types

	open, close         string // tags around the value or, if item is set, around the items
	itemOpen, itemClose string // tags around each value of a list
}

// element is the name of an element within a step.
type element struct {
	name   string
	schema *Schema
}

// kind is the way in which a value is encoded.
type kind uint8

const (
	kindText kind = iota
	kindInt
	kindLong
	kindBool
	kindTime
	kindDate
	kindObject
	kindAbstract
)

// builtIns maps the simple types to their kinds and Go types.
var builtIns = map[string]struct {
	kind kind
	typ  reflect.Type
}{
	"string":   {kindText, reflect.TypeFor[string]()},
	"int":      {kindInt, reflect.TypeFor[int32]()},
	"long":     {kindLong, reflect.TypeFor[int64]()},
	"boolean":  {kindBool, reflect.TypeFor[bool]()},
	"dateTime": {kindTime, reflect.TypeFor[time.Time]()},
	"date":     {kindDate, reflect.TypeFor[time.Time]()},
}

// bindings holds all plans that a protocol needs.
type bindings struct {
	requests map[string]request // by operation
	faults   *plan
}

// request holds the plans of an operation.
type request struct {
	op         Operation
	in         reflect.Type // type of the request struct
	plan       *plan        // of in
	hits       reflect.Type // type of the list of hits
	namespaces namespaces   // namespaces to declare in the response
}

// bound returns the plans of the contract. The first call builds them. It panics if the Go structs do not match the
// table.
var bound = sync.OnceValue(func() *bindings {
	c := contract()
	m := &binder{c: c, memo: map[key]*plan{}}
	b := &bindings{
		requests: map[string]request{},
		faults:   m.plan(c.Type("ServiceFaultInfo"), reflect.TypeFor[ServiceFaultInfo]()),
	}
	for _, x := range []struct {
		in   Request
		hits Hits
	}{
		{&FindNavnesaker{}, NavnesakTreffList{}},
		{&FindSteder{}, StedTreffList{}},
		{&FindStederForMatrikkelenhetreferanse{}, StedMatrikkelenhetreferanseTreffList{}},
		{&FindStedsnavn{}, StedsnavnTreffList{}},
		{&FindStedsnavnForMatrikkelenhetreferanse{}, StedsnavnMatrikkelenhetreferanseTreffList{}},
		{&FindSkrivemaater{}, SkrivemaateTreffList{}},
		{&FindSkrivemaaterForMatrikkelenhetreferanse{}, SkrivemaateMatrikkelenhetreferanseTreffList{}},
		{&FindVedtak{}, VedtakTreffList{}},
		{&FindSamlevedtak{}, SamlevedtakTreffList{}},
		{&FindBoeker{}, BokTreffList{}},
		{&FindKartprodukter{}, KartproduktTreffList{}},
	} {
		op, ok := c.Operation(x.in.Operation())
		if !ok {
			panic("placename: no operation " + x.in.Operation())
		}
		r := request{op: op, in: reflect.TypeOf(x.in).Elem(), hits: reflect.TypeOf(x.hits)}
		item := op.Result.Fields[0]
		r.plan = m.plan(c.Type(op.Name), r.in)
		r.namespaces = m.plan(c.Type(item.Type), r.hits.Elem()).namespaces(c.Type(op.Name).Schema, op.Result.Schema)
		b.requests[op.Name] = r
	}
	return b
})

// binder builds plans. memo holds every plan, including unfinished ones, because a type may contain itself.
type binder struct {
	c    *Contract
	memo map[key]*plan
}

type key struct {
	typ *Type
	in  reflect.Type
}

func (m *binder) plan(t *Type, in reflect.Type) *plan {
	k := key{t, in}
	if p := m.memo[k]; p != nil {
		return p
	}
	p := &plan{typ: t}
	m.memo[k] = p
	for _, f := range t.all() {
		p.steps = append(p.steps, m.step(t, f, in))
		p.known = append(p.known, element{f.Name, f.schema})
	}
	return p
}

func (m *binder) step(t *Type, d declared, in reflect.Type) step {
	goName := strings.ToUpper(d.Name[:1]) + d.Name[1:]
	f, ok := in.FieldByName(goName)
	if !ok {
		panic(fmt.Sprintf("placename: %s has no field %s, which %s has in the contract", in, goName, t.Name))
	}
	s := step{name: d.Name, schema: d.schema, index: f.Index, optional: d.Optional, nillable: d.Nillable, many: d.List}
	s.lenient = t.Name == "StedsnavnContext"
	typ, in := d.Type, f.Type
	if x := m.c.Type(typ); !d.List && in.Kind() == reflect.Slice {
		s.many, s.item, typ = true, &element{x.Fields[0].Name, x.Schema}, x.Fields[0].Type
	}
	switch {
	case s.many:
		in = in.Elem()
	case in.Kind() == reflect.Pointer && (s.optional || s.nillable):
		in, s.pointer = in.Elem(), true
	case s.optional && in.Kind() != reflect.String:
		panic(fmt.Sprintf("placename: optional field %s of %s can not be absent", goName, t.Name))
	}
	m.value(&s, typ, in)
	s.tags()
	return s
}

// value binds a value of type typ of the contract to a Go value of type in.
func (m *binder) value(s *step, typ string, in reflect.Type) {
	x := m.c.Type(typ)
	if x != nil && (in.Kind() != reflect.Struct || in == builtIns["date"].typ) {
		all := x.all()
		if len(all) != 1 {
			panic(fmt.Sprintf("placename: %s of the contract is bound to %s", typ, in))
		}
		s.box, typ, x = &element{all[0].Name, all[0].schema}, all[0].Type, nil
	}
	switch {
	case x == nil:
		b, ok := builtIns[typ]
		if !ok || b.typ != in {
			panic(fmt.Sprintf("placename: element %s of type %s is bound to %s", s.name, typ, in))
		}
		s.kind = b.kind
	case x.Abstract:
		s.kind = kindAbstract
		for _, sub := range m.c.subtypes(x) {
			s.subs = append(s.subs, m.plan(sub, in))
		}
	default:
		s.kind, s.sub = kindObject, m.plan(x, in)
	}
}

// tags sets the tags that are written around values.
func (s *step) tags() {
	wrap := func(e *element, opening, closing *string) {
		if e != nil {
			*opening += "<" + e.schema.Prefix + ":" + e.name + ">"
			*closing = "</" + e.schema.Prefix + ":" + e.name + ">" + *closing
		}
	}
	self := &element{s.name, s.schema}
	switch {
	case s.many && s.item != nil:
		wrap(self, &s.open, &s.close)
		wrap(s.item, &s.itemOpen, &s.itemClose)
		wrap(s.box, &s.itemOpen, &s.itemClose)
	case s.many:
		wrap(self, &s.itemOpen, &s.itemClose)
		wrap(s.box, &s.itemOpen, &s.itemClose)
	default:
		wrap(self, &s.open, &s.close)
		wrap(s.box, &s.open, &s.close)
	}
}

// namespaces is the set of namespaces that a document must declare.
type namespaces struct {
	schemas  []*Schema
	instance bool // the namespace of xsi:nil and xsi:type
}

func (n *namespaces) add(s *Schema) {
	if !slices.Contains(n.schemas, s) {
		n.schemas = append(n.schemas, s)
	}
}

// namespaces returns the given namespaces and those of all elements of p.
func (p *plan) namespaces(given ...*Schema) namespaces {
	n := namespaces{}
	for _, s := range given {
		n.add(s)
	}
	seen := map[*plan]bool{}
	var walk func(p *plan)
	walk = func(p *plan) {
		if p == nil || seen[p] {
			return
		}
		seen[p] = true
		for _, s := range p.steps {
			n.add(s.schema)
			n.instance = n.instance || s.nillable && !s.many || len(s.subs) > 0
			for _, e := range []*element{s.item, s.box} {
				if e != nil {
					n.add(e.schema)
				}
			}
			walk(s.sub)
			for _, x := range s.subs {
				n.add(x.typ.Schema)
				walk(x)
			}
		}
	}
	walk(p)
	return n
}
