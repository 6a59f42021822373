package limit

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
)

// Response writes to a client. It counts the bytes and extends the write deadline with each write: a client that stops
// reading is disconnected, and a long download goes on. The bytes for a slow client wait in a spool.
type Response struct {
	http.ResponseWriter
	Hook     Hook // nil: there is none
	Status   int
	Bytes    int64         // sent
	Gather   Gatherer      // sends small responses in one packet; nil if unused
	Plain    bool          // the connection has no TLS
	Gone     bool          // the client has disconnected
	Slow     bool          // because it read too slowly
	Deadline time.Duration // for one write
	Slowest  int64         // bytes per second that the client must read on average, after patience
	Makers   *Makers
	blocked  time.Duration // total time in writes
	leave    func()        // releases the slot of a large response; nil if it has none
	direct   bool          // the slot is for a response that is not spooled
	rest     func()        // releases the slot of writing; nil if it has none
	spool    *Spool        // bytes that wait for the client; nil if there are none
	spooled  bool          // the response has had its spool
	values   [12]string
	valued   int // number of values in use
}

// Hook is called before the header of a response is sent.
type Hook interface{ Begin() }

// Gatherer is a connection that can buffer writes, so that head and body of a response are sent in one packet.
type Gatherer interface {
	Hold()
	Release() error // writes the buffered bytes
}

// Set sets a header field, whose name is in canonical form. The first values share one array.
func (w *Response) Set(name, value string) {
	if n := w.valued; n < len(w.values) {
		w.valued++
		w.values[n] = value
		w.Header()[name] = w.values[n : n+1 : n+1]
		return
	}
	w.Header()[name] = []string{value}
}

func (w *Response) WriteHeader(status int) {
	if w.Status == 0 {
		w.Status = status
		if w.Hook != nil {
			w.Hook.Begin()
		}
	}
	w.ResponseWriter.WriteHeader(status)
}

// chunk is the number of bytes written under one deadline.
const chunk = 64 << 10

func (w *Response) Write(b []byte) (n int, err error) {
	if w.Status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	for len(b) > 0 {
		if w.spool == nil && !w.spooled && w.blocked > TooSlow {
			w.spool = NewSpool(w.Makers)
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
		if err := w.Drain(); err != nil {
			return n, err
		}
	}
	return n, nil
}

// Whole writes a response whose header has its length.
func (w *Response) Whole(parts ...[]byte) error {
	size := 0
	for _, b := range parts {
		size += len(b)
	}
	flusher, ok := w.ResponseWriter.(http.Flusher)
	if w.Gather == nil || !ok || size > chunk || w.spool != nil {
		for _, b := range parts {
			if _, err := w.Write(b); err != nil {
				return err
			}
		}
		return nil
	}
	_, err := w.timed(int64(size), func() (n int64, err error) {
		w.Gather.Hold()
		for _, b := range parts {
			m, failed := w.ResponseWriter.Write(b)
			if n += int64(m); failed != nil {
				err = failed
			}
		}
		flusher.Flush()
		return n, cmp.Or(w.Gather.Release(), err)
	})
	return err
}

// send writes to the client.
func (w *Response) send(b []byte) (n int, err error) {
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
func (w *Response) timed(size int64, send func() (int64, error)) (int64, error) {
	w.Resting() // a slow reader must not occupy a place that others queue for
	start := time.Now()
	// not every ResponseWriter supports deadlines
	http.NewResponseController(w.ResponseWriter).SetWriteDeadline(start.Add(w.allowed(size)))
	n, err := send()
	w.blocked += time.Since(start)
	w.Bytes += n
	w.Gone = w.Gone || err != nil
	w.Slow = errors.Is(err, os.ErrDeadlineExceeded)
	return n, err
}

// ReadFrom sends a file or part of it by the system call for that, if the connection allows it, and other readers by
// copying. It counts and limits time as Write does.
func (w *Response) ReadFrom(src io.Reader) (n int64, err error) {
	left, file := int64(math.MaxInt64), src
	if part, ok := src.(*io.LimitedReader); ok {
		left, file = part.N, part.R
	}
	to, ok := w.ResponseWriter.(io.ReaderFrom)
	if _, isFile := file.(syscall.Conn); !ok || !isFile || !w.Plain || w.spool != nil || !w.spooled {
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
func (w *Response) allowed(n int64) time.Duration {
	if w.Slowest == 0 {
		return w.Deadline
	}
	seconds := float64(w.Bytes+n) / float64(w.Slowest)
	return min(w.Deadline, patience+time.Duration(seconds*float64(time.Second))-w.blocked)
}

// Unwrap is for http.ResponseController.
func (w *Response) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Release releases the slots of a response.
func (w *Response) Release() {
	w.Resting()
	if w.leave != nil {
		w.leave()
		w.leave = nil
	}
}

// TakePlace passes the slot of a large response to the caller, who must call leave at least once.
func (w *Response) TakePlace() (leave func()) {
	if w == nil || w.leave == nil {
		return func() {}
	}
	leave, w.leave = sync.OnceFunc(w.leave), nil
	return leave
}

// keep appends b to the spool and returns the number of bytes stored. If the spool is full, the response keeps its slot
// until it is sent, which bounds memory.
func (w *Response) keep(b []byte) int {
	n, err := w.spool.Write(b)
	if n > 0 && w.direct {
		w.Release()
	}
	w.spooled = err != nil
	return n
}

// FromDisk marks the rest of the response as coming from a file, so that it needs neither spool nor slot.
func (w *Response) FromDisk() {
	if w == nil || w.spool != nil && w.spool.Size > 0 {
		return
	}
	w.spool, w.spooled = nil, true
	w.Release()
}

// Push flushes buffered bytes, so that a long response begins at once. It does nothing for a spooled response.
func (w *Response) Push() error {
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

// Drain sends the spool.
func (w *Response) Drain() error {
	s := w.spool
	if s == nil {
		return nil
	}
	w.spool, w.spooled = nil, true // later bytes are sent directly
	defer s.Close()
	plain := make([]byte, SpoolBlock)
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
func (w *Response) Resting() {
	if w != nil && w.rest != nil {
		w.rest()
		w.rest = nil
	}
}

// Discard deletes the bytes that wait for the client of an aborted response.
func (w *Response) Discard() {
	if w.spool != nil {
		w.spool.Close()
		w.spool, w.spooled = nil, true
	}
}
