package main

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"grense/internal/config"
	"grense/internal/datadir"
	"grense/internal/source"
	"grense/internal/state"
	"grense/internal/store/postgis/statedb"
)

// Names of the files in a backup.
const (
	manifestName = "manifest.json"
	settingsName = "settings.txt"
)

// backupFormat is the version of the archive. Raise it if older programs cannot restore a new archive.
const backupFormat = 1

// manifest describes a backup.
type manifest struct {
	Format  int          `json:"format"`
	Program string       `json:"program"`
	Created time.Time    `json:"created"`
	Holds   state.Copied `json:"holds"`
	State   fileSum      `json:"state"` // an SQLite file, as in a data directory
}

// fileSum identifies a file in a backup.
type fileSum struct {
	Name   string `json:"name"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

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
	dir, err := os.MkdirTemp(filepath.Dir(c.File), ".grense-backup-*")
	if err != nil {
		return fmt.Errorf("cannot write the backup: %w", err)
	}
	defer os.RemoveAll(dir)
	m := manifest{Format: backupFormat, Program: programVersion(), Created: time.Now().UTC()}
	path := filepath.Join(dir, datadir.StateFile)
	if m.Holds, err = copyState(ctx, from, path); err != nil {
		return fmt.Errorf("cannot copy the keys and jobs: %w", err)
	}
	if m.State, err = sumOf(path); err != nil {
		return fmt.Errorf("cannot read the copy: %w", err)
	}
	whole := filepath.Join(dir, "backup.zip")
	if err := writeBackup(whole, m, settings, path); err != nil {
		return fmt.Errorf("cannot write the backup: %w", err)
	}
	if err := os.Rename(whole, c.File); err != nil {
		return fmt.Errorf("cannot write the backup: %w", err)
	}
	_, err = fmt.Fprintf(p.Stdout, "%s holds %s, %s and %s\n", c.File, count(m.Holds.Keys, "key"),
		count(m.Holds.Jobs, "finished job"), count(m.Holds.Changes, "change"))
	return err
}

// copyState copies keys, finished jobs and the log of changes into a new SQLite file at path.
func copyState(ctx context.Context, from *state.DB, path string) (n state.Copied, err error) {
	to, err := state.Open(ctx, path)
	if err != nil {
		return n, err
	}
	n, err = from.Copy(ctx, to)
	return n, errors.Join(err, to.Close())
}

// sumOf returns the size and the checksum of a file.
func sumOf(path string) (s fileSum, err error) {
	f, err := os.Open(path)
	if err != nil {
		return s, err
	}
	defer f.Close()
	h := sha256.New()
	n, err := io.Copy(h, f)
	return fileSum{filepath.Base(path), n, hex.EncodeToString(h.Sum(nil))}, err
}

// writeBackup writes a manifest, the settings and the state file at path into a new archive that only its owner can
// read.
func writeBackup(name string, m manifest, settings []config.Setting, path string) (err error) {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	z := zip.NewWriter(f)
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	var list bytes.Buffer
	for _, s := range settings {
		fmt.Fprintf(&list, "%s\t%s\t%s\n", s.Path, s.Value, s.From)
	}
	for _, part := range []struct {
		name string
		text []byte
	}{{manifestName, text}, {settingsName, list.Bytes()}} {
		w, err := z.CreateHeader(&zip.FileHeader{Name: part.name, Method: zip.Deflate, Modified: m.Created})
		if err != nil {
			return err
		}
		if _, err := w.Write(part.text); err != nil {
			return err
		}
	}
	w, err := z.CreateHeader(&zip.FileHeader{Name: m.State.Name, Method: zip.Deflate, Modified: m.Created})
	if err != nil {
		return err
	}
	r, err := os.Open(path)
	if err != nil {
		return err
	}
	defer r.Close()
	if _, err := io.Copy(w, r); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	return f.Sync()
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
	m, err := unpackBackup(c.File, work)
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
func (c *restoreCmd) restore(ctx context.Context, m manifest, unpacked, path string) (state.Copied, error) {
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

// maxManifest is the largest size of a manifest in bytes.
const maxManifest = 1 << 20

// unpackBackup unpacks the state file of a backup into dir and verifies its checksum.
func unpackBackup(name, dir string) (m manifest, err error) {
	z, err := zip.OpenReader(name)
	if err != nil {
		return m, fmt.Errorf("it is no backup: %w", err)
	}
	defer z.Close()
	f, err := z.Open(manifestName)
	if err != nil {
		return m, fmt.Errorf("it is no backup: %w", err)
	}
	defer f.Close()
	if err := json.NewDecoder(io.LimitReader(f, maxManifest)).Decode(&m); err != nil {
		return m, fmt.Errorf("its manifest cannot be read: %w", err)
	}
	if m.Format > backupFormat {
		return m, fmt.Errorf("it was written by a newer version, %s; restore it with that one", m.Program)
	}
	r, err := z.Open(datadir.StateFile)
	if err != nil {
		return m, fmt.Errorf("it is not whole: %w", err)
	}
	defer r.Close()
	path := filepath.Join(dir, datadir.StateFile)
	w, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return m, err
	}
	_, err = io.Copy(w, io.LimitReader(r, m.State.Bytes+1))
	if err = errors.Join(err, w.Sync(), w.Close()); err != nil {
		return m, err
	}
	if sum, err := sumOf(path); err != nil || sum != m.State {
		return m, errors.Join(err, errors.New("its checksum is wrong; use another copy of the backup"))
	}
	return m, nil
}
