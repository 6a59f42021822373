package gpkg

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"

	"grense/internal/store"
)

// fileVersion pairs the revision of the features of a file with the file's stamp.
type fileVersion struct {
	stamp fileStamp
	rev   uint64
}

// fileStamp is the metadata of a file that any write changes: the kernel sets changed, which no program can reset.
type fileStamp struct {
	device, inode uint64
	size          int64
	changed       int64 // nanoseconds since 1970
}

// same reports whether two stamps are of one file.
func (f fileStamp) same(g fileStamp) bool { return f.device == g.device && f.inode == g.inode }

// settledAfter is how long a file must have been left alone before its stamp is trusted: longer than the steps of the
// times of any file system.
const settledAfter = 3 * time.Second

// Version returns the version of the file, in a microsecond if its stamp shows it.
func (s *Store) Version(ctx context.Context, _ ...string) (store.Version, error) {
	r, err := s.acquire()
	if err != nil {
		return "", err
	}
	defer r.release()
	rev, err := r.present(ctx, s.settled)
	if err != nil {
		return "", err
	}
	return r.version(rev), nil
}

// version is the version of the catalog, unless somebody has written into the file since it was opened.
func (r *revision) version(rev uint64) store.Version {
	if rev == r.rev {
		return store.Version(r.catalog.Version)
	}
	return store.Version(r.catalog.Version + "/" + strconv.FormatUint(rev, 36))
}

// present is the revision of the features that the file has now.
func (r *revision) present(ctx context.Context, settled time.Duration) (rev uint64, err error) {
	if rev, ok := r.stamped(); ok {
		return rev, nil
	}
	n := r.look(settled)
	err = r.use(ctx, func(c *conn) (err error) {
		if rev, err = r.revOf(ctx, c); err == nil {
			err = n.see(c, rev)
		}
		return err
	})
	return rev, err
}

// stamped returns the revision of the features if the stamp of the file shows it. A program that commits to a file
// that is not in WAL mode writes its change counter into it before that (SQLite file format, 1.3.7): a file with the
// stamp that it had before it was last read, and that was not new then, has the same content.
func (r *revision) stamped() (uint64, bool) {
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

// lookAt is the metadata of a file before it is read.
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

// see notes that the transaction of c reads the revision rev, which its stamp shows from now on.
func (n lookAt) see(c *conn, rev uint64) error {
	now := fileVersion{n.stamp, rev}
	if k := n.r.known.Load(); !n.trusted || c.pinned != nil || k != nil && *k == now {
		return nil
	}
	_, wal, err := c.header()
	if err == nil && !wal {
		n.r.known.Store(&now)
	}
	return err
}

// foreignWrites notices writes into a file that SQLite does not notice, as when a program copies another file over it.
// SQLite discards cached pages if bytes 24 to 39 of the header change (SQLite file format, 1.3.7), which each of its
// commits does and a copy may not do.
type foreignWrites struct {
	mu      sync.Mutex
	seen    source // as it was last looked at
	writes  int    // how many times connections have to discard their pages
	last    int64  // the modification time of the last such write; 0: there was none
	settled bool   // the file was left alone for a step of its times since then
}

// refresh lets a connection with a transaction that holds its lock discard its pages after a foreign write. It returns
// the time of the last one, which is 0 if there was none, and store.ErrChanged if that may not be over.
func (w *foreignWrites) refresh(c *conn) (last int64, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	info, err := w.seen.file.Stat()
	if err != nil {
		return 0, fmt.Errorf("gpkg: %w", err)
	}
	if !w.settled || info.Size() != w.seen.size || !info.ModTime().Equal(w.seen.mtime) {
		if err := w.look(info); err != nil {
			return 0, err
		}
	}
	if c.foreign != w.writes {
		if err := c.discard(); err != nil {
			return 0, err
		}
		c.foreign = w.writes
	}
	if !w.settled {
		return 0, fmt.Errorf("gpkg: a program that does not use SQLite writes into the file: %w", store.ErrChanged)
	}
	return w.last, nil
}

// look reads the header of a file that was written into.
func (w *foreignWrites) look(info os.FileInfo) error {
	now, _, err := w.seen.look()
	if err != nil {
		return err
	}
	if !w.settled || now.version == w.seen.version && !now.wal {
		w.writes, w.last, w.settled = w.writes+1, info.ModTime().UnixNano(), !now.recent()
	}
	w.seen = now
	return nil
}
