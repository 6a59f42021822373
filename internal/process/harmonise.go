package process

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"

	"grense/api/ogcapi"
	"grense/internal/history"
	"grense/internal/problem"
	"grense/internal/store"
)

// harmoniseSeries is the process that converts values of divisions of many days to the divisions of one day, see
// history.Series.
type harmoniseSeries struct{}

func (harmoniseSeries) ID() string { return "harmonise-series" }

// Refers implements Referrer: the input table is read as a stream.
func (harmoniseSeries) Refers(input string) bool { return input == "table" }

func (harmoniseSeries) Describe(_ *store.Catalog, lang string) ogcapi.Process {
	type m = map[string]any
	in := func(nb, nn, en string) string { return localized(lang, nb, nn, en) }
	text := m{"type": "string", "minLength": 1}
	column := func(usual string) m { return m{"type": "string", "minLength": 1, "default": usual} }
	table := m{"type": "string", "minLength": 1, "contentMediaType": mediaCSV}
	option := m{"type": "boolean", "default": false}
	return ogcapi.Process{
		ProcessSummary: ogcapi.ProcessSummary{
			Version: "1.0.0",
			ID:      "harmonise-series",
			Title: in("Tidsserie på inndelingen for én dag", "Tidsserie på inndelinga for éin dag",
				"Series by the divisions of one day"),
			Keywords: []string{"codes", "history", "table", "series"},
			Description: in(
				"Verdier for inndelingene fra mange år på inndelingen for én dag. Hver celle er eksakt, "+
					"anslått eller mangler; uten vekter gjettes ingenting.",
				"Verdiar for inndelingane frå mange år på inndelinga for éin dag. Kvar celle er eksakt, "+
					"rekna ut eller manglar; utan vekter blir ingenting gjetta.",
				"Values of the divisions of many years by the divisions of one day. Each cell is exact, estimated or "+
					"missing; without weights nothing is guessed.",
			),
			JobControlOptions:  []string{Sync, Async, Dismiss},
			OutputTransmission: []string{"value", "reference"},
		},
		Inputs: ogcapi.ProcessInputs{
			{ID: "table", Title: in("Tabell med nummer, dato og verdi: CSV, eller et JSON-objekt per linje",
				"Tabell med nummer, dato og verdi: CSV, eller eit JSON-objekt per linje",
				"Table with code, date and value: CSV, or a JSON object a line"),
				Schema: tableSchema, MinOccurs: 1, MaxOccurs: 1},
			{ID: "to", Title: in("Dag som inndelingen ønskes for", "Dag som inndelinga er ønskt for",
				"Day whose divisions are wanted"), Schema: m{"type": "string", "format": "date"}, MinOccurs: 1,
				MaxOccurs: 1},
			{ID: "scheme", Title: in("Slags nummer", "Slags nummer", "What the codes are of"),
				Schema: m{"type": "string", "minLength": 1, "default": history.Kommune}, MaxOccurs: 1},
			{ID: "code", Title: in("Kolonne med numrene", "Kolonne med numra", "Column with the codes"),
				Schema: column("code"), MaxOccurs: 1},
			{ID: "date", Title: in("Kolonne med dag eller år", "Kolonne med dag eller år", "Column with days or years"),
				Schema: column("date"), MaxOccurs: 1},
			{ID: "value", Title: in("Kolonne med verdiene", "Kolonne med verdiane", "Column with the values"),
				Schema: column("value"), MaxOccurs: 1},
			{ID: "by", Title: in("Andre kolonner som skiller verdiene, med komma mellom",
				"Andre kolonnar som skil verdiane, med komma mellom",
				"Further columns that tell values apart, separated by commas"), Schema: text, MaxOccurs: 1},
			{ID: "kind", Title: in("Om verdiene legges sammen eller er andeler",
				"Om verdiane blir lagde saman eller er delar", "Whether values are added or are ratios"),
				Schema:    m{"type": "string", "enum": []string{"additive", "ratio"}, "default": "additive"},
				MaxOccurs: 1},
			{ID: "weights", Title: in("Vekter når noe ble til flere", "Vekter når noko vart til fleire",
				"Weights where a division became several"),
				Schema: m{"type": "string", "enum": []string{string(history.RefuseWeights),
					string(history.PopulationWeights), string(history.AreaWeights), string(history.SuppliedWeights)},
					"default": string(history.RefuseWeights)}, MaxOccurs: 1},
			{ID: "weightsTable", Title: in("Egne vekter: CSV med code og weight, kanskje date og to",
				"Eigne vekter: CSV med code og weight, kanskje date og to",
				"Own weights: CSV with code and weight, perhaps date and to"), Schema: table, MaxOccurs: 1},
			{ID: "skip", Title: in("Hopp over rader som ikke kan leses", "Hopp over rader som ikkje kan lesast",
				"Pass over rows that cannot be read"), Schema: option, MaxOccurs: 1},
			{ID: "interval", Title: in("Kolonnene low og high: hva verdien ligger mellom",
				"Kolonnane low og high: kva verdien ligg mellom", "Columns low and high: between which the value is"),
				Schema: option, MaxOccurs: 1}},
		Outputs: ogcapi.ProcessOutputs{
			{
				ID: "table",
				Title: in("Tabell med verdi, merke og grunn", "Tabell med verdi, merke og grunn",
					"Table with value, mark and reason"),
				Schema: tableOutput,
			},
			{
				ID: "report",
				Title: in("Hvor mange celler av hvert slag, og hva som ikke er med",
					"Kor mange celler av kvart slag, og kva som ikkje er med",
					"How many cells of each kind, and what is in none"),
				Schema: m{"type": "object"},
			}},
		Example: m{
			"inputs": m{
				"table": "code,date,value\n1504,2019,48000\n1523,2019,2300\n1529,2019,4700\n1546,2019,1200\n1534," +
					"2019,9300\n",
				"to": "2024-01-01",
			},
			"outputs": m{"table": m{}},
		},
	}
}

// Execute reads the whole table and calculates all cells before it returns, so that every error is reported before the
// response begins.
func (harmoniseSeries) Execute(ctx context.Context, env *Env, in Inputs) (Outputs, error) {
	x, err := newSeries(ctx, env, in)
	if err != nil {
		return nil, err
	}
	cols := history.SeriesColumns{
		Code:  in.Text("code"),
		Date:  in.Text("date"),
		Value: in.Text("value"),
		Skip:  in["skip"] == true,
	}
	if by := in.Text("by"); by != "" {
		for c := range strings.SplitSeq(by, ",") {
			cols.By = append(cols.By, strings.TrimSpace(c))
		}
	}
	t, err := openTable(ctx, env, in)
	if err != nil {
		return nil, err
	}
	defer t.close()
	media, name := mediaCSV, "series.csv"
	if cols.Lines = t.lines; t.lines {
		media, name = mediaLines, "series.jsonl"
	}
	if err := x.Read(&attentive{ctx, t}, cols, nil); err != nil {
		if f, ok := errors.AsType[*history.SeriesFault](err); ok {
			return nil, Fault(clipped(in.Text("table")), f.Said(), "table")
		}
		return nil, err
	}
	if _, err := x.Cells(func(history.Cell) error { return nil }); errors.Is(err, history.ErrTooMany) {
		return nil, Fault(clipped(in.Text("table")), history.SayingOf(err), "table")
	} else if err != nil {
		return nil, err
	}
	return Outputs{"table": {Media: media, Name: name, Write: func(_ context.Context, w io.Writer) error {
		_, err := x.Write(w, cols)
		return err
	}}, "report": {Media: "application/json", Write: func(_ context.Context, w io.Writer) error {
		r, err := x.Cells(func(history.Cell) error { return nil })
		if err != nil {
			return err
		}
		b, err := json.Marshal(r)
		if err == nil {
			_, err = w.Write(b)
		}
		return err
	}}}, nil
}

// attentive is a reader that fails once ctx is cancelled.
type attentive struct {
	ctx context.Context
	io.Reader
}

func (a *attentive) Read(b []byte) (int, error) {
	if err := a.ctx.Err(); err != nil {
		return 0, err
	}
	return a.Reader.Read(b)
}

// newSeries checks the other inputs and returns an empty series.
func newSeries(ctx context.Context, env *Env, in Inputs) (*history.Series, error) {
	s, err := schemeOf(ctx, env, in)
	if err != nil {
		return nil, err
	}
	o := history.SeriesOptions{
		Ratio:    in.Text("kind") == "ratio",
		Weights:  history.Weights(in.Text("weights")),
		Interval: in["interval"] == true,
		Pause:    ctx.Err,
	}
	if o.To, err = history.ParseDate(in.Text("to")); err != nil {
		return nil, Fault(in.Text("to"), problem.Sayf("send a day, as 2024-01-31"), "to")
	}
	own := in.Text("weightsTable")
	if (o.Weights == history.SuppliedWeights) != (own != "") {
		return nil, Fault(missing{}, problem.Sayf("weights supplied and a table of weights go together"),
			"weightsTable")
	}
	if own != "" {
		if o.Supplied, err = history.ReadWeights(strings.NewReader(own)); err != nil {
			return nil, Fault(clipped(own), history.SayingOf(err), "weightsTable")
		}
	}
	return s.NewSeries(o)
}

// schemeOf returns the scheme that the input scheme names.
func schemeOf(ctx context.Context, env *Env, in Inputs) (*history.Scheme, error) {
	h, err := env.History(ctx)
	if err != nil {
		return nil, err
	}
	if h == nil {
		return nil, problem.NotFoundf(
			"the data served here have no history of divisions; the operator adds one with --history norway, " +
				"or with grense lineage import",
		)
	}
	s := h.Scheme(in.Text("scheme"))
	if s == nil {
		var known []string
		for _, x := range h.Schemes() {
			known = append(known, x.ID)
		}
		return nil, Fault(in.Text("scheme"), problem.Sayf("use one of %s", strings.Join(known, ", ")), "scheme")
	}
	return s, nil
}
