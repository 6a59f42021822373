package file

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"grense/internal/tempfile"
)

// Atomically calls write with a temporary path in the same directory, and renames the file to path after success. File
// and name are on disk when it returns.
func Atomically(path string, write func(tmp string) error) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	tmp, done, err := Temporary(path)
	if err != nil {
		return err
	}
	defer done()
	if err := write(tmp); err != nil {
		return errors.Join(err, RemoveDatabase(tmp))
	}
	return Publish(tmp, path)
}

// Temporary creates an empty file next to path that only its owner can read, and returns its path. Call done when
// nobody writes to it any more.
func Temporary(path string) (tmp string, done func(), err error) {
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

// RemoveAbandoned removes temporary files next to path that a crash has left.
func RemoveAbandoned(path string) {
	tempfile.Sweep(filepath.Dir(path), "."+filepath.Base(path)+".", "")
}

// Publish renames a finished file. After a crash either the old or the new file is there, complete.
func Publish(tmp, path string) error {
	if err := syncFile(tmp); err != nil {
		return errors.Join(err, RemoveDatabase(tmp))
	}
	if err := os.Rename(tmp, path); err != nil {
		return errors.Join(err, RemoveDatabase(tmp))
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

// RemoveDatabase removes an SQLite file and its journals.
func RemoveDatabase(path string) error {
	var errs []error
	for _, suffix := range [...]string{"", "-journal", "-wal", "-shm"} {
		if err := os.Remove(path + suffix); err != nil && !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// RemoveOthers removes our files with a prefix whose names do not begin with stem, and temporary files after a crash.
// It ignores errors, since leftover files do no harm.
func RemoveOthers(dir, prefix, stem, ext string) {
	tempfile.Sweep(dir, "."+prefix, ext+".")
	entries, _ := os.ReadDir(dir) // an unreadable directory is skipped
	for _, e := range entries {
		if n := e.Name(); strings.HasPrefix(n, prefix) && strings.HasSuffix(n, ext) && !strings.HasPrefix(n, stem) {
			os.Remove(filepath.Join(dir, n))
		}
	}
}
