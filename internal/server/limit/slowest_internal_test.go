package limit

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	timing "grense/internal/await"
)

// reader receives a response at a fixed number of bytes per second, within the deadlines that are set for it.
type reader struct {
	speed int
	most  int // bytes after which it stands still; 0: never
	took  int // bytes, if most is set
	until time.Time
	files int // pieces of files that it took
}

func (*reader) Header() http.Header { return http.Header{} }
func (*reader) WriteHeader(int)     {}

func (r *reader) SetWriteDeadline(t time.Time) error {
	r.until = t
	return nil
}

func (r *reader) Write(b []byte) (int, error) {
	takes, left := time.Duration(len(b))*time.Second/time.Duration(r.speed), time.Until(r.until)
	if r.most > 0 {
		if n := r.most - r.took; len(b) > n {
			timing.Pace(max(left, 0))
			r.took = r.most
			return n, os.ErrDeadlineExceeded
		}
		r.took += len(b)
	}
	timing.Pace(min(takes, max(left, 0)))
	if takes > left {
		return int(left.Seconds() * float64(r.speed)), os.ErrDeadlineExceeded
	}
	return len(b), nil
}

// ReadFrom is Write for the content of a file.
func (r *reader) ReadFrom(src io.Reader) (int64, error) {
	r.files++
	part := src.(*io.LimitedReader)
	n, err := r.Write(make([]byte, part.N))
	_, fault := io.CopyN(io.Discard, part.R, int64(n))
	return int64(n), errors.Join(err, fault)
}

// TestReadersSlowerThanTheSlowestAreEnded: limits.slowest applies after the first seconds, to the average of the
// whole response. With 0 only the limit of a single write is left.
func TestReadersSlowerThanTheSlowestAreEnded(t *testing.T) {
	t.Parallel()
	const size = 2 << 20
	file, err := os.Create(filepath.Join(t.TempDir(), "kept"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := file.Truncate(size); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		speed   int
		slowest int64
		ended   bool
	}{
		{speed: 1 << 10, slowest: 4 << 10, ended: true},
		{speed: 3 << 10, slowest: 4 << 10, ended: true},
		{speed: 5 << 10, slowest: 4 << 10},
		{speed: 5 << 10, slowest: 8 << 10, ended: true},
		{speed: 1 << 20, slowest: 4 << 10},
		{speed: 3 << 10, slowest: 0},
		{speed: 1 << 10, slowest: 0, ended: true}, // a chunk takes longer than a write may
	} {
		for way, send := range map[string]func(*Response) (int64, error){
			"written":   func(w *Response) (int64, error) { return io.Copy(w, bytes.NewReader(make([]byte, size))) },
			"of a file": func(w *Response) (int64, error) { return io.CopyN(w, file, size) },
		} {
			if _, err := file.Seek(0, io.SeekStart); err != nil {
				t.Fatal(err)
			}
			synctest.Test(t, func(t *testing.T) {
				r := &reader{speed: c.speed}
				w := &Response{ResponseWriter: r, Plain: true, Deadline: 30 * time.Second, Slowest: c.slowest}
				w.FromDisk()
				start := time.Now()
				n, err := send(w)
				if c.ended != errors.Is(err, os.ErrDeadlineExceeded) || !c.ended && n != size || w.Gone != c.ended ||
					w.Bytes != n || (r.files > 0) != (way == "of a file") {
					t.Errorf("%d bytes in a second, slowest %d, %s: %d bytes, %d counted, %v", c.speed, c.slowest, way,
						n, w.Bytes, err)
				}
				if took := time.Since(start); c.ended && took > time.Minute {
					t.Errorf("%d bytes in a second, slowest %d, %s: ended after %v", c.speed, c.slowest, way, took)
				}
			})
		}
	}
}

// TestReadersWhoStandStillAreEnded at the deadline of one write, however much was taken before.
func TestReadersWhoStandStillAreEnded(t *testing.T) {
	t.Parallel()
	file, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := file.Truncate(16 << 20); err != nil {
		t.Fatal(err)
	}
	for _, most := range []int{1, 100_000, 300_000, 10_000_000} {
		if _, err := file.Seek(0, io.SeekStart); err != nil {
			t.Fatal(err)
		}
		synctest.Test(t, func(t *testing.T) {
			r := &reader{speed: 1 << 30, most: most}
			w := &Response{ResponseWriter: r, Plain: true, Deadline: 30 * time.Second}
			w.FromDisk()
			start := time.Now()
			n, err := io.CopyN(w, file, 16<<20)
			if took := time.Since(start); n != int64(most) || !errors.Is(err, os.ErrDeadlineExceeded) ||
				took > 31*time.Second {
				t.Errorf("%d bytes: %d, %v after %v", most, n, err, took)
			}
		})
	}
}
