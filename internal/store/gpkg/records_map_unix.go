//go:build (linux || darwin || freebsd) && (amd64 || arm64)

package gpkg

import (
	"os"
	"syscall"
)

// mapFile returns the first size bytes of a file, to be read as they are wanted; nil where the system gives none. A file that is cut below that faults where it is read.
func mapFile(f *os.File, size int64) []byte {
	if size <= 0 {
		return nil
	}
	b, err := syscall.Mmap(int(f.Fd()), 0, int(size), syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		return nil
	}
	return b
}

func unmapFile(b []byte) { syscall.Munmap(b) } //nolint:errcheck // it was mapped
