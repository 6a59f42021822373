package gpkg

import (
	"context"
	"time"

	"grense/internal/store"
)

var (
	_ store.Stated  = (*Store)(nil)
	_ store.Glanced = (*Store)(nil)
)

// knownState is the revision of the features of a file while the file bears a stamp.
type knownState struct {
	stamp fileStamp
	rev   uint64
}

// fileStamp is what the file system tells of a file that any write into it changes: the kernel sets changed, which nobody can set back.
type fileStamp struct {
	device, inode uint64
	size          int64
	changed       int64 // nanoseconds since 1970
}

// same reports whether two stamps are of one file.
func (f fileStamp) same(g fileStamp) bool { return f.device == g.device && f.inode == g.inode }

// settledAfter is how long a file must have been left alone before its stamp is trusted: longer than the steps of the times of any file system.
const settledAfter = 3 * time.Second

// Glance names the state of the file by its stamp, in a microsecond. Whoever commits to a file that is not in WAL mode has written its change counter into it before that
// (SQLite file format, 1.3.7), so that a file with the stamp that it had before it was last read, and that was not new then, has the same content.
func (s *Store) Glance() (uint64, bool) {
	r, err := s.acquire()
	if err != nil {
		return 0, false
	}
	defer r.release()
	return r.glance()
}

func (r *revision) glance() (uint64, bool) {
	if r.still {
		return r.rev, true
	}
	k := r.known.Load()
	if k == nil {
		return 0, false
	}
	now, ok := stampOf(r.path)
	return k.rev, ok && now == k.stamp
}

// State names the state of the file, which others may write into.
func (s *Store) State(ctx context.Context) (rev uint64, err error) {
	r, err := s.acquire()
	if err != nil {
		return 0, err
	}
	defer r.release()
	return r.state(ctx, s.settled)
}

// state is the revision of the features that the file has now, as its connections tell it.
func (r *revision) state(ctx context.Context, settled time.Duration) (rev uint64, err error) {
	n := r.look(settled)
	err = r.use(ctx, func(c *conn) (err error) {
		if rev, err = r.revOf(ctx, c); err == nil {
			err = n.see(c, rev)
		}
		return err
	})
	return rev, err
}

// lookAt is what the file tells of itself before it is read.
type lookAt struct {
	r       *revision
	stamp   fileStamp
	trusted bool
}

// look is to be called before a transaction begins. A file that was changed less than settled ago is not trusted.
func (r *revision) look(settled time.Duration) lookAt {
	if r.still {
		return lookAt{r: r}
	}
	stamp, ok := stampOf(r.path)
	return lookAt{r, stamp, ok && stamp.same(r.opened) && time.Since(time.Unix(0, stamp.changed)) > settled}
}

// see notes that the transaction of c reads the revision rev, so that a glance tells it from here on.
func (n lookAt) see(c *conn, rev uint64) error {
	now := knownState{n.stamp, rev}
	if k := n.r.known.Load(); !n.trusted || c.pinned != nil || k != nil && *k == now {
		return nil
	}
	_, wal, err := c.header()
	if err == nil && !wal {
		n.r.known.Store(&now)
	}
	return err
}
