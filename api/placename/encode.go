package placename

import (
	"fmt"
	"reflect"
	"strconv"
	"time"
)

const xsiNS = "http://www.w3.org/2001/XMLSchema-instance"

// AppendResponseStart appends the start tags of a response to an operation, up to the hits. It declares all prefixes
// that hits use, for namespaces under base. It panics if the operation is unknown.
func AppendResponseStart(b []byte, operation, base string) []byte {
	r := bound().mustRequest(operation)
	b = append(b, "<q:"...)
	b = append(b, operation...)
	b = append(b, "Response"...)
	b = r.namespaces.append(b, base)
	return append(b, "><q:return>"...)
}

// AppendResponseEnd appends the end tags for AppendResponseStart.
func AppendResponseEnd(b []byte, operation string) []byte {
	b = append(b, "</q:return></q:"...)
	b = append(b, operation...)
	return append(b, "Response>"...)
}

// NilTypes selects how an element of an abstract type without a value is written.
type NilTypes uint8

const (
	PlainNil NilTypes = iota // with xsi:nil only, as in the contract
	// with the xsi:type of a concrete type, as required for validity (XML Schema Part 1, cvc-type 2)
	TypedNil
)

// AppendHits appends hits as the items of the response to operation. It allocates only to grow b. It panics if the hits
// are of another operation.
func (n NilTypes) AppendHits(b []byte, operation string, hits Hits) []byte {
	if bound().mustRequest(operation).hits != reflect.TypeOf(hits) {
		panic(fmt.Sprintf("placename: %T is no answer to %s", hits, operation))
	}
	for i := range hits.Len() {
		b = append(b, "<t:item>"...)
		b = hits.appendItem(b, i, n)
		b = append(b, "</t:item>"...)
	}
	return b
}

// AppendRequest appends r as the wrapper element of its operation, with namespaces under base.
func AppendRequest(b []byte, r Request, base string) []byte {
	p := bound().mustRequest(r.Operation()).plan
	b = append(b, "<q:"...)
	b = append(b, r.Operation()...)
	b = p.namespaces().append(b, base)
	b = append(b, '>')
	b = p.append(b, reflect.ValueOf(r).Elem())
	b = append(b, "</q:"...)
	b = append(b, r.Operation()...)
	return append(b, '>')
}

// AppendServiceException appends f as the element ServiceException, with namespaces under base.
func AppendServiceException(b []byte, f *ServiceFaultInfo, base string) []byte {
	p := bound().faults
	b = append(b, "<ex:ServiceException"...)
	b = p.namespaces().append(b, base)
	b = append(b, '>')
	b = p.append(b, reflect.ValueOf(f).Elem())
	return append(b, "</ex:ServiceException>"...)
}

func (b *bindings) mustRequest(operation string) request {
	r, ok := b.requests[operation]
	if !ok {
		panic("placename: no operation " + operation)
	}
	return r
}

// append appends the declaration of each prefix.
func (n namespaces) append(b []byte, base string) []byte {
	for _, s := range n.schemas {
		b = append(b, " xmlns:"...)
		b = append(b, s.Prefix...)
		b = append(b, `="`...)
		b = AppendText(b, base+s.Path)
		b = append(b, '"')
	}
	if n.instance {
		b = append(b, ` xmlns:xsi="`+xsiNS+`"`...)
	}
	return b
}

// append appends the elements for the fields of the struct v, to whose type p is bound. Hits do not use it; see
// hit_append.go.
func (p *plan) append(b []byte, v reflect.Value) []byte {
	for i := range p.steps {
		s := &p.steps[i]
		b = s.append(b, v.FieldByIndex(s.index))
	}
	return b
}

// append appends the element or elements for the field f.
func (s *step) append(b []byte, f reflect.Value) []byte {
	switch {
	case s.many:
		return s.appendMany(b, f)
	case s.pointer:
		if f.IsNil() {
			return s.appendNil(b)
		}
		f = f.Elem()
	case s.optional && f.Len() == 0:
		return b
	}
	b = append(b, s.open...)
	b = s.appendValue(b, f)
	return append(b, s.close...)
}

// appendMany appends a list. If the list is optional and nil, it appends nothing.
func (s *step) appendMany(b []byte, f reflect.Value) []byte {
	if s.optional && f.IsNil() {
		return b
	}
	b = append(b, s.open...)
	for i := range f.Len() {
		b = append(b, s.itemOpen...)
		b = s.appendValue(b, f.Index(i))
		b = append(b, s.itemClose...)
	}
	return append(b, s.close...)
}

// appendNil appends a nil element if the element is required; otherwise nothing.
func (s *step) appendNil(b []byte) []byte {
	if s.optional {
		return b
	}
	b = append(b, "<"+s.schema.Prefix+":"+s.name...)
	return append(b, ` xsi:nil="true"/>`...)
}

// appendValue appends the value f.
func (s *step) appendValue(b []byte, f reflect.Value) []byte {
	switch s.kind {
	case kindText:
		return AppendText(b, f.String())
	case kindInt, kindLong:
		return strconv.AppendInt(b, f.Int(), 10)
	case kindBool:
		return strconv.AppendBool(b, f.Bool())
	case kindTime:
		return f.Addr().Interface().(*time.Time).AppendFormat(b, time.RFC3339Nano)
	case kindDate:
		return f.Addr().Interface().(*time.Time).AppendFormat(b, time.DateOnly)
	case kindObject:
		return s.sub.append(b, f)
	}
	panic(fmt.Sprintf("placename: kind %d is in no request and no fault", s.kind))
}
