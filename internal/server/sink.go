package server

import (
	"net/http"
	"slices"
	"strconv"

	"github.com/klauspost/compress/gzip"

	"grense/internal/feature"
	"grense/internal/server/limit"
	"grense/internal/server/wire"
)

// Sink writes a response piece by piece. Up to limits.buffer the response stays in memory and is sent with its length;
// a longer one is streamed. SpillAt starts long ones early. Callers append to Buf or add fragments, call Spill between
// pieces, and Finish at the end. A compressed response is one gzip member.
type Sink struct {
	Call   *Call
	Writer http.ResponseWriter // nil: Buf is part of another response, and nothing is sent
	Buf    []byte              // plain, not sent
	Gzip   bool                // the client accepts it
	member feature.Member
	packed []byte // compressed, not sent; precedes Buf
	plain  int    // bytes that packed has uncompressed
	open   bool   // streaming has begun
	copies bool   // bytes are copied when they are sent, since the response will be cached
	copied []byte
	held   int // bytes that Flight counts
}

func NewSink(c *Call, w http.ResponseWriter) *Sink {
	s := &Sink{Call: c, Writer: w, Buf: takeBuffer(&c.s.Flight), Gzip: wire.AcceptsGzip(c.Request)}
	if s.Gzip {
		s.packed = takeBuffer(&c.s.Flight)
	}
	return s
}

// Add appends a fragment. If it is compressed and the client accepts gzip, it is not compressed again.
func (s *Sink) Add(f *feature.Fragment) {
	if !s.Gzip || !f.Deflated() {
		s.Buf = append(s.Buf, f.JSON...)
		return
	}
	s.pack()
	s.packed = s.member.AppendFragment(s.packed, f)
	s.plain += len(f.JSON)
}

// pack compresses Buf.
func (s *Sink) pack() {
	s.packed = s.member.AppendText(s.packed, s.Buf)
	s.plain += len(s.Buf)
	s.Buf = s.Buf[:0]
}

// Spill sends the buffered bytes if they exceed the limit.
func (s *Sink) Spill() error { return s.spillOf(0, 0) }

// spillOf is Spill for a response with done of all features; all is 0 if the response may be too long to cache.
func (s *Sink) spillOf(done, all int) error {
	if s.Writer == nil {
		return s.Call.Request.Context().Err()
	}
	s.account()
	n, most := len(s.Buf)+s.plain, int(s.Call.s.Config.Limits.Buffer)
	if s.open { // in bytes as they are sent
		n, most = len(s.Buf)+len(s.packed), min(most, streamPiece)
	}
	if n < s.Call.s.Flight.Piece(most) {
		return s.Call.Request.Context().Err()
	}
	return s.send(done, all)
}

const (
	// streamPiece is the number of bytes to buffer before a streamed response goes on.
	streamPiece = 256 << 10
	// earlyPart is the part of limits.buffer above which a response of many features starts early.
	earlyPart = 32
	// earlyPiece is the number of bytes to buffer before such a response starts.
	earlyPiece = 16 << 10
)

// SpillAt is Spill after done of all features. It starts a response early if its size, extrapolated from the features
// so far, exceeds a part of limits.buffer. If rows may change, only responses from a snapshot start early: others would
// often be aborted.
func (s *Sink) SpillAt(done, all int) error {
	if n := len(s.Buf) + s.plain; s.Writer != nil && !s.open && all >= limit.LargeAnswer && n >= earlyPiece &&
		n*all/done > int(s.Call.s.Config.Limits.Buffer)/earlyPart && (s.Call.Early != nil || !s.Call.Moves()) {
		s.account()
		return s.send(done, all)
	}
	return s.spillOf(done, all)
}

// send sends the buffered bytes. The first call starts the response, which has done of all features; all is 0 if it may
// be too long to cache.
func (s *Sink) send(done, all int) error {
	begins := !s.open
	if begins {
		if err := s.Call.s.Flight.Admit(len(s.Buf) + len(s.packed)); err != nil {
			return err
		}
		s.open = true
		if s.Gzip {
			s.Writer.Header().Set("Content-Encoding", "gzip")
		}
		s.Writer.WriteHeader(http.StatusOK)
		if s.Gzip {
			s.pack()
		}
		if n := len(s.sending()) * all / max(done, 1); s.Call.keep != nil && n > 0 && n <= s.Call.s.answers.most {
			s.copies, s.copied = true, make([]byte, 0, n+n/8)
		}
	}
	if s.Gzip {
		s.pack()
	}
	if err := s.flush(); err != nil || !begins {
		return err
	}
	return s.Call.Response.Push()
}

// sending returns the bytes to send next.
func (s *Sink) sending() []byte {
	if s.Gzip {
		return s.packed
	}
	return s.Buf
}

// account updates the bytes that Flight counts.
func (s *Sink) account() {
	n := cap(s.Buf) + cap(s.packed) + cap(s.copied)
	s.Call.Hold(n - s.held)
	s.held = n
}

func (s *Sink) flush() error {
	b := s.sending()
	if s.copies {
		if s.copies = len(s.copied)+len(b) <= s.Call.s.answers.most; s.copies {
			s.copied = append(s.copied, b...)
		} else {
			s.copied = nil
		}
	}
	_, err := s.Writer.Write(b)
	s.Buf, s.packed, s.plain = s.Buf[:0], s.packed[:0], 0
	return err
}

// Ends stores the response so far if it will be cached. Callers call it before they append the time of the response
// (AppendStamp), which is new each time a cached response is sent.
func (s *Sink) Ends() {
	if s.Writer == nil || s.open && !s.copies {
		return
	}
	k := caching{s.Call}.wanted()
	if k == nil || !s.open && len(s.Buf)+s.plain > s.Call.s.answers.most {
		return
	}
	s.Call.keep = k
	if s.Gzip && (s.open || s.plain > 0 || len(s.Buf) >= wire.Worthwhile) { // as in finish: what is packed stays so
		s.pack()
		k.gz = s.member
	} else {
		s.Gzip = false
	}
	k.body = slices.Concat(s.copied, s.sending())
	k.stamped = true
}

// Finish sends the rest. The sink must not be used afterwards.
func (s *Sink) Finish() error {
	defer s.release()
	if !s.open && s.plain == 0 && len(s.Buf) < wire.Worthwhile {
		s.Gzip = false
	}
	if s.Gzip {
		s.pack()
		s.packed = s.member.AppendEnd(s.packed)
	}
	if s.Writer != nil {
		s.account()
	}
	switch {
	case s.open:
		err := s.flush()
		if err == nil && s.copies {
			caching{s.Call}.keepAnswer(s.Writer.Header(), s.copied, s.Writer.Header().Get("Content-Encoding"))
		}
		return err
	case s.Gzip:
		return s.Call.WriteAs(s.Writer, s.packed, "gzip")
	}
	return s.Call.WriteAs(s.Writer, s.Buf, "")
}

func (s *Sink) release() {
	wire.GiveBuffer(s.Buf)
	wire.GiveBuffer(s.packed)
	s.Buf, s.packed, s.copied = nil, nil, nil
	s.Call.Hold(-s.held)
	s.held = 0
}

// takeBuffer returns a buffer of the pool, or a small one if memory is short.
func takeBuffer(flight *limit.Memory) []byte {
	b := wire.TakeBuffer()
	if cap(b) > 4*limit.SmallPiece && flight.Short() {
		wire.GiveBuffer(b)
		return make([]byte, 0, limit.SmallPiece)
	}
	return b
}

// WriteOnce writes a complete response that is not cached, compressed if the client accepts it and it is long enough.
func (c *Call) WriteOnce(w http.ResponseWriter, plain []byte) error {
	if len(plain) < wire.Worthwhile || !wire.AcceptsGzip(c.Request) {
		return c.WriteAs(w, plain, "")
	}
	out := wire.Compress(wire.TakeBuffer(), plain, gzip.BestSpeed)
	defer wire.GiveBuffer(out)
	return c.WriteAs(w, out, "gzip")
}

// WriteAs writes a complete response with its length. body is in a coding; "" for none.
func (c *Call) WriteAs(w http.ResponseWriter, body []byte, coding string) error {
	h := w.Header()
	if h["Etag"] == nil {
		if err := wire.IfMatch(c.Request, ""); err != nil {
			return err
		}
	}
	caching{c}.keepAnswer(h, body, coding)
	if coding != "" {
		SetHeader(w, "Content-Encoding", coding)
	}
	SetHeader(w, "Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(http.StatusOK)
	if c.Request.Method == http.MethodHead {
		return nil
	}
	if rw, ok := w.(*limit.Response); ok {
		return rw.Whole(body)
	}
	_, err := w.Write(body)
	return err
}

// Moves reports whether rows may change while the response is built: in a database, and in a file that was written to
// after it was opened.
func (c *Call) Moves() bool {
	if c.Catalog.Live {
		return true
	}
	v, err := c.s.Store.Version(c.Request.Context())
	return err != nil || string(v) != c.Catalog.Version
}
