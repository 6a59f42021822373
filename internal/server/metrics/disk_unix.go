//go:build unix

package metrics

import "golang.org/x/sys/unix"

// diskFree returns the bytes that are free for an ordinary user in the file system of a folder.
func diskFree(dir string) (n uint64, ok bool) {
	var st unix.Statfs_t
	if unix.Statfs(dir, &st) != nil {
		return 0, false
	}
	return uint64(st.Bavail) * uint64(st.Bsize), true
}
