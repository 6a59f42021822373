package gpkg

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"
)

// promise is that nobody writes into a file while it is served.
type promise struct {
	path string
	file os.FileInfo // when it was opened
	log  *slog.Logger
	told atomic.Bool
}

// broken reports whether the file was written into since it was opened, by its size and its modification time.
// It logs that the first time. Another file in its place breaks nothing.
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

// watchEvery is the pause between two looks at a file that nobody should write into.
const watchEvery = 10 * time.Second

// watch looks after the promise of the current revision until ctx ends.
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

// complete refuses a file that is not read without another one beside it: somebody writes into it,
// or ended before all was in it.
func (s source) complete() error {
	for _, suffix := range [...]string{"-wal", "-journal"} {
		beside, err := os.Stat(s.path + suffix)
		if err != nil || suffix == "-journal" && beside.Size() == 0 {
			continue
		}
		base := filepath.Base(s.path)
		return fmt.Errorf("gpkg: beside %s lies %s, so that a program writes into it or ended while it did, "+
			"and unchanging promises that nobody does; close that program, "+
			"or put what sqlite3 %s \"VACUUM INTO 'whole.gpkg'\" makes in its place and remove %s, "+
			"or remove unchanging", s.name, base+suffix, base, base+suffix)
	}
	return nil
}
