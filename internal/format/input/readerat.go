package input

import (
	"io"
	"os"
	"path/filepath"
)

// Opened is a file with random access.
type Opened struct {
	io.ReaderAt
	Size  int64
	Close func() error
}

// Anywhere returns a function that opens the file for random access.
// A packed file is unpacked once, into a folder in dir.
func (f *File) Anywhere(dir string) (func() (*Opened, error), error) {
	path, err := f.Unpacked(dir)
	if err != nil {
		return nil, err
	}
	return func() (*Opened, error) {
		in, err := os.Open(filepath.Clean(path))
		if err != nil {
			return nil, err
		}
		info, err := in.Stat()
		if err != nil {
			in.Close()
			return nil, err
		}
		f.Done, f.Size = 0, info.Size()
		return &Opened{in, info.Size(), in.Close}, nil
	}, nil
}
