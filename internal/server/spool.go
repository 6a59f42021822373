package server

import (
	"encoding/binary"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/klauspost/compress/s2"

	"grense/internal/store"
)

// makers bounds how many large answers are made at once. The first few go straight to their readers. Of the others a few are made at a time, into files
// of the data folder, so that neither memory nor a place waits for a slow reader. Owners take turns. It is safe for concurrent use.
type makers struct {
	turns *turns
	wait  time.Duration // for a place
	dir   string        // of the files; "" for none
	used  atomic.Int64  // bytes of them
	most  int64
}

// largeAnswer is the number of features or hits from which on an answer is a large one.
const largeAnswer = 500

// largestSpool bounds the file of one answer, in bytes; what follows waits until its reader has taken that.
const largestSpool = 256 << 20

// memoryWait is how long a large answer waits for a place. It is longer than limits.queue_wait, since large answers take their time, and their clients too.
const memoryWait = 30 * time.Second

// tooSlow is how long an answer may wait for its reader before the rest of it goes to a file.
const tooSlow = time.Second

func newMakers(dir string, most int64, t *turns) *makers {
	return &makers{turns: t, wait: memoryWait, dir: dir, most: most}
}

// large takes a place for an answer that may be large, before its features are asked for. The place is held until the answer is made, or its reader
// proves slow. Memory is given out in turns: where that takes too long, the answer is refused.
func (c *call) large() error { return c.makeLarge(costDirect, costMaking) }

// largeFile is large for a file that is made for one reader.
func (c *call) largeFile() error { return c.makeLarge(costFileDirect, costFileMaking) }

func (c *call) makeLarge(direct, making store.Cost) error {
	m, w := c.s.makers, c.rw
	if w == nil || w.leave != nil || w.status != 0 {
		return nil
	}
	k := m.ticket(c)
	if !c.continues {
		if err := m.turns.admit(k.owner, k.caller); err != nil {
			return err
		}
	}
	if w.direct = m.turns.try(direct, k); w.direct {
		w.leave = func() { m.turns.leave(direct, k) }
		return nil
	}
	if err := m.turns.enter(c.r.Context(), making, k); err != nil {
		return err
	}
	w.leave, w.spool = func() { m.turns.leave(making, k) }, newSpool(m)
	return nil
}

// ticket is the right of a call to wait for a place.
func (m *makers) ticket(c *call) *ticket {
	k := c.ticket(c.continues)
	k.left.Store(int64(m.wait))
	return k
}

// spool is what of an answer waits for its reader, in a file that nobody else sees: blocks of S2, each behind its length. It is not safe for concurrent
// use.
type spool struct {
	m     *makers
	f     *os.File
	size  int64 // of the file
	block []byte
}

// spoolBlock is how much of an answer is in a block, and in memory for each slow reader, in bytes.
const spoolBlock = 16 << 10

// newSpool makes no file yet; nil when there is no folder for one.
func newSpool(m *makers) *spool {
	if m == nil || m.dir == "" || m.most <= 0 {
		return nil
	}
	return &spool{m: m}
}

var errSpoolFull = errors.New("server: no room for an answer in the data folder")

// write adds what of b there is room for, and returns how much that is.
func (s *spool) write(b []byte) (n int, err error) {
	if s.block == nil {
		s.block = make([]byte, 4+s2.MaxEncodedLen(spoolBlock))
	}
	for n < len(b) {
		piece := b[n:min(n+spoolBlock, len(b))]
		size := len(s2.Encode(s.block[4:], piece))
		binary.LittleEndian.PutUint32(s.block, uint32(size))
		if err := s.put(s.block[:4+size]); err != nil {
			return n, err
		}
		n += len(piece)
	}
	return n, nil
}

// put adds to the file, all or nothing.
func (s *spool) put(b []byte) error {
	n := int64(len(b))
	if s.size+n > largestSpool {
		return errSpoolFull
	}
	err := errSpoolFull
	if s.m.used.Add(n) <= s.m.most {
		if err = s.open(); err == nil {
			_, err = s.f.WriteAt(b, s.size)
		}
	}
	if err != nil {
		s.m.used.Add(-n)
		return err
	}
	s.size += n
	return nil
}

// read returns the block at an offset, and where the next one begins. The block is valid until read is called again.
func (s *spool) read(at int64, plain []byte) ([]byte, int64, error) {
	if _, err := s.f.ReadAt(s.block[:4], at); err != nil {
		return nil, 0, err
	}
	b := s.block[4:][:binary.LittleEndian.Uint32(s.block)]
	if _, err := s.f.ReadAt(b, at+4); err != nil {
		return nil, 0, err
	}
	plain, err := s2.Decode(plain, b)
	return plain, at + 4 + int64(len(b)), err
}

func (s *spool) open() (err error) {
	if s.f != nil {
		return nil
	}
	if err = os.MkdirAll(s.m.dir, 0o700); err != nil {
		return err
	}
	if s.f, err = os.CreateTemp(s.m.dir, "answer-*"); err != nil {
		return err
	}
	os.Remove(s.f.Name()) // where a file in use cannot be removed, close does it
	return nil
}

func (s *spool) close() {
	if s.f != nil {
		s.f.Close()
		os.Remove(s.f.Name())
		s.f = nil
	}
	s.m.used.Add(-s.size)
	s.size = 0
}

// release gives the places of an answer back.
func (w *response) release() {
	w.resting()
	if w.leave != nil {
		w.leave()
		w.leave = nil
	}
}

// takePlace leaves the place of a large answer to the caller, who gives it back by what is returned, once or more often.
func (w *response) takePlace() (leave func()) {
	if w == nil || w.leave == nil {
		return func() {}
	}
	leave, w.leave = sync.OnceFunc(w.leave), nil
	return leave
}

// keep puts b behind what waits for its reader, and returns how much of it there is room for. Where there is none, the place of a large answer stays
// taken until the answer is out, so that memory has its bound.
func (w *response) keep(b []byte) int {
	n, err := w.spool.write(b)
	if n > 0 && w.direct {
		w.release()
	}
	w.spooled = err != nil
	return n
}

// fromDisk says that what follows comes from a file, so that nothing of it needs to be kept in another one, and no place.
func (w *response) fromDisk() {
	if w == nil || w.spool != nil && w.spool.size > 0 {
		return
	}
	w.spool, w.spooled = nil, true
	w.release()
}

// push sends on what the connection gathers, so that the beginning of a long answer does not wait for more of it. It does nothing where the answer goes by way of a file.
func (w *response) push() error {
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
	defer s.close()
	plain := make([]byte, spoolBlock)
	for at := int64(0); at < s.size; {
		b, next, err := s.read(at, plain)
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

// spoolDir is where answers wait for their readers; "" when there is no data folder.
func spoolDir(data string) string {
	if data == "" {
		return ""
	}
	return filepath.Join(data, "answers")
}
