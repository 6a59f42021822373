package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"grense/internal/apikey"
	"grense/internal/datadir"
	"grense/internal/source"
	"grense/internal/state"
	"grense/internal/store"
	"grense/internal/store/gpkg"
	"grense/internal/store/postgis/inspect"
	"grense/internal/store/postgis/statedb"
	"grense/internal/store/postgis/writer"
)

// createTarget returns a writer for a database or a GeoPackage.
func createTarget(ctx context.Context, target string) (store.Writer, error) {
	if source.IsDatabase(target) {
		return writer.Create(ctx, target)
	}
	return gpkg.Create(ctx, target)
}

// primaryWait bounds the wait for a writable server at startup if the table of keys must be created. openWait bounds
// the wait for any server if keys are not required.
const (
	primaryWait = 10 * time.Second
	openWait    = 3 * time.Second
)

// markText is the content of the file datadir.StateMark.
const markText = "The keys of a database are in " + datadir.StateFile +
	", since no server took changes. Without this file, those of the database are used.\n"

// openState opens the database of keys and jobs: in the source, if that is a database where the role may write, else in
// dir. It retries while the database is unavailable. If keys were created in dir because no server was writable, it
// keeps using them (datadir.StateMark).
func (s *service) openState(ctx context.Context, src, dir string) (*state.DB, error) {
	if !source.IsDatabase(src) {
		return openStateIn(ctx, dir)
	}
	open, mark := s.cfg.Auth == "open", filepath.Join(dir, datadir.StateMark)
	if _, err := os.Stat(mark); err == nil && !open {
		n, err := activeKeys(ctx, dir)
		if err == nil && n == 0 {
			err = os.Remove(mark)
		}
		if n > 0 {
			s.log.Warn(
				"the keys are in the data directory, for this machine only, where they were made while no server of "+
					"the database took changes; "+
					"to use those of the database instead, remove the file",
				"file",
				mark,
			)
			return openStateIn(ctx, dir)
		}
		if err != nil {
			return nil, fmt.Errorf("cannot find out whether keys are in %s: %w", dir, err)
		}
	}
	st, err := s.awaitState(ctx, src, open)
	switch {
	case errors.Is(err, statedb.ErrReadOnly):
		s.log.Warn(
			"the role may not write into the database, so the keys are in the data directory, for this machine only; "+
				"to share them, let a role "+
				"that owns the database run grense key list --source postgres://... and grant the right to select, "+
				"insert and update grense.api_key",
			"dir",
			dir,
		)
		return openStateIn(ctx, dir)
	case open && (errors.Is(err, statedb.ErrNoPrimary) || errors.Is(err, store.ErrUnavailable)):
		s.log.Warn(
			"what would be kept in the database is in the data directory until the next start, since it cannot be "+
				"kept there now",
			"dir",
			dir,
			"err",
			err,
		)
		return openStateIn(ctx, dir)
	case errors.Is(err, statedb.ErrNoPrimary):
		s.log.Warn(
			"no server of the database takes changes, and none has a table of keys, so the keys are in the data "+
				"directory, for this machine only, "+
				"and stay there as long as one is valid",
			"dir",
			dir,
			"err",
			err,
		)
		if err := os.WriteFile(mark, []byte(markText), 0o600); err != nil {
			return nil, fmt.Errorf("cannot store the keys in %s: %w", dir, err)
		}
		return openStateIn(ctx, dir)
	case err != nil:
		return nil, fmt.Errorf("cannot open the keys in %s: %w", source.Shown(src), err)
	}
	s.shared = true
	s.log.Info("the keys are in the schema grense of the database")
	if n, err := activeKeys(ctx, dir); err != nil || n > 0 {
		s.log.Info("keys of the data directory are not used, since the keys are in the database", "keys", n, "dir", dir)
	}
	return st, nil
}

// awaitState opens the state in a database and retries while it is unavailable: up to openWait if keys are not required
// (open), and up to primaryWait if no server is writable.
func (s *service) awaitState(ctx context.Context, src string, open bool) (*state.DB, error) {
	begun := time.Now()
	st, err := statedb.Open(ctx, src)
	for errors.Is(err, store.ErrUnavailable) && ctx.Err() == nil {
		if waited := time.Since(begun); open && waited > openWait ||
			errors.Is(err, statedb.ErrNoPrimary) && waited > primaryWait {
			break
		}
		s.log.Warn("the keys cannot be read; trying again", "err", err)
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
			st, err = statedb.Open(ctx, src)
		}
	}
	return st, err
}

// activeKeys returns the number of valid keys in a data directory.
func activeKeys(ctx context.Context, dir string) (n int, err error) {
	if _, err := os.Stat(filepath.Join(dir, datadir.StateFile)); errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	st, err := openStateIn(ctx, dir)
	if err != nil {
		return 0, err
	}
	defer st.Close()
	keys, err := st.Keys(ctx)
	for _, k := range keys {
		if apikey.Status(k, time.Now()) == "active" {
			n++
		}
	}
	return n, err
}

// keyFlags are the flags that all commands for keys have.
type keyFlags struct {
	dataFlags
	Source string `placeholder:"URL" help:"PostGIS database, postgres://..., that holds the keys. Default: the setting source if it is one, else the data directory."`
}

// openState opens the state that the flags or the configuration select, as serve would.
func (f keyFlags) openState(ctx context.Context, p *process) (*state.DB, error) {
	cfg, dir, err := f.prepare(p, "")
	if err != nil {
		return nil, err
	}
	src := f.Source
	if src != "" && !source.IsDatabase(src) {
		return nil, errors.New(
			"--source takes the address of a PostGIS database, postgres://user@host/database; " +
				"keys of other sources are in --data-dir",
		)
	}
	if src == "" && source.IsDatabase(cfg.Source) {
		if _, err := os.Stat(filepath.Join(dir, datadir.StateMark)); errors.Is(err, fs.ErrNotExist) {
			src = cfg.Source
		}
	}
	if src != "" {
		st, err := statedb.Open(ctx, src)
		if f.Source == "" && errors.Is(err, statedb.ErrReadOnly) {
			src = ""
		} else if err != nil {
			return nil, fmt.Errorf("cannot open the keys in %s: %w", source.Shown(src), err)
		} else {
			return st, nil
		}
	}
	if err := datadir.CheckLost(dir); err != nil {
		return nil, err
	}
	return openStateIn(ctx, dir)
}

// migrateDatabase applies missing migrations.
func migrateDatabase(ctx context.Context, src string) error {
	if !source.IsDatabase(src) {
		return errors.New(
			"--migrate is for databases, postgres://user@host/database; a GeoPackage is migrated when something is " +
				"imported into it",
		)
	}
	if err := writer.Migrate(ctx, src); err != nil {
		return fmt.Errorf("cannot migrate %s: %w", source.Shown(src), err)
	}
	return nil
}

// printAdvice prints problems of a database beyond missing tables, and returns how many of them are faults. It returns
// 0 for other sources.
func printAdvice(ctx context.Context, w io.Writer, src string) (wrong int, err error) {
	if !source.IsDatabase(src) {
		return 0, nil
	}
	list, err := inspect.Database(ctx, src)
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
