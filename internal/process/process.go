// Package process holds the processes of the service (OGC 18-062r2). Each describes itself; execution is not offered yet, so no
// description links to one.
package process

import "grense/api/ogcapi"

// A Process describes itself. Its text is in the language asked: nb, nn or en.
type Process interface {
	ID() string
	Describe(lang string) ogcapi.Process // without links
}

// All lists the processes by id.
func All() []Process { return []Process{echo{}} }

// Find returns a process by id.
func Find(id string) (Process, bool) {
	for _, p := range All() {
		if p.ID() == id {
			return p, true
		}
	}
	return nil, false
}

// echo returns its inputs, so that a client can try every kind of input.
type echo struct{}

func (echo) ID() string { return "echo" }

var echoTexts = map[string][2]string{
	"nb": {"Ekko", "Gir tilbake det som sendes inn, så en klient kan prøve alle slags inndata."},
	"nn": {"Ekko", "Gir tilbake det som blir sendt inn, så ein klient kan prøve alle slags inndata."},
	"en": {"Echo", "Returns what it is given, so that a client can try every kind of input."},
}

func (echo) Describe(lang string) ogcapi.Process {
	text, ok := echoTexts[lang]
	if !ok {
		text = echoTexts["en"]
	}
	type m = map[string]any
	bbox := m{"type": "object", "required": []string{"bbox"}, "format": "ogc-bbox", "properties": m{
		"bbox": m{"type": "array", "oneOf": []any{m{"minItems": 4, "maxItems": 4}, m{"minItems": 6, "maxItems": 6}}, "items": m{"type": "number"}},
		"crs":  m{"type": "string", "format": "uri", "default": "http://www.opengis.net/def/crs/OGC/1.3/CRS84"}}}
	in := func(nb, nn, en string) string {
		switch lang {
		case "nb":
			return nb
		case "nn":
			return nn
		}
		return en
	}
	inputs := []struct {
		name, title string
		schema      m
	}{
		{"string", in("Tekst", "Tekst", "Text"), m{"type": "string"}},
		{"number", in("Tall", "Tal", "Number"), m{"type": "number"}},
		{"boolean", in("Sann eller usann", "Sann eller usann", "Truth value"), m{"type": "boolean"}},
		{"object", in("Objekt", "Objekt", "Object"), m{"type": "object"}},
		{"array", in("Liste med tall", "Liste med tal", "List of numbers"), m{"type": "array", "items": m{"type": "number"}}},
		{"bbox", in("Utsnitt", "Utsnitt", "Box"), bbox},
		{"pause", in("Sekunder å vente før svaret", "Sekund å vente før svaret", "Seconds to wait before the answer"), m{"type": "number", "minimum": 0, "maximum": 60, "default": 0}},
	}
	d := ogcapi.Process{
		ProcessSummary: ogcapi.ProcessSummary{Version: "1.0.0", ID: "echo", Title: text[0], Description: text[1], Keywords: []string{"echo", "test"},
			JobControlOptions: []string{"sync-execute"}, OutputTransmission: []string{"value"}},
		Inputs:  map[string]ogcapi.ProcessInput{},
		Outputs: map[string]ogcapi.ProcessOutput{},
		Example: m{"inputs": m{"string": "Oslo", "number": 301}},
	}
	for _, in := range inputs {
		d.Inputs[in.name] = ogcapi.ProcessInput{Title: in.title, Schema: in.schema, MinOccurs: 0, MaxOccurs: 1}
		if in.name != "pause" {
			d.Outputs[in.name] = ogcapi.ProcessOutput{Title: in.title, Schema: in.schema}
		}
	}
	return d
}
