package placename

import (
	"fmt"
	"reflect"
	"strconv"
	"time"
	"unsafe"
)

const xsiNS = "http://www.w3.org/2001/XMLSchema-instance"

// AppendResponseStart appends the start tags of an operation's response, up to where the hits stand. All prefixes that hits use
// are declared there, with namespaces under base. An unknown operation panics.
func AppendResponseStart(b []byte, operation, base string) []byte {
	r := bound().mustRequest(operation)
	b = append(b, "<q:"...)
	b = append(b, operation...)
	b = append(b, "Response"...)
	b = r.namespaces.append(b, base)
	return append(b, "><q:return>"...)
}

// AppendResponseEnd appends the end tags that belong to AppendResponseStart.
func AppendResponseEnd(b []byte, operation string) []byte {
	b = append(b, "</q:return></q:"...)
	b = append(b, operation...)
	return append(b, "Response>"...)
}

// NilTypes says how an element of an abstract type is written that has no value.
type NilTypes uint8

const (
	PlainNil NilTypes = iota // xsi:nil alone, as the contract has it
	TypedNil                 // with the xsi:type of a concrete type, without which it is not valid (XML Schema Part 1, cvc-type 2)
)

// AppendHits appends hits as the items of the response of operation. It allocates nothing but the growth of b.
// Hits of another operation panic.
func (n NilTypes) AppendHits(b []byte, operation string, hits Hits) []byte {
	if m, ok := hits.(*MixedHits); ok && m.Packer.operation == operation {
		return m.append(b, newItems(operation, m.Others, n))
	}
	list := newItems(operation, hits, n)
	for range hits.Len() {
		b = list.append(b)
	}
	return b
}

// append appends the hits; others are those that are not packed.
func (h *MixedHits) append(b []byte, others items) []byte {
	runs := *h.Packer.runs.Load()
	for _, x := range h.Packed {
		if x == "" {
			b = others.append(b)
		} else {
			b = unpack(b, runs, x)
		}
	}
	return b
}

// items are hits that are not written yet.
type items struct {
	hit  *plan
	next unsafe.Pointer
	size uintptr
	left int
}

func newItems(operation string, hits Hits, n NilTypes) items {
	r := bound().mustRequest(operation)
	list := reflect.ValueOf(hits)
	if list.Type() != r.hits {
		panic(fmt.Sprintf("placename: %T is no answer to %s", hits, operation))
	}
	return items{r.hit[n], list.UnsafePointer(), r.hits.Elem().Size(), list.Len()}
}

// append appends the next one, which must be there.
func (x *items) append(b []byte) []byte {
	b = append(b, "<t:item>"...)
	b = x.hit.append(b, x.next)
	if x.left--; x.left > 0 {
		x.next = unsafe.Add(x.next, x.size)
	}
	return append(b, "</t:item>"...)
}

// AppendRequest appends r as the element of its operation, with namespaces under base.
func AppendRequest(b []byte, r Request, base string) []byte {
	p := bound().mustRequest(r.Operation()).plan
	b = append(b, "<q:"...)
	b = append(b, r.Operation()...)
	b = p.namespaces().append(b, base)
	b = append(b, '>')
	b = p.append(b, reflect.ValueOf(r).UnsafePointer())
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
	b = p.append(b, unsafe.Pointer(f))
	return append(b, "</ex:ServiceException>"...)
}

func (b *bindings) mustRequest(operation string) request {
	r, ok := b.requests[operation]
	if !ok {
		panic("placename: no operation " + operation)
	}
	return r
}

// append declares each prefix.
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

// Values are reached by where they lie in their structs, whose types binder checked: by reflection hits took half as long again.

// append appends the elements of the struct at v, which p is bound to.
func (p *plan) append(b []byte, v unsafe.Pointer) []byte {
	for i := range p.steps {
		s := &p.steps[i]
		b = s.append(b, unsafe.Add(v, s.offset))
	}
	return b
}

// header is what a string and a slice begin with.
type header struct {
	first unsafe.Pointer
	len   int
}

// append appends the element or elements of the field at f.
func (s *step) append(b []byte, f unsafe.Pointer) []byte {
	switch {
	case s.many:
		return s.appendMany(b, (*header)(f))
	case s.pointer:
		if f = *(*unsafe.Pointer)(f); f == nil {
			return s.appendNil(b)
		}
	case s.optional && (*header)(f).len == 0:
		return b
	}
	if s.kind == kindAbstract {
		return s.appendSubtype(b, f)
	}
	b = append(b, s.open...)
	b = s.appendValue(b, f)
	return append(b, s.close...)
}

// appendMany appends a list. An optional one is left out when it is nil.
func (s *step) appendMany(b []byte, f *header) []byte {
	if s.optional && f.first == nil {
		return b
	}
	b = append(b, s.open...)
	for i := range f.len {
		b = append(b, s.itemOpen...)
		b = s.appendValue(b, unsafe.Add(f.first, uintptr(i)*s.size))
		b = append(b, s.itemClose...)
	}
	return append(b, s.close...)
}

// appendSubtype appends the first concrete type that has a value; nil when none has.
func (s *step) appendSubtype(b []byte, f unsafe.Pointer) []byte {
	for _, x := range s.subs {
		if (*header)(unsafe.Add(f, x.plan.steps[0].offset)).len > 0 {
			b = append(b, x.open...)
			b = x.plan.append(b, f)
			return append(b, s.close...)
		}
	}
	return s.appendNil(b)
}

// appendNil appends what stands for no value: nothing, or an element that says nil.
func (s *step) appendNil(b []byte) []byte {
	if s.optional {
		return b
	}
	return append(b, s.none...)
}

// appendValue appends the value at f.
func (s *step) appendValue(b []byte, f unsafe.Pointer) []byte {
	switch s.kind {
	case kindText:
		return AppendText(b, *(*string)(f))
	case kindInt:
		return strconv.AppendInt(b, int64(*(*int32)(f)), 10)
	case kindLong:
		return strconv.AppendInt(b, *(*int64)(f), 10)
	case kindBool:
		return strconv.AppendBool(b, *(*bool)(f))
	case kindTime:
		return (*time.Time)(f).AppendFormat(b, time.RFC3339Nano)
	case kindDate:
		return (*time.Time)(f).AppendFormat(b, time.DateOnly)
	case kindObject:
		return s.sub.append(b, f)
	}
	panic(fmt.Sprintf("placename: kind %d stands for no single value", s.kind))
}
