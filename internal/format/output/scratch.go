package output

import (
	"bufio"
	"io"
	"os"
)

// Scratch is a temporary file that is written once and then read. Its name is removed as soon as the system allows.
type Scratch struct {
	f    *os.File
	W    *bufio.Writer
	Size int64
}

// NewScratch creates a file in a folder; "" is the system's.
func NewScratch(dir string) (*Scratch, error) {
	f, err := os.CreateTemp(dir, "grense-*.tmp")
	if err != nil {
		return nil, err
	}
	os.Remove(f.Name()) // if an open file cannot be removed, Close does it
	return &Scratch{f: f, W: bufio.NewWriterSize(f, FlushAt)}, nil
}

func (s *Scratch) Write(b []byte) (int, error) {
	n, err := s.W.Write(b)
	s.Size += int64(n)
	return n, err
}

// CopyTo writes the whole file.
func (s *Scratch) CopyTo(w io.Writer) error {
	if err := s.W.Flush(); err != nil {
		return err
	}
	_, err := io.Copy(w, io.NewSectionReader(s.f, 0, s.Size))
	return err
}

// Reader reads the file from its beginning.
func (s *Scratch) Reader() (*bufio.Reader, error) {
	if err := s.W.Flush(); err != nil {
		return nil, err
	}
	return bufio.NewReaderSize(io.NewSectionReader(s.f, 0, s.Size), FlushAt), nil
}

func (s *Scratch) Close() {
	s.f.Close()
	os.Remove(s.f.Name())
}
