package process

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"grense/api/ogcapi"
	"grense/internal/enrich"
	"grense/internal/problem"
)

// Request is a parsed and validated execute request (OGC 18-062r2, 7.11). Inputs passed by reference have not been read
// yet, see Resolve.
type Request struct {
	Inputs     Inputs
	Outputs    []string           // requested outputs, sorted
	Reference  map[string]bool    // outputs requested by reference
	Subscriber *ogcapi.Subscriber // URLs to notify, not validated; nil if there are none
	Document   bool               // the response is one document with all results; otherwise raw

	refs map[string]int // number of references in each input
}

// Read parses the body of an execute request and validates it against the description d. The error lists all faults,
// with their JSON pointers.
func Read(body []byte, p Process, d ogcapi.Process) (*Request, error) {
	var x struct { // ogcapi.Execute, with outputs that are decoded one by one, so that faults name the output
		Inputs     map[string]any             `json:"inputs"`
		Outputs    map[string]json.RawMessage `json:"outputs"`
		Response   string                     `json:"response"`
		Subscriber *ogcapi.Subscriber         `json:"subscriber"`
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	err := dec.Decode(&x)
	if err == nil {
		if _, more := dec.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("there is something behind the JSON object")
		}
	}
	if err != nil || !utf8.Valid(body) {
		return nil, badJSON(err)
	}
	if at, twice := enrich.RepeatedMember(body); twice {
		return nil, &problem.Error{
			Kind:   problem.Invalid,
			Faults: []problem.Fault{{In: "body", Param: at, Cure: "the member is written twice; write it once"}},
		}
	}
	r := &Request{Inputs: Inputs{}, Reference: map[string]bool{}, refs: map[string]int{}}
	var c checker
	if err := c.members(body); err != nil {
		return nil, badJSON(err)
	}
	r.readInputs(&c, x.Inputs, p, d)
	r.readOutputs(&c, x.Outputs, d)
	switch x.Response {
	case "", "raw":
	case "document":
		r.Document = true
	default:
		c.fail("/response", x.Response, "use raw or document")
	}
	r.Subscriber = x.Subscriber
	if len(c.faults) > 0 {
		return nil, &problem.Error{Kind: problem.Invalid, Faults: c.faults[:min(len(c.faults), maxFaults)]}
	}
	return r, nil
}

// members checks that the body is an object with the members of an execute request. It ignores members that drafts of
// the standard had.
func (c *checker) members(body []byte) error {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(body, &members); err != nil || members == nil {
		return cmp.Or(err, errors.New("null is no object"))
	}
	for _, name := range sortedKeys(members) {
		if !slices.Contains([]string{"inputs", "outputs", "response", "subscriber", "id", "mode"}, name) {
			c.fail(pointer(name), missing{},
				"there is no such member; an execution has inputs, outputs, response and subscriber")
		} else if string(members[name]) == "null" && name == "inputs" {
			c.fail(pointer(name), nil, "send an object with the inputs, or leave it out")
		}
	}
	return nil
}

func badJSON(err error) error {
	at, cure := "", `send a JSON object with the member inputs, for instance {"inputs":{}}`
	if s, ok := errors.AsType[*json.SyntaxError](err); ok {
		cure = fmt.Sprintf("the JSON breaks off or is wrong at byte %d; %s", s.Offset, cure)
	}
	if t, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && t.Field != "" {
		return &problem.Error{Kind: problem.Invalid, Err: err, Faults: []problem.Fault{typeFault(t, "")}}
	}
	return &problem.Error{Kind: problem.Invalid, Err: err, Faults: []problem.Fault{{In: "body", Param: at, Cure: cure}}}
}

// typeFault returns the fault of a value of the wrong type within the value at a JSON pointer.
func typeFault(t *json.UnmarshalTypeError, at string) problem.Fault {
	if t.Field != "" {
		at += "/" + strings.ReplaceAll(t.Field, ".", "/")
	}
	return problem.Fault{In: "body", Param: at, Cure: article(t.Value) + " " + t.Value + " cannot stand here"}
}

func (r *Request) readInputs(c *checker, in map[string]any, p Process, d ogcapi.Process) {
	for _, name := range sortedKeys(in) {
		if _, ok := d.Inputs.Find(name); !ok {
			c.fail(pointer("inputs", name), in[name], "there is no such input; use %s", inputNames(d))
		}
	}
	for _, spec := range d.Inputs {
		name, at := spec.ID, pointer("inputs", spec.ID)
		schema := normal(spec.Schema)
		v, there := in[name]
		if !there || v == nil && spec.MinOccurs == 0 {
			if spec.MinOccurs > 0 {
				c.fail(at, missing{}, "the input is missing; %s", spec.Title)
			} else if x, ok := schema["default"]; ok {
				r.Inputs[name] = x
			}
			continue
		}
		v = c.unwrap(schema, v, at)
		if spec.MaxOccurs > 1 {
			r.readMany(c, name, spec, v)
			continue
		}
		if ref, ok := v.(Ref); ok {
			if refers, ok := p.(Referrer); !ok || !refers.Refers(name) {
				r.refs[name]++
			}
			r.Inputs[name] = ref
			continue
		}
		c.check(schema, v, at)
		r.Inputs[name] = v
	}
}

// readMany reads an input that may occur several times: a list of values, or a single value (OGC 18-062r2, 7.11.2.5).
func (r *Request) readMany(c *checker, name string, spec ogcapi.ProcessInput, v any) {
	at, schema := pointer("inputs", name), normal(spec.Schema)
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	if len(list) < spec.MinOccurs || len(list) > spec.MaxOccurs {
		c.fail(at, v, "send from %d to %d values", spec.MinOccurs, spec.MaxOccurs)
		return
	}
	out := make([]any, len(list))
	for i, x := range list {
		here := at + "/" + strconv.Itoa(i)
		if out[i] = c.unwrap(schema, x, here); typeIsRef(out[i]) {
			r.refs[name]++
			continue
		}
		c.check(schema, out[i], here)
	}
	r.Inputs[name] = out
}

func typeIsRef(v any) bool {
	_, ok := v.(Ref)
	return ok
}

// unwrap returns the value of a qualified value (OGC 18-062r2, 7.11.2.3), or a Ref for a link. It returns any other
// value unchanged.
func (c *checker) unwrap(schema map[string]any, v any, at string) any {
	m, ok := v.(map[string]any)
	if !ok {
		return v
	}
	only := func(allowed ...string) bool {
		for k := range m {
			if !slices.Contains(allowed, k) {
				return false
			}
		}
		return true
	}
	if href, ok := m["href"].(string); ok && only("href", "rel", "type", "hreflang", "title") {
		media, _ := m["type"].(string)
		return Ref{Href: href, Media: media}
	}
	value, ok := m["value"]
	if !ok || !only("value", "mediaType", "encoding", "schema") {
		return v
	}
	// the input itself is an object with a member "value"
	if _, object := value.(map[string]any); !object && len(m) == 1 && schema["type"] == "object" {
		return v
	}
	want, _ := schema["contentMediaType"].(string)
	if media, ok := m["mediaType"].(string); ok && want != "" && !strings.EqualFold(media, want) {
		c.fail(at+"/mediaType", media, "the input is %s", want)
	}
	return value
}

func (r *Request) readOutputs(c *checker, out map[string]json.RawMessage, d ogcapi.Process) {
	if out == nil { // all outputs (OGC 18-062r2, 7.11.2.6)
		for _, x := range d.Outputs {
			r.Outputs = append(r.Outputs, x.ID)
		}
		return
	}
	for _, name := range sortedKeys(out) {
		at := pointer("outputs", name)
		spec, ok := d.Outputs.Find(name)
		if !ok {
			c.fail(at, name, "there is no such output; use %s", outputNames(d))
			continue
		}
		var x ogcapi.ExecuteOutput
		if t, ok := errors.AsType[*json.UnmarshalTypeError](json.Unmarshal(out[name], &x)); ok {
			c.faults = append(c.faults, typeFault(t, at))
			continue
		}
		want, _ := normal(spec.Schema)["contentMediaType"].(string)
		if f := x.Format.MediaType; f != "" && !strings.EqualFold(f, want) &&
			(want != "" || !strings.EqualFold(f, "application/json")) &&
			f != "text/plain" {
			c.fail(at+"/format/mediaType", f, "the output is %s", orJSON(want))
		}
		switch x.TransmissionMode {
		case "", "value":
		case "reference":
			if !slices.Contains(d.OutputTransmission, "reference") {
				c.fail(at+"/transmissionMode", "reference", "the process gives values only; use value")
			}
			r.Reference[name] = true
		default:
			c.fail(at+"/transmissionMode", x.TransmissionMode, "use value or reference")
		}
		r.Outputs = append(r.Outputs, name)
	}
}

func inputNames(d ogcapi.Process) string {
	var names []string
	for _, x := range d.Inputs {
		names = append(names, x.ID)
	}
	return strings.Join(names, ", ")
}

func outputNames(d ogcapi.Process) string {
	var names []string
	for _, x := range d.Outputs {
		names = append(names, x.ID)
	}
	return strings.Join(names, ", ")
}

func orJSON(media string) string {
	if media == "" {
		return "application/json"
	}
	return media
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// maxReferred is the largest size in bytes of an input passed by reference to a process that is not a Referrer.
const maxReferred = 16 << 20

// Resolve reads the inputs passed by reference and validates them.
func (r *Request) Resolve(ctx context.Context, env *Env, d ogcapi.Process) error {
	var c checker
	for _, name := range sortedKeys(r.refs) {
		spec, _ := d.Inputs.Find(name)
		schema := normal(spec.Schema)
		read := func(v any, at string) (any, error) {
			ref, ok := v.(Ref)
			if !ok {
				return v, nil
			}
			b, err := referred(ctx, env, ref, at)
			if err != nil {
				return nil, err
			}
			if schema["type"] == "string" {
				c.check(schema, string(b), at)
				return string(b), nil
			}
			x, cure := decodeReferred(b)
			if cure != "" {
				c.fail(at+"/href", ref.Href, cure)
				return nil, nil
			}
			c.check(schema, x, at)
			return x, nil
		}
		var err error
		if list, ok := r.Inputs[name].([]any); ok {
			for i := range list {
				if list[i], err = read(list[i], pointer("inputs", name, strconv.Itoa(i))); err != nil {
					return err
				}
			}
			continue
		}
		if r.Inputs[name], err = read(r.Inputs[name], pointer("inputs", name)); err != nil {
			return err
		}
	}
	if len(c.faults) > 0 {
		return &problem.Error{Kind: problem.Invalid, Faults: c.faults[:min(len(c.faults), maxFaults)]}
	}
	return nil
}

// decodeReferred decodes the JSON behind a reference as strictly as Read decodes a body. cure is "" if it is valid.
func decodeReferred(b []byte) (v any, cure string) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	err := d.Decode(&v)
	if _, more := d.Token(); err != nil || !errors.Is(more, io.EOF) || !utf8.Valid(b) {
		return nil, "what is there is no JSON"
	}
	if _, twice := enrich.RepeatedMember(b); twice {
		return nil, "what is there has a member twice"
	}
	return v, ""
}

// atHref adds the JSON pointer of the reference to an error of kind problem.Invalid. at is the pointer of the input.
func atHref(err error, ref Ref, at string) error {
	if e := problem.Of(err); e.Kind == problem.Invalid && len(e.Faults) == 0 {
		return &problem.Error{
			Kind:   problem.Invalid,
			Err:    e.Err,
			Faults: []problem.Fault{faultAt(at+"/href", ref.Href, problem.Sayf("%s", e.Detail))},
		}
	}
	return err
}

// referred returns the contents of a reference.
func referred(ctx context.Context, env *Env, ref Ref, at string) ([]byte, error) {
	in, _, err := env.Open(ctx, ref.Href)
	if err != nil {
		return nil, atHref(err, ref, at)
	}
	defer in.Close()
	b, err := io.ReadAll(io.LimitReader(in, maxReferred+1))
	if err != nil {
		return nil, &problem.Error{
			Kind:   problem.Invalid,
			Err:    err,
			Faults: []problem.Fault{faultAt(at+"/href", ref.Href, problem.Sayf("what is there breaks off; try again"))},
		}
	}
	if len(b) > maxReferred {
		return nil, &problem.Error{
			Kind: problem.Invalid,
			Faults: []problem.Fault{faultAt(at+"/href", ref.Href,
				problem.Sayf("refer to at most %d bytes", maxReferred))},
		}
	}
	return b, nil
}
