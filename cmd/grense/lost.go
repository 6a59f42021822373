package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// lostPoll is the interval at which the data directory is checked.
const lostPoll = 2 * time.Second

// watchDir waits until the data directory is deleted or replaced and logs that once. It returns when ctx ends.
func (s *service) watchDir(ctx context.Context) {
	held, err := s.owner.Stat()
	if err != nil {
		return
	}
	tick := time.NewTicker(lostPoll)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now, err := os.Stat(filepath.Join(s.dir, ownerFile))
		if os.IsNotExist(err) || err == nil && !os.SameFile(held, now) {
			s.log.Error(
				"the data directory was deleted or replaced: jobs are refused and new keys are not seen; "+
					"restart the server",
				"data_dir",
				s.dir,
			)
			return
		}
	}
}

// lostBy returns an error if a server on this machine still uses a deleted data directory with the path dir: it would
// not see new files at that path. Works only on Linux, for processes that the caller may inspect.
func lostBy(dir string) error {
	parent, err := filepath.EvalSymlinks(filepath.Dir(dir))
	if err != nil {
		return nil // the directory never existed, or its parent was deleted, too
	}
	deleted := filepath.Join(parent, filepath.Base(dir), ownerFile) + " (deleted)"
	files, _ := filepath.Glob("/proc/[0-9]*/fd/*")
	for _, f := range files {
		if target, err := os.Readlink(f); err == nil && target == deleted {
			pid := strings.Split(f, "/")[2]
			return fmt.Errorf(
				"the data directory %s was deleted while a server uses it (process %s), which would not see the "+
					"keys; restart that server first",
				dir,
				pid,
			)
		}
	}
	return nil
}
