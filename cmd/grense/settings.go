package main

import (
	"log/slog"

	"grense/internal/config"
	"grense/internal/datadir"
	"grense/internal/logging"
	"grense/internal/source"
)

// dataFlags are the flags of all commands that read the configuration. They are nil if not given.
type dataFlags struct {
	Config  string  `placeholder:"FILE" help:"Configuration file, YAML. Environment: GRENSE_CONFIG."`
	DataDir *string `placeholder:"DIR" help:"Folder for keys and side files, the only one that is written to. Defaults to $$XDG_DATA_HOME/grense, else ~/.local/share/grense."`
}

// load reads the configuration. served is the source on the command line, "" if none. further contains other flags by
// setting; nil values are ignored.
func (f dataFlags) load(p *process, served string, further map[string]*string) (config.Config, error) {
	return config.Load(f.sources(p, served, further))
}

// sources returns the sources of the configuration for load.
func (f dataFlags) sources(p *process, served string, further map[string]*string) config.Sources {
	flags := map[string]string{}
	for path, v := range further {
		if v != nil {
			flags[path] = *v
		}
	}
	if f.DataDir != nil {
		flags["data_dir"] = *f.DataDir
	}
	if served != "" {
		flags["source"] = served
	}
	return config.Sources{File: f.Config, Environ: p.Environ, Flags: flags, IsDatabase: source.IsDatabase}
}

// prepare reads the configuration and creates the data directory.
func (f dataFlags) prepare(p *process, served string) (cfg config.Config, dir string, err error) {
	if cfg, err = f.load(p, served, nil); err != nil {
		return cfg, "", err
	}
	cfg.Limits = cfg.Limits.WithMemory() // the same limits as serve, so that its copies and indexes are found
	dir, err = datadir.Create(cfg.DataDir)
	return cfg, dir, err
}

// logger returns a logger that writes to standard error without buffering.
func (p *process) logger(cfg config.Config) *slog.Logger {
	return logging.New(p.Stderr, cfg.LogFormat, cfg.Level())
}
