//go:build unix

package datadir

import (
	"errors"
	"os"
	"syscall"
)

// lockAlone takes an exclusive lock on a file, or returns errShared.
func lockAlone(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return errShared
	}
	return err
}

// lockShared replaces an exclusive lock by a shared one, and waits for it if necessary.
func lockShared(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_SH) }
