package main

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"grense/internal/config"
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
	dir, err = makeDataDir(cfg)
	return cfg, dir, err
}

// makeDataDir creates the data directory, accessible only to its owner, and returns its absolute path.
func makeDataDir(cfg config.Config) (string, error) {
	dir, err := filepath.Abs(cfg.DataDir)
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	if err != nil {
		return "",
			denied(fmt.Errorf("cannot create the data directory: %w; name another one with --data-dir", err), dir)
	}
	return dir, denied(keepPrivate(dir), dir)
}

// ours are patterns for the names of files and directories that Grense creates in the data directory.
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

// keepPrivate removes the rights of other users from the data directory and from our files in it: they contain keys and
// protected data, and the directory may have existed before. It does not change a shared directory such as /tmp.
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
		// errors are impossible: all patterns are valid
		names, _ := filepath.Glob(filepath.Join(source.EscapeGlob(dir), filepath.FromSlash(pattern)))
		for _, name := range names {
			if err := tighten(name); err != nil {
				return err
			}
		}
	}
	return nil
}

// stateFile is the SQLite file in the data directory with keys, jobs and changes.
const stateFile = "state.db"

// stateMark is a file that exists if stateFile has the keys of a database, because no server was writable when they
// were created.
const stateMark = stateFile + ".instead"

// logger returns a logger that writes to standard error without buffering.
func (p *process) logger(cfg config.Config) *slog.Logger {
	return logging.New(p.Stderr, cfg.LogFormat, cfg.Level())
}
