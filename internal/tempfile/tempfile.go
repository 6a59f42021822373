// Package tempfile names temporary files and folders so that the next start removes what a killed process left behind.
//
// Beside each one lies a file with a lock that its process holds. Sweep removes what nobody has locked.
// Where the system has no such locks, it removes what nobody has changed for a day.
package tempfile

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const (
	end  = ".tmp"
	mark = "-grense-lock"
)

// abandoned is the age of a temporary file that nobody can still be writing, without locks.
const abandoned = 24 * time.Hour

// Begin returns a path in a folder that begins with prefix and ends with .tmp. Nothing is there yet. Call done when the
// path is no longer in use; it removes the lock alone.
func Begin(dir, prefix string) (path string, done func(), err error) {
	f, err := os.CreateTemp(dir, prefix+"*"+end+mark)
	if err != nil {
		return "", nil, err
	}
	_ = lock(f) // without one, age decides
	done = func() {
		os.Remove(f.Name())
		f.Close()
	}
	return strings.TrimSuffix(f.Name(), mark), done, nil
}

// Folder makes a folder in that of the system for temporary files, after a Sweep of those with the same prefix. done
// removes it with all that is in it.
func Folder(prefix string) (path string, done func(), err error) {
	Sweep(os.TempDir(), prefix, "")
	path, release, err := Begin(os.TempDir(), prefix)
	if err != nil {
		return "", nil, fmt.Errorf("%w; set TMPDIR to a folder that exists and can be written", err)
	}
	if err := os.Mkdir(path, 0o700); err != nil {
		release()
		return "", nil, err
	}
	return path, func() { os.RemoveAll(path); release() }, nil
}

// Sweep removes temporary files and folders in a folder whose names begin with prefix and have part behind it, of
// processes that have ended. What cannot be removed stays for the next Sweep. Without a prefix, files that have no lock
// stay, too, since they may be those of other programs.
func Sweep(dir, prefix, part string) {
	entries, _ := os.ReadDir(dir) // a folder that cannot be read has nothing that could be removed
	for _, e := range entries {
		name, locked := strings.CutSuffix(e.Name(), mark)
		rest, ours := strings.CutPrefix(name, prefix)
		if !ours || !strings.HasSuffix(rest, end) || !strings.Contains(rest, part) {
			continue
		}
		path := filepath.Join(dir, name)
		if locked {
			sweep(path)
		} else if _, err := os.Lstat(path + mark); err != nil && prefix != "" && old(path) {
			remove(path)
		}
	}
}

// sweep removes a file whose lock nobody holds.
func sweep(path string) {
	f, err := os.OpenFile(path+mark, os.O_RDWR, 0)
	if err != nil {
		return
	}
	defer f.Close()
	if free, known := tryLock(f); free || !known && old(path) {
		remove(path)
		os.Remove(path + mark)
	}
}

// old reports whether a file was not changed for so long that nobody can still be writing it.
func old(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && time.Since(info.ModTime()) > abandoned
}

// remove removes a file or a folder, and what SQLite may have left beside it.
func remove(path string) {
	for _, more := range [...]string{"", "-journal", "-wal", "-shm"} {
		os.RemoveAll(path + more)
	}
}
