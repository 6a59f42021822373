package file

import "time"

// Stamp is metadata of a file that every write changes. The kernel sets Changed (ctime), and programs cannot reset
// it.
type Stamp struct {
	device, inode uint64
	size          int64
	Changed       int64 // nanoseconds since 1970
}

// Same reports whether two stamps are of the same file.
func (f Stamp) Same(g Stamp) bool { return f.device == g.device && f.inode == g.inode }

// SettledAfter is how long ago a file must have been written before its stamp is trusted. It is longer than the
// resolution of the times of any file system.
const SettledAfter = 3 * time.Second
