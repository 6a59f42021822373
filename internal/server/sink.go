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

// A sink takes an answer piece by piece. Up to the configured size it stays in memory and goes out whole, with its length; from
// there on it is streamed, in small pieces. One of many features begins as soon as the first of them tell that it will be long (spillAt). Callers append to buf, or add
// fragments, and call spill between pieces, and finish at the end. A compressed answer is one gzip member, whole or streamed.
type Sink struct {
	Call   *Call
	Writer http.ResponseWriter // nil: buf is part of another answer, and nothing is sent
	Buf    []byte              // plain, not sent
	Gzip   bool                // the client takes it
	member feature.Member
	packed []byte // compressed, not sent; stands before buf
	plain  int    // length in bytes of what packed holds
	open   bool   // streaming has begun
	copies bool   // what is sent is copied, too, since the answer is to be kept
	copied []byte
	held   int // bytes that flight knows of
}

func NewSink(c *Call, w http.ResponseWriter) *Sink {
	s := &Sink{Call: c, Writer: w, Buf: c.buffer(), Gzip: wire.AcceptsGzip(c.Request)}
	if s.Gzip {
		s.packed = c.buffer()
	}
	return s
}

// add appends the JSON of a fragment; where it has a form that is ready and the client takes it, without compressing again.
func (s *Sink) Add(f *feature.Fragment) {
	if !s.Gzip || !f.Deflated() {
		s.Buf = append(s.Buf, f.JSON...)
		return
	}
	s.pack()
	s.packed = s.member.AppendFragment(s.packed, f)
	s.plain += len(f.JSON)
}

// pack compresses what is plain.
func (s *Sink) pack() {
	s.packed = s.member.AppendText(s.packed, s.Buf)
	s.plain += len(s.Buf)
	s.Buf = s.Buf[:0]
}

// spill writes what has gathered when it is more than may stay in memory.
func (s *Sink) Spill() error { return s.spillOf(0, 0) }

// spillOf is spill of an answer that is done of all features; of one that may be too long to be kept all is 0.
func (s *Sink) spillOf(done, all int) error {
	if s.Writer == nil {
		return s.Call.Request.Context().Err()
	}
	s.account()
	n, most := len(s.Buf)+s.plain, int(s.Call.s.Config.Limits.Buffer)
	if s.open { // in bytes as they go out
		n, most = len(s.Buf)+len(s.packed), min(most, streamPiece)
	}
	if n < s.Call.s.Flight.Piece(most) {
		return s.Call.Request.Context().Err()
	}
	return s.send(done, all)
}

const (
	// streamPiece is how much of an answer that is being sent gathers before it goes on, in bytes.
	streamPiece = 256 << 10
	// earlyPart is the part of the configured size from which on an answer of many features is begun before that much is made.
	earlyPart = 32
	// earlyPiece is how much of it gathers before it is begun, in bytes.
	earlyPiece = 16 << 10
)

// spillAt is spill when done of all features are written. Many that will be longer together than a part of the configured size, as the first of them tell,
// go out from then on: else their reader waits for bytes that are long made. Where rows change at any moment only what is read from one state of them does: else the answer would often be broken off.
func (s *Sink) SpillAt(done, all int) error {
	if n := len(s.Buf) + s.plain; s.Writer != nil && !s.open && all >= LargeAnswer && n >= earlyPiece &&
		n*all/done > int(s.Call.s.Config.Limits.Buffer)/earlyPart && (s.Call.Early != nil || !s.Call.Moves()) {
		s.account()
		return s.send(done, all)
	}
	return s.spillOf(done, all)
}

// send writes what has gathered, and begins the answer with it, which is done of all features; of an answer that may be too long to be kept all is 0.
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

// sending is what goes out next.
func (s *Sink) sending() []byte {
	if s.Gzip {
		return s.packed
	}
	return s.Buf
}

// account tells flight what the answer holds.
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

// ends is called where all is written but the time of the answer and what follows it (appendStamp), which a kept answer has anew each time.
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

// finish writes the rest. The sink is not used afterwards.
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
		return s.Call.send(s.Writer, s.packed, "gzip")
	}
	return s.Call.send(s.Writer, s.Buf, "")
}

func (s *Sink) release() {
	wire.GiveBuffer(s.Buf)
	wire.GiveBuffer(s.packed)
	s.Buf, s.packed, s.copied = nil, nil, nil
	s.Call.Hold(-s.held)
	s.held = 0
}

// buffer is takeBuffer, but for a large one where memory is short.
func (c *Call) buffer() []byte {
	b := wire.TakeBuffer()
	if cap(b) > 4*limit.SmallPiece && c.s.Flight.Short() {
		wire.GiveBuffer(b)
		return make([]byte, 0, limit.SmallPiece)
	}
	return b
}

// WriteOnce writes a whole answer that is not cached, compressed when the client takes it and it is long enough.
func (c *Call) WriteOnce(w http.ResponseWriter, plain []byte) error {
	if len(plain) < wire.Worthwhile || !wire.AcceptsGzip(c.Request) {
		return c.send(w, plain, "")
	}
	out := wire.Compress(wire.TakeBuffer(), plain, gzip.BestSpeed)
	defer wire.GiveBuffer(out)
	return c.send(w, out, "gzip")
}

// WritePlain writes a whole answer that compressing would not make smaller, as a picture.
func (c *Call) WritePlain(w http.ResponseWriter, plain []byte) error { return c.send(w, plain, "") }

// send writes a whole answer with its length.
func (c *Call) send(w http.ResponseWriter, body []byte, coding string) error {
	h := w.Header()
	if h["Etag"] == nil {
		if err := c.IfMatch(""); err != nil {
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
	if rw, ok := w.(*response); ok {
		return rw.whole(body)
	}
	_, err := w.Write(body)
	return err
}

// moves reports whether rows may change while the answer is made: in a database, and in a file that somebody has
// written into since it was opened.
func (c *Call) Moves() bool {
	if c.Catalog.Live {
		return true
	}
	v, err := c.s.Store.Version(c.Request.Context())
	return err != nil || string(v) != c.Catalog.Version
}
