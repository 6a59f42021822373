package config

import (
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// Sources lists where the configuration comes from. The zero value gives the defaults.
type Sources struct {
	File    string            // path of the YAML file; "": that of GRENSE_CONFIG, else none
	Environ []string          // as os.Environ returns it
	Flags   map[string]string // values of flags by setting: "tls.cert" for --tls-cert
	// IsDatabase reports whether a source is a database, where some settings for files are not allowed. nil: no source
	// is a database.
	IsDatabase func(source string) bool
}

// Fault is one mistake in the configuration.
type Fault struct {
	Where   string // "grense.yaml", "GRENSE_ADDR", "--addr"; "" if unknown
	Line    int    // in the file, from 1; 0 for variables and flags
	Setting string // such as "limits.query_timeout"; "" if the fault concerns the whole file
	Cure    string // what is wrong and how to correct it
}

func (f Fault) String() string {
	s := f.Cure
	switch {
	case f.Line == 0 && f.Where != "": // the name of a variable or flag identifies the setting
		return f.Where + ": " + s
	case f.Setting != "":
		s = f.Setting + ": " + s
	}
	if f.Line > 0 {
		s = fmt.Sprintf("%s:%d: %s", f.Where, f.Line, s)
	}
	return s
}

// Faults are all mistakes in the configuration; as an error, one line each.
type Faults []Fault

func (f Faults) Error() string {
	lines := make([]string, len(f))
	for i := range f {
		lines[i] = f[i].String()
	}
	return strings.Join(lines, "\n")
}

// Schema is the JSON Schema of a configuration file.
//
//go:embed schema.json
var Schema string

// maxFile is the largest size of the file, in bytes.
const maxFile = 256 << 10

// Load reads file, environment and flags and checks the result. The environment overrides the file, and flags override
// both. Errors about the content are of type Faults; those about the file come first, by line.
func Load(src Sources) (Config, error) {
	c, _, err := load(src)
	if err == nil {
		c.fillTexts()
	}
	return c, err
}

// load is Load without the texts that fillTexts adds. It also returns where each setting was set.
func load(src Sources) (Config, map[string]place, error) {
	env := environ(src.Environ)
	c := Default()
	c.Service.Title, c.Service.Description, c.Service.Keywords = nil, nil, nil // fillTexts sets the defaults
	c.DataDir = dataDir(env)

	d := decoder{where: map[string]place{}}
	file := src.File
	if file == "" {
		file = env["GRENSE_CONFIG"]
	}
	if file != "" {
		b, err := readFile(file)
		if err != nil {
			return Config{}, nil, err
		}
		d.file(&c, filepath.Base(file), b)
	}
	if err := secretFile(env, "GRENSE_SOURCE"); err != nil {
		return Config{}, nil, err
	}
	d.env(&c, env)
	d.flags(&c, src.Flags)

	faults := c.validate()
	if c.Unchanging && src.IsDatabase != nil && src.IsDatabase(c.Source) {
		faults = append(
			faults,
			Fault{
				Setting: "unchanging",
				Cure:    "is for a GeoPackage, and what is served is a database, whose rows are live; remove it",
			},
		)
	}
	for _, f := range faults {
		at := d.origin(f.Setting)
		f.Where, f.Line = at.name, at.line
		if !d.known(f) { // known: a value that could not be parsed
			d.faults = append(d.faults, f)
		}
	}
	if len(d.faults) > 0 {
		slices.SortStableFunc(d.faults, func(a, b Fault) int {
			if (a.Line > 0) != (b.Line > 0) {
				return cmp.Compare(b.Line, a.Line)
			}
			return cmp.Compare(a.Line, b.Line)
		})
		return Config{}, nil, d.faults
	}
	return c, d.where, nil
}

// secretFile sets the variable name to the content of the file that the variable name_FILE refers to, trimmed.
func secretFile(env map[string]string, name string) error {
	file := env[name+"_FILE"]
	if file == "" {
		return nil
	}
	if env[name] != "" {
		return fmt.Errorf("config: %s and %s_FILE are both set; keep one", name, name)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("config: cannot read the file of %s_FILE: %w", name, err)
	}
	env[name] = strings.TrimSpace(string(b))
	return nil
}

func readFile(name string) ([]byte, error) {
	b, err := os.ReadFile(name)
	if err != nil {
		if pe := (*os.PathError)(nil); errors.As(err, &pe) {
			err = pe.Err
		}
		return nil, fmt.Errorf(
			"config: cannot read %s: %w; give the path of a YAML file with --config, or leave it out",
			name,
			err,
		)
	}
	if len(b) > maxFile {
		return nil, fmt.Errorf("config: %s has %d bytes; a configuration has at most %d", name, len(b), maxFile)
	}
	return b, nil
}

func environ(list []string) map[string]string {
	env := make(map[string]string, len(list))
	for _, kv := range list {
		if k, v, ok := strings.Cut(kv, "="); ok {
			env[k] = v
		}
	}
	return env
}

// dataDir returns the default data directory (XDG Base Directory Specification). It ignores a relative XDG_DATA_HOME.
func dataDir(env map[string]string) string {
	if d := env["XDG_DATA_HOME"]; filepath.IsAbs(d) {
		return filepath.Join(d, "grense")
	}
	if d := env["HOME"]; d != "" {
		return filepath.Join(d, ".local", "share", "grense")
	}
	return ""
}

// env applies the GRENSE_* variables. Empty variables count as unset.
func (d *decoder) env(c *Config, env map[string]string) {
	leaves("", reflect.ValueOf(c).Elem(), func(path string, v reflect.Value) {
		name := variable(path)
		if s := env[name]; s != "" {
			d.set(name, path, v, s)
		}
	})
}

// variable returns the name of the environment variable of a setting.
func variable(path string) string {
	return "GRENSE_" + strings.ToUpper(strings.ReplaceAll(path, ".", "_"))
}

// kubernetes matches the variables that Kubernetes sets for services whose names begin with grense.
var kubernetes = regexp.MustCompile(
	`^GRENSE_([A-Z0-9_]+_)?(SERVICE_HOST|SERVICE_PORT(_[A-Z0-9_]+)?|PORT(_[A-Z0-9_]+)?)$`,
)

// UnknownVariables returns the GRENSE_ variables in environ that no setting has, except those of Kubernetes services,
// and the names of all that exist.
func UnknownVariables(environ []string) (unknown, known []string) {
	known = []string{"GRENSE_CONFIG", "GRENSE_SOURCE_FILE"}
	leaves("", reflect.ValueOf(new(Config)).Elem(),
		func(path string, _ reflect.Value) { known = append(known, variable(path)) })
	for _, kv := range environ {
		name, _, _ := strings.Cut(kv, "=")
		if strings.HasPrefix(name, "GRENSE_") && !slices.Contains(known, name) && !kubernetes.MatchString(name) {
			unknown = append(unknown, name)
		}
	}
	return unknown, known
}

func (d *decoder) flags(c *Config, flags map[string]string) {
	left := make([]string, 0, len(flags))
	for path := range flags {
		left = append(left, path)
	}
	leaves("", reflect.ValueOf(c).Elem(), func(path string, v reflect.Value) {
		if s, ok := flags[path]; ok {
			d.set("--"+strings.NewReplacer(".", "-", "_", "-").Replace(path), path, v, s)
			left = slices.DeleteFunc(left, func(p string) bool { return p == path })
		}
	})
	if len(left) > 0 {
		panic("config: flags for settings that do not exist: " + strings.Join(left, ", ")) // a programming error
	}
}

// set parses text into v and records where it came from.
func (d *decoder) set(where, path string, v reflect.Value, text string) {
	d.where[path] = place{name: where}
	if err := setText(v, text); err != nil {
		d.faults = append(d.faults, Fault{Where: where, Setting: path, Cure: err.Error()})
	}
}

// leaves calls fn for every setting that a single text can set, that is, all except those in maps of structs.
func leaves(path string, v reflect.Value, fn func(string, reflect.Value)) {
	if isText(v) {
		fn(path, v)
		return
	}
	if v.Kind() != reflect.Struct {
		return
	}
	for i := range v.NumField() {
		leaves(join(path, v.Type().Field(i).Tag.Get("yaml")), v.Field(i), fn)
	}
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}
