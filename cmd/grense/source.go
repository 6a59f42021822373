package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"grense/internal/config"
	"grense/internal/demo"
	"grense/internal/register"
	"grense/internal/store"
	"grense/internal/store/gpkg"
)

// openSource opens what is to be served: the GeoPackage at path, a copy of the other files at path, or the demo when path is empty. dir is
// the data directory.
func openSource(ctx context.Context, path, dir string, cfg config.Config, log *slog.Logger) (store.Store, error) {
	if path == "" {
		var err error
		if path, err = buildDemo(ctx, dir); err != nil {
			return nil, err
		}
	} else if err := readable(path); err != nil {
		return nil, err
	}
	options := gpkg.Options{DataDir: dir, Settings: layerSettings(cfg), Logger: log, Progress: progress(log)}
	if isImported(path) {
		return openImported(ctx, path, dir, options, log)
	}
	st, err := gpkg.Open(ctx, path, options)
	if err != nil {
		return nil, fmt.Errorf("cannot open %s: %w", path, err)
	}
	return st, nil
}

// progress tells every few seconds how far the work on a large source is.
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
		log.Info("reading the source for the first time", "layer", layer, "done", done, "total", total)
	}
}

// readable tells in plain words why a file cannot be read; nil when it can.
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

// The demo's register of place names.
const (
	demoPlaces = 3000
	demoSeed   = 20260101
)

// buildDemo returns the path of the demo's GeoPackage in dir, and makes it when this version of the demo is not there yet.
func buildDemo(ctx context.Context, dir string) (string, error) {
	path := filepath.Join(dir, "demo-"+demo.Version+"-"+register.Version+".gpkg")
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	w, err := gpkg.CreateDated(ctx, path, registerDate)
	if err == nil {
		defer w.Close()
		err = demo.Write(ctx, w)
	}
	if err == nil {
		err = register.Generate(ctx, w, register.Options{Places: demoPlaces, Seed: demoSeed})
	}
	if err == nil {
		err = w.Commit(ctx)
	}
	if err != nil {
		return "", fmt.Errorf("cannot build the demo in %s: %w", dir, err)
	}
	old, _ := filepath.Glob(filepath.Join(dir, "demo-*")) // demos of other versions; the pattern is sound
	for _, f := range old {
		if f != path {
			os.Remove(f) // what stays is only disk space
		}
	}
	return path, nil
}
