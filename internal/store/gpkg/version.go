package gpkg

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"

	"grense/internal/store"
	"grense/internal/store/gpkg/file"
	"grense/internal/store/gpkg/sqlite"
)

// fileVersion pairs the revision of the features with the stamp of the file when it was read.
type fileVersion struct {
	stamp file.Stamp
	rev   uint64
}

// Version returns the version of the file, within a microsecond if the stamp shows it.
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

// version returns the version of the catalog, or another one if somebody has written to the file since it was opened.
func (r *revision) version(rev uint64) store.Version {
	if rev == r.rev {
		return store.Version(r.catalog.Version)
	}
	return store.Version(r.catalog.Version + "/" + strconv.FormatUint(rev, 36))
}

// present returns the revision of the features that the file has now.
func (r *revision) present(ctx context.Context, settled time.Duration) (rev uint64, err error) {
	if rev, ok := r.stamped(); ok {
		return rev, nil
	}
	n := r.look(settled)
	err = r.use(ctx, func(c *sqlite.Conn) (err error) {
		if rev, err = r.revOf(ctx, c); err == nil {
			err = n.see(c, rev)
		}
		return err
	})
	return rev, err
}

// stamped returns the revision of the features if the stamp of the file shows it. Before a program commits to a file
// that is not in WAL mode, it writes the change counter into the file (SQLite file format, 1.3.7). So a file with the
// same stamp as when it was last read, and which was not new then, has the same content.
func (r *revision) stamped() (uint64, bool) {
	if r.still {
		return r.rev, true
	}
	k := r.known.Load()
	if k == nil {
		return 0, false
	}
	now, ok := file.StampOf(r.path)
	return k.rev, ok && now == k.stamp
}

// lookAt is the metadata of a file before it is read.
type lookAt struct {
	r       *revision
	stamp   file.Stamp
	trusted bool
}

// look must be called before a transaction begins. It does not trust a file that was changed less than settled ago.
func (r *revision) look(settled time.Duration) lookAt {
	if r.still {
		return lookAt{r: r}
	}
	stamp, ok := file.StampOf(r.path)
	return lookAt{r, stamp, ok && stamp.Same(r.opened) && time.Since(time.Unix(0, stamp.Changed)) > settled}
}

// see records that the transaction of c reads the revision rev, so that the stamp identifies it.
func (n lookAt) see(c *sqlite.Conn, rev uint64) error {
	now := fileVersion{n.stamp, rev}
	if k := n.r.known.Load(); !n.trusted || sessionOf(c).pinned != nil || k != nil && *k == now {
		return nil
	}
	_, wal, err := c.Header()
	if err == nil && !wal {
		n.r.known.Store(&now)
	}
	return err
}

// foreignWrites detects writes that SQLite does not, such as copying another file over this one. SQLite discards its
// cached pages only if bytes 24 to 39 of the header change (SQLite file format, 1.3.7), which a copy may leave equal.
type foreignWrites struct {
	mu      sync.Mutex
	seen    file.File // at the last check
	writes  int       // number of foreign writes: connections must discard their pages once for each
	last    int64     // modification time of the last foreign write; 0: none
	settled bool      // nobody has written within the resolution of file times since
}

// refresh discards the pages of a connection, whose transaction has a lock, after a foreign write. It returns the time
// of the last foreign write, 0 if there was none, and store.ErrChanged if the write may not be complete.
func (w *foreignWrites) refresh(c *sqlite.Conn) (last int64, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	info, err := w.seen.Stat()
	if err != nil {
		return 0, fmt.Errorf("gpkg: %w", err)
	}
	if !w.settled || info.Size() != w.seen.Size || !info.ModTime().Equal(w.seen.Modified) {
		if err := w.look(info); err != nil {
			return 0, err
		}
	}
	if x := sessionOf(c); x.writes != w.writes {
		if err := c.Discard(); err != nil {
			return 0, err
		}
		x.writes = w.writes
	}
	if !w.settled {
		return 0, fmt.Errorf("gpkg: a program that does not use SQLite writes into the file: %w", store.ErrChanged)
	}
	return w.last, nil
}

// look reads the header after the file was written to.
func (w *foreignWrites) look(info os.FileInfo) error {
	now, _, err := w.seen.Look()
	if err != nil {
		return err
	}
	if !w.settled || now.Version == w.seen.Version && !now.WAL {
		w.writes, w.last, w.settled = w.writes+1, info.ModTime().UnixNano(), !now.IsRecent()
	}
	w.seen = now
	return nil
}
