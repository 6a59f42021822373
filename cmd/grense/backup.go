package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"grense/internal/backup"
	"grense/internal/config"
	"grense/internal/datadir"
	"grense/internal/source"
	"grense/internal/state"
	"grense/internal/store/postgis/statedb"
)

type backupCmd struct {
	File string `arg:"" help:"The backup that is written, a ZIP archive. It must not exist."`
	keyFlags
}

func (backupCmd) Help() string {
	return `Copies the keys (by their hashes), the finished jobs with their outputs, the log of changes and the settings in force. Servers continue to run.
The data that are served are not part of it: keep the GeoPackage, or back up the database, as you do already.

Examples:
  grense backup grense-2026-11-28.zip
  grense backup monday.zip --source postgres://grense@db.example.org/divisions`
}

func (c *backupCmd) Run(ctx context.Context, p *process) (err error) {
	if _, err := os.Lstat(c.File); err == nil {
		return fmt.Errorf("%s exists already; name a new file", c.File)
	}
	settings, err := config.Effective(c.sources(p, "", nil))
	if err != nil {
		return err
	}
	from, err := c.openState(ctx, p)
	if err != nil {
		return err
	}
	defer from.Close()
	m, err := backup.Write(ctx, c.File, from, settings, programVersion())
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.Stdout, "%s holds %s, %s and %s\n", c.File, count(m.Holds.Keys, "key"),
		count(m.Holds.Jobs, "finished job"), count(m.Holds.Changes, "change"))
	return err
}

type restoreCmd struct {
	File string `arg:"" help:"The backup."`
	keyFlags
}

func (restoreCmd) Help() string {
	return `Restores into a data directory, or with --source a database, that holds no keys. The log of changes continues with a larger number, and tells
followers to load the collections again. The settings are in the archive (settings.txt) and are not applied.

Examples:
  grense restore monday.zip --data-dir /var/lib/grense-new
  grense restore monday.zip --source postgres://grense@db.example.org/divisions`
}

func (c *restoreCmd) Run(ctx context.Context, p *process) error {
	_, dir, err := c.prepare(p, "")
	if err != nil {
		return err
	}
	path := filepath.Join(dir, datadir.StateFile)
	if c.Source == "" {
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s holds keys already; name a new folder with --data-dir", dir)
		}
	} else if !source.IsDatabase(c.Source) {
		return errors.New("--source takes the address of a PostGIS database, postgres://user@host/database")
	}
	work, err := os.MkdirTemp(dir, ".restore-*")
	if err != nil {
		return fmt.Errorf("cannot restore: %w", err)
	}
	defer os.RemoveAll(work)
	m, err := backup.Unpack(c.File, work)
	if err != nil {
		return fmt.Errorf("cannot restore %s: %w", c.File, err)
	}
	n, err := c.restore(ctx, m, filepath.Join(work, datadir.StateFile), path)
	if err != nil {
		return fmt.Errorf("cannot restore %s: %w", c.File, err)
	}
	_, err = fmt.Fprintf(p.Stdout, "restored %s, %s and %s of %s\n", count(n.Keys, "key"),
		count(n.Jobs, "finished job"), count(n.Changes, "change"),
		m.Created.Format(time.DateTime+" UTC"))
	return err
}

// restore moves the unpacked state file to path or, if path is a database, copies its content there.
func (c *restoreCmd) restore(ctx context.Context, m backup.Manifest, unpacked, path string) (state.Copied, error) {
	from, err := state.Open(ctx, unpacked)
	if err != nil {
		return state.Copied{}, err
	}
	if c.Source == "" {
		err := errors.Join(from.Restored(ctx, m.Created, time.Now()), from.Close())
		if err == nil {
			err = os.Rename(unpacked, path)
		}
		return m.Holds, err
	}
	defer from.Close()
	to, err := statedb.Open(ctx, c.Source)
	if err != nil {
		return state.Copied{}, err
	}
	defer to.Close()
	if keys, err := to.Keys(ctx); err != nil || len(keys) > 0 {
		return state.Copied{},
			errors.Join(err, errors.New("the database holds keys already; restore into one that holds none"))
	}
	n, err := from.Copy(ctx, to)
	if err != nil {
		return n, err
	}
	return n, to.Restored(ctx, m.Created, time.Now())
}
