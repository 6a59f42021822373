//go:build !linux

package file

// StampOf returns false: this system has no file time that programs cannot set.
func StampOf(string) (Stamp, bool) { return Stamp{}, false }

// IsLocal returns false.
func IsLocal(string) bool { return false }
