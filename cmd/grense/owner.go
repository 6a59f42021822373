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

// ownerFile is the file in the data directory that names the source whose servers use it.
const ownerFile = "source"

// errShared reports that other processes hold the lock that was requested alone.
var errShared = errors.New("the lock is held by others")

// own takes a data directory for the servers of one source, until the file is closed. It holds keys, jobs and the log
// of changes: a server of another source would take those jobs, and would record that all collections are gone.
// Processes of one source share it.
func own(dir, src string) (_ *os.File, err error) {
	name, err := ownerName(src)
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(dir, ownerFile), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("cannot use the data directory: %w; name another one with --data-dir", err)
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
		case owner != "": // between two locks another process can have come in
			return nil, fmt.Errorf(
				"the data directory %s is in use by a server of %s; name another one with --data-dir, "+
					"or stop that server",
				dir,
				strings.TrimSpace(owner),
			)
		}
	}
}

// ownerName is the line by which a source is known: an absolute path, or the address of a database without its
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
