package gpkg

import (
	"context"
	"log/slog"
	"os"
	"sync/atomic"
	"time"
)

// promise checks Options.Unchanging: nobody writes to the file while it is served.
type promise struct {
	path string
	file os.FileInfo // when the file was opened
	log  *slog.Logger
	told atomic.Bool
}

// broken reports whether the size or the modification time of the file have changed since it was opened. It logs that
// once. Replacing the file by another one is allowed.
func (p *promise) broken() bool {
	if p == nil {
		return false
	}
	now, err := os.Stat(p.path)
	if err != nil || !os.SameFile(now, p.file) || now.Size() == p.file.Size() && now.ModTime().Equal(p.file.ModTime()) {
		return false
	}
	if !p.told.Swap(true) {
		p.log.Error("the file was written into, which unchanging promises that nobody does; "+
			"answers may be wrong until it is opened again (SIGHUP). Put a new file in its place by renaming it, "+
			"or remove unchanging", "path", p.path)
	}
	return true
}

// watchEvery is the interval of checks by watch.
const watchEvery = 10 * time.Second

// watch checks the promise of the current revision regularly until ctx ends.
func (s *Store) watch(ctx context.Context) {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			s.current.Load().promise.broken()
		}
	}
}
