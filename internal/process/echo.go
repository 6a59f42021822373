package process

import (
	"context"
	"time"

	"grense/api/ogcapi"
	"grense/internal/store"
)

// echo is the process that returns its inputs, with which clients can test every kind of input.
type echo struct{}

func (echo) ID() string { return "echo" }

func (echo) Describe(_ *store.Catalog, lang string) ogcapi.Process {
	type m = map[string]any
	in := func(nb, nn, en string) string { return localized(lang, nb, nn, en) }
	bbox := m{"type": "object", "required": []string{"bbox"}, "format": "ogc-bbox", "properties": m{
		"bbox": m{
			"type":  "array",
			"oneOf": []any{m{"minItems": 4, "maxItems": 4}, m{"minItems": 6, "maxItems": 6}},
			"items": m{"type": "number"},
		},
		"crs": m{"type": "string", "format": "uri", "default": "http://www.opengis.net/def/crs/OGC/1.3/CRS84"}}}
	inputs := []struct {
		name, title string
		schema      m
	}{
		{"string", in("Tekst", "Tekst", "Text"), m{"type": "string"}},
		{"number", in("Tall", "Tal", "Number"), m{"type": "number"}},
		{"boolean", in("Sann eller usann", "Sann eller usann", "Truth value"), m{"type": "boolean"}},
		{"object", in("Objekt", "Objekt", "Object"), m{"type": "object"}},
		{"array", in("Liste med tall", "Liste med tal", "List of numbers"),
			m{"type": "array", "items": m{"type": "number"}}},
		{"bbox", in("Utsnitt", "Utsnitt", "Box"), bbox},
		{
			"pause",
			in("Sekunder å vente før svaret", "Sekund å vente før svaret", "Seconds to wait before the answer"),
			m{"type": "number", "minimum": 0, "maximum": 60, "default": 0},
		},
	}
	d := ogcapi.Process{
		ProcessSummary: ogcapi.ProcessSummary{
			Version:  "1.0.0",
			ID:       "echo",
			Title:    in("Ekko", "Ekko", "Echo"),
			Keywords: []string{"echo", "test"},
			Description: in("Gir tilbake det som sendes inn, så en klient kan prøve alle slags inndata.",
				"Gir tilbake det som blir sendt inn, så ein klient kan prøve alle slags inndata.",
				"Returns what it is given, so that a client can try every kind of input."),
			JobControlOptions:  []string{Sync, Async, Dismiss},
			OutputTransmission: []string{"value", "reference"},
		},
		Example: m{"inputs": m{"string": "Oslo", "number": 301}},
	}
	for _, in := range inputs {
		d.Inputs = append(d.Inputs,
			ogcapi.ProcessInput{ID: in.name, Title: in.title, Schema: in.schema, MinOccurs: 0, MaxOccurs: 1})
		if in.name != "pause" {
			d.Outputs = append(d.Outputs, ogcapi.ProcessOutput{ID: in.name, Title: in.title, Schema: in.schema})
		}
	}
	return d
}

// Execute returns the inputs after the requested pause.
func (echo) Execute(ctx context.Context, env *Env, in Inputs) (Outputs, error) {
	if seconds, _ := in.Number("pause"); seconds > 0 {
		whole := time.Duration(seconds * float64(time.Second))
		start, tick := time.Now(), time.NewTicker(max(whole/100, 10*time.Millisecond))
		defer tick.Stop()
		for took := time.Duration(0); took < whole; took = time.Since(start) {
			env.Progress(int(100*took/whole), "")
			select {
			case <-ctx.Done():
				return nil, ctx.Err()
			case <-tick.C:
			}
		}
	}
	out := Outputs{}
	for name, v := range in {
		if name != "pause" {
			out[name] = Output{Value: v}
		}
	}
	return out, nil
}
