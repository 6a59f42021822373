package placename

import "slices"

// Files returns the names of the schema files, in the order of the contract.
func (c *Contract) Files() []string {
	var names []string
	for _, s := range c.Schemas {
		names = append(names, s.File)
	}
	return names
}

// Description holds options for writing the XSDs and the WSDL.
type Description struct {
	Base    string // base of the namespaces
	Address string // absolute URL of the service; used in the WSDL only
	SOAP12  bool   // the WSDL has a second port for SOAP 1.2
	Single  bool   // the WSDL contains the schemas instead of importing them
	CRS     string // name of the CRS of geometries; "" means EPSG:4258
}

// XSD returns a schema file; false if there is none with that name. It imports other schemas by file name without a
// directory. The output depends only on the arguments.
func (c *Contract) XSD(file string, d Description) ([]byte, bool) {
	s, ok := c.files[file]
	if !ok {
		return nil, false
	}
	w := &xmlWriter{}
	w.head()
	c.schema(w, s, d)
	return w.b, true
}

// schema writes a schema. In a WSDL that contains the schemas, imports have no location.
func (c *Contract) schema(w *xmlWriter, s *Schema, d Description) {
	base, used := d.Base, c.uses(s)
	w.open("xs:schema", "xmlns:xs", "http://www.w3.org/2001/XMLSchema")
	for _, x := range used {
		w.attr("xmlns:"+x.Prefix, base+x.Path)
	}
	w.attr("targetNamespace", base+s.Path)
	w.attr("elementFormDefault", "qualified")
	w.attr("version", "1.0")
	for _, x := range used {
		if x == s {
			continue
		}
		if w.open("xs:import", "namespace", base+x.Path); !d.Single {
			w.attr("schemaLocation", x.File)
		}
		w.close()
	}
	for _, name := range c.globals(s) {
		w.open("xs:element", "name", name.element, "type", s.Prefix+":"+name.typ)
		if name.nillable {
			w.attr("nillable", "true")
		}
		w.annotation(c.docOfType(c.types[name.typ], d))
		w.close()
	}
	for _, t := range s.Types {
		c.complexType(w, t, d)
	}
	w.close()
}

// global is a global element.
type global struct {
	element, typ string
	nillable     bool
}

// globals returns the global elements of a schema: the wrappers in that of the service, and the fault detail.
func (c *Contract) globals(s *Schema) []global {
	var out []global
	switch s.Path {
	case servicePath:
		for _, t := range s.Types {
			out = append(out, global{t.Name, t.Name, false})
		}
	case exceptionPath:
		out = append(out, global{"ServiceException", "ServiceFaultInfo", true})
	}
	return out
}

// uses returns the schemas of the types that s uses, s included, in the order of the contract.
func (c *Contract) uses(s *Schema) []*Schema {
	used := map[*Schema]bool{s: true}
	for _, t := range s.Types {
		if t.Base != nil {
			used[t.Base.Schema] = true
		}
		for _, f := range t.Fields {
			if x := c.Type(f.Type); x != nil {
				used[x.Schema] = true
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(c.Schemas), func(x *Schema) bool { return !used[x] })
}

func (c *Contract) complexType(w *xmlWriter, t *Type, d Description) {
	w.open("xs:complexType", "name", t.Name)
	if t.Abstract {
		w.attr("abstract", "true")
	}
	w.annotation(c.docWithFields(t, d))
	if t.Base != nil {
		w.open("xs:complexContent")
		w.open("xs:extension", "base", t.Base.Schema.Prefix+":"+t.Base.Name)
	}
	w.open("xs:sequence")
	for _, f := range t.Fields {
		typ := "xs:" + f.Type
		if x := c.Type(f.Type); x != nil {
			typ = x.Schema.Prefix + ":" + x.Name
		}
		w.open("xs:element", "name", f.Name, "type", typ)
		if f.Optional || f.List {
			w.attr("minOccurs", "0")
		}
		if f.List {
			w.attr("maxOccurs", "unbounded")
		}
		if f.Nillable {
			w.attr("nillable", "true")
		}
		w.annotation(c.docOfField(t, f, d))
		w.close()
	}
	w.close()
	if t.Base != nil {
		w.close()
		w.close()
	}
	w.close()
}

// xmlWriter writes indented XML in which an element contains either elements or text.
type xmlWriter struct {
	b      []byte
	stack  []string
	inTag  bool // attributes may still be added to the last start tag
	inLine bool // the element opened last contains text
}

// annotation adds documentation to the element opened last. Norwegian and English are in one xs:documentation, because
// generators for Java use only one of several.
func (w *xmlWriter) annotation(d doc) {
	w.open("xs:annotation")
	w.open("xs:documentation")
	w.text(d[0] + "\n\n" + d[1])
	w.close()
	w.close()
}

// text writes the text of the element opened last.
func (w *xmlWriter) text(s string) {
	w.b = append(w.b, '>')
	w.b = AppendText(w.b, s)
	w.inTag, w.inLine = false, true
}

func (w *xmlWriter) head() {
	w.b = append(w.b, `<?xml version="1.0" encoding="UTF-8"?>`...)
}

// open writes a start tag. attrs are alternating names and values of attributes.
func (w *xmlWriter) open(name string, attrs ...string) {
	if w.inTag {
		w.b = append(w.b, '>')
	}
	w.indent()
	w.b = append(w.b, '<')
	w.b = append(w.b, name...)
	w.stack = append(w.stack, name)
	w.inTag = true
	for i := 0; i < len(attrs); i += 2 {
		w.attr(attrs[i], attrs[i+1])
	}
}

// attr adds an attribute to the element opened last.
func (w *xmlWriter) attr(name, value string) {
	w.b = append(w.b, ' ')
	w.b = append(w.b, name...)
	w.b = append(w.b, `="`...)
	w.b = AppendText(w.b, value)
	w.b = append(w.b, '"')
}

// close writes the end tag of the element opened last. After the root element it ends the document.
func (w *xmlWriter) close() {
	name := w.stack[len(w.stack)-1]
	w.stack = w.stack[:len(w.stack)-1]
	if w.inTag {
		w.b = append(w.b, "/>"...)
	} else {
		if !w.inLine {
			w.indent()
		}
		w.b = append(w.b, "</"...)
		w.b = append(w.b, name...)
		w.b = append(w.b, '>')
	}
	w.inTag, w.inLine = false, false
	if len(w.stack) == 0 {
		w.b = append(w.b, '\n')
	}
}

// leaf writes an empty element.
func (w *xmlWriter) leaf(name string, attrs ...string) {
	w.open(name, attrs...)
	w.close()
}

func (w *xmlWriter) indent() {
	w.b = append(w.b, '\n')
	for range w.stack {
		w.b = append(w.b, "  "...)
	}
}
