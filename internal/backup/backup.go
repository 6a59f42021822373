// Package backup writes keys, finished jobs and the log of changes into an archive, and unpacks it.
package backup

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
	"os"
	"path/filepath"
	"time"

	"grense/internal/config"
	"grense/internal/datadir"
	"grense/internal/state"
)

// Names of the files in a backup.
const (
	manifestName = "manifest.json"
	settingsName = "settings.txt"
)

// Format is the version of the archive. Raise it if older programs cannot restore a new archive.
const Format = 1

// Manifest describes a backup.
type Manifest struct {
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

// Write copies a state and the settings in force into a new archive at name, which only its owner can read. The archive
// appears when it is complete. program is the version of the program.
func Write(ctx context.Context, name string, from *state.DB, settings []config.Setting, program string) (
	m Manifest, err error) {
	dir, err := os.MkdirTemp(filepath.Dir(name), ".grense-backup-*")
	if err != nil {
		return m, fmt.Errorf("cannot write the backup: %w", err)
	}
	defer os.RemoveAll(dir)
	m = Manifest{Format: Format, Program: program, Created: time.Now().UTC()}
	path := filepath.Join(dir, datadir.StateFile)
	if m.Holds, err = copyState(ctx, from, path); err != nil {
		return m, fmt.Errorf("cannot copy the keys and jobs: %w", err)
	}
	if m.State, err = sumOf(path); err != nil {
		return m, fmt.Errorf("cannot read the copy: %w", err)
	}
	whole := filepath.Join(dir, "backup.zip")
	if err := writeArchive(whole, m, settings, path); err != nil {
		return m, fmt.Errorf("cannot write the backup: %w", err)
	}
	if err := os.Rename(whole, name); err != nil {
		return m, fmt.Errorf("cannot write the backup: %w", err)
	}
	return m, nil
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

// writeArchive writes a manifest, the settings and the state file at path into a new archive.
func writeArchive(name string, m Manifest, settings []config.Setting, path string) (err error) {
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

// maxManifest is the largest size of a manifest in bytes.
const maxManifest = 1 << 20

// Unpack unpacks the state file of a backup, datadir.StateFile, into dir and verifies its checksum.
func Unpack(name, dir string) (m Manifest, err error) {
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
	if m.Format > Format {
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
