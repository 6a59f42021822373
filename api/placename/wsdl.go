package placename

// Namespaces of WSDL 1.1, of its bindings, and of WS-Addressing metadata.
const (
	wsdlNS   = "http://schemas.xmlsoap.org/wsdl/"
	soap11NS = "http://schemas.xmlsoap.org/wsdl/soap/"
	soap12NS = "http://schemas.xmlsoap.org/wsdl/soap12/"
	wsamNS   = "http://www.w3.org/2007/05/addressing/metadata"
	httpBind = "http://schemas.xmlsoap.org/soap/http"
)

// WSDL returns the WSDL of the service. It imports the schemas by file name without a directory, or contains them if
// d.Single is set. The output depends only on the arguments.
func (c *Contract) WSDL(d Description) []byte {
	w, base, address, both := &xmlWriter{}, d.Base, d.Address, d.SOAP12
	ns := base + servicePath
	w.head()
	w.open("wsdl:definitions", "xmlns:wsdl", wsdlNS, "xmlns:xs", "http://www.w3.org/2001/XMLSchema", "xmlns:soap",
		soap11NS)
	if both {
		w.attr("xmlns:soap12", soap12NS)
	}
	w.attr("xmlns:wsam", wsamNS)
	w.attr("xmlns:ex", base+exceptionPath)
	w.attr("xmlns:tns", ns)
	w.attr("name", "SoekServiceWS")
	w.attr("targetNamespace", ns)
	w.documentation(serviceDoc)
	w.open("wsdl:types")
	for _, s := range c.Schemas {
		if d.Single {
			c.schema(w, s, d)
			continue
		}
		w.open("xs:schema")
		w.leaf("xs:import", "namespace", base+s.Path, "schemaLocation", s.File)
		w.close()
	}
	w.close()
	c.messages(w)
	c.portType(w, base)
	c.binding(w, "SoekServicePortBinding", "soap")
	if both {
		c.binding(w, "SoekServicePortBinding12", "soap12")
	}
	w.open("wsdl:service", "name", "SoekServiceWS")
	port(w, "SoekServicePort", "SoekServicePortBinding", "soap", address)
	if both {
		port(w, "SoekServicePort12", "SoekServicePortBinding12", "soap12", address)
	}
	w.close()
	w.close()
	return w.b
}

// documentation adds documentation to the element opened last. WSDL 1.1 has one for all languages.
func (w *xmlWriter) documentation(d doc) {
	w.open("wsdl:documentation")
	w.text(d[0] + "\n\n" + d[1])
	w.close()
}

func (c *Contract) messages(w *xmlWriter) {
	for _, o := range c.Operations {
		for _, name := range []string{o.Name, o.Name + "Response"} {
			w.open("wsdl:message", "name", name)
			w.leaf("wsdl:part", "name", "parameters", "element", "tns:"+name)
			w.close()
		}
	}
	w.open("wsdl:message", "name", "ServiceException")
	w.leaf("wsdl:part", "name", "fault", "element", "ex:ServiceException")
	w.close()
}

// portType writes the portType. The actions follow WS-Addressing 1.0 Metadata, 4.4.4.
func (c *Contract) portType(w *xmlWriter, base string) {
	w.open("wsdl:portType", "name", "SoekService")
	for _, o := range c.Operations {
		action := base + ActionPath(o.Name)
		w.open("wsdl:operation", "name", o.Name)
		w.documentation(operationDocs[o.Name])
		w.leaf("wsdl:input", "wsam:Action", action+"Request", "message", "tns:"+o.Name)
		w.leaf("wsdl:output", "wsam:Action", action+"Response", "message", "tns:"+o.Name+"Response")
		w.leaf("wsdl:fault", "name", "ServiceException", "wsam:Action", action+"/Fault/ServiceException", "message",
			"tns:ServiceException")
		w.close()
	}
	w.close()
}

func (c *Contract) binding(w *xmlWriter, name, prefix string) {
	w.open("wsdl:binding", "name", name, "type", "tns:SoekService")
	w.leaf(prefix+":binding", "transport", httpBind, "style", "document")
	for _, o := range c.Operations {
		w.open("wsdl:operation", "name", o.Name)
		w.leaf(prefix+":operation", "soapAction", "")
		for _, direction := range []string{"wsdl:input", "wsdl:output"} {
			w.open(direction)
			w.leaf(prefix+":body", "use", "literal")
			w.close()
		}
		w.open("wsdl:fault", "name", "ServiceException")
		w.leaf(prefix+":fault", "name", "ServiceException", "use", "literal")
		w.close()
		w.close()
	}
	w.close()
}

func port(w *xmlWriter, name, binding, prefix, address string) {
	w.open("wsdl:port", "name", name, "binding", "tns:"+binding)
	w.leaf(prefix+":address", "location", address)
	w.close()
}

// ActionPath returns the part after the base of the WS-Addressing actions of an operation. The action in the WSDL has
// "Request", "Response" or "/Fault/ServiceException" appended to it.
func ActionPath(operation string) string { return servicePath + "/SoekService/" + operation }
