//go:build unix

package gpkg

import "syscall"

// writable reports whether this process may make files in a folder.
func writable(dir string) bool {
	const wOK = 2
	return syscall.Access(dir, wOK) == nil
}
