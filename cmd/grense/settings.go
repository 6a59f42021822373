package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"grense/internal/config"
	"grense/internal/source"
)

// dataFlags are the flags of every command that reads the configuration. A flag that is not given is nil.
type dataFlags struct {
	Config  string  `placeholder:"FILE" help:"Configuration file, YAML. Environment: GRENSE_CONFIG."`
	DataDir *string `placeholder:"DIR" help:"Folder for keys and side files, the only one that is written to. Defaults to $$XDG_DATA_HOME/grense, else ~/.local/share/grense."`
}

// load reads the configuration; served is the source that the command line names, if any. Further flags are given by
// the path of their setting, nil for those that are not set.
func (f dataFlags) load(p *process, served string, further map[string]*string) (config.Config, error) {
	return config.Load(f.sources(p, served, further))
}

// sources returns the parts of the configuration, as load reads them.
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

// prepare reads the configuration for what is served, and makes the data directory.
func (f dataFlags) prepare(p *process, served string) (cfg config.Config, dir string, err error) {
	if cfg, err = f.load(p, served, nil); err != nil {
		return cfg, "", err
	}
	cfg.Limits = cfg.Limits.WithMemory() // as a server has it, whose copies and indexes are found then
	dir, err = makeDataDir(cfg)
	return cfg, dir, err
}

// makeDataDir makes the data directory, for its owner only, and returns its absolute path.
func makeDataDir(cfg config.Config) (string, error) {
	dir, err := filepath.Abs(cfg.DataDir)
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	if err != nil {
		return "", fmt.Errorf("cannot create the data directory: %w; name another one with --data-dir", err)
	}
	return dir, keepPrivate(dir)
}

// ours are the names of the files and folders that we make in the data directory, as patterns.
var ours = []string{
	stateFile + "*",
	firstKeyFile,
	ownerFile,
	"*.side",
	"*.index",
	"demo-*",
	"*-????????????????-????????????????.gpkg",
	"imports",
	"imports/*",
}

// keepPrivate takes the data directory, and what we made there, from everybody but the owner: keys and keyed data lie
// in it, and others may have made the folder. A folder that is not ours alone, such as /tmp, is left as it is.
func keepPrivate(dir string) error {
	const othersMay = 0o077
	tighten := func(path string) error {
		info, err := os.Lstat(path)
		if err != nil || info.Mode()&(fs.ModeSymlink|fs.ModeSticky) != 0 || info.Mode().Perm()&othersMay == 0 {
			if errors.Is(err, fs.ErrNotExist) { // another process has removed it
				return nil
			}
			return err
		}
		if err := os.Chmod(path, info.Mode().Perm()&^othersMay); err != nil {
			return fmt.Errorf(
				"others can read %s, and that cannot be changed: %w; own the data directory, or name another one "+
					"with --data-dir",
				path,
				err,
			)
		}
		return nil
	}
	if err := tighten(dir); err != nil {
		return err
	}
	for _, pattern := range ours {
		// the patterns are sound
		names, _ := filepath.Glob(filepath.Join(source.EscapeGlob(dir), filepath.FromSlash(pattern)))
		for _, name := range names {
			if err := tighten(name); err != nil {
				return err
			}
		}
	}
	return nil
}

// stateFile holds the keys, in the data directory.
const stateFile = "state.db"

// stateMark is there where the keys of a database are in stateFile, because no server took changes when they were
// opened.
const stateMark = stateFile + ".instead"

// logger writes to standard error, line by line.
func (p *process) logger(cfg config.Config) *slog.Logger { return loggerTo(p.Stderr, nil, cfg) }

// loggerTo writes to w, in the form that is configured. With out, w is out.
func loggerTo(w io.Writer, out *gathered, cfg config.Config) *slog.Logger {
	var h slog.Handler = slog.NewTextHandler(w, nil)
	if cfg.LogFormat == "json" {
		h = slog.NewJSONHandler(w, nil)
	}
	return slog.New(newCounting(h, out))
}
