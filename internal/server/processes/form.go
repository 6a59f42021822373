package processes

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"grense/api/ogcapi"
	"grense/internal/format"
	"grense/internal/process"
	"grense/internal/server"
	"grense/internal/server/page"
	"grense/internal/server/wire"
)

// processView is the data of the page of a process: its description and a form.
type processView struct {
	ogcapi.Process
	page.Faulty
	Fields []processField
	Async  bool   // it may run as a job
	Upload string // route that accepts a file instead; "" if there is none
}

// processField is an input in the form.
type processField struct {
	ID, Title, Description string
	Required               bool
	Kind                   string // text, number, choice, table or json
	Options                page.Choices
	Value                  string // the example, or the default
	Fault                  *page.FieldFault

	Upload    bool         // the form for a file has the field, too
	Offered   page.Choices // options in that form; nil: any text
	Sent      string       // value in that form
	SentFault *page.FieldFault
}

// send sets the value in the form for a file.
func (f *processField) send(value string) {
	f.Sent = value
	for i := range f.Offered {
		f.Offered[i].Selected = f.Offered[i].Value == value
	}
}

// fill sets the value.
func (f *processField) fill(value string) {
	f.Value = value
	for i := range f.Options {
		f.Options[i].Selected = f.Options[i].Value == value
	}
}

// processPage returns the form of a process.
func (c *call) processPage(d ogcapi.Process) processView {
	v := processView{Process: d, Upload: uploads[d.ID]}
	upload := slices.IndexFunc(c.s.routes, func(rt server.Route) bool { return v.Upload != "" && rt.Path == v.Upload })
	for _, o := range d.JobControlOptions {
		v.Async = v.Async || o == process.Async
	}
	b, _ := wire.Marshal(d.Example)
	var example struct{ Inputs map[string]any }
	json.Unmarshal(b, &example) // the example is our own and valid
	for _, in := range d.Inputs {
		schema, _ := in.Schema.(map[string]any)
		f := processField{ID: in.ID, Title: in.Title, Description: in.Description, Required: in.MinOccurs > 0,
			Kind: "json"}
		list, isList := schema["enum"].([]string)
		switch t, _ := schema["type"].(string); {
		case isList:
			f.Kind, f.Options = "choice", c.inputChoices(in.ID, list)
		case in.MaxOccurs > 1:
		case isTable(schema):
			f.Kind = "table"
		case t == "string":
			f.Kind = "text"
		case t == "number", t == "integer":
			f.Kind = "number"
		case t == "boolean":
			f.Kind, f.Options = "choice",
				page.Choices{{Value: "true", Title: c.Text("items.yes")}, {Value: "false", Title: c.Text("items.no")}}
		}
		value, ok := example.Inputs[in.ID]
		if !ok {
			value, ok = schema["default"]
		}
		if s, text := value.(string); text {
			f.fill(s)
		} else if ok {
			b, _ := wire.Marshal(value)
			f.fill(string(b))
		}
		if upload >= 0 {
			c.offer(&f, c.s.routes[upload].ParamNamed(c.Collection, in.ID))
		}
		v.Fields = append(v.Fields, f)
	}
	return v
}

// offer adds the field to the form for a file, if its route has a parameter with the same name.
func (c *call) offer(f *processField, p *server.Param) {
	if p == nil {
		return
	}
	f.Upload = true
	if list, ok := p.Schema["enum"].([]string); ok {
		f.Offered = c.inputChoices(f.ID, list)
	} else if p.Schema["type"] == "boolean" {
		f.Offered = slices.Clone(f.Options)
	}
}

// inputChoices returns the values of an input, with titles from web/messages, or those of collections and formats.
func (c *call) inputChoices(input string, values []string) (out page.Choices) {
	for _, v := range values {
		x := page.Choice{Value: v, Title: v}
		name := input + "." + v
		text := c.Text(fmt.Sprintf("choice.%s", name))
		f := format.Find(v)
		coll, ok := c.Catalog.Collection(v)
		switch {
		case text != "choice."+name:
			x.Title = text
		case input == "format" && f != nil:
			x.Title = f.Title
		case ok:
			x.Title = coll.TitleIn(c.Lang)
		}
		out = append(out, x)
	}
	return out
}

// processForm returns the page of a process with the values and errors of a posted form.
func (s *Surface) processForm(c *call, f page.Faulty) (*page.Page, error) {
	if !c.Form {
		return nil, nil
	}
	p, err := c.findProcess()
	if err != nil {
		return nil, err
	}
	d := c.describeProcess(p)
	v := c.processPage(d)
	v.Faulty = f
	for i := range v.Fields {
		in := &v.Fields[i]
		in.fill(c.Request.PostForm.Get(in.ID))
		for j := range v.Faults {
			if at := &v.Faults[j]; at.Name == "/inputs/"+in.ID || strings.HasPrefix(at.Name, "/inputs/"+in.ID+"/") {
				at.Target, at.Title, in.Fault = "in-"+in.ID, in.Title, at
				if at.Value == "" && in.Required && strings.TrimSpace(in.Value) == "" {
					at.Text, at.Cure = c.Text("fault.missing"), ""
				} else if in.Kind == "number" {
					at.Text, at.Cure = c.Text("fault.number"), ""
				}
			}
		}
	}
	return &page.Page{Name: "process", Title: d.Title, Crumbs: c.Crumbs("processes"), Data: &v, Path: "/processes/" +
		d.ID}, nil
}

// isTable reports whether a schema allows only text with a media type, such as CSV, which needs a field of several
// lines.
func isTable(schema map[string]any) bool {
	if schema["contentMediaType"] == "text/csv" {
		return true
	}
	forms, _ := schema["anyOf"].([]any)
	return len(forms) > 0 && !slices.ContainsFunc(forms,
		func(x any) bool { m, _ := x.(map[string]any); return m["contentMediaType"] == nil })
}

// readProcessForm converts a posted form to the body of an execution. It leaves out empty fields.
func (c *call) readProcessForm(d ogcapi.Process) ([]byte, error) {
	if err := server.ReadForm(c.Request, c.Root, maxExecute); err != nil {
		return nil, err
	}
	c.Form = true
	inputs := map[string]any{}
	for _, f := range c.processPage(d).Fields {
		text := c.Request.PostForm.Get(f.ID)
		if strings.TrimSpace(text) == "" {
			continue
		}
		in, _ := d.Inputs.Find(f.ID)
		schema, _ := in.Schema.(map[string]any)
		if inputs[f.ID] = text; (schema["type"] == "string" || f.Kind == "table") && in.MaxOccurs <= 1 {
			continue
		}
		if json.Valid([]byte(text)) { // invalid JSON stays text, which the check of inputs refuses
			inputs[f.ID] = json.RawMessage(text)
		}
	}
	body := map[string]any{"inputs": inputs}
	if report, ok := d.Outputs.Find("report"); ok && !c.prefersAsync() { // without the report, the file is the response
		outputs := map[string]any{}
		for _, o := range d.Outputs {
			if o.ID != report.ID {
				outputs[o.ID] = map[string]any{}
			}
		}
		body["outputs"] = outputs
	}
	return json.Marshal(body)
}
