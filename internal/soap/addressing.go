package soap

import (
	"strings"

	"grense/api/placename"
)

// WS-Addressing 1.0, Core and SOAP Binding: the part for a service that replies only on the same connection.
const (
	wsaNS        = "http://www.w3.org/2005/08/addressing"
	wsaAnonymous = wsaNS + "/anonymous"
)

// addressing is what the response needs for a client that demands WS-Addressing.
type addressing struct {
	messageID string // of the request; "" if it has none
}

// understands reports whether the service supports what a header block demands, and records what the response needs.
func (e *envelope) understands(x *placename.Element) bool {
	if x.Space != wsaNS {
		return false
	}
	switch x.Name {
	case "To", "Action", "MessageID", "RelatesTo", "From":
	case "ReplyTo", "FaultTo":
		if addressOf(x) != wsaAnonymous {
			return false // replies to other addresses are not supported
		}
	default:
		return false
	}
	if e.relates == nil {
		e.relates = &addressing{}
		for _, h := range e.headers {
			if h.element.Space == wsaNS && h.element.Name == "MessageID" {
				e.relates.messageID = strings.TrimSpace(h.element.Text)
			}
		}
	}
	return true
}

// addressOf returns the address of an endpoint reference.
func addressOf(x *placename.Element) string {
	for _, c := range x.Children {
		if c.Space == wsaNS && c.Name == "Address" {
			return strings.TrimSpace(c.Text)
		}
	}
	return ""
}

// append appends the header blocks of a response; none if a is nil.
func (a *addressing) append(b []byte, action string) []byte {
	if a == nil {
		return b
	}
	b = append(b, `<S:Header><wsa:Action xmlns:wsa="`+wsaNS+`">`...)
	b = placename.AppendText(b, action)
	b = append(b, `</wsa:Action>`...)
	if a.messageID != "" {
		b = append(b, `<wsa:RelatesTo xmlns:wsa="`+wsaNS+`">`...)
		b = placename.AppendText(b, a.messageID)
		b = append(b, `</wsa:RelatesTo>`...)
	}
	return append(b, `</S:Header>`...)
}
