package file

import "syscall"

// StampOf returns the stamp of a file; false if there is none.
func StampOf(path string) (Stamp, bool) {
	var st syscall.Stat_t
	if err := syscall.Stat(path, &st); err != nil {
		return Stamp{}, false
	}
	return Stamp{device: uint64(st.Dev), inode: st.Ino, size: st.Size, Changed: st.Ctim.Nano()}, true
}

// IsLocal reports whether a file is on a local file system, whose metadata are never out of date.
func IsLocal(path string) bool {
	var fs syscall.Statfs_t
	if syscall.Statfs(path, &fs) != nil {
		return false
	}
	switch uint32(fs.Type) {
	case 0xef53, 0x58465342, 0x9123683e, 0x2fc12fc1, 0xf2f52010, 0x01021994, 0x794c7630:
		// ext, XFS, Btrfs, ZFS, F2FS, tmpfs, overlay
		return true
	}
	return false
}
