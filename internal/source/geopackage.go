package source

import (
	"context"
	"log/slog"
	"strings"

	"grense/internal/migrate"
	"grense/internal/store"
	"grense/internal/store/gpkg"
)

// GeoPackages returns a function that opens a GeoPackage as serve does, but accepts geometries to be cut at the
// antimeridian. dir is the directory for side files.
func GeoPackages(dir string) func(context.Context, string) (store.Store, error) {
	return func(ctx context.Context, path string) (store.Store, error) {
		return gpkg.Open(ctx, path, gpkg.Options{DataDir: dir, Logger: slog.New(slog.DiscardHandler), Uncut: true,
			AllowEmpty: true})
	}
}

// FreeTable returns name, or layer_name if a table called name has a special meaning in SQLite, in the GeoPackage
// standard or in the register of place names.
func FreeTable(name string) (string, error) {
	low := strings.ToLower(name)
	for _, prefix := range [...]string{"sqlite_", "gpkg_", "rtree_", "grense_"} {
		if strings.HasPrefix(low, prefix) {
			return "layer_" + name, nil
		}
	}
	list, err := migrate.GeoPackage()
	if err != nil {
		return "", err
	}
	for _, m := range list {
		if strings.Contains(strings.ToLower(m.SQL), "create table "+low+" (") {
			return "layer_" + name, nil
		}
	}
	return name, nil
}
