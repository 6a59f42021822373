package config

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// Sources says where the configuration comes from. The zero value gives the defaults.
type Sources struct {
	File    string            // path of the YAML file; "": that of GRENSE_CONFIG, else none
	Environ []string          // as os.Environ gives it
	Flags   map[string]string // values of flags by path of the setting: "tls.cert" for --tls-cert
	// IsDatabase reports whether a source is a database, for which settings that are for files are faults.
	// Nil: none is.
	IsDatabase func(source string) bool
}

// Fault is one thing that is wrong with the configuration.
type Fault struct {
	Where   string // "grense.yaml", "GRENSE_ADDR", "--addr"; "" when unknown
	Line    int    // in the file, from 1; 0 when it is not about a file
	Setting string // path, "limits.query_timeout"; "" when the fault is about the file as a whole
	Cure    string // what is wrong and what would be right
}

func (f Fault) String() string {
	s := f.Cure
	switch {
	case f.Line == 0 && f.Where != "": // a variable or a flag, which says the setting
		return f.Where + ": " + s
	case f.Setting != "":
		s = f.Setting + ": " + s
	}
	if f.Line > 0 {
		s = fmt.Sprintf("%s:%d: %s", f.Where, f.Line, s)
	}
	return s
}

// Faults is all that is wrong, one line each.
type Faults []Fault

func (f Faults) Error() string {
	lines := make([]string, len(f))
	for i := range f {
		lines[i] = f[i].String()
	}
	return strings.Join(lines, "\n")
}

// maxFile is the size of the largest file that is read, in bytes.
const maxFile = 256 << 10

// Load reads file, environment and flags, the later ones over the earlier ones, and checks the result. An error about
// the content is of type Faults and holds all of them, those of the file first, by line.
func Load(src Sources) (Config, error) {
	c, _, err := load(src)
	return c, err
}

// load is Load. It also returns where each setting was given.
func load(src Sources) (Config, map[string]place, error) {
	env := environ(src.Environ)
	c := Default()
	c.Service.Title, c.Service.Description, c.Service.Keywords = nil, nil, nil // fillTexts gives them back
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
		if !d.known(f) { // a value that could not be read
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
	c.fillTexts()
	return c, d.where, nil
}

// secretFile replaces the variable name by the content of the file that name_FILE names, without white space around it.
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

// dataDir follows the XDG base directory specification: a relative XDG_DATA_HOME does not count.
func dataDir(env map[string]string) string {
	if d := env["XDG_DATA_HOME"]; filepath.IsAbs(d) {
		return filepath.Join(d, "grense")
	}
	if d := env["HOME"]; d != "" {
		return filepath.Join(d, ".local", "share", "grense")
	}
	return ""
}

// env sets what GRENSE_* variables say. Empty variables count as unset.
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

// kubernetes matches the variables that Kubernetes makes for services whose names begin with grense.
var kubernetes = regexp.MustCompile(
	`^GRENSE_([A-Z0-9_]+_)?(SERVICE_HOST|SERVICE_PORT(_[A-Z0-9_]+)?|PORT(_[A-Z0-9_]+)?)$`,
)

// UnknownVariables returns the names of variables in environ that begin with GRENSE_ and that nothing reads, and the
// names that are read. Variables of Kubernetes services are left out.
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
		panic("config: flags for settings that do not exist: " + strings.Join(left, ", ")) // a mistake in our own code
	}
}

// set reads one value from text and notes where it came from.
func (d *decoder) set(where, path string, v reflect.Value, text string) {
	d.where[path] = place{name: where}
	if err := setText(v, text); err != nil {
		d.faults = append(d.faults, Fault{Where: where, Setting: path, Cure: err.Error()})
	}
}

// leaves calls fn for every setting that one text can set: all but those in maps of structs.
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
