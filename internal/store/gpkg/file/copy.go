package file

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"time"

	"grense/internal/store/gpkg/sqlite"
)

// Readable returns the path of the file to open, and the mode. Reading a file in WAL mode requires writing next to it.
// Therefore such a file is copied into dir or, if its directory is not writable, opened as immutable. Copies, and files
// declared unchanging, are opened as immutable, too.
func (s File) Readable(dir string, unchanging bool) (path string, m sqlite.Mode, err error) {
	if unchanging {
		return s.Path, sqlite.Immutable, s.complete()
	}
	if !s.WAL {
		return s.Path, sqlite.ReadOnly, nil
	}
	if !writable(filepath.Dir(s.Path)) {
		if s.walSize == 0 {
			return s.Path, sqlite.Immutable, nil
		}
		return s.Path, sqlite.ReadOnly, nil
	}
	prefix, stem := s.SideName("copy")
	path = filepath.Join(dir, stem+".gpkg")
	if _, err := os.Stat(path); err == nil {
		return path, sqlite.Immutable, nil
	}
	err = Atomically(path, s.CopyBeside)
	if err != nil {
		return "", 0, fmt.Errorf("gpkg: copying %s, which is in WAL mode, to the data folder: %w", s.name, err)
	}
	RemoveOthers(dir, prefix, stem, ".gpkg")
	return path, sqlite.Immutable, nil
}

// CopyBeside copies a file in WAL mode into an empty file, consistently. It uses SQLite, which creates files next to
// the source, only if others are writing.
func (s File) CopyBeside(dst string) error {
	for range looks {
		if s.walSize > 0 {
			break
		}
		if time.Since(s.Modified) < SettledAfter {
			time.Sleep(TimeStep) // later writes then have another modification time
		}
		if err := Copy(dst, s); err != nil {
			return err
		}
		now, err := s.Read()
		if err != nil || now.State() == s.State() {
			return err
		}
		if err := os.Truncate(dst, 0); err != nil {
			return err
		}
		s = now
	}
	return vacuumInto(dst, s.Path)
}

// Copy copies an SQLite file without pending changes. The copy has a rollback journal instead of WAL, so that reading
// needs no other file.
func Copy(dst string, src File) error {
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

// complete returns an error if there is a journal next to the file: a program is writing to it, or has crashed.
func (s File) complete() error {
	for _, suffix := range [...]string{"-wal", "-journal"} {
		beside, err := os.Stat(s.Path + suffix)
		if err != nil || suffix == "-journal" && beside.Size() == 0 {
			continue
		}
		base := filepath.Base(s.Path)
		return fmt.Errorf("gpkg: beside %s lies %s, so that a program writes into it or ended while it did, "+
			"and unchanging promises that nobody does; close that program, "+
			"or put what sqlite3 %s \"VACUUM INTO 'whole.gpkg'\" makes in its place and remove %s, "+
			"or remove unchanging", s.name, base+suffix, base, base+suffix)
	}
	return nil
}
