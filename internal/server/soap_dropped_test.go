package server_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"grense/api/placename"
)

// sampleValues holds a valid text of each simple type. sampleFields holds one for each required field whose type does
// not suffice.
var (
	sampleValues = map[string]string{"string": "Oslo", "int": "7", "long": "7", "boolean": "true",
		"dateTime": "2020-01-01T00:00:00Z", "date": "2020-01-01"}
	sampleFields = map[string]string{"kommunenummer": "0301", "gaardsnummer": "1-9999", "soeketekst": "norske"}
)

const (
	nilled   = `xmlns:i="http://www.w3.org/2001/XMLSchema-instance" i:nil="true"`
	nilAs1   = `xmlns:i="http://www.w3.org/2001/XMLSchema-instance" i:nil=" 1 "`
	nilMaybe = `xmlns:i="http://www.w3.org/2001/XMLSchema-instance" i:nil="maybe"`
	nilEmpty = `xmlns:i="http://www.w3.org/2001/XMLSchema-instance" i:nil=""`
)

// contractField is a field of the contract and the schema whose namespace its element has.
type contractField struct {
	placename.Field
	schema *placename.Schema
}

// element writes an element of the contract with attributes as they are given.
func (f contractField) element(attributes, content string) string {
	return fmt.Sprintf(`<f:%s xmlns:f="%s%s" %s>%s</f:%[1]s>`, f.Name, placename.DefaultBase, f.schema.Path, attributes,
		content)
}

// contractFields returns the fields of a type, inherited ones first; none for a simple type.
func contractFields(typ string) (fields []contractField) {
	for x := placename.TheContract().Type(typ); x != nil; x = x.Base {
		for _, f := range x.Fields {
			fields = append(fields, contractField{f, x.Schema})
		}
	}
	return fields
}

// contractPaths lists the paths of all fields below a type.
func contractPaths(typ string, at []string) (paths [][]string) {
	for _, f := range contractFields(typ) {
		path := append(slices.Clone(at), f.Name)
		paths = append(append(paths, path), contractPaths(f.Type, path)...)
	}
	return paths
}

// contentWith is the content of an element of a type: its required fields, and the field at path, which write writes.
func contentWith(typ string, path []string, write func(contractField) string) string {
	if value, ok := sampleValues[typ]; ok {
		return value
	}
	var b strings.Builder
	for _, f := range contractFields(typ) {
		switch {
		case len(path) == 1 && path[0] == f.Name:
			b.WriteString(write(f))
		case len(path) > 1 && path[0] == f.Name:
			b.WriteString(f.element("", contentWith(f.Type, path[1:], write)))
		case f.Optional, typ == "StedsnavnContext", f.List && len(path) > 0:
		case sampleFields[f.Name] != "":
			b.WriteString(f.element("", sampleFields[f.Name]))
		case f.Name == "value" && typ != "DokumentSoekEntry":
			b.WriteString(f.element("", sampleCode(typ)))
		default:
			b.WriteString(f.element("", contentWith(f.Type, nil, write)))
		}
	}
	return b.String()
}

// content is a valid content of the field that is not empty.
func (f contractField) content() string {
	if content := contentWith(f.Type, nil, nil); content != "" {
		return content
	}
	first := contractFields(f.Type)[0]
	return first.element("", first.content())
}

// requestWith is a request of an operation with its required fields, and the field at path, which write writes.
func requestWith(op string, path []string, write func(contractField) string) string {
	return contractField{placename.Field{Name: op}, placename.TheContract().Type(op).Schema}.element(
		"", contentWith(op, path, write))
}

// oddForms write a field with valid content in ways that could pass for absent.
var oddForms = map[string]func(f contractField, content string) string{
	"nil with content":      func(f contractField, content string) string { return f.element(nilled, content) },
	"nil as 1 with content": func(f contractField, content string) string { return f.element(nilAs1, content) },
	"nil no boolean":        func(f contractField, content string) string { return f.element(nilMaybe, content) },
	"nil no boolean, empty": func(f contractField, _ string) string { return f.element(nilMaybe, "") },
	"nil empty, empty":      func(f contractField, _ string) string { return f.element(nilEmpty, "") },
	"attribute":             func(f contractField, _ string) string { return f.element(`value="Oslo"`, "") },
	"attribute beside content": func(f contractField, content string) string {
		return f.element(`value="Oslo"`, content)
	},
	"attribute beside nil": func(f contractField, _ string) string { return f.element(`value="Oslo" `+nilled, "") },
	"qualified attribute": func(f contractField, content string) string {
		return f.element(`f:value="Oslo"`, content)
	},
	"item in an attribute": func(f contractField, _ string) string { return f.element(`item="0301"`, "") },
	"reference":            func(f contractField, _ string) string { return f.element(`href="#id0"`, "") },
	"attribute of a draft of XML Schema": func(f contractField, content string) string {
		return f.element(`xmlns:o="http://www.w3.org/1999/XMLSchema-instance" o:null="1"`, content)
	},
	"unknown attribute of XML":  func(f contractField, _ string) string { return f.element(`xml:value="Oslo"`, "") },
	"unknown attribute of SOAP": func(f contractField, _ string) string { return f.element(`S:value="Oslo"`, "") },
	"reference to an attachment": func(f contractField, _ string) string {
		return f.element("", `<x:Include xmlns:x="http://www.w3.org/2004/08/xop/include" href="cid:a"/>`)
	},
	"unknown attribute of XML Schema": func(f contractField, content string) string {
		return f.element(strings.Replace(nilled, "i:nil", "i:value", 1), content)
	},
}

// sampleCode is a value of a type of ids or codes.
func sampleCode(typ string) string {
	if code, ok := map[string]string{"KommuneId": "0301", "LandKodeId": "NO", "SpraakKodeId": "nor"}[typ]; ok {
		return code
	}
	code, _, _ := strings.Cut(placename.CodeValues(typ), ",")
	return code
}

// inEnvelope wraps a request in an envelope of the namespace.
func inEnvelope(ns, request string) string {
	return `<S:Envelope xmlns:S="` + ns + `"><S:Body>` + request + `</S:Body></S:Envelope>`
}

// TestNoCriterionIsIgnored writes every field of every search in ways that could pass for absent, and expects a
// refusal that names the field: XML Schema Part 1, cvc-elt 3.1 and 3.2.1, cvc-complex-type 3.
func TestNoCriterionIsIgnored(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long: the run without the race detector has it")
	}
	a := serveRegister(t, nil)
	sent := 0
	refused := func(op, what, name, request string) {
		t.Helper()
		for ns, media := range map[string]string{placename.Envelope11: "text/xml",
			placename.Envelope12: "application/soap+xml"} {
			r := a.post(endpoint, media, inEnvelope(ns, request))
			if sent++; !bytes.Contains(r.Body, []byte("VALIDATION")) || !bytes.Contains(r.Body, []byte(name)) ||
				bytes.Contains(r.Body, []byte("Response")) {
				t.Errorf("%s, %s: %d %.600s\n%s", op, what, r.StatusCode, r.Body, request)
			}
		}
	}
	for _, o := range placename.TheContract().Operations {
		op := o.Name
		plain := requestWith(op, nil, nil)
		a.post(endpoint, "text/xml", inEnvelope(placename.Envelope11, plain)).wants(200)
		for _, attributes := range []string{`stedsnavn="Oslo"`, nilled, nilMaybe} {
			refused(op, attributes, op, strings.Replace(plain, " >", " "+attributes+">", 1))
		}
		for _, path := range contractPaths(op, nil) {
			field, where := path[len(path)-1], strings.Join(path, "/")
			for what, odd := range oddForms {
				refused(op, what+" of "+where, field, requestWith(
					op, path, func(f contractField) string { return odd(f, f.content()) }))
			}
			if len(path) > 1 {
				refused(op, where+" as an attribute", field,
					requestWith(op, path[:len(path)-1], func(
						f contractField) string {
						return f.element(field+`="Oslo"`, f.content())
					}))
			}
			if field == "item" || field == "entry" {
				for _, n := range []int{1, 3} {
					refused(op, where+" all nil", path[len(path)-2],
						requestWith(op, path, func(f contractField) string {
							return strings.Repeat(f.element(nilled, ""), n)
						}))
				}
			}
		}
	}
	if sent < 9_000 {
		t.Errorf("%d messages are too few to have every field of every search", sent)
	}
}

// TestNilIsAbsent: an optional field that is nil and empty does not restrict the search, and neither does a nil item
// among others.
func TestNilIsAbsent(t *testing.T) {
	t.Parallel()
	a := serveRegister(t, nil)
	ask := func(request string) string {
		t.Helper()
		return string(a.post(endpoint, "text/xml", inEnvelope(placename.Envelope11, request)).wants(200).Body)
	}
	nils, items := 0, 0
	for _, o := range placename.TheContract().Operations {
		op := o.Name
		plain := ask(requestWith(op, nil, nil))
		for _, path := range contractPaths(op, nil) {
			optional := false
			request := requestWith(op, path, func(f contractField) string {
				optional = f.Optional
				return f.element(nilled, " \n<!-- nothing -->")
			})
			if optional {
				if nils++; ask(request) != plain {
					t.Errorf("%s: a nil %s restricts", op, strings.Join(path, "/"))
				}
			}
			if path[len(path)-1] != "item" {
				continue
			}
			with := func(before, after string) string {
				return ask(requestWith(op, path, func(f contractField) string {
					none := f.element(nilled, "")
					return strings.ReplaceAll(before, "nil", none) + f.element("", contentWith(f.Type, nil, nil)) +
						strings.ReplaceAll(after, "nil", none)
				}))
			}
			if items++; with("nil", "nilnil") != with("", "") {
				t.Errorf("%s: nil items beside one of %s change the answer", op, strings.Join(path, "/"))
			}
		}
	}
	if nils < 100 || items < 20 {
		t.Errorf("%d nil fields and %d lists are too few", nils, items)
	}
}
