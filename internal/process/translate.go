package process

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"grense/api/ogcapi"
	"grense/internal/enrich"
	"grense/internal/history"
	"grense/internal/problem"
	"grense/internal/store"
)

// translateCodes is the process that translates codes of one day to another day.
type translateCodes struct{}

func (translateCodes) ID() string { return "translate-codes" }

// Refers implements Referrer: the input table is read as a stream.
func (translateCodes) Refers(input string) bool { return input == "table" }

// maxCodes is the largest number of codes in a list. A table may have any number.
const maxCodes = 100_000

func (translateCodes) Describe(_ *store.Catalog, lang string) ogcapi.Process {
	type m = map[string]any
	in := func(nb, nn, en string) string { return localized(lang, nb, nn, en) }
	text, day := m{"type": "string", "minLength": 1}, m{"type": "string", "format": "date"}
	choices := []string{
		string(history.ChooseList),
		string(history.ChooseNull),
		string(history.ChooseLargest),
		string(history.ChooseError),
	}
	return ogcapi.Process{
		ProcessSummary: ogcapi.ProcessSummary{
			Version: "1.0.0",
			ID:      "translate-codes",
			Title: in("Oversett nummer til en annen dag", "Omset nummer til ein annan dag",
				"Translate codes to another day"),
			Keywords: []string{"codes", "history", "table"},
			Description: in(
				"Hva nummer på kommuner eller fylker fra én dag er på en annen, før eller etter: "+
					"en liste med nummer, eller en kolonne i en tabell.",
				"Kva nummer på kommunar eller fylke frå éin dag er på ein annan, før eller etter: "+
					"ei liste med nummer, eller ein kolonne i ein tabell.",
				"What codes of divisions of one day are on another, before or after: a list of codes, or a column "+
					"of a table.",
			),
			JobControlOptions:  []string{Sync, Async, Dismiss},
			OutputTransmission: []string{"value", "reference"},
		},
		Inputs: ogcapi.ProcessInputs{
			{
				ID:        "codes",
				Title:     in("Nummer", "Nummer", "Codes"),
				Schema:    m{"type": "array", "minItems": 1, "maxItems": maxCodes, "items": m{"type": "string"}},
				MaxOccurs: 1,
			},
			{
				ID: "from",
				Title: in("Dag da numrene var i bruk", "Dag då numra var i bruk",
					"Day on which the codes were in use"),
				Schema:    day,
				MinOccurs: 1,
				MaxOccurs: 1,
			},
			{
				ID: "to",
				Title: in("Dag som numrene ønskes for", "Dag som numra er ønskte for",
					"Day whose codes are wanted"),
				Schema:    day,
				MinOccurs: 1,
				MaxOccurs: 1,
			},
			{
				ID:        "scheme",
				Title:     in("Slags nummer", "Slags nummer", "What the codes are of"),
				Schema:    m{"type": "string", "minLength": 1, "default": history.Kommune},
				MaxOccurs: 1,
			},
			{
				ID: "onAmbiguous",
				Title: in("Når et nummer ble til flere: alle, ingen, den største, eller feil",
					"Når eit nummer vart til fleire: alle, ingen, den største, eller feil",
					"Of a code that is several: all, none, the largest, or an error"),
				Schema:    m{"type": "string", "enum": choices, "default": choices[0]},
				MaxOccurs: 1,
			},
			{
				ID: "table",
				Title: in("Tabell i stedet for en liste: CSV med overskrifter, eller et JSON-objekt per linje",
					"Tabell i staden for ei liste: CSV med overskrifter, eller eit JSON-objekt per linje",
					"Table instead of a list: CSV with a header, or a JSON object a line"),
				Schema:    tableSchema,
				MaxOccurs: 1,
			},
			{
				ID: "column",
				Title: in("Kolonne med numrene i tabellen", "Kolonne med numra i tabellen",
					"Column of the table with the codes"),
				Schema:    text,
				MaxOccurs: 1,
			}},
		Outputs: append(
			ogcapi.ProcessOutputs{
				{
					ID:    "translations",
					Title: in("Hva hvert nummer er", "Kva kvart nummer er", "What each code is"),
					Schema: m{"type": "array",
						"items": m{"type": "object", "required": []string{"code", "became"}, "properties": m{
							"code": m{
								"type": "string",
							}, "ambiguous": m{"type": "boolean"}, "restored": m{"type": "boolean"},
							"fault": m{"type": "string"},
							"became": m{
								"type": "array",
								"items": m{"type": "object",
									"properties": m{"code": m{"type": "string"}, "name": m{"type": "string"}}},
							}}}},
				},
			},
			tableOutputs(in)...),
		Example: m{"inputs": m{"codes": []string{"1504", "1534"}, "from": "2019-01-01", "to": "2024-01-01"}},
	}
}

// translation is the JSON form of one translated code.
type translation struct {
	Code      string           `json:"code"`
	Became    []translatedCode `json:"became"`
	Ambiguous bool             `json:"ambiguous,omitempty"` // the code corresponds to several
	Restored  bool             `json:"restored,omitempty"`  // the code matched after its leading zeros were restored
	Fault     string           `json:"fault,omitempty"`     // reason why there is no code
}

type translatedCode struct {
	Code string `json:"code"`
	Name string `json:"name"`
}

// Execute translates a list at once, and a table while the output is written.
func (translateCodes) Execute(ctx context.Context, env *Env, in Inputs) (Outputs, error) {
	t, err := newTranslator(ctx, env, in)
	if err != nil {
		return nil, err
	}
	codes, listed := in["codes"].([]any)
	_, tabled := in["table"]
	switch {
	case listed == tabled:
		return nil, Fault(missing{}, problem.Sayf("send either codes or a table"), "codes")
	case listed && in.Text("column") != "":
		return nil, Fault(in.Text("column"), problem.Sayf("a column is one of a table; leave it out"), "column")
	case listed:
		return t.list(codes)
	}
	d, err := newDivided(ctx, env, in)
	if err != nil {
		return nil, err
	}
	d.find, d.o = t, enrich.Options{Code: in.Text("column"), Error: "translated_error"}
	d.fails = func(err error) error {
		if !errors.Is(err, history.ErrAmbiguous) {
			return err
		}
		row, _, _ := strings.Cut(err.Error(), ":")
		return Fault(t.Asked, problem.Sayf("%s: the code stands for several; choose list, null or largest", row),
			"onAmbiguous")
	}
	return d.outputs(), nil
}

// translating is the enrich.Translation of one execution, from the inputs scheme, from, to and onAmbiguous.
type translating struct{ enrich.Translation }

func newTranslator(ctx context.Context, env *Env, in Inputs) (*translating, error) {
	s, err := schemeOf(ctx, env, in)
	if err != nil {
		return nil, err
	}
	var days [2]history.Date
	for i, name := range [...]string{"from", "to"} {
		if days[i], err = history.ParseDate(in.Text(name)); err != nil {
			return nil, Fault(in.Text(name), problem.Sayf("send a day, as 2024-01-31"), name)
		}
	}
	codes := s.NewTranslator(days[0], days[1], history.Choice(in.Text("onAmbiguous")))
	return &translating{enrich.Translation{Codes: codes, Added: [2]string{"translated", "translated_name"}}}, nil
}

func (t *translating) list(codes []any) (Outputs, error) {
	out := make([]translation, len(codes))
	for i, x := range codes {
		code, _ := x.(string)
		r, err := t.Codes.Translate(code)
		if errors.Is(err, history.ErrAmbiguous) {
			return nil, Fault(code,
				problem.Sayf("it stands for several: %s; choose list, null or largest with onAmbiguous", r.Code),
				"codes", strconv.Itoa(i))
		}
		if err != nil {
			return nil, err
		}
		out[i] = translation{
			Code:      code,
			Became:    []translatedCode{},
			Ambiguous: r.Ambiguous,
			Restored:  r.Restored,
			Fault:     r.Fault,
		}
		for _, v := range r.Versions {
			out[i].Became = append(out[i].Became, translatedCode{v.Code, v.Name})
		}
	}
	return Outputs{"translations": {Value: out}}, nil
}
