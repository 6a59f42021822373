package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"grense/internal/source"
	"grense/internal/store"
	"grense/internal/store/gpkg"
	"grense/internal/store/postgis"
)

// createTarget begins to write into a database or a GeoPackage.
func createTarget(ctx context.Context, target string) (store.Writer, error) {
	if source.IsDatabase(target) {
		return postgis.Create(ctx, target)
	}
	return gpkg.Create(ctx, target)
}

// openStateFor opens the keys for a source: in the database where that is the source and the role may write there, else in dir. A database that
// is away is tried again.
func openStateFor(ctx context.Context, src, dir string, log *slog.Logger) (store.State, error) {
	if !source.IsDatabase(src) {
		return openStateIn(ctx, dir)
	}
	st, err := postgis.OpenState(ctx, src)
	for errors.Is(err, store.ErrUnavailable) && ctx.Err() == nil {
		log.Warn("the keys cannot be read; trying again", "err", err)
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
			st, err = postgis.OpenState(ctx, src)
		}
	}
	switch {
	case errors.Is(err, postgis.ErrReadOnly):
		log.Warn("the role may not write into the database, so the keys are in the data directory, for this machine only; to share them, let a role "+
			"that owns the database run grense key list --source postgres://... and grant the right to select, insert and update grense.api_key", "dir", dir)
		return openStateIn(ctx, dir)
	case err != nil:
		return nil, fmt.Errorf("cannot open the keys in %s: %w", source.Shown(src), err)
	}
	log.Info("the keys are in the schema grense of the database")
	return st, nil
}

// keyFlags are the flags of the commands for keys.
type keyFlags struct {
	dataFlags
	Source string `placeholder:"URL" help:"Address of a PostGIS database, postgres://..., whose keys are meant. Default: those of the data directory."`
}

// openState opens the keys that the flags name.
func (f keyFlags) openState(ctx context.Context, p *process) (store.State, error) {
	if f.Source == "" {
		return f.dataFlags.openState(ctx, p)
	}
	if !source.IsDatabase(f.Source) {
		return nil, errors.New("--source takes the address of a PostGIS database, postgres://user@host/database; keys of other sources are in --data-dir")
	}
	st, err := postgis.OpenState(ctx, f.Source)
	if err != nil {
		return nil, fmt.Errorf("cannot open the keys in %s: %w", source.Shown(f.Source), err)
	}
	return st, nil
}

// migrateDatabase applies missing migrations.
func migrateDatabase(ctx context.Context, src string) error {
	if !source.IsDatabase(src) {
		return errors.New("--migrate is for databases, postgres://user@host/database; a GeoPackage is migrated when something is imported into it")
	}
	if err := postgis.Migrate(ctx, src); err != nil {
		return fmt.Errorf("cannot migrate %s: %w", source.Shown(src), err)
	}
	return nil
}

// printAdvice tells what a database lacks besides its tables, and returns how much of it is wrong; 0 for other sources.
func printAdvice(ctx context.Context, w io.Writer, src string) (wrong int, err error) {
	if !source.IsDatabase(src) {
		return 0, nil
	}
	list, err := postgis.Inspect(ctx, src)
	if err != nil {
		return 0, fmt.Errorf("cannot look into %s: %w", source.Shown(src), err)
	}
	if len(list) > 0 {
		fmt.Fprintln(w)
	}
	for _, a := range list {
		kind := "to know"
		if a.Wrong {
			kind, wrong = "wrong", wrong+1
		}
		fmt.Fprintf(w, "%s: %s\n", kind, a.Text)
	}
	return wrong, nil
}
