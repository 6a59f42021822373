package datadir

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// errShared reports that an exclusive lock is not possible, since other processes have a shared one.
var errShared = errors.New("the lock is held by others")

// Lock is the lock of a data directory for servers of one source.
type Lock struct {
	dir  string
	file *os.File
}

// Own locks a data directory for servers of a source, which owner identifies, until the lock is closed. A server of
// another source would take over the jobs in it, and would record that all collections were removed. Processes of one
// source share the lock.
func Own(dir, owner string) (_ *Lock, err error) {
	name := owner + "\n"
	f, err := os.OpenFile(filepath.Join(dir, ownerFile), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, Denied(fmt.Errorf("cannot use the data directory: %w; name another one with --data-dir", err), dir)
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
		switch found := string(b); {
		case err != nil:
			return nil, err
		case found == name:
			return &Lock{dir, f}, nil
		case found != "": // another process can take the lock between the two calls
			return nil, fmt.Errorf(
				"the data directory %s is in use by a server of %s; name another one with --data-dir, "+
					"or stop that server",
				dir,
				strings.TrimSpace(found),
			)
		}
	}
}

// Close releases the lock.
func (l *Lock) Close() error { return l.file.Close() }

// lostPoll is the interval at which the data directory is checked.
const lostPoll = 2 * time.Second

// AwaitLoss waits until the directory is deleted or replaced, and reports that; false if ctx has ended.
func (l *Lock) AwaitLoss(ctx context.Context) bool {
	held, err := l.file.Stat()
	if err != nil {
		return false
	}
	tick := time.NewTicker(lostPoll)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-tick.C:
		}
		now, err := os.Stat(filepath.Join(l.dir, ownerFile))
		if os.IsNotExist(err) || err == nil && !os.SameFile(held, now) {
			return true
		}
	}
}

// CheckLost returns an error if a server on this machine still uses a deleted data directory with the path dir: it
// would not see new files at that path. It works only on Linux, for processes that the caller may inspect.
func CheckLost(dir string) error {
	parent, err := filepath.EvalSymlinks(filepath.Dir(dir))
	if err != nil {
		return nil // the directory never existed, or its parent was deleted, too
	}
	deleted := filepath.Join(parent, filepath.Base(dir), ownerFile) + " (deleted)"
	files, _ := filepath.Glob("/proc/[0-9]*/fd/*")
	for _, f := range files {
		if target, err := os.Readlink(f); err == nil && target == deleted {
			pid := strings.Split(f, "/")[2]
			return fmt.Errorf(
				"the data directory %s was deleted while a server uses it (process %s), which would not see the "+
					"keys; restart that server first",
				dir,
				pid,
			)
		}
	}
	return nil
}
