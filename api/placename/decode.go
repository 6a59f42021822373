package placename

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Element is an element of a request. Its prefix is resolved to a namespace.
type Element struct {
	Space, Name string      // namespace and local name
	Attributes  []Attribute // without namespace declarations
	Text        string      // character data directly inside the element, without comments
	Children    []*Element
}

// Attribute is an attribute of an Element. Its prefix is resolved to a namespace.
type Attribute struct{ Space, Name, Value string }

// Base returns the one of bases under which the namespace of e is the namespace of the service; false if there is none.
func (e *Element) Base(bases []string) (string, bool) {
	for _, base := range bases {
		if e.Space == base+servicePath {
			return base, true
		}
	}
	return "", false
}

// Locale returns the locale of the context in e, even if the rest of the request is invalid; "" if there is none.
func (e *Element) Locale() string {
	for _, name := range []string{"stedsnavnContext", "locale"} {
		var next *Element
		for _, c := range e.Children {
			if c.Name == name {
				next = c
				break
			}
		}
		if next == nil {
			return ""
		}
		e = next
	}
	return e.Text
}

// Unknown selects what happens to an element that is not in the contract and resembles none that is.
type Unknown uint8

const (
	RefuseUnknown Unknown = iota
	IgnoreUnknown
)

// Decode decodes e, the child of a message's body. The namespace of each element may be under any of bases. Children
// may be in any order. Decode refuses an element whose name differs from one in the contract only by case, namespace or
// one letter, and suggests the right name. It refuses other unknown elements unless unknown is IgnoreUnknown. The error
// is a *Refusal with all faults; for an unknown operation, with that fault only.
func Decode(e *Element, bases []string, unknown Unknown) (Request, error) {
	r, ok := bound().requests[e.Name]
	base, ours := e.Base(bases)
	if !ok || !ours {
		return nil, &Refusal{Faults: []Fault{{Path: "Body", Value: e.Name, Reason: UnknownOp}}}
	}
	v := reflect.New(r.in)
	d := decoder{bases: bases, base: base, unknown: unknown}
	d.push(e.Name, 0)
	d.absent(e)
	d.object(r.plan, e, v.Elem())
	if len(d.faults) > 0 {
		return nil, &Refusal{Faults: d.faults}
	}
	return v.Interface().(Request), nil
}

// maxFaults is the largest number of faults in a refusal. A request may have thousands of invalid items.
const maxFaults = 20

type decoder struct {
	bases   []string
	base    string // the base of the operation's element
	unknown Unknown
	path    []segment
	faults  []Fault
}

// segment is one part of the path of a fault. index is counted from 1; 0 means none.
type segment struct {
	name  string
	index int
}

func (d *decoder) push(name string, index int) { d.path = append(d.path, segment{name, index}) }
func (d *decoder) pop()                        { d.path = d.path[:len(d.path)-1] }

// fault records a fault of the element at the current path, or of its child of that name.
func (d *decoder) fault(child, value string, reason Reason) {
	if len(d.faults) == maxFaults {
		return
	}
	var b strings.Builder
	for i, s := range d.path {
		if i > 0 {
			b.WriteByte('/')
		}
		b.WriteString(s.name)
		if s.index > 0 {
			fmt.Fprintf(&b, "[%d]", s.index)
		}
	}
	if child != "" {
		b.WriteString("/" + child)
	}
	n := int64(0)
	if reason == LongID {
		n = maxID
	}
	d.faults = append(d.faults, Fault{Path: b.String(), Value: value, Reason: reason, N: n})
}

// is reports whether e has a name in the namespace of s, under any base.
func (d *decoder) is(e *Element, name string, s *Schema) bool {
	if e.Name != name {
		return false
	}
	base, ok := strings.CutSuffix(e.Space, s.Path)
	if !ok {
		return false
	}
	for _, b := range d.bases {
		if b == base {
			return true
		}
	}
	return false
}

// object decodes the children of e to the fields of the struct v.
func (d *decoder) object(p *plan, e *Element, v reflect.Value) {
	d.text(e, p.known)
	count, nils := make([]int, len(p.steps)), make([]int, len(p.steps))
next:
	for _, c := range e.Children {
		for i := range p.steps {
			s := &p.steps[i]
			if d.is(c, s.name, s.schema) {
				if count[i]++; d.child(s, c, v, count[i]) {
					nils[i]++
				}
				continue next
			}
		}
		d.stray(c, p.known)
	}
	for i, s := range p.steps {
		switch {
		case count[i] == 0 && !s.optional && !s.lenient && !s.many:
			d.fault(s.name, "", Missing)
		case s.many && s.item == nil && nils[i] > 0 && nils[i] == count[i]:
			d.faultRight("", "", AllNil, s.name)
		}
	}
}

// child decodes c, the nth element for step s, to a field of the struct v. It reports whether c is nil.
func (d *decoder) child(s *step, c *Element, v reflect.Value, n int) (absent bool) {
	repeats := s.many && s.item == nil
	if repeats {
		d.push(s.name, n)
	} else {
		d.push(s.name, 0)
	}
	defer d.pop()
	if n > 1 && !repeats {
		if n == 2 {
			d.fault("", "", Repeated)
		}
		return false
	}
	absent = d.absent(c)
	switch {
	case absent:
		if !s.optional && !s.lenient && !s.nillable && !repeats {
			d.fault("", "", Missing)
		}
	default:
		d.set(s, c, v.FieldByIndex(s.index))
	}
	return absent
}

// set decodes element c to field f.
func (d *decoder) set(s *step, c *Element, f reflect.Value) {
	switch {
	case s.many && s.item == nil:
		d.add(s, c, f)
	case s.many:
		d.list(s, c, f)
	case f.Kind() == reflect.Pointer:
		x := reflect.New(f.Type().Elem())
		if d.value(s, c, x.Elem()) && !(s.kind == kindObject && x.Elem().IsZero()) {
			f.Set(x)
		}
	default:
		d.value(s, c, f)
	}
}

// list decodes the items of element c to the slice f, ignoring nil items. It refuses a list with only nil items or only
// unknown elements: it would be taken for an empty list, and an empty list does not restrict the search.
func (d *decoder) list(s *step, c *Element, f reflect.Value) {
	known := []element{*s.item}
	d.text(c, known)
	items, nils, before := 0, 0, len(d.faults)
	for _, item := range c.Children {
		if !d.is(item, s.item.name, s.item.schema) {
			d.stray(item, known)
			continue
		}
		items++
		d.push(s.item.name, items)
		if d.absent(item) {
			nils++
		} else {
			d.add(s, item, f)
		}
		d.pop()
	}
	switch {
	case items == 0 && len(c.Children) > 0 && len(d.faults) == before:
		d.faultRight(shortened(c.Children[0].Name), "", UnknownElement, names(known))
	case items > 0 && items == nils:
		d.faultRight("", "", AllNil, s.item.name)
	}
}

// add decodes element c and appends the value to the slice f.
func (d *decoder) add(s *step, c *Element, f reflect.Value) {
	x := reflect.New(f.Type().Elem()).Elem()
	if d.value(s, c, x) {
		f.Set(reflect.Append(f, x))
	}
}

// absent reports whether element c is nil (xsi:nil). It refuses attributes that are not in the contract, and a nil
// element that is not empty (XML Schema Part 1, cvc-elt 3.1 and 3.2.1, cvc-complex-type 3).
func (d *decoder) absent(c *Element) (absent bool) {
	for _, a := range c.Attributes {
		switch {
		case a.Space == xsiNS && a.Name == "nil":
			switch strings.Trim(a.Value, space) {
			case "true", "1":
				absent = true
			case "false", "0":
			default:
				d.fault("@xsi:nil", a.Value, NotBoolean)
			}
		case slices.Contains(foreignAttributes[a.Space], a.Name):
		default:
			d.fault("@"+shortened(a.Name), a.Value, UnknownAttribute)
		}
	}
	if absent && (len(c.Children) > 0 || strings.Trim(c.Text, space) != "") {
		d.fault("", strings.Trim(c.Text, space), NilContent)
	}
	return absent
}

// foreignAttributes lists, by namespace, the attributes that any element may have and that do not change its meaning:
// XML Schema Part 1, 2.6 (except nil), XML 1.0, 2.10 and 2.12, SOAP 1.1, 4.1.1, SOAP 1.2 Part 2, 5.1.1.
var foreignAttributes = map[string][]string{
	xsiNS:                                  {"type", "schemaLocation", "noNamespaceSchemaLocation"},
	"http://www.w3.org/XML/1998/namespace": {"lang", "space", "base", "id"},
	Envelope11:                             {"encodingStyle"},
	Envelope12:                             {"encodingStyle"},
}

// value decodes element c to x. It returns false if there is no value: after a fault, or for a blank optional text.
func (d *decoder) value(s *step, c *Element, x reflect.Value) bool {
	if s.kind == kindObject {
		d.object(s.sub, c, x)
		return true
	}
	if s.box != nil {
		if !d.text(c, []element{*s.box}) {
			return false
		}
		if c = d.unbox(s, c); c == nil {
			return false
		}
		d.push(s.box.name, 0)
		defer d.pop()
	}
	if len(c.Children) > 0 {
		if !d.attachment(c.Children[0]) {
			d.fault("", "", HasChildren)
		}
		return false
	}
	if s.kind == kindText && s.box == nil {
		x.SetString(c.Text)
		return !s.optional || strings.Trim(c.Text, space) != ""
	}
	return d.trimmed(s, strings.Trim(c.Text, space), x)
}

// unbox returns the child of c with the name s.box. It returns nil, and records a fault unless s is lenient, if there
// is no such child or it is nil. More than one such child, and any other child, are faults.
func (d *decoder) unbox(s *step, c *Element) *Element {
	var found *Element
	for _, child := range c.Children {
		if !d.is(child, s.box.name, s.box.schema) {
			d.stray(child, []element{*s.box})
			continue
		}
		if found != nil {
			d.fault(s.box.name, "", Repeated)
			return nil
		}
		found = child
	}
	if found != nil {
		d.push(s.box.name, 0)
		absent := d.absent(found)
		d.pop()
		if !absent {
			return found
		}
	}
	if !s.lenient {
		d.fault(s.box.name, "", Missing)
	}
	return nil
}

// maxID is the largest length of an id or code in characters.
const maxID = 64

// trimmed decodes text, from which white space was trimmed, to x. It returns false after a fault.
func (d *decoder) trimmed(s *step, text string, x reflect.Value) bool {
	reason, ok := BadValue, true
	switch s.kind {
	case kindText:
		x.SetString(text)
		switch {
		case text == "":
			reason, ok = EmptyValue, false
		case utf8.RuneCountInString(text) > maxID:
			reason, ok = LongID, false
		}
	case kindInt:
		n, err := strconv.ParseInt(text, 10, 32)
		x.SetInt(n)
		reason, ok = NotInt, err == nil
	case kindLong:
		n, err := strconv.ParseInt(text, 10, 64)
		x.SetInt(n)
		reason, ok = NotLong, err == nil
	case kindBool:
		x.SetBool(text == "true" || text == "1")
		reason, ok = NotBoolean, text == "true" || text == "1" || text == "false" || text == "0"
	case kindTime, kindDate:
		var t time.Time
		if s.kind == kindTime {
			t, ok = ParseTimestamp(text)
			reason = NotTimestamp
		} else {
			t, ok = ParseDate(text)
			reason = NotDate
		}
		x.Set(reflect.ValueOf(t))
	}
	if !ok {
		d.fault("", text, reason)
	}
	return ok
}
