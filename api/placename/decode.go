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

// Element is an element of a request, its names resolved.
type Element struct {
	Space, Name string      // namespace and local name
	Attributes  []Attribute // without declarations of namespaces
	Text        string      // character data directly inside, without comments
	Children    []*Element
}

// Attribute is an attribute of an Element, its name resolved.
type Attribute struct{ Space, Name, Value string }

// Base returns the namespace base that e is in, one of bases; false when it is in none of the service's own namespace
// under any base.
func (e *Element) Base(bases []string) (string, bool) {
	for _, base := range bases {
		if e.Space == base+servicePath {
			return base, true
		}
	}
	return "", false
}

// Locale returns the locale of the context in e, whatever else is wrong with the request; "" when there is none.
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

// Unknown says what becomes of an element that the contract does not have and that resembles none of its own.
type Unknown uint8

const (
	RefuseUnknown Unknown = iota
	IgnoreUnknown
)

// Decode reads e, the child of a message's body. Each element's namespace may be under any of bases. Children are
// read by name, in any order. Decode refuses an element that differs from one of the contract by case, namespace or a
// letter, and names the right one. It refuses other unknown elements unless unknown is IgnoreUnknown. It returns all
// faults of the caller in one *Refusal; an unknown operation alone.
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

// maxFaults bounds the faults of one refusal; a request may hold thousands of bad items.
const maxFaults = 20

type decoder struct {
	bases   []string
	base    string // of the operation's element
	unknown Unknown
	path    []segment
	faults  []Fault
}

// segment is one part of a path. index counts from 1; 0 means none.
type segment struct {
	name  string
	index int
}

func (d *decoder) push(name string, index int) { d.path = append(d.path, segment{name, index}) }
func (d *decoder) pop()                        { d.path = d.path[:len(d.path)-1] }

// fault records a fault of the element at the path, or of its child.
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

// is reports whether e has that name in the namespace of s, under any base.
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

// object reads the children of e into the struct v.
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

// child reads the nth element c of step s into the struct v. It reports whether c is nil.
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

// set reads element c into field f.
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

// list reads the items of element c into the slice f and ignores nil items. It refuses a list of nil items or of
// unknown elements alone, which would pass for an empty list, and an empty list does not restrict.
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

// add reads element c as one more value of the slice f.
func (d *decoder) add(s *step, c *Element, f reflect.Value) {
	x := reflect.New(f.Type().Elem()).Elem()
	if d.value(s, c, x) {
		f.Set(reflect.Append(f, x))
	}
}

// absent reports whether element c is nil. It refuses attributes that the contract does not have, and a nil element
// that is not empty (XML Schema Part 1, cvc-elt 3.1 and 3.2.1, cvc-complex-type 3).
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

// foreignAttributes are those that any element may have and that hold no value, by namespace: XML Schema Part 1, 2.6
// (besides nil), XML 1.0, 2.10 and 2.12, SOAP 1.1, 4.1.1, SOAP 1.2 Part 2, 5.1.1.
var foreignAttributes = map[string][]string{
	xsiNS:                                  {"type", "schemaLocation", "noNamespaceSchemaLocation"},
	"http://www.w3.org/XML/1998/namespace": {"lang", "space", "base", "id"},
	Envelope11:                             {"encodingStyle"},
	Envelope12:                             {"encodingStyle"},
}

// value reads element c into x. It returns false if there is no value: after a fault, or for a blank optional text.
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

// unbox returns the one child of c that s.box names, or nil after a fault.
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

// maxID is the longest id or code, in characters.
const maxID = 64

// trimmed reads text, which has no white space around it, into x.
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
