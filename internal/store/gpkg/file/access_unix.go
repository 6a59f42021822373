//go:build unix

package file

import "syscall"

// writable reports whether this process may create files in a directory.
func writable(dir string) bool {
	const wOK = 2
	return syscall.Access(dir, wOK) == nil
}
