package limit

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/klauspost/compress/s2"
)

// Makers bounds how many large answers are made at once. The first few go straight to their readers. Of the others a
// few are made at a time, into files of the data folder, so that neither memory nor a place waits for a slow reader.
// Owners take turns. It is safe for concurrent use.
type Makers struct {
	Turns *Turns
	Wait  time.Duration // for a place
	Dir   string        // of the files; "" for none
	Used  atomic.Int64  // bytes of them
	most  int64
}

// largestSpool bounds the file of one answer, in bytes; what follows waits until its reader has taken that.
const largestSpool = 256 << 20

// memoryWait is how long a large answer waits for a place. It is longer than limits.queue_wait, since large answers
// take their time, and their clients too.
const memoryWait = 30 * time.Second

// TooSlow is how long an answer may wait for its reader before the rest of it goes to a file.
const TooSlow = time.Second

func NewMakers(dir string, most int64, t *Turns) *Makers {
	return &Makers{Turns: t, Wait: memoryWait, Dir: dir, most: most}
}

// Ticket returns a ticket that waits for a place of a large answer. With begun, its work goes on with what was
// answered.
func (m *Makers) Ticket(owner, caller string, begun bool) *Ticket {
	k := m.Turns.NewTicket(owner, begun)
	k.Caller = caller
	k.left.Store(int64(m.Wait))
	return k
}

// Spool is what of an answer waits for its reader, in a file that nobody else sees: blocks of S2, each behind its
// length. It is not safe for concurrent use.
type Spool struct {
	m     *Makers
	f     *os.File
	Size  int64 // of the file
	block []byte
}

// SpoolBlock is how much of an answer is in a block, and in memory for each slow reader, in bytes.
const SpoolBlock = 16 << 10

// NewSpool makes no file yet; nil when there is no folder for one.
func NewSpool(m *Makers) *Spool {
	if m == nil || m.Dir == "" || m.most <= 0 {
		return nil
	}
	return &Spool{m: m}
}

var errSpoolFull = errors.New("server: no room for an answer in the data folder")

// Write adds what of b there is room for, and returns how much that is.
func (s *Spool) Write(b []byte) (n int, err error) {
	if s.block == nil {
		s.block = make([]byte, 4+s2.MaxEncodedLen(SpoolBlock))
	}
	for n < len(b) {
		piece := b[n:min(n+SpoolBlock, len(b))]
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
func (s *Spool) put(b []byte) error {
	n := int64(len(b))
	if s.Size+n > largestSpool {
		return errSpoolFull
	}
	err := errSpoolFull
	if s.m.Used.Add(n) <= s.m.most {
		if err = s.open(); err == nil {
			_, err = s.f.WriteAt(b, s.Size)
		}
	}
	if err != nil {
		s.m.Used.Add(-n)
		return err
	}
	s.Size += n
	return nil
}

// Read returns the block at an offset, and where the next one begins. The block is valid until read is called again.
func (s *Spool) Read(at int64, plain []byte) ([]byte, int64, error) {
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

func (s *Spool) open() (err error) {
	if s.f != nil {
		return nil
	}
	if err = os.MkdirAll(s.m.Dir, 0o700); err != nil {
		return err
	}
	if s.f, err = os.CreateTemp(s.m.Dir, "answer-*"); err != nil {
		return err
	}
	os.Remove(s.f.Name()) // where a file in use cannot be removed, close does it
	return nil
}

func (s *Spool) Close() {
	if s.f != nil {
		s.f.Close()
		os.Remove(s.f.Name())
		s.f = nil
	}
	s.m.Used.Add(-s.Size)
	s.Size = 0
}

// SpoolDir is where answers wait for their readers; "" when there is no data folder.
func SpoolDir(data string) string {
	if data == "" {
		return ""
	}
	return filepath.Join(data, "answers")
}
