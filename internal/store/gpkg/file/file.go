// Package file reads the header of a GeoPackage file without SQLite, detects changes of the file, and replaces files
// atomically.
package file

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"grense/internal/store"
	"grense/internal/store/gpkg/sqlite"
)

// File describes a GeoPackage file at one time.
type File struct {
	Path     string      // absolute
	name     string      // as the operator wrote it, for messages
	file     *descriptor // open until Close
	Info     os.FileInfo // of the file
	Size     int64
	Modified time.Time
	Counter  uint32 // file change counter (SQLite file format, 1.3.6)
	Version  string // bytes 24 to 39 of the header, which SQLite compares to detect changes
	Pages    int64
	WAL      bool  // journal mode WAL
	walSize  int64 // size of the -wal file
	walTime  time.Time
}

// Inspect reads the header without SQLite, and refuses incomplete files. Without an error the caller must close the
// file, after closing connections to the file.
func Inspect(path string) (File, error) {
	s := File{name: path}
	var err error
	if s.Path, err = filepath.Abs(path); err != nil {
		return s, fmt.Errorf("gpkg: %w", err)
	}
	if s.file, err = describe(path); err != nil {
		return s, fmt.Errorf("gpkg: %w", err)
	}
	if s, err = s.Read(); err != nil {
		return s, errors.Join(err, s.Close())
	}
	return s, nil
}

// Stat returns the current metadata of the file, also if another file has taken its path.
func (s File) Stat() (os.FileInfo, error) { return s.file.Stat() }

// Close must be called after the connections to the file are closed.
func (s File) Close() error { return s.file.close() }

// looks is the number of attempts at a truncated file, which may still be growing.
const looks = 3

// TimeStep is longer than the resolution of file times.
const TimeStep = 50 * time.Millisecond

// Read is Look with several attempts, to distinguish a file that is still being written from a truncated one.
func (s File) Read() (now File, err error) {
	for i := range looks {
		if i > 0 {
			time.Sleep(TimeStep / looks)
		}
		var whole int64
		if now, whole, err = s.Look(); err != nil || now.Size >= whole || now.walSize > 0 {
			return now, err
		}
		if j, err := os.Stat(s.Path + "-journal"); err == nil && j.Size() > 0 {
			return now, nil // SQLite decides
		}
		err = fmt.Errorf("gpkg: %s is truncated: %d of %d bytes; copy it again", s.name, now.Size, whole)
	}
	return now, err
}

// Look reads the header and the file's metadata. whole is the size of the file according to its header.
func (s File) Look() (now File, whole int64, err error) {
	path := s.name
	info, err := s.file.Stat()
	if err != nil {
		return s, 0, fmt.Errorf("gpkg: %w", err)
	}
	if !info.Mode().IsRegular() {
		return s, 0, fmt.Errorf("gpkg: %s is not a file; name a GeoPackage file", path)
	}
	s.Info, s.Size, s.Modified = info, info.Size(), info.ModTime()
	var head [100]byte
	if _, err := s.file.ReadAt(head[:], 0); err != nil || string(head[:16]) != "SQLite format 3\x00" {
		return s, 0,
			fmt.Errorf(
				"gpkg: %s is not a GeoPackage: it does not begin as an SQLite file; convert it, for example with "+
					"ogr2ogr -f GPKG out.gpkg %s", path, filepath.Base(path))
	}
	s.Counter = binary.BigEndian.Uint32(head[24:])
	s.Version = string(head[24:40])
	s.WAL = head[18] == 2 || head[19] == 2
	page := int64(binary.BigEndian.Uint16(head[16:]))
	if page == 1 {
		page = 65536
	}
	s.Pages = int64(binary.BigEndian.Uint32(head[28:]))
	if s.Counter == binary.BigEndian.Uint32(head[92:]) {
		whole = page * s.Pages
	}
	if w, err := os.Stat(s.Path + "-wal"); err == nil && s.WAL {
		s.walSize, s.walTime = w.Size(), w.ModTime()
	}
	return s, whole, nil
}

// IsRecent reports whether a later write could have the same modification time.
func (s File) IsRecent() bool { return time.Since(s.Modified).Abs() < TimeStep }

// State returns a text that changes whenever the file changes.
func (s File) State() string {
	return Hash(s.Path, strconv.FormatInt(s.Size, 10), strconv.FormatInt(s.Modified.UnixNano(), 10),
		strconv.Itoa(int(s.Counter)),
		strconv.FormatInt(s.walSize, 10), strconv.FormatInt(s.walTime.UnixNano(), 10))
}

// IsUnchanged reports whether nobody has written to the file since s was read.
func (s File) IsUnchanged() bool {
	now, err := s.Read()
	return err == nil && now.State() == s.State()
}

// IsNamed reports whether the file is still at its path, so that opening the path opens this file.
func (s File) IsNamed() bool {
	now, err := os.Stat(s.Path)
	return err == nil && os.SameFile(now, s.Info)
}

// Hash returns 16 hexadecimal digits of a hash of texts.
func Hash(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:%s", len(p), p)
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// SideName returns the common prefix of the names of all our files for this file, and the stem for its current
// version.
func (s File) SideName(extra string) (prefix, stem string) {
	base := strings.TrimSuffix(filepath.Base(s.Path), filepath.Ext(s.Path))
	prefix = store.CollectionID(base) + "-" + Hash(s.Path) + "-"
	return prefix, prefix + Hash(s.State(), extra)
}

// Explain adds the cure to an error of SQLite while opening.
func (s File) Explain(err error) error {
	switch sqlite.TroubleOf(err) {
	case sqlite.Damaged:
		return fmt.Errorf("gpkg: %s is damaged; restore it from a copy, or rescue what is left with sqlite3's "+
			".recover: %w", s.name, err)
	case sqlite.Locked:
		return fmt.Errorf("gpkg: %s is locked by a program that writes to it; close that program: %w", s.name, err)
	case sqlite.Unreachable:
		return fmt.Errorf("gpkg: %s cannot be opened; check the permissions of the file and its folder: %w", s.name,
			err)
	case sqlite.Replaced:
		return fmt.Errorf("gpkg: a program ended while it wrote into %s; open it once with that program or with "+
			"sqlite3, which undoes what was half written: %w", s.name, err)
	}
	return err
}

// WriteCounter sets the change counter in the header of a file that nobody has open (SQLite file format, 1.3.6 and
// 1.3.14).
func WriteCounter(path string, counter uint32) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	b := binary.BigEndian.AppendUint32(nil, counter)
	_, err = f.WriteAt(b, 24)
	if err == nil {
		_, err = f.WriteAt(b, 92)
	}
	return errors.Join(err, f.Close())
}
