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

// response counts the bytes of a response and extends the write deadline with each write. A client that stops reading
// is disconnected; a long download goes on.
type response struct {
	http.ResponseWriter
	Status   int
	bytes    int64
	gather   Gatherer      // sends small responses in one packet; nil if unused
	plain    bool          // the connection has no TLS
	gone     bool          // the client has disconnected
	slow     bool          // because it read too slowly
	deadline time.Duration // for one write
	slowest  int64         // bytes per second that the client must read on average, after patience
	blocked  time.Duration // total time in writes
	makers   *limit.Makers
	leave    func()       // releases the slot of a large response; nil if it has none
	direct   bool         // the slot is for a response that is not spooled
	rest     func()       // releases the slot of writing; nil if it has none
	spool    *limit.Spool // bytes that wait for the client; nil if there are none
	spooled  bool         // the response has had its spool
	values   [12]string
	valued   int       // number of values in use
	lead     *inFlight // response in flight that others may join until this one begins; nil if there is none
	timing   func()    // sets Server-Timing; nil: the setting is off
}

// set sets a header field, whose name is in canonical form. The first values share one array.
func (w *response) set(name, value string) {
	if n := w.valued; n < len(w.values) {
		w.valued++
		w.values[n] = value
		w.Header()[name] = w.values[n : n+1 : n+1]
		return
	}
	w.Header()[name] = []string{value}
}

// SetHeader sets a header field of any ResponseWriter. The name is in canonical form.
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
		if w.lead != nil { // the rest takes as long as its client
			w.lead.end(nil, false)
			w.lead = nil
		}
		if w.timing != nil {
			w.timing()
		}
		if h := w.Header(); isDocument(First(h["Content-Type"])) {
			everyDocument.set(h)
		}
	}
	w.ResponseWriter.WriteHeader(status)
}

// chunk is the number of bytes written under one deadline.
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

// whole writes a response whose header has its length.
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

// timed calls send with a deadline for size bytes, and counts time and bytes.
func (w *response) timed(size int64, send func() (int64, error)) (int64, error) {
	w.Resting() // a slow reader must not occupy a place that others queue for
	start := time.Now()
	// not every ResponseWriter supports deadlines
	http.NewResponseController(w.ResponseWriter).SetWriteDeadline(start.Add(w.allowed(size)))
	n, err := send()
	w.blocked += time.Since(start)
	w.bytes += n
	w.gone = w.gone || err != nil
	w.slow = errors.Is(err, os.ErrDeadlineExceeded)
	return n, err
}

// ReadFrom sends a file or part of it by the system call for that, if the connection allows it, and other readers by
// copying. It counts and limits time as Write does.
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
		size := min(left, chunk)
		m, err := w.timed(size, func() (int64, error) { return to.ReadFrom(&io.LimitedReader{R: file, N: size}) })
		n, left = n+m, left-m
		if err != nil || m < size { // the end of the file
			return n, err
		}
	}
	return n, nil
}

// patience is the total time that a client may take before its speed counts.
const patience = 5 * time.Second

// allowed returns the time for the next write of n bytes.
func (w *response) allowed(n int64) time.Duration {
	if w.slowest == 0 {
		return w.deadline
	}
	seconds := float64(w.bytes+n) / float64(w.slowest)
	return min(w.deadline, patience+time.Duration(seconds*float64(time.Second))-w.blocked)
}

// Unwrap is for http.ResponseController.
func (w *response) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// release releases the slots of a response.
func (w *response) release() {
	w.Resting()
	if w.leave != nil {
		w.leave()
		w.leave = nil
	}
}

// TakePlace passes the slot of a large response to the caller, who must call leave at least once.
func (w *response) TakePlace() (leave func()) {
	if w == nil || w.leave == nil {
		return func() {}
	}
	leave, w.leave = sync.OnceFunc(w.leave), nil
	return leave
}

// keep appends b to the spool and returns the number of bytes stored. If the spool is full, the response keeps its slot
// until it is sent, which bounds memory.
func (w *response) keep(b []byte) int {
	n, err := w.spool.Write(b)
	if n > 0 && w.direct {
		w.release()
	}
	w.spooled = err != nil
	return n
}

// FromDisk marks the rest of the response as coming from a file, so that it needs neither spool nor slot.
func (w *response) FromDisk() {
	if w == nil || w.spool != nil && w.spool.Size > 0 {
		return
	}
	w.spool, w.spooled = nil, true
	w.release()
}

// Push flushes buffered bytes, so that a long response begins at once. It does nothing for a spooled response.
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

// drain sends the spool.
func (w *response) drain() error {
	s := w.spool
	if s == nil {
		return nil
	}
	w.spool, w.spooled = nil, true // later bytes are sent directly
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

// Resting releases the slot of CostWriting.
func (w *response) Resting() {
	if w != nil && w.rest != nil {
		w.rest()
		w.rest = nil
	}
}
