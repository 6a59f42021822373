package ingest

import (
	"archive/zip"
	"cmp"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits bound what a compressed file may unpack to, and what one feature may take. A zero field has its default.
type Limits struct {
	Ratio    int64 // unpacked bytes for each packed one, once more than Free are unpacked. Defaults to 250.
	Free     int64 // bytes that are unpacked whatever the ratio. Defaults to 64 MiB.
	Unpacked int64 // bytes of one file, unpacked. Defaults to 64 GiB.
	Entries  int   // files in one archive. Defaults to 10 000.
	Feature  int64 // bytes of memory for one feature while it is checked, and for the arcs of a topology. Defaults to 1 GiB.
}

// positionCost is what a position of a geometry takes while it is checked, in bytes, about.
const positionCost = 256

// memory is Limits.Feature; 0 is the default.
type memory int64

func (m memory) bytes() int64 { return cmp.Or(int64(m), 1<<30) }

// positions tells why so many positions are refused; "" when they are not.
func (m memory) positions(n int) string {
	if int64(n) <= m.bytes()/positionCost {
		return ""
	}
	return m.refusal()
}

func (m memory) refusal() string {
	return fmt.Sprintf("one feature takes more than %d MB of memory; if the file is right, raise it with --feature-memory", m.bytes()>>20)
}

func (l Limits) withDefaults() Limits {
	set := func(n *int64, v int64) {
		if *n == 0 {
			*n = v
		}
	}
	set(&l.Ratio, 250)
	set(&l.Free, 64<<20)
	set(&l.Unpacked, 64<<30)
	if l.Entries == 0 {
		l.Entries = 10_000
	}
	return l
}

// file is a file that can be read from its start again and again: of its own, unpacked, or in an archive.
type file struct {
	name    string // without .gz; of an archive's file, its path there
	size    int64  // bytes that done counts up to
	done    int64  // bytes read since it was opened last
	open    func() (io.ReadCloser, error)
	sibling func(suffix string) *file // of the same name with another suffix (".dbf", in any case); nil when there is none
}

// suffix is the ending of the name in lower case, with the dot.
func (f *file) suffix() string { return strings.ToLower(path.Ext(f.name)) }

// base is the name without folders and ending.
func (f *file) base() string {
	b := path.Base(filepath.ToSlash(f.name))
	return strings.TrimSuffix(b, path.Ext(b))
}

// looseFile is a file of the file system, perhaps packed with gzip.
func looseFile(name string, l Limits) (*file, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	f := &file{name: name, size: info.Size()}
	plain := func() (*counted, error) {
		in, err := os.Open(name)
		f.done = 0
		return &counted{in, in.Close, f}, err
	}
	f.open = func() (io.ReadCloser, error) { return plain() }
	if strings.EqualFold(filepath.Ext(name), ".gz") {
		f.name = name[:len(name)-3]
		f.open = func() (io.ReadCloser, error) {
			in, err := plain()
			if err != nil {
				return nil, err
			}
			z, err := gzip.NewReader(in)
			if err != nil {
				return nil, errors.Join(refusal("%s is not packed with gzip: %v", filepath.Base(name), err), in.Close())
			}
			return &unpacking{in: z, close: in.Close, limit: l, packed: info.Size(), name: filepath.Base(name)}, nil
		}
	}
	f.sibling = func(suffix string) *file {
		stem := strings.TrimSuffix(f.name, filepath.Ext(f.name))
		for _, s := range [...]string{suffix, strings.ToUpper(suffix), suffix + ".gz"} {
			if x, err := looseFile(stem+s, l); err == nil {
				return x
			}
		}
		return nil
	}
	return f, nil
}

// zipFiles lists the files of an archive. It stays open until close.
func zipFiles(name string, l Limits) (files []*file, closer func() error, err error) {
	z, err := zip.OpenReader(name)
	if errors.Is(err, zip.ErrFormat) || errors.Is(err, zip.ErrChecksum) {
		return nil, nil, refusal("%s is not a zip archive: %v", filepath.Base(name), err)
	}
	if err != nil {
		return nil, nil, err
	}
	if len(z.File) > l.Entries {
		return nil, nil, errors.Join(refusal("%s holds %d files; unpack it and import those that are wanted", filepath.Base(name), len(z.File)), z.Close())
	}
	byName := map[string]*file{}
	for _, e := range z.File {
		if e.FileInfo().IsDir() || strings.HasPrefix(path.Base(e.Name), ".") || strings.HasPrefix(e.Name, "__MACOSX/") {
			continue
		}
		f := &file{name: Printable(e.Name), size: int64(e.UncompressedSize64)}
		f.open = func() (io.ReadCloser, error) {
			in, err := e.Open()
			if err != nil {
				return nil, refusal("%s in %s cannot be unpacked: %v", f.name, filepath.Base(name), err)
			}
			f.done = 0
			return &counted{&unpacking{in: in, close: in.Close, limit: l, packed: int64(e.CompressedSize64), name: f.name}, in.Close, f}, nil
		}
		f.sibling = func(suffix string) *file {
			stem := strings.TrimSuffix(f.name, path.Ext(f.name))
			return byName[strings.ToLower(stem+suffix)]
		}
		byName[strings.ToLower(f.name)] = f
		files = append(files, f)
	}
	return files, z.Close, nil
}

// Printable is a text of a file, for a message: without what would end the line or steer the terminal.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return utf8.RuneError
		}
		return r
	}, s)
}

// counted tells its file how much was read.
type counted struct {
	in    io.Reader
	close func() error
	file  *file
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.in.Read(p)
	c.file.done += int64(n)
	return n, err
}

func (c *counted) Close() error { return c.close() }

// unpacking reads what is packed, within limits.
type unpacking struct {
	in     io.Reader
	close  func() error
	limit  Limits
	packed int64
	n      int64
	name   string
}

func (u *unpacking) Read(p []byte) (int, error) {
	n, err := u.in.Read(p)
	u.n += int64(n)
	switch {
	case u.n > u.limit.Unpacked:
		return n, refusal("%s unpacks to more than %d bytes; unpack it first and import the result", u.name, u.limit.Unpacked)
	case u.n > u.limit.Free && u.n/u.limit.Ratio > u.packed:
		return n, refusal("%s unpacks to more than %d times its size, as a decompression bomb does; if you trust it, unpack it first", u.name, u.limit.Ratio)
	case err != nil && !errors.Is(err, io.EOF):
		return n, refusal("%s cannot be unpacked: %v; it may be cut off or damaged", u.name, err)
	}
	return n, err
}

func (u *unpacking) Close() error { return u.close() }

// extract copies f into a new file in dir and returns its path.
func extract(f *file, dir string) (string, error) {
	in, err := f.open()
	if err != nil {
		return "", err
	}
	defer in.Close()
	out, err := os.CreateTemp(dir, "*"+f.suffix())
	if err != nil {
		return "", err
	}
	_, err = io.Copy(out, in)
	if err := errors.Join(err, out.Close()); err != nil {
		return "", fmt.Errorf("ingest: unpacking %s: %w", f.name, err)
	}
	return out.Name(), nil
}

// notFound tells in plain words why a path cannot be read.
func notFound(name string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return refusal("there is no file %s", name)
	case errors.Is(err, fs.ErrPermission):
		return refusal("no permission to read %s", name)
	}
	return fmt.Errorf("ingest: %w", err)
}
