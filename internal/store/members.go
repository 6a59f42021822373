package store

import (
	"encoding/json"
	"slices"
	"strings"

	"grense/internal/cql2"
)

// Member is a value inside the objects of a JSON property, which filters may use.
type Member struct {
	Path []string  // names of members, the outermost first
	Type cql2.Type // TypeText, TypeNumber or TypeBool
}

// Members finds the members of the objects in a JSON property from a sample of its values. The zero value is ready to
// use.
type Members struct {
	types map[string]memberType // by path, with dots between the names
	paths map[string][]string
	seen  int // values in the sample
	bytes int // length of these values
}

// memberType is the type that a member has in all sampled values.
type memberType struct {
	is    cql2.Type
	mixed bool // several types, or arrays or objects
}

// SampledValues and sampledBytes bound the sample: the number of values, and their length in all.
const (
	SampledValues = 1000
	sampledBytes  = 8 << 20
	deepestMember = 5   // largest number of names in a path
	mostMembers   = 100 // largest number of members of a property
)

// Full reports whether the sample is large enough.
func (m *Members) Full() bool { return m.seen >= SampledValues || m.bytes >= sampledBytes }

// Add records the members of a value; it does nothing once the sample is full.
func (m *Members) Add(text []byte) {
	if m.Full() {
		return
	}
	m.seen, m.bytes = m.seen+1, m.bytes+len(text)
	var object map[string]any
	if json.Unmarshal(text, &object) == nil {
		m.object(object, nil)
	}
}

func (m *Members) object(object map[string]any, path []string) {
	if len(path) == deepestMember {
		return
	}
	for name, v := range object {
		if name == "" || strings.Contains(name, ".") {
			continue
		}
		at := append(path[:len(path):len(path)], name)
		switch v := v.(type) {
		case nil:
		case map[string]any:
			m.note(at, memberType{mixed: true})
			m.object(v, at)
		case string:
			m.note(at, memberType{is: cql2.TypeText})
		case float64:
			m.note(at, memberType{is: cql2.TypeNumber})
		case bool:
			m.note(at, memberType{is: cql2.TypeBool})
		default:
			m.note(at, memberType{mixed: true})
		}
	}
}

func (m *Members) note(path []string, t memberType) {
	name := strings.Join(path, ".")
	if m.types == nil {
		m.types, m.paths = map[string]memberType{}, map[string][]string{}
	}
	if is, known := m.types[name]; known && is != t {
		t = memberType{mixed: true}
	}
	m.types[name], m.paths[name] = t, path
}

// List returns the members with a single type, sorted by name.
func (m *Members) List() (list []Member) {
	for name, t := range m.types {
		if !t.mixed {
			list = append(list, Member{m.paths[name], t.is})
		}
	}
	slices.SortFunc(list, func(a, b Member) int { return slices.Compare(a.Path, b.Path) })
	return list[:min(len(list), mostMembers)]
}

// DeriveMembers adds the members of a JSON property to Derived, with names such as props.a.b, and returns the added
// properties. A store calls it once the properties are final.
func (c *Collection) DeriveMembers(of string, members []Member) (added []Property) {
	p, ok := c.Find(of)
	if !ok || p.Hidden || p.Type != cql2.TypeJSON {
		return nil
	}
	for _, m := range members {
		name := of + "." + strings.Join(m.Path, ".")
		if _, taken := c.Property(name); !taken {
			added = append(added, Property{Name: name, Column: p.Column, Type: m.Type, Path: m.Path})
		}
	}
	c.Derived = append(c.Derived, added...)
	return added
}
