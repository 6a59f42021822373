package source

import (
	"context"
	"fmt"
	"strings"

	"grense/internal/store"
	"grense/internal/store/postgis"
)

// IsDatabase reports whether a source is the address of a PostGIS database.
func IsDatabase(source string) bool {
	return strings.HasPrefix(source, "postgres://") || strings.HasPrefix(source, "postgresql://")
}

// Shown is a source without a password.
func Shown(source string) string {
	if IsDatabase(source) {
		return postgis.Redact(source)
	}
	return source
}

// openDatabase opens a PostGIS database; with wait it tries again until the database can be reached.
func openDatabase(ctx context.Context, source string, o Options) (store.Store, error) {
	options := postgis.Options{Settings: Settings(o.Config), Logger: o.Logger, Wait: o.Wait,
		AllowEmpty: o.Config.AllowEmpty, Caches: o.Caches}
	if o.Wait { // who does not wait wants to know how things are now
		options.Dir = o.DataDir
	}
	st, err := postgis.Open(ctx, source, options)
	if err != nil {
		return nil, fmt.Errorf("cannot open %s: %w", Shown(source), err)
	}
	return st, nil
}
