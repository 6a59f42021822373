package input

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Document is a file for another package to read: unpacked and within the limits.
type Document struct {
	Path string // for messages: the path, and in an archive the file in it
	f    *File
}

// Documents returns the files of name that end in one of suffixes (".gml"): the file itself, perhaps packed with gzip,
// or those in a zip archive. The list may be empty. closer releases the archive and is never nil.
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

// Open opens the file at its beginning. The caller must close it.
func (t *Document) Open() (io.ReadCloser, error) { return t.f.Open() }

// Progress returns the bytes read since Open, and the total; for a packed file it counts packed bytes.
func (t *Document) Progress() (done, total int64) { return min(t.f.Done, t.f.Size), t.f.Size }
