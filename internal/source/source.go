// Package source opens the source of a server or an import: a GeoPackage, a directory or a file of another format, the
// address of a PostGIS database, or nothing, which is the demo. Besides the main program, only this package refers to
// specific stores.
//
// Nothing is written next to a source. The data directory contains copies of other formats, the demo and side files.
// They are rebuilt if the source or the program changes, and can be deleted at any time.
package source

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"grense/internal/cache"
	"grense/internal/config"
	"grense/internal/demo"
	"grense/internal/history"
	"grense/internal/register"
	"grense/internal/store"
	"grense/internal/store/gpkg"
	"grense/internal/tempfile"
)

// Options configure how a source is opened.
type Options struct {
	DataDir string        // directory for copies and side files
	Config  config.Config // for its collections and its limits of computations
	Logger  *slog.Logger
	Version string       // of the program; copies of other versions are rebuilt
	Wait    bool         // retry while a database is unavailable
	Caches  *cache.Group // group that counts the caches of the store; nil: none
	// Surveyed is called after a GeoPackage that was first opened with samples has been read completely. It should
	// reload. nil: a file is read completely before it is served.
	Surveyed func(context.Context)
}

// Open opens the source to serve: a GeoPackage, a copy of other files, a database or, with an empty path, the demo. It
// adds the configured history if the data have none.
func Open(ctx context.Context, path string, o Options) (store.Store, error) {
	for _, dir := range [...]string{o.DataDir, filepath.Join(o.DataDir, imports)} { // only our files
		tempfile.Sweep(dir, "", "")
	}
	open := openFile
	if IsDatabase(path) {
		open = openDatabase
	}
	st, err := open(ctx, path, o)
	if err != nil || path == "" || o.Config.History == "" {
		return st, err
	}
	return addPast(ctx, st, o)
}

func openFile(ctx context.Context, path string, o Options) (store.Store, error) {
	dir, cfg, log := o.DataDir, &o.Config, o.Logger
	ours := path == ""
	if ours {
		var err error
		if path, err = Demo(ctx, dir); err != nil {
			return nil, err
		}
	} else if err := readable(path); err != nil {
		return nil, err
	}
	options := gpkg.Options{DataDir: dir, Settings: Settings(o.Config), Logger: log, Progress: progress(log),
		TypeAhead: int(cfg.Limits.TypeAhead), ViewTimeout: cfg.Limits.ViewTimeout,
		ViewRow: viewRow(cfg.Limits.Memory), PageCache: int64(cfg.Limits.Memory) / 8, Unchanging: ours ||
			cfg.Unchanging, AllowEmpty: cfg.AllowEmpty, Caches: o.Caches, Surveyed: o.Surveyed}
	if m := int(cfg.Limits.Memory) / 6; m > 0 {
		options.TypeAhead = min(options.TypeAhead, m)
	}
	if options.TypeAhead == 0 {
		options.TypeAhead = -1 // negative: no text indexes
	}
	if isImported(path) {
		return openImported(ctx, path, o, options)
	}
	st, err := gpkg.Open(ctx, path, options)
	if err != nil {
		return nil, fmt.Errorf("cannot open %s: %w", path, err)
	}
	return st, nil
}

// viewRow returns the largest size of a row of a view in bytes: each connection may hold several copies of one. It is a
// power of two, so that small changes of memory do not invalidate surveys of views.
func viewRow(memory config.Size) int {
	n := 8 << 20
	for n < 128<<20 && config.Size(n) < memory/128 {
		n *= 2
	}
	return n
}

// progress returns a function that regularly logs the progress of reading a large source.
func progress(log *slog.Logger) func(layer string, done, total int) {
	var mu sync.Mutex
	last := time.Now()
	return func(layer string, done, total int) {
		mu.Lock()
		defer mu.Unlock()
		if time.Since(last) < 2*time.Second {
			return
		}
		last = time.Now()
		if layer == "" {
			log.Info("reading the source for the first time", "layers", done, "total", total)
			return
		}
		log.Info("reading the source for the first time", "layer", layer, "done", done, "total", total)
	}
}

// readable returns why a file cannot be read, with the cure; nil if it can.
func readable(path string) error {
	f, err := os.Open(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("there is no file %s; give the path of a file or folder, or none for the demo", path)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("no permission to read %s; let the user who runs grense read it", path)
	case err != nil:
		return fmt.Errorf("cannot read the source: %w", err)
	}
	return f.Close()
}

// Parameters of the demo's register of place names.
const (
	demoPlaces = 3000
	demoSeed   = 20260101
)

// Demo returns the path of the demo's GeoPackage in dir. It creates the file if this version does not exist.
func Demo(ctx context.Context, dir string) (string, error) {
	times, err := history.NorwayVersion()
	if err != nil {
		return "", err
	}
	path, err := builtIn{"demo-", demo.Version + "-" + register.Version + "-" + times, writeDemo}.path(ctx, dir)
	if err != nil {
		return "", fmt.Errorf("cannot build the demo in %s: %w", dir, err)
	}
	return path, nil
}

// builtIn is a dataset that the program generates.
type builtIn struct {
	kind, version string // parts of the file name
	write         func(ctx context.Context, path string) error
}

// path returns the path of the dataset as a GeoPackage in dir. It creates the file if this version does not exist, and
// removes other versions.
func (b builtIn) path(ctx context.Context, dir string) (string, error) {
	path := filepath.Join(dir, b.kind+b.version+".gpkg")
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	// Several processes may start at once: each creates a file of its own, and the first one to finish renames it.
	made, done, err := tempfile.Begin(dir, "."+b.kind)
	if err != nil {
		return "", err
	}
	defer done()
	defer os.Remove(made)
	if err = b.write(ctx, made); err == nil {
		err = os.Link(made, path)
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	removeOthers(dir, b.kind, path)
	return path, nil
}

func writeDemo(ctx context.Context, path string) error {
	w, err := gpkg.CreateDated(ctx, path, register.Date())
	if err != nil {
		return err
	}
	defer w.Close()
	set, err := demo.Divisions()
	if err != nil {
		return err
	}
	if err := set.Write(ctx, w); err != nil {
		return err
	}
	if err := register.Generate(ctx, w, register.Options{Places: demoPlaces, Seed: demoSeed, Set: set}); err != nil {
		return err
	}
	times, err := history.Norway()
	if err != nil {
		return err
	}
	if err := history.Write(ctx, w, times); err != nil {
		return err
	}
	return w.Commit(ctx)
}

// removeOthers removes files of other versions with their side files. Errors are ignored: leftovers only use disk
// space.
func removeOthers(dir, kind, current string) {
	stem := strings.TrimSuffix(current, ".gpkg")
	old, _ := filepath.Glob(filepath.Join(EscapeGlob(dir), kind+"*")) // the pattern is valid
	for _, f := range old {
		if !strings.HasPrefix(f, stem) {
			os.Remove(f)
		}
	}
}
