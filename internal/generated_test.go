package internal_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"grense/internal/config"
)

const configurationIntro = `# Configuration

<!-- Generated from internal/config/config.go and docs/run/example.yaml: go test ./internal -run Generated -update -->

Settings come from a YAML file (` + "`--config`" +
	`), over it environment variables, over them flags. Nothing needs to be set.

` + "```yaml" + `
base_url: https://example.org/divisions
metrics_addr: 127.0.0.1:9090
service:
  title: {nb: Administrative inndelinger, en: Administrative divisions}
collections:
  kommuner: {title: {nb: Kommuner, en: Municipalities}}
limits:
  memory: 512MiB
` + "```" + `

Save it as ` + "`grense.yaml`" + `, then check it and serve with it:

` + "```sh" + `
bin/grense check kommuner.gpkg --config grense.yaml
bin/grense serve kommuner.gpkg --config grense.yaml
` + "```" + `

An unknown setting is an error that names file and line. ` + "`limits.query_timeout`" + ` in the file is
` + "`GRENSE_LIMITS_QUERY_TIMEOUT`" + ` in the environment; lists are separated by commas there. Settings below ` +
	"`collections`" + ` have no
variables. [Commands](commands.md) lists the flags. To see what is in force, and from where:

` + "```sh" + `
bin/grense config check grense.yaml
bin/grense config show --config grense.yaml --changed
` + "```" + `

SIGHUP reloads the file, and opens data, certificate and keys again. The column Reload shows which settings it takes over;
the log names changed ones that need a restart. With an invalid file, settings and data stay as they are, the log has each
fault with its line, and ` + "`grense_reloads_total{outcome=\"failed\"}`" + ` counts it. Jobs in progress begin again, and caches
are empty, after settings have changed.

[example.yaml](example.yaml) has every setting once, with its meaning. Editors check and complete settings with the JSON
Schema:

` + "```sh" + `
bin/grense config schema > grense.schema.json
echo '# yaml-language-server: $schema=grense.schema.json' >> grense.yaml
` + "```" + `
`

// TestGeneratedConfigurationPageIsCurrent builds docs/run/configuration.md from the type Config and its comments.
func TestGeneratedConfigurationPageIsCurrent(t *testing.T) {
	t.Parallel()
	g := &configurationPage{t: t, docs: settingComments(t), examples: exampleSettings(t)}
	g.WriteString(configurationIntro)
	g.group("", reflect.ValueOf(config.Default()))
	const path = "../docs/run/configuration.md"
	if *update {
		if err := os.WriteFile(path, []byte(g.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != g.String() {
		t.Errorf("%s is stale (%v); run go test ./internal -run Generated -update", path, err)
	}
}

// TestExampleConfigurationIsValid loads the file that the page links.
func TestExampleConfigurationIsValid(t *testing.T) {
	t.Parallel()
	if _, err := config.Load(config.Sources{File: "../docs/run/example.yaml",
		Environ: []string{"HOME=/home/x"}}); err != nil {
		t.Error(err)
	}
}

// configurationPage is the page under construction.
type configurationPage struct {
	strings.Builder
	t        *testing.T
	docs     map[string]string // comments by type and field, "Config.Addr"; of a type alone, "Config"
	examples map[string]any
}

// group writes the table of the settings of a struct, then those of the groups in it.
func (g *configurationPage) group(path string, v reflect.Value) {
	if path != "" {
		fmt.Fprintf(g, "\n## %s\n\n%s\n", path, g.docs[v.Type().Name()])
	}
	g.WriteString("\n| Setting | Type | Default | Example | Reload | Meaning |\n|---|---|---|---|---|---|\n")
	type inner struct {
		path string
		v    reflect.Value
	}
	var groups []inner
	for i := range v.NumField() {
		field := v.Type().Field(i)
		at := strings.TrimPrefix(path+"."+field.Tag.Get("yaml"), ".")
		value := v.Field(i)
		switch kind := value.Kind(); {
		case kind == reflect.Map && field.Type.Elem().Kind() == reflect.Struct:
			groups = append(groups, inner{at + ".NAME", reflect.Zero(field.Type.Elem())})
			continue
		case kind == reflect.Slice && field.Type.Elem().Kind() == reflect.Struct &&
			field.Type.Elem().PkgPath() != "net/netip":
			groups = append(groups, inner{at + "[]", reflect.Zero(field.Type.Elem())})
			continue
		case kind == reflect.Struct:
			groups = append(groups, inner{at, value})
			continue
		}
		meaning, def, ok := meaningOf(g.docs, v.Type(), field)
		if !ok {
			g.t.Errorf("the comment of %s.%s does not say what it defaults to", v.Type().Name(), field.Name)
		}
		if want := shown(value); want != "" && def != want && !strings.HasPrefix(def, want+",") {
			g.t.Errorf("the comment of %s.%s says %q, the default is %s", v.Type().Name(), field.Name, def, want)
		}
		reload := "yes"
		if field.Tag.Get("restart") != "" {
			reload = "restart"
		}
		fmt.Fprintf(g, "| `%s` | %s | %s | `%s` | %s | %s |\n", field.Tag.Get("yaml"), typeName(field.Type), def,
			flow(g.example(at)), reload, meaning)
	}
	for _, in := range groups {
		g.group(in.path, in.v)
	}
}

// meaningOf returns what the comment of a field says: its meaning, and its default unless it is required. ok is false
// if the comment says neither.
func meaningOf(docs map[string]string, of reflect.Type, field reflect.StructField) (meaning, def string, ok bool) {
	meaning, def, ok = strings.Cut(docs[of.Name()+"."+field.Name], " Defaults to ")
	return meaning, strings.TrimSuffix(def, "."), ok || strings.HasSuffix(meaning, "Required.")
}

// example returns the value of a setting in example.yaml.
func (g *configurationPage) example(path string) any {
	values := []any{g.examples}
	for part := range strings.SplitSeq(path, ".") {
		part, list := strings.CutSuffix(part, "[]")
		var next []any
		for _, v := range values {
			m, _ := v.(map[string]any)
			switch {
			case part == "NAME":
				for _, name := range slices.Sorted(maps.Keys(m)) {
					next = append(next, m[name])
				}
			case m[part] == nil:
			case list:
				next = append(next, m[part].([]any)...)
			default:
				next = append(next, m[part])
			}
		}
		values = next
	}
	if len(values) == 0 {
		g.t.Errorf("docs/run/example.yaml does not set %s", path)
		return ""
	}
	return values[0]
}

// flow returns a value in the flow style of YAML.
func flow(v any) string {
	switch v := v.(type) {
	case map[string]any:
		var parts []string
		for _, k := range slices.Sorted(maps.Keys(v)) {
			parts = append(parts, k+": "+flow(v[k]))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case []any:
		var parts []string
		for _, x := range v {
			parts = append(parts, flow(x))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	return fmt.Sprint(v)
}

// shown returns a default as a configuration has it; "" if it is empty or not a number, size or duration.
func shown(v reflect.Value) string {
	if v.IsZero() {
		return ""
	}
	switch x := v.Interface().(type) {
	case time.Duration:
		return strings.NewReplacer("h0m0s", "h", "m0s", "m").Replace(x.String())
	case config.Size:
		for _, u := range []struct {
			name  string
			bytes config.Size
		}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
			if x%u.bytes == 0 {
				return fmt.Sprint(int64(x/u.bytes), u.name)
			}
		}
		return fmt.Sprint(int64(x))
	case int:
		return fmt.Sprint(x)
	}
	return ""
}

func typeName(t reflect.Type) string {
	switch t.String() {
	case "config.Text":
		return "text by language"
	case "config.Words":
		return "list by language"
	case "config.Size":
		return "size"
	case "time.Duration":
		return "duration"
	case "[]netip.Prefix":
		return "list of addresses"
	case "[]string":
		return "list"
	case "string":
		return "text"
	case "bool":
		return "true or false"
	case "int", "*int":
		return "number"
	}
	return t.String()
}

// settingComments returns the comments of the types and fields of internal/config/config.go, each in one line.
func settingComments(t *testing.T) map[string]string {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), "config/config.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	docs := map[string]string{}
	line := func(c *ast.CommentGroup) string { return strings.Join(strings.Fields(c.Text()), " ") }
	for _, decl := range f.Decls {
		d, ok := decl.(*ast.GenDecl)
		if !ok || d.Tok != token.TYPE {
			continue
		}
		for _, spec := range d.Specs {
			s := spec.(*ast.TypeSpec)
			docs[s.Name.Name] = line(d.Doc)
			st, ok := s.Type.(*ast.StructType)
			if !ok {
				continue
			}
			for _, field := range st.Fields.List {
				for _, name := range field.Names {
					docs[s.Name.Name+"."+name.Name] = line(field.Doc)
				}
			}
		}
	}
	return docs
}

func exampleSettings(t *testing.T) map[string]any {
	t.Helper()
	b, err := os.ReadFile("../docs/run/example.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	if err := yaml.Unmarshal(b, &m); err != nil {
		t.Fatal(err)
	}
	return m
}
