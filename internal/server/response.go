package server

import (
	"cmp"
	"errors"
	"io"
	"math"
	"net/http"
	"os"
	"sync"
	"syscall"
	"time"

	"grense/internal/server/limit"
)

// response counts what is written and moves the write deadline with each write: a reader that stands still is cut off, a long
// download goes on.
type response struct {
	http.ResponseWriter
	Status   int
	bytes    int64
	gather   Gatherer      // what whole answers go through; nil: they are written as they come
	plain    bool          // the connection has no TLS
	gone     bool          // the client takes no more
	slow     bool          // because it read too slowly
	deadline time.Duration // for one write
	slowest  int64         // bytes in a second that the reader must take on average, after patience
	blocked  time.Duration // in writes
	makers   *limit.Makers
	leave    func()       // gives the place of a large answer that is being made back; nil: none is held
	direct   bool         // that place is of an answer that goes straight to its reader
	rest     func()       // gives the place of writing back; nil: none is held
	spool    *limit.Spool // what goes behind the bytes that are sent; nil: nothing waits
	spooled  bool         // the answer had its spool
	values   [12]string
	valued   int     // how many of values are in use
	lead     *making // what others may wait for until the answer begins; nil: nothing
}

// set sets a field of the header, whose name is in canonical form. Most answers have few, whose values lie beside each other.
func (w *response) set(name, value string) {
	if n := w.valued; n < len(w.values) {
		w.valued++
		w.values[n] = value
		w.Header()[name] = w.values[n : n+1 : n+1]
		return
	}
	w.Header()[name] = []string{value}
}

// SetHeader is response.set for any answer.
func SetHeader(w http.ResponseWriter, name, value string) {
	if rw, ok := w.(*response); ok {
		rw.set(name, value)
		return
	}
	w.Header()[name] = []string{value}
}

func (w *response) WriteHeader(status int) {
	if w.Status == 0 {
		w.Status = status
		if w.lead != nil { // what follows takes as long as its reader does
			w.lead.end(nil, false)
			w.lead = nil
		}
		if h := w.Header(); isDocument(First(h["Content-Type"])) {
			everyDocument.set(h)
		}
	}
	w.ResponseWriter.WriteHeader(status)
}

// chunk is the most that is written under one deadline, in bytes.
const chunk = 64 << 10

func (w *response) Write(b []byte) (n int, err error) {
	if w.Status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	for len(b) > 0 {
		if w.spool == nil && !w.spooled && w.blocked > limit.TooSlow {
			w.spool = limit.NewSpool(w.makers)
			w.spooled = w.spool == nil
		}
		if w.spool == nil {
			m, err := w.send(b[:min(len(b), chunk)])
			if n, b = n+m, b[m:]; err != nil {
				return n, err
			}
			continue
		}
		m := w.keep(b)
		if n, b = n+m, b[m:]; len(b) == 0 {
			break
		}
		if err := w.drain(); err != nil {
			return n, err
		}
	}
	return n, nil
}

// whole writes an answer whose header says its length.
func (w *response) whole(parts ...[]byte) error {
	size := 0
	for _, b := range parts {
		size += len(b)
	}
	flusher, ok := w.ResponseWriter.(http.Flusher)
	if w.gather == nil || !ok || size > chunk || w.spool != nil {
		for _, b := range parts {
			if _, err := w.Write(b); err != nil {
				return err
			}
		}
		return nil
	}
	_, err := w.timed(int64(size), func() (n int64, err error) {
		w.gather.Hold()
		for _, b := range parts {
			m, failed := w.ResponseWriter.Write(b)
			if n += int64(m); failed != nil {
				err = failed
			}
		}
		flusher.Flush()
		return n, cmp.Or(w.gather.Release(), err)
	})
	return err
}

// send writes to the client.
func (w *response) send(b []byte) (n int, err error) {
	for len(b) > 0 && err == nil {
		size := min(len(b), chunk)
		var m int
		_, err = w.timed(int64(size), func() (int64, error) {
			m, err = w.ResponseWriter.Write(b[:size])
			return int64(m), err
		})
		n += m
		b = b[m:]
	}
	return n, err
}

// timed calls send within the time that size bytes have, and counts what it sent.
func (w *response) timed(size int64, send func() (int64, error)) (int64, error) {
	w.Resting() // a slow reader must not occupy a place that others queue for
	start := time.Now()
	http.NewResponseController(w.ResponseWriter).SetWriteDeadline(start.Add(w.allowed(size))) // not every ResponseWriter has deadlines
	n, err := send()
	w.blocked += time.Since(start)
	w.bytes += n
	w.gone = w.gone || err != nil
	w.slow = errors.Is(err, os.ErrDeadlineExceeded)
	return n, err
}

// filePiece is the most of a file that is sent under one deadline, in bytes.
const filePiece = 4 << 20

// ReadFrom sends what a file has, or a part of it, as the system copies it, where the connection can take that; anything else is written. What is counted,
// and which reader is cut off, is as with Write.
func (w *response) ReadFrom(src io.Reader) (n int64, err error) {
	left, file := int64(math.MaxInt64), src
	if part, ok := src.(*io.LimitedReader); ok {
		left, file = part.N, part.R
	}
	to, ok := w.ResponseWriter.(io.ReaderFrom)
	if _, isFile := file.(syscall.Conn); !ok || !isFile || !w.plain || w.spool != nil || !w.spooled {
		return io.Copy(struct{ io.Writer }{w}, src)
	}
	if w.Status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	for left > 0 {
		size := min(left, filePiece)
		m, err := w.timed(min(size, chunk), func() (int64, error) { return to.ReadFrom(&io.LimitedReader{R: file, N: size}) })
		n, left = n+m, left-m
		if m >= chunk && errors.Is(err, os.ErrDeadlineExceeded) { // slow, but it takes as much as one write has
			w.gone, w.slow = false, false
			continue
		}
		if err != nil || m < size { // the end of the file
			return n, err
		}
	}
	return n, nil
}

// patience is how long a reader may take in all before its speed counts.
const patience = 5 * time.Second

// allowed is the time for the next write, after which n bytes more will be out.
func (w *response) allowed(n int64) time.Duration {
	if w.slowest == 0 {
		return w.deadline
	}
	seconds := float64(w.bytes+n) / float64(w.slowest)
	return min(w.deadline, patience+time.Duration(seconds*float64(time.Second))-w.blocked)
}

// Unwrap lets http.ResponseController reach the connection.
func (w *response) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// release gives the places of an answer back.
func (w *response) release() {
	w.Resting()
	if w.leave != nil {
		w.leave()
		w.leave = nil
	}
}

// takePlace leaves the place of a large answer to the caller, who gives it back by what is returned, once or more
// often.
func (w *response) TakePlace() (leave func()) {
	if w == nil || w.leave == nil {
		return func() {}
	}
	leave, w.leave = sync.OnceFunc(w.leave), nil
	return leave
}

// keep puts b behind what waits for its reader, and returns how much of it there is room for. Where there is none,
// the place of a large answer stays taken until the answer is out, so that memory has its bound.
func (w *response) keep(b []byte) int {
	n, err := w.spool.Write(b)
	if n > 0 && w.direct {
		w.release()
	}
	w.spooled = err != nil
	return n
}

// fromDisk says that what follows comes from a file, so that nothing of it needs to be kept in another one, and no
// place.
func (w *response) FromDisk() {
	if w == nil || w.spool != nil && w.spool.Size > 0 {
		return
	}
	w.spool, w.spooled = nil, true
	w.release()
}

// push sends on what the connection gathers, so that the beginning of a long answer does not wait for more of it. It
// does nothing where the answer goes by way of a file.
func (w *response) Push() error {
	if w == nil || w.spool != nil {
		return nil
	}
	_, err := w.timed(0, func() (int64, error) {
		err := http.NewResponseController(w.ResponseWriter).Flush()
		if errors.Is(err, http.ErrNotSupported) {
			err = nil
		}
		return 0, err
	})
	return err
}

// drain sends what waits for its reader. Little of the answer is in memory then.
func (w *response) drain() error {
	s := w.spool
	if s == nil {
		return nil
	}
	w.spool, w.spooled = nil, true // from here on it is sent as it comes
	defer s.Close()
	plain := make([]byte, limit.SpoolBlock)
	for at := int64(0); at < s.Size; {
		b, next, err := s.Read(at, plain)
		if err == nil {
			_, err = w.send(b)
		}
		if err != nil {
			return err
		}
		at = next
	}
	return nil
}

// resting gives the place of writing back.
func (w *response) Resting() {
	if w != nil && w.rest != nil {
		w.rest()
		w.rest = nil
	}
}
