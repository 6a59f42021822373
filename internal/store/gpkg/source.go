package gpkg

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"grense/internal/store"
	"grense/internal/store/gpkg/sqlite"
	"grense/internal/tempfile"
)

// source describes a GeoPackage file at one time.
type source struct {
	path    string      // absolute
	name    string      // as the operator wrote it, for messages
	file    *descriptor // open until close
	info    os.FileInfo // of the file
	size    int64
	mtime   time.Time
	counter uint32 // file change counter (SQLite file format, 1.3.6)
	version string // bytes 24 to 39 of the header, which SQLite compares to detect changes
	pages   int64
	wal     bool  // journal mode WAL
	walSize int64 // size of the -wal file
	walTime time.Time
}

// inspect reads the header without SQLite, and refuses incomplete files. Without an error the caller must close the
// source, after closing connections to the file.
func inspect(path string) (source, error) {
	s := source{name: path}
	var err error
	if s.path, err = filepath.Abs(path); err != nil {
		return s, fmt.Errorf("gpkg: %w", err)
	}
	if s.file, err = describe(path); err != nil {
		return s, fmt.Errorf("gpkg: %w", err)
	}
	if s, err = s.read(); err != nil {
		return s, errors.Join(err, s.close())
	}
	return s, nil
}

func (s source) close() error { return s.file.close() }

const (
	looks    = 3                     // attempts at a truncated file, which may still be growing
	timeStep = 50 * time.Millisecond // longer than the resolution of file times
)

// read is look with several attempts, to distinguish a file that is still being written from a truncated one.
func (s source) read() (now source, err error) {
	for i := range looks {
		if i > 0 {
			time.Sleep(timeStep / looks)
		}
		var whole int64
		if now, whole, err = s.look(); err != nil || now.size >= whole || now.walSize > 0 {
			return now, err
		}
		if j, err := os.Stat(s.path + "-journal"); err == nil && j.Size() > 0 {
			return now, nil // SQLite decides
		}
		err = fmt.Errorf("gpkg: %s is truncated: %d of %d bytes; copy it again", s.name, now.size, whole)
	}
	return now, err
}

// look reads the header and the file's metadata. whole is the size of the file according to its header.
func (s source) look() (now source, whole int64, err error) {
	path := s.name
	info, err := s.file.Stat()
	if err != nil {
		return s, 0, fmt.Errorf("gpkg: %w", err)
	}
	if !info.Mode().IsRegular() {
		return s, 0, fmt.Errorf("gpkg: %s is not a file; name a GeoPackage file", path)
	}
	s.info, s.size, s.mtime = info, info.Size(), info.ModTime()
	var head [100]byte
	if _, err := s.file.ReadAt(head[:], 0); err != nil || string(head[:16]) != "SQLite format 3\x00" {
		return s, 0,
			fmt.Errorf(
				"gpkg: %s is not a GeoPackage: it does not begin as an SQLite file; convert it, for example with "+
					"ogr2ogr -f GPKG out.gpkg %s", path, filepath.Base(path))
	}
	s.counter = binary.BigEndian.Uint32(head[24:])
	s.version = string(head[24:40])
	s.wal = head[18] == 2 || head[19] == 2
	page := int64(binary.BigEndian.Uint16(head[16:]))
	if page == 1 {
		page = 65536
	}
	s.pages = int64(binary.BigEndian.Uint32(head[28:]))
	if s.counter == binary.BigEndian.Uint32(head[92:]) {
		whole = page * s.pages
	}
	if w, err := os.Stat(s.path + "-wal"); err == nil && s.wal {
		s.walSize, s.walTime = w.Size(), w.ModTime()
	}
	return s, whole, nil
}

// recent reports whether a later write could have the same modification time.
func (s source) recent() bool { return time.Since(s.mtime).Abs() < timeStep }

// state returns a text that changes whenever the file changes.
func (s source) state() string {
	return hash(s.path, strconv.FormatInt(s.size, 10), strconv.FormatInt(s.mtime.UnixNano(), 10),
		strconv.Itoa(int(s.counter)),
		strconv.FormatInt(s.walSize, 10), strconv.FormatInt(s.walTime.UnixNano(), 10))
}

// asItWas reports whether nobody has written to the file since s was read.
func (s source) asItWas() bool {
	now, err := s.read()
	return err == nil && now.state() == s.state()
}

// named reports whether the file is still at its path, so that opening the path opens this file.
func (s source) named() bool {
	now, err := os.Stat(s.path)
	return err == nil && os.SameFile(now, s.info)
}

// hash returns 16 hexadecimal digits of a hash of texts.
func hash(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:%s", len(p), p)
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// sideName returns the common prefix of the names of all our files for this source, and the stem for its current
// version.
func (s source) sideName(extra string) (prefix, stem string) {
	base := strings.TrimSuffix(filepath.Base(s.path), filepath.Ext(s.path))
	prefix = store.CollectionID(base) + "-" + hash(s.path) + "-"
	return prefix, prefix + hash(s.state(), extra)
}

// readable returns the path of the file to open, and the mode. Reading a file in WAL mode requires writing next to it.
// Therefore such a file is copied into dir or, if its directory is not writable, opened as immutable. Copies, and files
// declared unchanging, are opened as immutable, too.
func (s source) readable(dir string, unchanging bool) (path string, m sqlite.Mode, err error) {
	if unchanging {
		return s.path, sqlite.Immutable, s.complete()
	}
	if !s.wal {
		return s.path, sqlite.ReadOnly, nil
	}
	if !writable(filepath.Dir(s.path)) {
		if s.walSize == 0 {
			return s.path, sqlite.Immutable, nil
		}
		return s.path, sqlite.ReadOnly, nil
	}
	prefix, stem := s.sideName("copy")
	path = filepath.Join(dir, stem+".gpkg")
	if _, err := os.Stat(path); err == nil {
		return path, sqlite.Immutable, nil
	}
	err = atomically(path, s.copyBeside)
	if err != nil {
		return "", 0, fmt.Errorf("gpkg: copying %s, which is in WAL mode, to the data folder: %w", s.name, err)
	}
	removeOthers(dir, prefix, stem, ".gpkg")
	return path, sqlite.Immutable, nil
}

// copyBeside copies a file in WAL mode into an empty file, consistently. It uses SQLite, which creates files next to
// the source, only if others are writing.
func (s source) copyBeside(dst string) error {
	for range looks {
		if s.walSize > 0 {
			break
		}
		if time.Since(s.mtime) < settledAfter {
			time.Sleep(timeStep) // later writes then have another modification time
		}
		if err := copyFile(dst, s); err != nil {
			return err
		}
		now, err := s.read()
		if err != nil || now.state() == s.state() {
			return err
		}
		if err := os.Truncate(dst, 0); err != nil {
			return err
		}
		s = now
	}
	return vacuumInto(dst, s.path)
}

// copyFile copies an SQLite file without pending changes. The copy has a rollback journal instead of WAL, so that
// reading needs no other file.
func copyFile(dst string, src source) error {
	out, err := os.OpenFile(dst, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, io.NewSectionReader(src.file, 0, math.MaxInt64))
	if err == nil {
		_, err = out.WriteAt([]byte{1, 1}, 18) // file format versions: 1 is a rollback journal
	}
	return errors.Join(err, out.Close())
}

// vacuumInto copies an SQLite file that others may be writing; they own -wal and -shm.
func vacuumInto(dst, src string) error {
	c, err := sqlite.Open(src, sqlite.ReadOnly)
	if err != nil {
		return err
	}
	err = c.Exec("VACUUM INTO ?", dst)
	return errors.Join(err, c.Close())
}

// atomically calls write with a temporary path in the same directory, and renames the file to path after success. File
// and name are on disk when it returns.
func atomically(path string, write func(tmp string) error) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	tmp, done, err := temporary(path)
	if err != nil {
		return err
	}
	defer done()
	if err := write(tmp); err != nil {
		return errors.Join(err, removeDatabase(tmp))
	}
	return publish(tmp, path)
}

// temporary creates an empty file next to path that only its owner can read, and returns its path. Call done when
// nobody writes to it any more.
func temporary(path string) (tmp string, done func(), err error) {
	tmp, done, err = tempfile.Begin(filepath.Dir(path), "."+filepath.Base(path)+".")
	if err != nil {
		return "", nil, err
	}
	f, err := os.OpenFile(tmp, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		done()
		return "", nil, err
	}
	return tmp, done, nil
}

// removeAbandoned removes temporary files next to path that a crash has left.
func removeAbandoned(path string) {
	tempfile.Sweep(filepath.Dir(path), "."+filepath.Base(path)+".", "")
}

// publish renames a finished file. After a crash either the old or the new file is there, complete.
func publish(tmp, path string) error {
	if err := syncFile(tmp); err != nil {
		return errors.Join(err, removeDatabase(tmp))
	}
	if err := os.Rename(tmp, path); err != nil {
		return errors.Join(err, removeDatabase(tmp))
	}
	return syncFile(filepath.Dir(path))
}

func syncFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// removeDatabase removes an SQLite file and its journals.
func removeDatabase(path string) error {
	var errs []error
	for _, suffix := range [...]string{"", "-journal", "-wal", "-shm"} {
		if err := os.Remove(path + suffix); err != nil && !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// removeOthers removes our files with a prefix whose names do not begin with stem, and temporary files after a crash.
// It ignores errors, since leftover files do no harm.
func removeOthers(dir, prefix, stem, ext string) {
	tempfile.Sweep(dir, "."+prefix, ext+".")
	entries, _ := os.ReadDir(dir) // an unreadable directory is skipped
	for _, e := range entries {
		if n := e.Name(); strings.HasPrefix(n, prefix) && strings.HasSuffix(n, ext) && !strings.HasPrefix(n, stem) {
			os.Remove(filepath.Join(dir, n))
		}
	}
}

// explain adds the cure to an error of SQLite while opening.
func (s source) explain(err error) error {
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
