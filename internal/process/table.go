package process

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"grense/api/ogcapi"
	"grense/internal/enrich"
	"grense/internal/geo/crs"
	"grense/internal/problem"
	"grense/internal/store"
)

// tableSchema is the schema of an input or output that is a table.
var tableSchema = map[string]any{"anyOf": []any{
	map[string]any{"type": "string", "minLength": 1, "contentMediaType": mediaCSV},
	map[string]any{"type": "string", "minLength": 1, "contentMediaType": mediaLines}}}

// tableOutput is the schema of an output table in the format of the input table.
var tableOutput = map[string]any{"oneOf": []any{
	map[string]any{"type": "string", "contentMediaType": mediaCSV},
	map[string]any{"type": "string", "contentMediaType": mediaLines}}}

const (
	mediaCSV   = "text/csv"
	mediaLines = "application/x-ndjson"
)

// maxWaiting is the largest size in bytes of a table passed by reference if the client waits for the response.
const maxWaiting = 32 << 20

// tableIn is the input table of an execution, open for reading.
type tableIn struct {
	*bufio.Reader
	close func() error
	lines bool // one JSON object per line; otherwise CSV
}

// openTable opens the input table, which is a value or a reference. Its first byte shows whether it is CSV or JSON.
func openTable(ctx context.Context, env *Env, in Inputs) (*tableIn, error) {
	t := &tableIn{close: func() error { return nil }}
	if ref, ok := in["table"].(Ref); ok {
		r, media, err := env.Open(ctx, ref.Href)
		if err != nil {
			return nil, atHref(err, ref, pointer("inputs", "table"))
		}
		media, _, _ = strings.Cut(media, ";")
		if media != "" &&
			!slices.Contains(
				[]string{mediaCSV, mediaLines, "application/jsonl", "text/plain", "application/octet-stream"},
				strings.ToLower(strings.TrimSpace(media)),
			) {
			r.Close()
			return nil, Fault(ref.Href,
				problem.Sayf("what is there is %s; refer to CSV, such as items with f=csv, or to JSON lines", media),
				"table", "href")
		}
		t.close, t.Reader = r.Close, bufio.NewReaderSize(r, 64<<10)
		if env.Waiting {
			t.Reader = bufio.NewReaderSize(&shortReader{r, maxWaiting, ref.Href}, 64<<10)
		}
	} else {
		t.Reader = bufio.NewReader(strings.NewReader(in.Text("table")))
	}
	head, err := t.Peek(64)
	if len(head) == 0 && err != nil && !errors.Is(err, io.EOF) {
		t.close()
		return nil, err
	}
	t.lines = enrich.IsLines(head)
	return t, nil
}

// shortReader fails after left bytes, with a message that suggests an asynchronous job.
type shortReader struct {
	io.Reader
	left int
	href string
}

func (s *shortReader) Read(b []byte) (int, error) {
	n, err := s.Reader.Read(b)
	if s.left -= n; s.left < 0 {
		return n, Fault(s.href,
			problem.Sayf("the table has more than %d bytes; ask for a job, with Prefer: respond-async", maxWaiting),
			"table", "href")
	}
	return n, err
}

// divided holds the outputs table and report of a process that adds columns to a table.
type divided struct {
	env   *Env
	in    Inputs
	find  enrich.Finder
	o     enrich.Options
	media string
	name  string                   // name of the output file
	fails func(error) error        // converts an error of find; nil to return it unchanged
	done  *enrich.Report           // set after the table was written
	first *tableIn                 // the table as opened by newDivided; nil once it is used
	table func() (*tableIn, error) // opens the table again
}

// newDivided opens the table, so that a table that cannot be read is reported before the response begins.
func newDivided(ctx context.Context, env *Env, in Inputs) (*divided, error) {
	d := &divided{env: env, in: in, media: mediaCSV, name: "table.csv"}
	d.table = func() (*tableIn, error) { return openTable(ctx, env, in) }
	first, err := d.table()
	if err != nil {
		return nil, err
	}
	if d.first = first; first.lines {
		d.media, d.name = mediaLines, "table.jsonl"
	}
	return d, nil
}

// outputs returns the outputs table and report.
func (d *divided) outputs() Outputs {
	return Outputs{
		"table":  {Media: d.media, Name: d.name, Write: d.write},
		"report": {Media: "application/json", Write: d.report},
	}
}

func (d *divided) write(ctx context.Context, w io.Writer) error {
	in := d.first
	if d.first = nil; in == nil {
		var err error
		if in, err = d.table(); err != nil {
			return err
		}
	}
	defer in.close()
	table := enrich.NewCSV(d.find, d.o)
	if in.lines {
		table = enrich.NewLines(d.find, d.o)
	}
	size := len(d.in.Text("table")) // 0 for a reference
	err := table.Run(w, in, func(bytes int) {
		if size > 0 {
			d.env.Progress(min(99, int(100*int64(bytes)/int64(size))), "")
		} else {
			d.env.Progress(0, fmt.Sprintf("%d rows", table.Report.Rows))
		}
	})
	if f, ok := errors.AsType[*enrich.Fault](err); ok {
		return Fault(clipped(d.in.Text("table")), f.Said, "table")
	}
	if err != nil && d.fails != nil {
		err = d.fails(fmt.Errorf("row %d: %w", table.Report.Rows, err))
	}
	d.done = &table.Report
	return err
}

// clipped returns the beginning of a long value, for a message.
func clipped(s string) string {
	const most = 60
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// report writes the counts of the rows. If the output table was not written before, it processes the table for them.
func (d *divided) report(ctx context.Context, w io.Writer) error {
	if d.done == nil {
		if err := d.write(ctx, io.Discard); err != nil {
			return err
		}
	}
	b, err := json.Marshal(d.done)
	if err == nil {
		_, err = w.Write(b)
	}
	return err
}

// enrichTable is the process that adds divisions to the rows of a table.
type enrichTable struct{}

func (enrichTable) ID() string { return "enrich-table" }

// Refers implements Referrer: the input table is read as a stream.
func (enrichTable) Refers(input string) bool { return input == "table" }

func (enrichTable) Describe(cat *store.Catalog, lang string) ogcapi.Process {
	type m = map[string]any
	in := func(nb, nn, en string) string { return localized(lang, nb, nn, en) }
	text := m{"type": "string", "minLength": 1}
	return ogcapi.Process{
		ProcessSummary: ogcapi.ProcessSummary{
			Version: "1.0.0",
			ID:      "enrich-table",
			Title: in("Legg til inndelinger i en tabell", "Legg til inndelingar i ein tabell",
				"Add divisions to a table"),
			Keywords: []string{"table", "csv"},
			Description: in(
				"Legger nummer og navn på inndelingene til hver rad av en tabell med punkter eller nummer, "+
					"i samme rekkefølge. Store tabeller kommer ved referanse og kjøres som jobb.",
				"Legg nummer og namn på inndelingane til kvar rad av ein tabell med punkt eller nummer, "+
					"i same rekkjefølgje. Store tabellar kjem ved referanse og blir køyrde som jobb.",
				"Adds ids and names of divisions to each row of a table of points or codes, in the same order. "+
					"Large tables come by reference and run as a job.",
			),
			JobControlOptions:  []string{Sync, Async, Dismiss},
			OutputTransmission: []string{"value", "reference"},
		},
		Inputs: append(ogcapi.ProcessInputs{
			{
				ID: "table",
				Title: in("Tabell: CSV med overskrifter, eller et JSON-objekt per linje",
					"Tabell: CSV med overskrifter, eller eit JSON-objekt per linje",
					"Table: CSV with a header, or a JSON object a line"),
				Schema:    tableSchema,
				MinOccurs: 1,
				MaxOccurs: 1,
			},
			{
				ID: "x",
				Title: in("Kolonne med lengdegrad eller øst", "Kolonne med lengdegrad eller aust",
					"Column with the longitude or easting"),
				Schema:    text,
				MaxOccurs: 1,
			},
			{
				ID: "y",
				Title: in("Kolonne med breddegrad eller nord", "Kolonne med breiddegrad eller nord",
					"Column with the latitude or northing"),
				Schema:    text,
				MaxOccurs: 1,
			},
			{
				ID: "code",
				Title: in("Kolonne med nummer, i stedet for punkter", "Kolonne med nummer, i staden for punkt",
					"Column with codes, instead of points"),
				Schema:    text,
				MaxOccurs: 1,
			},
			{
				ID: "crs",
				Title: in("Koordinatsystem for punktene", "Koordinatsystem for punkta",
					"Coordinate reference system of the points"),
				Schema:    m{"type": "string", "format": "uri"},
				MaxOccurs: 1,
			},
			{
				ID: "collections",
				Title: in("Datasett, med komma mellom; alle uten", "Datasett, med komma mellom; alle utan",
					"Collections, separated by commas; all without"),
				Schema:    text,
				MaxOccurs: 1,
			}}, datetimeInput(cat, lang)...),
		Outputs: tableOutputs(in),
		Example: m{"inputs": m{"table": "name,lon,lat\nOslo,10.75,59.91\n"}, "outputs": m{"table": m{}}},
	}
}

// tableOutputs describes the outputs table and report of divided.
func tableOutputs(in func(nb, nn, en string) string) ogcapi.ProcessOutputs {
	type m = map[string]any
	return ogcapi.ProcessOutputs{
		{
			ID: "table",
			Title: in("Tabellen med de nye kolonnene", "Tabellen med dei nye kolonnane",
				"The table with the new columns"),
			Schema: tableOutput,
		},
		{
			ID: "report",
			Title: in("Hvor mange rader det ble funnet noe for", "Kor mange rader det vart funne noko for",
				"How many rows something was found for"),
			Schema: m{"type": "object", "contentMediaType": "application/json", "properties": m{
				"rows": m{
					"type": "integer",
				}, "matched": m{"type": "integer"}, "unmatched": m{"type": "integer"}, "errors": m{"type": "integer"},
				"restoredCodes": m{"type": "integer"}}},
		}}
}

// Execute finds the columns. The rows are read while the output is written.
func (enrichTable) Execute(ctx context.Context, env *Env, in Inputs) (Outputs, error) {
	points := crs.CRS84
	if text := in.Text("crs"); text != "" {
		var ok bool
		if points, ok = crs.Parse(text); !ok {
			return nil,
				Fault(text, problem.Sayf("use the address of a coordinate system, such as %s", crs.UTM33.URI()), "crs")
		}
	}
	find, err := env.Divisions(ctx, in.Text("collections"), in.Text("datetime"), points)
	if err != nil {
		return nil, err
	}
	d, err := newDivided(ctx, env, in)
	if err != nil {
		return nil, err
	}
	d.find, d.o = find, enrich.Options{X: in.Text("x"), Y: in.Text("y"), Code: in.Text("code")}
	return d.outputs(), nil
}
