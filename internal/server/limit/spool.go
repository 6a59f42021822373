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

// Makers limits how many large responses are built at a time. The first few are sent while they are built (CostDirect,
// CostFileDirect). Further ones are built into files of the data directory (CostMaking, CostFileMaking), so that a slow
// client occupies neither memory nor a slot. Owners take turns. It is safe for concurrent use.
type Makers struct {
	Turns *Turns
	Wait  time.Duration // for a slot
	Dir   string        // of the files; "" if there is no data directory
	Used  atomic.Int64  // bytes in all files
	most  int64
}

// largestSpool bounds the file of one response, in bytes. When it is full, the response waits until the client has read
// it.
const largestSpool = 256 << 20

// memoryWait is the time that a large response waits for a slot. It exceeds limits.queue_wait, since large responses
// take long in any case.
const memoryWait = 30 * time.Second

// TooSlow is the total time that writes to a client may block before the rest of the response goes to a file.
const TooSlow = time.Second

func NewMakers(dir string, most int64, t *Turns) *Makers {
	return &Makers{Turns: t, Wait: memoryWait, Dir: dir, most: most}
}

// Ticket returns a ticket that waits for a slot as long as large responses may. begun: the request is answered in part.
func (m *Makers) Ticket(owner, caller string, begun bool) *Ticket {
	k := m.Turns.NewTicket(owner, begun)
	k.Caller = caller
	k.left.Store(int64(m.Wait))
	return k
}

// Spool holds the part of a response that its client has not read yet, in an unlinked temporary file. The file is a
// sequence of S2 blocks, each after its length. It is not safe for concurrent use.
type Spool struct {
	m     *Makers
	f     *os.File
	Size  int64 // of the file
	block []byte
}

// SpoolBlock is the size of a block before compression, in bytes. Each slow client costs one such buffer.
const SpoolBlock = 16 << 10

// NewSpool returns an empty spool without a file; nil if there is no data directory or its limit is 0.
func NewSpool(m *Makers) *Spool {
	if m == nil || m.Dir == "" || m.most <= 0 {
		return nil
	}
	return &Spool{m: m}
}

var errSpoolFull = errors.New("server: no room for an answer in the data folder")

// Write appends b. If the file is full, n is smaller than len(b) and err is errSpoolFull.
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

// put appends b to the file, all or nothing.
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

// Read returns the decoded block at an offset and the offset of the next one. It decodes into plain if that is large
// enough.
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
	os.Remove(s.f.Name()) // Windows cannot remove an open file; Close does
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

// SpoolDir returns the folder of spools in a data directory; "" if there is none.
func SpoolDir(data string) string {
	if data == "" {
		return ""
	}
	return filepath.Join(data, "answers")
}
