package format

import (
	"bufio"
	"io"
	"os"
)

// scratch is a temporary file that is written once and then read. Its name is gone as soon as the system allows.
type scratch struct {
	f    *os.File
	w    *bufio.Writer
	size int64
}

// newScratch makes a file in a folder; "" is the system's.
func newScratch(dir string) (*scratch, error) {
	f, err := os.CreateTemp(dir, "grense-*.tmp")
	if err != nil {
		return nil, err
	}
	os.Remove(f.Name()) // where that is not allowed while it is open, close does it
	return &scratch{f: f, w: bufio.NewWriterSize(f, flushAt)}, nil
}

func (s *scratch) Write(b []byte) (int, error) {
	n, err := s.w.Write(b)
	s.size += int64(n)
	return n, err
}

// copyTo writes the whole file.
func (s *scratch) copyTo(w io.Writer) error {
	if err := s.w.Flush(); err != nil {
		return err
	}
	_, err := io.Copy(w, io.NewSectionReader(s.f, 0, s.size))
	return err
}

// reader reads the file from its beginning.
func (s *scratch) reader() (*bufio.Reader, error) {
	if err := s.w.Flush(); err != nil {
		return nil, err
	}
	return bufio.NewReaderSize(io.NewSectionReader(s.f, 0, s.size), flushAt), nil
}

func (s *scratch) close() {
	s.f.Close()
	os.Remove(s.f.Name())
}
