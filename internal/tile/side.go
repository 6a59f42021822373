package tile

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/paulmach/orb"
)

// sideMagic begins a side file; the number changes when what is in it means something else.
const sideMagic = "grense levels 5\n"

// errSide reports a side file that cannot be used, so that it is rebuilt.
var errSide = errors.New("tile: not a side file of this version")

// summary is the end of a side file: what it holds, and where.
type summary struct {
	Rev         string // of the data
	With        string // the collections whose levels were made together with these, with their data; "" for none
	First, Last int    // levels with tiles
	Bound       *orb.Bound
	Names       []string // properties of the records
	Features    int
	Unplaced    int // features that have no place on the grid
	Coverage    bool
	// so many of the last levels have no areas, for lack of memory: their tiles are made of the features on
	// request
	Live     int
	Memory   int64 // that the making could take (Options)
	Sections map[string]section
}

// drawn is the last level that tiles are made from.
func (s *summary) drawn() int { return s.Last - s.Live }

// section is a run of bytes.
type section struct {
	At, Size int64
	CRC      uint32
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// sideWriter writes a side file. It is for one goroutine.
type sideWriter struct {
	f    *os.File // nil: in memory
	w    *bufio.Writer
	mem  []byte
	path string
	at   int64
	sum  summary

	rough summary // First and Live of coarse levels

	name  string // of the current section
	start int64
	crc   uint32
}

// newSideWriter begins a file that is to be at path; in memory when that is "".
func newSideWriter(path string) (*sideWriter, error) {
	s := &sideWriter{path: path}
	s.sum.Sections = map[string]section{}
	if path != "" {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return nil, fmt.Errorf("tile: %w", err)
		}
		var err error
		if s.f, err = os.CreateTemp(filepath.Dir(path), "*.tmp"); err != nil {
			return nil, fmt.Errorf("tile: %w", err)
		}
		s.w = bufio.NewWriterSize(s.f, 1<<18)
	}
	_, err := s.Write([]byte(sideMagic))
	return s, err
}

// Write appends to the current section.
func (s *sideWriter) Write(b []byte) (int, error) {
	s.at += int64(len(b))
	s.crc = crc32.Update(s.crc, castagnoli, b)
	if s.f == nil {
		s.mem = append(s.mem, b...)
		return len(b), nil
	}
	return s.w.Write(b)
}

func (s *sideWriter) begin(name string) { s.name, s.start, s.crc = name, s.at, 0 }

func (s *sideWriter) end() {
	s.sum.Sections[s.name] = section{s.start, s.at - s.start, s.crc}
}

// put writes a section of its own.
func (s *sideWriter) put(name string, b []byte) error {
	s.begin(name)
	_, err := s.Write(b)
	s.end()
	return err
}

// finish writes the summary, and puts the file into its place. The result reads it.
func (s *sideWriter) finish() (*side, error) {
	b, err := json.Marshal(s.sum)
	if err != nil {
		return nil, err
	}
	tail := binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
	tail = binary.LittleEndian.AppendUint32(tail, uint32(len(b)))
	if _, err := s.Write(append(tail, sideMagic...)); err != nil {
		return nil, err
	}
	if s.f == nil {
		return &side{sum: s.sum, r: strings.NewReader(string(s.mem))}, nil
	}
	if err := errors.Join(s.w.Flush(), s.f.Sync()); err != nil {
		return nil, fmt.Errorf("tile: %w", err)
	}
	if err := os.Rename(s.f.Name(), s.path); err != nil {
		return nil, fmt.Errorf("tile: %w", err)
	}
	f := s.f
	s.f = nil
	return &side{sum: s.sum, r: f, f: f}, nil
}

// coarse reads what was written so far, with its coarse levels for the levels of areas; these are not listed in the
// end.
func (s *sideWriter) coarse() (*side, error) {
	sum := s.sum
	sum.Sections = map[string]section{}
	for name, x := range s.sum.Sections {
		if z, ok := strings.CutPrefix(name, coarsePrefix); ok {
			name = z
			delete(s.sum.Sections, coarsePrefix+z)
		}
		sum.Sections[name] = x
	}
	sum.First, sum.Live = s.rough.First, s.rough.Live
	if s.f == nil {
		return &side{sum: sum, r: bytes.NewReader(s.mem[:len(s.mem):len(s.mem)])}, nil
	}
	return &side{sum: sum, r: s.f}, s.w.Flush()
}

// abandon removes what was begun, unless it is finished.
func (s *sideWriter) abandon() {
	if s.f != nil {
		s.f.Close()
		os.Remove(s.f.Name())
	}
}

// side reads a side file. It is safe for concurrent use.
type side struct {
	sum summary
	r   io.ReaderAt
	f   *os.File // nil: in memory
}

// openSide opens a side file; errSide when it is another version or damaged.
func openSide(path string) (*side, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	s := &side{r: f, f: f}
	if err := s.read(); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	now := time.Now()
	_ = os.Chtimes(path, now, now) // so that it is not taken for an old one; without the right to, it may be
	return s, nil
}

func (s *side) read() error {
	info, err := s.f.Stat()
	if err != nil {
		return err
	}
	const tail = 8 + int64(len(sideMagic))
	head, end := make([]byte, len(sideMagic)), make([]byte, tail)
	if info.Size() < tail+int64(len(head)) {
		return errSide
	}
	if _, err := s.r.ReadAt(head, 0); err != nil {
		return err
	}
	if _, err := s.r.ReadAt(end, info.Size()-tail); err != nil {
		return err
	}
	size := int64(binary.LittleEndian.Uint32(end[4:]))
	if string(head) != sideMagic || string(end[8:]) != sideMagic || size > info.Size()-tail {
		return errSide
	}
	b := make([]byte, size)
	if _, err := s.r.ReadAt(b, info.Size()-tail-size); err != nil {
		return err
	}
	if crc32.Checksum(b, castagnoli) != binary.LittleEndian.Uint32(end) || json.Unmarshal(b, &s.sum) != nil {
		return errSide
	}
	buf := make([]byte, 1<<18)
	for _, x := range s.sum.Sections {
		h := crc32.New(castagnoli)
		if n, err := io.CopyBuffer(h, io.NewSectionReader(s.r, x.At, x.Size), buf); err != nil || n != x.Size ||
			h.Sum32() != x.CRC {
			return errSide
		}
	}
	return nil
}

// section reads a whole section; nil when there is none.
func (s *side) section(name string) ([]byte, error) {
	x, ok := s.sum.Sections[name]
	if !ok {
		return nil, nil
	}
	b := make([]byte, x.Size)
	if _, err := s.r.ReadAt(b, x.At); err != nil && !(errors.Is(err, io.EOF) && x.Size == 0) {
		return nil, fmt.Errorf("tile: side file: %w", err)
	}
	return b, nil
}

func (s *side) close() error {
	if s.f == nil {
		return nil
	}
	return s.f.Close()
}

// kept is how many side files of one collection and set stay: one may belong to another source of the same data folder.
const kept = 3

// tidy removes side files that nobody has opened for longest, besides path, and what was left unfinished.
func tidy(path, prefix string) {
	list, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return
	}
	type old struct {
		path string
		time time.Time
	}
	var files []old
	for _, e := range list {
		info, err := e.Info()
		if err != nil || filepath.Join(filepath.Dir(path), e.Name()) == path {
			continue
		}
		at := old{filepath.Join(filepath.Dir(path), e.Name()), info.ModTime()}
		switch {
		case strings.HasSuffix(e.Name(), ".tmp") && time.Since(at.time) > 24*time.Hour:
			os.Remove(at.path)
		case strings.HasPrefix(e.Name(), prefix):
			files = append(files, at)
		}
	}
	slices.SortFunc(files, func(a, b old) int { return b.time.Compare(a.time) })
	for _, f := range files[min(kept-1, len(files)):] {
		os.Remove(f.path)
	}
}
