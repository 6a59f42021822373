package gpkg

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"

	"grense/internal/store"
)

// roomBytes is what is set aside on the disk, so that keys can be revoked, and jobs that were taken begun and ended, when it is full.
const roomBytes = 64 << 10

func (s *State) roomPath() string { return s.path + "-room" }

// setAside sees to it that there is as much room set aside as there should be; ErrFull when there is less.
func (s *State) setAside() error {
	f, err := os.OpenFile(s.roomPath(), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("gpkg: state: %w: %w", store.ErrNotWritable, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("gpkg: state: %w", err)
	}
	if info.Size() >= roomBytes {
		return nil
	}
	b := make([]byte, roomBytes-info.Size())
	rand.Read(b) // what no file system makes smaller
	if _, err := f.Write(b); err != nil {
		return fmt.Errorf("gpkg: state: %w: %w", store.ErrFull, err)
	}
	return nil
}

// must is do for what has to be written when the disk is full, too: it may take what was set aside. Whoever does so, the file stays whose it was.
func (s *State) must(ctx context.Context, fn func() error) error {
	err := s.do(ctx, fn)
	if !errors.Is(err, store.ErrFull) {
		return err
	}
	if e := os.Truncate(s.roomPath(), 0); e != nil {
		return err
	}
	err = s.do(ctx, fn)
	s.setAside() // as far as there is room; PutJob sees what lacks
	return err
}
