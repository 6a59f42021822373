package files

import (
	"context"
	"os"
	"sync"
)

// Writer writes a file that can be read while it grows, and records whether the disk failed. One goroutine writes it.
type Writer struct {
	File *os.File
	err  error // of the disk

	mu    sync.Mutex
	Size  int64
	ended bool
	wrong error         // error of End
	more  chan struct{} // closed on each write and at the end; nil without waiting readers
}

func (d *Writer) Write(b []byte) (int, error) {
	n, err := d.File.Write(b)
	if err != nil {
		d.err = err
	}
	d.tell(func() { d.Size += int64(n) })
	return n, err
}

// End marks the file as complete, or with err as failed. A second call has no effect.
func (d *Writer) End(err error) {
	d.tell(func() {
		if !d.ended {
			d.ended, d.wrong = true, err
		}
	})
}

func (d *Writer) tell(change func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	change()
	if d.more != nil {
		close(d.more)
		d.more = nil
	}
}

// Await waits until at least n bytes are written, or the file has ended.
func (d *Writer) Await(ctx context.Context, n int64) (size int64, ended bool, err error) {
	for {
		d.mu.Lock()
		size, ended, err = d.Size, d.ended, d.wrong
		if ended || size >= n {
			d.mu.Unlock()
			return size, ended, err
		}
		if d.more == nil {
			d.more = make(chan struct{})
		}
		more := d.more
		d.mu.Unlock()
		select {
		case <-more:
		case <-ctx.Done():
			return size, false, ctx.Err()
		}
	}
}
