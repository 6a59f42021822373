package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// lostPoll is the pause between two looks at the data directory.
const lostPoll = 2 * time.Second

// watchDir logs, once, that the data directory was deleted or replaced. It waits for that until ctx ends.
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

// lostBy is an error if a server of this machine uses a data directory that was deleted: it would not see what is
// written into a new one of that name. Only Linux reports it, and only for processes that the caller may inspect.
func lostBy(dir string) error {
	parent, err := filepath.EvalSymlinks(filepath.Dir(dir))
	if err != nil {
		return nil // then it never was there, or its parent was deleted, too
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
