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
)

// processView is what the page of a process shows: its description, and a form that runs it.
type processView struct {
	ogcapi.Process
	page.Faulty
	Fields []processField
	Async  bool   // may run as a job
	Upload string // path that a file can be sent to instead; "": none
}

// processField is a field of the form, for one input.
type processField struct {
	ID, Title, Description string
	Required               bool
	Kind                   string // text, number, choice, table or json
	Options                page.Choices
	Value                  string // of the example, else the default
	Fault                  *page.FieldFault

	Upload    bool         // it is a field of the form for a file
	Offered   page.Choices // there; nil: any text
	Sent      string       // there
	SentFault *page.FieldFault
}

// send fills the field of the form for a file.
func (f *processField) send(value string) {
	f.Sent = value
	for i := range f.Offered {
		f.Offered[i].Selected = f.Offered[i].Value == value
	}
}

// fill puts a value into the field.
func (f *processField) fill(value string) {
	f.Value = value
	for i := range f.Options {
		f.Options[i].Selected = f.Options[i].Value == value
	}
}

// processPage makes the form of a process from its description.
func (c *call) processPage(d ogcapi.Process) processView {
	v := processView{Process: d, Upload: uploads[d.ID]}
	upload := slices.IndexFunc(c.s.routes, func(rt server.Route) bool { return v.Upload != "" && rt.Path == v.Upload })
	for _, o := range d.JobControlOptions {
		v.Async = v.Async || o == process.Async
	}
	b, _ := server.Marshal(d.Example)
	var example struct{ Inputs map[string]any }
	json.Unmarshal(b, &example) // our own, where there is one
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
			b, _ := server.Marshal(value)
			f.fill(string(b))
		}
		if upload >= 0 {
			c.offer(&f, c.ParamNamed(&c.s.routes[upload], in.ID))
		}
		v.Fields = append(v.Fields, f)
	}
	return v
}

// offer puts a field into the form for a file, where that has a parameter of its name.
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

// inputChoices are the values that an input can have, in words where there are any: those of the catalogues, the
// titles of collections and of formats.
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
			x.Title = c.TitleOf(coll)
		}
		out = append(out, x)
	}
	return out
}

// processForm is the page of a process with what was typed.
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

// isTable reports whether a schema is that of tables, which have lines: a text of one media type or of several.
func isTable(schema map[string]any) bool {
	if schema["contentMediaType"] == "text/csv" {
		return true
	}
	forms, _ := schema["anyOf"].([]any)
	return len(forms) > 0 && !slices.ContainsFunc(forms,
		func(x any) bool { m, _ := x.(map[string]any); return m["contentMediaType"] == nil })
}

// readProcessForm makes the body of an execution of the fields of the form. Fields that are empty are not sent.
func (c *call) readProcessForm(d ogcapi.Process) ([]byte, error) {
	if err := c.ReadForm(maxExecute); err != nil {
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
		if json.Valid([]byte(text)) { // else the check of inputs tells what is wrong
			inputs[f.ID] = json.RawMessage(text)
		}
	}
	body := map[string]any{"inputs": inputs}
	if report, ok := d.Outputs.Find("report"); ok && !c.asksForJob() { // the answer is the file
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
