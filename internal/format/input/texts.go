package input

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Document is a file that another package reads: unpacked, within the limits.
type Document struct {
	Path string // for people: the path, and in an archive the file in it
	f    *File
}

// Documents finds the files of name that end in one of suffixes (".gml"): the file itself, perhaps packed with gzip, or
// those in a zip archive. There may be none. Close releases the archive and is never nil.
func Documents(name string, suffixes []string, l Limits) (list []*Document, closer func() error, err error) {
	closer = func() error { return nil }
	l = l.WithDefaults()
	if info, err := os.Stat(name); err != nil {
		return nil, closer, NotFound(name, err)
	} else if info.IsDir() {
		return nil, closer, Refuse("%s is a folder; name the files in it", name)
	}
	if !strings.EqualFold(filepath.Ext(name), ".zip") {
		f, err := NewFile(name, l)
		if err != nil {
			return nil, closer, NotFound(name, err)
		}
		if slices.Contains(suffixes, f.Suffix()) {
			list = append(list, &Document{name, f})
		}
		return list, closer, nil
	}
	files, closer, err := ZipFiles(name, l)
	if err != nil {
		return nil, func() error { return nil }, err
	}
	for _, f := range files {
		if slices.Contains(suffixes, f.Suffix()) {
			list = append(list, &Document{name + "/" + f.Name, f})
		}
	}
	return list, closer, nil
}

// Open starts at the beginning. The caller must close it.
func (t *Document) Open() (io.ReadCloser, error) { return t.f.Open() }

// Progress tells how many bytes were read since Open, and of how many; of a packed file, of the packed ones.
func (t *Document) Progress() (done, total int64) { return min(t.f.Done, t.f.Size), t.f.Size }
