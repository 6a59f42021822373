package process

import (
	"encoding/json"
	"fmt"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"grense/internal/problem"
)

// Fault returns an error of kind problem.Invalid about an input of an execution. at is the path to the faulty value:
// the name of the input, then member names and indexes. cure states what to send instead.
func Fault(value any, cure problem.Saying, at ...string) error {
	return &problem.Error{
		Kind:   problem.Invalid,
		Faults: []problem.Fault{faultAt(pointer(append([]string{"inputs"}, at...)...), value, cure)},
	}
}

// missing stands for the value of an input that was not sent.
type missing struct{}

func faultAt(at string, value any, cure problem.Saying) problem.Fault {
	text, ok := value.(string)
	if _, none := value.(missing); !ok && !none {
		b, _ := json.Marshal(value) // cannot fail: the value was decoded from JSON
		text = string(b)
	}
	return problem.Fault{In: "body", Param: at, Value: text, Cure: cure.String(), Said: cure}
}

// checker validates values against the keywords of JSON Schema that process descriptions use: type, enum, const, the
// minimum and maximum of numbers and of lengths, format, items, properties, required, additionalProperties: false,
// oneOf, anyOf and allOf. Schemas and values have the types that encoding/json decodes to, with json.Number for
// numbers.
type checker struct{ faults []problem.Fault }

func (c *checker) fail(at string, v any, cure string, a ...any) {
	c.faults = append(c.faults, faultAt(at, v, problem.Sayf(cure, a...)))
}

// normal converts a schema to the types that encoding/json decodes to.
func normal(schema any) map[string]any {
	b, err := json.Marshal(schema)
	if err != nil {
		panic(fmt.Sprintf("process: a schema is no JSON: %v", err))
	}
	var m map[string]any
	d := json.NewDecoder(strings.NewReader(string(b)))
	d.UseNumber()
	if err := d.Decode(&m); err != nil {
		panic(fmt.Sprintf("process: a schema is no object: %v", err))
	}
	return m
}

func (c *checker) check(s map[string]any, v any, at string) {
	if !c.checkType(s, v, at) {
		return
	}
	if list, ok := s["enum"].([]any); ok && !slices.ContainsFunc(list, func(x any) bool { return same(x, v) }) {
		c.fail(at, v, "use one of %s", names(list))
		return
	}
	switch x := v.(type) {
	case json.Number:
		c.checkNumber(s, x, at)
	case string:
		c.checkText(s, x, at)
	case []any:
		c.checkList(s, x, at)
	case map[string]any:
		c.checkObject(s, x, at)
	}
	c.checkChoices(s, v, at)
}

// names returns the values of an enum as text for a message. If there are many, it returns the first ones.
func names(list []any) string {
	const most = 30
	var out []string
	for _, x := range list[:min(len(list), most)] {
		b, _ := json.Marshal(x)
		out = append(out, strings.Trim(string(b), `"`))
	}
	text := strings.Join(out, ", ")
	if len(list) > most {
		text += fmt.Sprintf(" and %d others, as the description of the process lists", len(list)-most)
	}
	return text
}

func same(a, b any) bool {
	x, ok := a.(json.Number)
	y, also := b.(json.Number)
	if ok && also {
		p, _ := x.Float64()
		q, _ := y.Float64()
		return p == q
	}
	p, _ := json.Marshal(a)
	q, _ := json.Marshal(b)
	return string(p) == string(q)
}

// typeOf returns the JSON Schema type of a decoded value. A number without fraction is "integer".
func typeOf(v any) string {
	switch x := v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	case json.Number:
		if f, err := x.Float64(); err == nil && f == math.Trunc(f) && !strings.ContainsAny(string(x), ".eE") {
			return "integer"
		}
		return "number"
	}
	return ""
}

// checkType checks the keyword type. It returns false if the other keywords cannot be checked.
func (c *checker) checkType(s map[string]any, v any, at string) bool {
	if n, ok := v.(json.Number); ok {
		if _, err := n.Float64(); err != nil {
			c.fail(at, v, "the number is too large")
			return false
		}
	}
	var types []string
	switch t := s["type"].(type) {
	case string:
		types = []string{t}
	case []any:
		for _, x := range t {
			name, _ := x.(string)
			types = append(types, name)
		}
	}
	is := typeOf(v)
	if len(types) == 0 || slices.Contains(types, is) || is == "integer" && slices.Contains(types, "number") {
		return true
	}
	cure := strings.Join(types, " or ")
	c.fail(at, v, "send %s %s, as the description of the process says", article(cure), cure)
	return false
}

func article(noun string) string {
	if strings.ContainsAny(noun[:min(1, len(noun))], "aeio") {
		return "an"
	}
	return "a"
}

// bound returns a number in a schema; false if it is absent.
func bound(s map[string]any, name string) (float64, bool) {
	n, ok := s[name].(json.Number)
	if !ok {
		return 0, false
	}
	f, err := n.Float64()
	return f, err == nil
}

func (c *checker) checkNumber(s map[string]any, n json.Number, at string) {
	f, _ := n.Float64()
	if low, ok := bound(s, "minimum"); ok && f < low {
		c.fail(at, n, "use a number from %s", s["minimum"])
	}
	if high, ok := bound(s, "maximum"); ok && f > high {
		c.fail(at, n, "use a number up to %s", s["maximum"])
	}
}

func (c *checker) checkText(s map[string]any, v, at string) {
	n := float64(utf8.RuneCountInString(v))
	if low, ok := bound(s, "minLength"); ok && n < low {
		c.fail(at, v, "send at least %s characters", s["minLength"])
	}
	if high, ok := bound(s, "maxLength"); ok && n > high {
		c.fail(at, v, "send at most %s characters", s["maxLength"])
	}
	if p, ok := s["pattern"].(string); ok {
		if re, err := regexp.Compile(p); err != nil {
			panic(fmt.Sprintf("process: pattern %s: %v", p, err))
		} else if !re.MatchString(v) {
			c.fail(at, v, "send a text that matches %s", p)
		}
	}
	switch s["format"] {
	case "date":
		if _, err := time.Parse(time.DateOnly, v); err != nil {
			c.fail(at, v, "send a date, as 2024-01-31")
		}
	case "date-time":
		if _, err := time.Parse(time.RFC3339, v); err != nil {
			c.fail(at, v, "send a moment, as 2024-01-31T12:00:00Z")
		}
	case "uri":
		if u, err := url.Parse(v); err != nil || u.Scheme == "" {
			c.fail(at, v, "send an absolute address")
		}
	}
}

func (c *checker) checkList(s map[string]any, v []any, at string) {
	if low, ok := bound(s, "minItems"); ok && float64(len(v)) < low {
		c.fail(at, v, "send at least %s elements", s["minItems"])
	}
	if high, ok := bound(s, "maxItems"); ok && float64(len(v)) > high {
		c.fail(at, v, "send at most %s elements", s["maxItems"])
	}
	items, ok := s["items"].(map[string]any)
	for i, x := range v {
		if !ok || len(c.faults) >= maxFaults {
			return
		}
		c.check(items, x, at+"/"+strconv.Itoa(i))
	}
}

// maxFaults is the largest number of faults reported for one request.
const maxFaults = 20

func (c *checker) checkObject(s, v map[string]any, at string) {
	if list, ok := s["required"].([]any); ok {
		for _, x := range list {
			if name, _ := x.(string); v[name] == nil {
				if _, there := v[name]; !there {
					c.fail(at+pointer(name), missing{}, "it is missing; the description of the process requires it")
				}
			}
		}
	}
	props, _ := s["properties"].(map[string]any)
	keys := make([]string, 0, len(v))
	for k := range v {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		if len(c.faults) >= maxFaults {
			return
		}
		if p, ok := props[k].(map[string]any); ok {
			c.check(p, v[k], at+pointer(k))
		} else if s["additionalProperties"] == false {
			c.fail(at+pointer(k), v[k], "there is no such member; leave it out")
		}
	}
}

// checkChoices checks oneOf, anyOf and allOf. If a value matches none of the choices, the faults for the choice with
// the closest match are reported.
func (c *checker) checkChoices(s map[string]any, v any, at string) {
	for _, name := range [...]string{"oneOf", "anyOf", "allOf"} {
		list, ok := s[name].([]any)
		if !ok {
			continue
		}
		var nearest []problem.Fault
		fits := 0
		for i, x := range list {
			choice, _ := x.(map[string]any)
			var inner checker
			inner.check(choice, v, at)
			if len(inner.faults) == 0 {
				fits++
			} else if i == 0 || nearest == nil || len(inner.faults) < len(nearest) {
				nearest = inner.faults
			}
		}
		if name == "oneOf" && fits > 1 {
			c.fail(at, v, "send a value that fits only one of the forms in the description of the process")
		}
		if fits == 0 || name == "allOf" && fits < len(list) {
			c.faults = append(c.faults, nearest...)
		}
	}
}
