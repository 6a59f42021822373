//go:build unix

package main

import (
	"errors"
	"os"
	"syscall"
)

// lockAlone locks a file for this process alone, or returns errShared.
func lockAlone(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return errShared
	}
	return err
}

// lockShared waits for a lock that other processes may hold, too, in place of the one for this process alone.
func lockShared(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_SH) }
