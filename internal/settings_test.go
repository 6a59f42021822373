package internal_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/netip"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"grense/internal/config"
)

// TestGeneratedSchemaOfTheConfigurationIsCurrent builds internal/config/schema.json, which grense config schema prints,
// from the type Config and its comments.
func TestGeneratedSchemaOfTheConfigurationIsCurrent(t *testing.T) {
	t.Parallel()
	g := &configurationPage{t: t, docs: settingComments(t), examples: exampleSettings(t)}
	schema := g.object("", reflect.ValueOf(config.Default()))
	schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	schema["title"] = "Configuration of Grense"
	var want bytes.Buffer
	enc := json.NewEncoder(&want)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(schema); err != nil {
		t.Fatal(err)
	}
	const path = "config/schema.json"
	if *update {
		if err := os.WriteFile(path, want.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if b, err := os.ReadFile(path); err != nil || !bytes.Equal(b, want.Bytes()) {
		t.Errorf("internal/%s is stale (%v); run go test ./internal -run Generated -update", path, err)
	}
}

// object returns the JSON Schema of the settings of a struct.
func (g *configurationPage) object(path string, v reflect.Value) map[string]any {
	properties, required := map[string]any{}, []string{}
	for i := range v.NumField() {
		field := v.Type().Field(i)
		name := field.Tag.Get("yaml")
		at := strings.TrimPrefix(path+"."+name, ".")
		switch kind := field.Type; {
		case kind.Kind() == reflect.Map && kind.Elem().Kind() == reflect.Struct:
			properties[name] = map[string]any{"type": "object", "description": g.docs[kind.Elem().Name()],
				"additionalProperties": g.object(at+".NAME", reflect.Zero(kind.Elem()))}
		case kind.Kind() == reflect.Slice && kind.Elem().Kind() == reflect.Struct &&
			kind != reflect.TypeFor[[]netip.Prefix]():
			properties[name] = map[string]any{"type": "array", "items": g.object(at+"[]", reflect.Zero(kind.Elem()))}
		case kind.Kind() == reflect.Struct:
			inner := g.object(at, v.Field(i))
			inner["description"] = g.docs[kind.Name()]
			properties[name] = inner
		default:
			properties[name] = g.setting(at, v.Type(), field, v.Field(i))
			if strings.HasSuffix(g.docs[v.Type().Name()+"."+field.Name], "Required.") {
				required = append(required, name)
			}
		}
	}
	schema := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		schema["required"] = required
	}
	return schema
}

// setting returns the JSON Schema of one setting.
func (g *configurationPage) setting(path string, of reflect.Type, field reflect.StructField, v reflect.Value,
) map[string]any {
	schema := maps.Clone(schemas[field.Type])
	if schema == nil {
		g.t.Fatalf("%s has the type %s, which has no schema", path, field.Type)
	}
	meaning, def, _ := meaningOf(g.docs, of, field)
	if def != "" {
		meaning += " Defaults to " + def + "."
	}
	if field.Tag.Get("restart") != "" {
		meaning += " Needs a restart."
	}
	schema["description"] = meaning
	schema["examples"] = []any{g.example(path)}
	if list := field.Tag.Get("oneof"); list != "" {
		var values []any
		for one := range strings.SplitSeq(list, "|") {
			var value any
			if err := yaml.Unmarshal([]byte(one), &value); err == nil && one != "" {
				values = append(values, value)
			}
			if _, ok := value.(bool); ok { // both true and "true" are read
				values = append(values, one)
			}
		}
		schema["enum"] = values
		delete(schema, "type")
	}
	if value := shown(v); value != "" {
		schema["default"] = value
		if v.CanInt() && field.Type.Kind() == reflect.Int {
			schema["default"] = v.Int()
		}
	}
	return schema
}

// languages is the schema of a value for each language.
func languages(value map[string]any) map[string]any {
	return map[string]any{"type": "object", "additionalProperties": false, "minProperties": 1,
		"properties": map[string]any{"nb": value, "nn": value, "en": value}}
}

var (
	textSchema = map[string]any{"type": "string"}
	listSchema = map[string]any{"type": []string{"array", "string"}, "items": textSchema}
)

// schemas are what the types of settings may be in YAML.
var schemas = map[reflect.Type]map[string]any{
	reflect.TypeFor[string](): textSchema,
	reflect.TypeFor[bool]():   {"type": "boolean"},
	reflect.TypeFor[int]():    {"type": "integer"},
	reflect.TypeFor[*int]():   {"type": "integer"},
	reflect.TypeFor[time.Duration](): {"type": []string{"string", "integer"}, "minimum": 0, "maximum": 0,
		"pattern": `^([0-9]+([.][0-9]+)?(ns|us|µs|ms|s|m|h))+$`},
	reflect.TypeFor[config.Size](): {"type": []string{"string", "integer"}, "minimum": 0,
		"pattern": "^[0-9]+ ?(B|kB|KB|MB|GB|KiB|MiB|GiB)?$"},
	reflect.TypeFor[[]string]():       listSchema,
	reflect.TypeFor[[]netip.Prefix](): listSchema,
	reflect.TypeFor[config.Text]():    {"anyOf": []any{textSchema, languages(textSchema)}},
	reflect.TypeFor[config.Words]():   {"anyOf": []any{listSchema, languages(listSchema)}},
}

// TestSchemaOfTheConfigurationAgreesWithLoad gives both the same files.
func TestSchemaOfTheConfigurationAgreesWithLoad(t *testing.T) {
	t.Parallel()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(config.Schema))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("config.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("config.json")
	if err != nil {
		t.Fatal(err)
	}
	example, err := os.ReadFile("../docs/run/example.yaml")
	if err != nil {
		t.Fatal(err)
	}
	packaged, err := os.ReadFile("../ops/package/grense.yaml")
	if err != nil {
		t.Fatal(err)
	}
	uncommented := regexp.MustCompile(`(?m)^#([^ #]|  [a-z])`).ReplaceAllString(string(packaged), "$1")
	for text, want := range map[string]bool{
		string(example): true, uncommented: true,
		"auth: open": true, "auth: closed": false, "soap: {crs: 25833}": true, "soap: {crs: 1}": false,
		"limits: {rate: 5, queue_wait: 2s, memory: 512MiB, buffer: 4096}": true, "limits: {queue_wait: 10}": false,
		"limits: {buffer: lots}": false, "limits: {drain_wait: 0}": true, "limits: {memroy: 1GiB}": false,
		"trusted_proxies: [10.0.0.0/8]": true, "trusted_proxies: {a: b}": false,
		"service: {title: x, keywords: [a]}": true, "service: {title: {sv: x}}": false,
		"collections: {a: {changes: true, links: [{href: https://example.org/, rel: related}]}}": true,
		"collections: {a: {links: [{rel: related}]}}":                                            false,
		"collections: {a: b}": false, "unchanging: yes please": false,
	} {
		name := t.TempDir() + "/grense.yaml"
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := config.Load(config.Sources{File: name, Environ: []string{"HOME=/home/x"}}); (err == nil) != want {
			t.Errorf("Load of %.60q: %v, want valid %v", text, err, want)
		}
		var value any
		if err := yaml.Unmarshal([]byte(text), &value); err != nil {
			t.Fatal(err)
		}
		b, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(parsed); (err == nil) != want {
			t.Errorf("the schema on %.60q: %v, want valid %v", text, err, want)
		}
	}
}

// settingLine matches a setting in a file: its indentation and its name.
var settingLine = regexp.MustCompile(`^( *)(?:- )?([A-Za-z_0-9]+):`)

// TestGeneratedCommentsOfTheExampleAreCurrent writes the meaning of each setting above it in docs/run/example.yaml.
func TestGeneratedCommentsOfTheExampleAreCurrent(t *testing.T) {
	t.Parallel()
	const path = "../docs/run/example.yaml"
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	docs := settingComments(t)
	var out strings.Builder
	out.WriteString("# Every setting once, with an example of a value. Generated comments: " +
		"go test ./internal -run Generated -update\n")
	seen := map[string]bool{}
	around := []reflect.Type{reflect.TypeFor[config.Config]()} // by depth; nil: below a single setting
	for line := range strings.Lines(string(b)) {
		if strings.HasPrefix(strings.TrimSpace(line), "#") {
			continue
		}
		m := settingLine.FindStringSubmatch(line)
		if m == nil {
			out.WriteString(line)
			continue
		}
		depth := (len(m[1]) + 1) / 2
		if strings.HasPrefix(strings.TrimSpace(line), "- ") {
			depth++
		}
		around = around[:min(depth+1, len(around))]
		comment, inner := exampleComment(docs, around[len(around)-1], m[2])
		if comment != "" && !seen[comment] {
			seen[comment] = true
			indent := strings.Repeat(" ", len(m[1])) + "# "
			for _, part := range wrapped(comment, 118-len(indent)) {
				out.WriteString(indent + part + "\n")
			}
		}
		out.WriteString(line)
		around = append(around, inner)
		if inner != nil && inner.Kind() == reflect.Slice { // its items are indented
			around = append(around, inner)
		}
	}
	if *update {
		if err := os.WriteFile(path, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != out.String() {
		t.Errorf("docs/run/example.yaml has stale comments (%v); run go test ./internal -run Generated -update", err)
	}
}

// exampleComment returns the comment of the setting key of a struct, or of the group, and the type of what is in it.
func exampleComment(docs map[string]string, of reflect.Type, key string) (comment string, inner reflect.Type) {
	if of == nil {
		return "", nil
	}
	if of.Kind() == reflect.Slice {
		of = of.Elem()
	}
	if of.Kind() == reflect.Map { // key is the name of a collection
		return "", of.Elem()
	}
	for i := range of.NumField() {
		field := of.Field(i)
		if field.Tag.Get("yaml") != key {
			continue
		}
		switch kind := field.Type; {
		case kind.Kind() == reflect.Struct:
			return docs[kind.Name()], kind
		case kind.Kind() == reflect.Map && kind.Elem().Kind() == reflect.Struct:
			return docs[kind.Elem().Name()], kind
		case kind.Kind() == reflect.Slice && kind.Elem().Kind() == reflect.Struct &&
			kind != reflect.TypeFor[[]netip.Prefix]():
			return docs[kind.Elem().Name()], kind
		}
		comment = docs[of.Name()+"."+field.Name]
		if field.Tag.Get("restart") != "" {
			comment += " Needs a restart."
		}
		return comment, nil
	}
	return "", nil
}

// wrapped returns the lines of a text of at most so many characters.
func wrapped(text string, most int) (lines []string) {
	for word := range strings.FieldsSeq(text) {
		if n := len(lines); n > 0 && len([]rune(lines[n-1]))+1+len([]rune(word)) <= most {
			lines[n-1] += " " + word
		} else {
			lines = append(lines, word)
		}
	}
	return slices.Clip(lines)
}
