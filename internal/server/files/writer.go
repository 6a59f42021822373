package files

import (
	"context"
	"os"
	"sync"
)

// diskWriter writes a file that may be read while it grows, and notes that it was the disk that failed. It is written
// by one goroutine.
type Writer struct {
	File *os.File
	err  error // of the disk

	mu    sync.Mutex
	Size  int64
	ended bool
	wrong error         // that it ended with
	more  chan struct{} // closed when there is more, or the end; nil while nobody waits
}

func (d *Writer) Write(b []byte) (int, error) {
	n, err := d.File.Write(b)
	if err != nil {
		d.err = err
	}
	d.tell(func() { d.Size += int64(n) })
	return n, err
}

// End says that nothing more is written: all of the file is, or err is why not. A second call changes nothing.
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

// Await waits until at least n bytes are written, or no more are.
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
