package soap

import (
	"encoding/xml"

	"grense/api/placename"
)

// Namespaces of envelopes, by version.
var envelopeNS = [...]string{soap11: placename.Envelope11, soap12: placename.Envelope12}

// Roles in which this service acts, besides that of an absent role: SOAP 1.1, 4.2.2; SOAP 1.2 Part 1, 2.2.
var ourRoles = map[string]bool{
	"": true,
	"http://schemas.xmlsoap.org/soap/actor/next":                    true,
	"http://www.w3.org/2003/05/soap-envelope/role/next":             true,
	"http://www.w3.org/2003/05/soap-envelope/role/ultimateReceiver": true,
}

// envelope is a message, as far as it has been read.
type envelope struct {
	version version
	lang    placename.Lang // of a fault about an unread message
	headers []header
	child   *placename.Element // the only child of the body
	part    part               // part of the envelope that was entered last
	relates *addressing        // set if the client demands WS-Addressing
}

// header is a header block.
type header struct {
	element *placename.Element
	must    bool // mustUnderstand, and addressed to us
}

// part is the position of the parser in the envelope.
type part uint8

const (
	partNone part = iota
	partHeader
	partBody
)

// enter checks an element at a depth against the rules of envelopes. The root has depth 1.
func (e *envelope) enter(x *placename.Element, attrs []xml.Attr, depth int) *failure {
	ns := envelopeNS[e.version]
	switch depth {
	case 1:
		if x.Name != "Envelope" {
			return bare(textNoEnvelope)
		}
		if x.Space != ns {
			return versionMismatch()
		}
	case 2:
		switch {
		case x.Space == ns && x.Name == "Header" && e.part == partNone:
			e.part = partHeader
		case x.Space == ns && x.Name == "Body" && e.part != partBody:
			e.part = partBody
		default:
			return bare(textStray)
		}
	case 3:
		if e.part == partHeader {
			role := value(attrs, ns, "actor")
			if e.version == soap12 {
				role = value(attrs, ns, "role")
			}
			e.headers = append(e.headers, header{x, isTrue(attrs, ns, "mustUnderstand") && ourRoles[role]})
			return nil
		}
		if e.child != nil {
			return bare(textTwoChildren)
		}
		e.child = x
	}
	return nil
}

// finish checks what is known only at the end: that mandatory header blocks are understood, and that there is a body.
func (e *envelope) finish() *failure {
	var not []xml.Name
	for _, h := range e.headers {
		if h.must && !e.understands(h.element) {
			not = append(not, xml.Name{Space: h.element.Space, Local: h.element.Name})
		}
	}
	switch {
	case not != nil:
		return mustUnderstand(not)
	case e.child == nil:
		return bare(textNoBody)
	}
	return nil
}
