package source

import (
	"context"
	"fmt"
	"strings"

	"grense/internal/store"
	"grense/internal/store/postgis"
	"grense/internal/store/postgis/conn"
)

// IsDatabase reports whether a source is the address of a PostGIS database.
func IsDatabase(source string) bool {
	return strings.HasPrefix(source, "postgres://") || strings.HasPrefix(source, "postgresql://")
}

// Shown returns a source without passwords.
func Shown(source string) string {
	if IsDatabase(source) {
		return conn.Redact(source)
	}
	return source
}

// openDatabase opens a PostGIS database. With Options.Wait it retries until the database can be reached.
func openDatabase(ctx context.Context, source string, o Options) (store.Store, error) {
	options := postgis.Options{Settings: Settings(o.Config), Logger: o.Logger, Wait: o.Wait,
		AllowEmpty: o.Config.AllowEmpty, Caches: o.Caches}
	if o.Wait { // a command reports the current state instead
		options.Dir = o.DataDir
	}
	st, err := postgis.Open(ctx, source, options)
	if err != nil {
		return nil, fmt.Errorf("cannot open %s: %w", Shown(source), err)
	}
	return st, nil
}
