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

// SideVersion must be increased if the meaning of the content changes; files of other versions are rebuilt.
const SideVersion = "6"

// sideMagic begins and ends a side file.
const sideMagic = "grense levels " + SideVersion + "\n"

// errSide reports a side file that is damaged or of another version. It will be rebuilt.
var errSide = errors.New("tile: not a side file of this version")

// summary is the JSON trailer of a side file. It describes the content and lists the sections.
type summary struct {
	Rev         string // version of the data
	With        string // collections that were built together with this one, with their versions; "": none
	First, Last int    // range of levels with tiles
	Bound       *orb.Bound
	Names       []string // properties in the records
	// side of a square with the median area of the features, in units of the CRS; 0: no areas, or unknown
	Side     float64 `json:",omitempty"`
	Features int
	Unplaced int // number of features that do not fit on the grid
	Coverage bool
	// number of the finest levels that lack areas because they needed too much memory: their tiles are drawn from
	// features on request
	Live     int
	Memory   int64 // Options.Memory when the levels were built
	Sections map[string]section
}

// drawn returns the last level that tiles are drawn from.
func (s *summary) drawn() int { return s.Last - s.Live }

// section is a range of bytes in a side file, with its checksum.
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

	rough summary // of the coarse levels, only First and Live

	name  string // current section
	start int64
	crc   uint32
}

// newSideWriter creates a side file, which appears at path once it is finished; "": in memory.
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

// put writes a whole section.
func (s *sideWriter) put(name string, b []byte) error {
	s.begin(name)
	_, err := s.Write(b)
	s.end()
	return err
}

// finish writes the summary and renames the file to its path. It returns a reader of the file.
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

// coarse returns a reader of what has been written so far, with the coarse levels in place of the levels of areas. The
// summary of the finished file does not list the coarse levels.
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

// abandon removes the file unless finish has completed it.
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

// openSide opens a side file and verifies all checksums. It returns errSide if the file is damaged or of another
// version.
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
	_ = os.Chtimes(path, now, now) // so that tidy does not remove it; failing only risks that
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

// section returns the bytes of a section; nil if there is none.
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

// kept is the number of side files that tidy keeps for a collection in a set. Several sources may share a data
// directory.
const kept = 3

// tidy removes the side files with a name prefix that were opened longest ago, except path, and unfinished files.
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
