// Package datadir creates the data directory, keeps it private, and locks it for the servers of one source.
package datadir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Create creates the data directory, accessible only to its owner, and returns its absolute path.
func Create(path string) (string, error) {
	dir, err := filepath.Abs(path)
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	if err != nil {
		return "",
			Denied(fmt.Errorf("cannot create the data directory: %w; name another one with --data-dir", err), dir)
	}
	return dir, Denied(keepPrivate(dir), dir)
}

// ours are patterns for the names of files and directories that Grense creates in the data directory.
var ours = []string{
	StateFile + "*",
	FirstKeyFile,
	ownerFile,
	"*.side",
	"*.index",
	"demo-*",
	"*-????????????????-????????????????.gpkg",
	"imports",
	"imports/*",
}

// keepPrivate removes the rights of other users from the data directory and from our files in it: they contain keys and
// protected data, and the directory may have existed before. It does not change a shared directory such as /tmp.
func keepPrivate(dir string) error {
	const othersMay = 0o077
	tighten := func(path string) error {
		info, err := os.Lstat(path)
		if err != nil || info.Mode()&(fs.ModeSymlink|fs.ModeSticky) != 0 || info.Mode().Perm()&othersMay == 0 {
			if errors.Is(err, fs.ErrNotExist) { // another process has removed it
				return nil
			}
			return err
		}
		if err := os.Chmod(path, info.Mode().Perm()&^othersMay); err != nil {
			return fmt.Errorf(
				"others can read %s, and that cannot be changed: %w; own the data directory, or name another one "+
					"with --data-dir",
				path,
				err,
			)
		}
		return nil
	}
	if err := tighten(dir); err != nil {
		return err
	}
	for _, pattern := range ours {
		// errors are impossible: all patterns are valid
		names, _ := fs.Glob(os.DirFS(dir), pattern)
		for _, name := range names {
			if err := tighten(filepath.Join(dir, filepath.FromSlash(name))); err != nil {
				return err
			}
		}
	}
	return nil
}

// StateFile is the SQLite file in the data directory with keys, jobs and changes.
const StateFile = "state.db"

// StateMark is a file that exists if StateFile has the keys of a database, because no server was writable when they
// were created.
const StateMark = StateFile + ".instead"

// FirstKeyFile is the file in the data directory that contains the first key until its first use. It is written if
// standard output is not a terminal.
const FirstKeyFile = "first-key"

// ownerFile is the file in the data directory that contains the name of the source whose servers use the directory.
const ownerFile = "source"
