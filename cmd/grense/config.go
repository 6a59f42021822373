package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	"grense/internal/config"
	"grense/internal/cql2"
	"grense/internal/server/styles"
)

type configCmd struct {
	Check  configCheckCmd  `cmd:"" help:"Check a configuration file and print its faults."`
	Show   configShowCmd   `cmd:"" help:"Print each setting, its value and where the value comes from."`
	Schema configSchemaCmd `cmd:"" help:"Print the JSON Schema of configuration files."`
}

func (configCmd) Help() string {
	return `Examples:
  grense config check grense.yaml
  grense config show --config grense.yaml`
}

type configCheckCmd struct {
	File string `arg:"" help:"The configuration file (YAML)."`
}

func (configCheckCmd) Help() string {
	return `Prints all faults with their lines, reads the files of styles, and exits with 1 if there is one.

Examples:
  grense config check grense.yaml
  grense config check /etc/grense/grense.yaml && systemctl reload grense`
}

func (c *configCheckCmd) Run(p *process) error {
	cfg, err := (dataFlags{Config: c.File}).load(p, "", nil)
	if err != nil {
		return err
	}
	if _, err := styles.Read(cfg.Styles); err != nil {
		return err
	}
	for _, w := range append(cfg.Warnings(), p.unknownVariables()...) {
		fmt.Fprintln(p.Stdout, "warning:", w)
	}
	_, err = fmt.Fprintln(p.Stdout, "no faults")
	return err
}

type configShowCmd struct {
	Changed bool `help:"Leave out settings that have their default."`
	dataFlags
}

func (configShowCmd) Help() string {
	return `Prints one setting a line: its path, its value, and the file and line, variable or flag that set it. Passwords are hidden.

Examples:
  grense config show --config grense.yaml
  GRENSE_LIMITS_MEMORY=1GiB grense config show --changed`
}

func (c *configShowCmd) Run(p *process) error {
	settings, err := config.Effective(c.sources(p, "", nil))
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(p.Stdout, 0, 0, 2, ' ', 0)
	for _, s := range settings {
		if c.Changed && s.From == "default" {
			continue
		}
		value := s.Value
		if value == "" {
			value = `""`
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", s.Path, value, s.From)
	}
	return w.Flush()
}

type configSchemaCmd struct{}

func (configSchemaCmd) Help() string {
	return `For editors, which then check and complete settings. Each setting is described, with its default and an example.

Examples:
  grense config schema > grense.schema.json
  grense config schema | jq .properties.limits.properties.memory`
}

func (configSchemaCmd) Run(p *process) error {
	_, err := io.WriteString(p.Stdout, config.Schema)
	return err
}

// unknownVariables returns a warning for each GRENSE_ environment variable that is not a setting.
func (p *process) unknownVariables() (warnings []string) {
	unknown, known := config.UnknownVariables(p.Environ)
	for _, name := range unknown {
		w := "nothing reads the environment variable " + name
		if near := cql2.Nearest(name, known); near != "" {
			w += "; did you mean " + near + "?"
		}
		warnings = append(warnings, w)
	}
	return warnings
}
