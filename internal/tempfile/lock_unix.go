//go:build unix

package tempfile

import (
	"errors"
	"os"
	"syscall"
)

// lock waits for the lock of a file, which ends with the process.
func lock(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX) }

// tryLock takes the lock of a file if it is free. known is false where the file system has no locks.
func tryLock(f *os.File) (free, known bool) {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	return err == nil, err == nil || errors.Is(err, syscall.EWOULDBLOCK)
}
