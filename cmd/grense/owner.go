package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"grense/internal/source"
)

// ownerFile is the file in the data directory that contains the name of the source whose servers use the directory.
const ownerFile = "source"

// errShared reports that an exclusive lock is not possible, since other processes have a shared one.
var errShared = errors.New("the lock is held by others")

// own locks the data directory for servers of one source until the file is closed. A server of another source would
// take over the jobs in it, and would record that all collections were removed. Processes of one source share the lock.
func own(dir, src string) (_ *os.File, err error) {
	name, err := ownerName(src)
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(dir, ownerFile), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, denied(fmt.Errorf("cannot use the data directory: %w; name another one with --data-dir", err), dir)
	}
	defer func() {
		if err != nil {
			f.Close()
		}
	}()
	for {
		err := lockAlone(f)
		if err == nil {
			if err = f.Truncate(0); err == nil {
				_, err = f.WriteAt([]byte(name), 0)
			}
		}
		if err != nil && !errors.Is(err, errShared) {
			return nil, fmt.Errorf("cannot lock the data directory %s: %w", dir, err)
		}
		if err := lockShared(f); err != nil {
			return nil, fmt.Errorf("cannot lock the data directory %s: %w", dir, err)
		}
		b, err := io.ReadAll(io.NewSectionReader(f, 0, 1<<16))
		switch owner := string(b); {
		case err != nil:
			return nil, err
		case owner == name:
			return f, nil
		case owner != "": // another process can take the lock between the two calls
			return nil, fmt.Errorf(
				"the data directory %s is in use by a server of %s; name another one with --data-dir, "+
					"or stop that server",
				dir,
				strings.TrimSpace(owner),
			)
		}
	}
}

// ownerName returns the line that identifies a source: an absolute path, or the address of a database without its
// password.
func ownerName(src string) (string, error) {
	switch {
	case src == "":
		return "the demo\n", nil
	case source.IsDatabase(src):
		return source.Shown(src) + "\n", nil
	}
	abs, err := filepath.Abs(src)
	return abs + "\n", err
}
