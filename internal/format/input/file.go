package input

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
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits bounds the unpacked size of a compressed file and the memory of one feature. A zero field has its default.
type Limits struct {
	Ratio    int64 // unpacked bytes per packed byte, once more than Free are unpacked. Defaults to 250.
	Free     int64 // bytes that may be unpacked at any ratio. Defaults to 64 MiB.
	Unpacked int64 // bytes of one file, unpacked. Defaults to 64 GiB.
	Entries  int   // files in one archive. Defaults to 10 000.
	// bytes of memory for one feature while it is checked, and for the arcs of a topology. Defaults to 1 GiB.
	Feature int64
}

// MaxNames bounds the property names of a layer; SQLite allows 2000 columns.
const MaxNames = 1900

// MaxRow bounds the bytes of one row of CSV.
const MaxRow = 64 << 20

// PositionCost is the approximate memory in bytes of a position while its geometry is checked.
const PositionCost = 256

// Memory is Limits.Feature; 0 means the default.
type Memory int64

func (m Memory) Bytes() int64 { return cmp.Or(int64(m), 1<<30) }

// Positions returns why n positions are refused; "" if they are not.
func (m Memory) Positions(n int) string {
	if int64(n) <= m.Bytes()/PositionCost {
		return ""
	}
	return m.Refusal()
}

func (m Memory) Refusal() string {
	return fmt.Sprintf("one feature takes more than %d MB of memory; if the file is right, raise it with "+
		"--feature-memory", m.Bytes()>>20)
}

func (l Limits) WithDefaults() Limits {
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

// File is a file that can be read repeatedly from its start: a plain file, an unpacked one, or one in an archive.
type File struct {
	Name string // without .gz; in an archive the path there
	Size int64  // value of Done at the end, in bytes
	Done int64  // bytes read since the last open
	Open func() (io.ReadCloser, error)
	// returns the file of the same name with another suffix (".dbf", in any case); nil if there is none
	Sibling func(suffix string) *File
	Label   string // for messages: the path, and in an archive the file in it
	path    string // its unpacked path; "" if there is none
	closes  []func() error
}

// AtClose registers fn to be called when the file is closed.
func (f *File) AtClose(fn func() error) { f.closes = append(f.closes, fn) }

// Close releases what was opened or unpacked.
func (f *File) Close() error {
	var err error
	for _, fn := range slices.Backward(f.closes) {
		err = errors.Join(err, fn())
	}
	f.closes = nil
	return err
}

// Unpacked returns the path of the file. A packed file is first unpacked into a folder in dir.
func (f *File) Unpacked(dir string) (string, error) {
	if f.path != "" {
		return f.path, nil
	}
	dir, err := os.MkdirTemp(dir, "grense-")
	if err != nil {
		return "", err
	}
	f.AtClose(func() error { return os.RemoveAll(dir) })
	path, err := extract(f, dir)
	if err == nil {
		f.path = path
	}
	return path, err
}

// Suffix returns the ending of the name in lower case, with the dot.
func (f *File) Suffix() string { return strings.ToLower(path.Ext(f.Name)) }

// Base returns the name without folders and ending.
func (f *File) Base() string {
	b := path.Base(filepath.ToSlash(f.Name))
	return strings.TrimSuffix(b, path.Ext(b))
}

// NewFile returns a file of the file system, which may be packed with gzip.
func NewFile(name string, l Limits) (*File, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	f := &File{Name: name, Size: info.Size(), path: name}
	plain := func() (*counted, error) {
		in, err := os.Open(name)
		f.Done = 0
		return &counted{in, in.Close, f}, err
	}
	f.Open = func() (io.ReadCloser, error) { return plain() }
	if strings.EqualFold(filepath.Ext(name), ".gz") {
		f.Name, f.path = name[:len(name)-3], ""
		f.Open = func() (io.ReadCloser, error) {
			in, err := plain()
			if err != nil {
				return nil, err
			}
			z, err := gzip.NewReader(in)
			if err != nil {
				return nil, errors.Join(Refuse("%s is not packed with gzip: %v", filepath.Base(name), err), in.Close())
			}
			return Unpack(z, in.Close, l, info.Size(), filepath.Base(name)), nil
		}
	}
	f.Sibling = func(suffix string) *File {
		stem := strings.TrimSuffix(f.Name, filepath.Ext(f.Name))
		for _, s := range [...]string{suffix, strings.ToUpper(suffix), suffix + ".gz"} {
			if x, err := NewFile(stem+s, l); err == nil {
				return x
			}
		}
		return nil
	}
	return f, nil
}

// ZipFiles lists the files of an archive, which stays open until closer is called.
func ZipFiles(name string, l Limits) (files []*File, closer func() error, err error) {
	z, err := zip.OpenReader(name)
	if errors.Is(err, zip.ErrFormat) || errors.Is(err, zip.ErrChecksum) {
		return nil, nil, Refuse("%s is not a zip archive: %v", filepath.Base(name), err)
	}
	if err != nil {
		return nil, nil, err
	}
	if len(z.File) > l.Entries {
		return nil, nil, errors.Join(Refuse("%s holds %d files; unpack it and import those that are wanted",
			filepath.Base(name), len(z.File)), z.Close())
	}
	byName := map[string]*File{}
	for _, e := range z.File {
		if e.FileInfo().IsDir() || strings.HasPrefix(path.Base(e.Name), ".") || strings.HasPrefix(e.Name, "__MACOSX/") {
			continue
		}
		f := &File{Name: Printable(e.Name), Size: int64(e.UncompressedSize64)}
		f.Open = func() (io.ReadCloser, error) {
			in, err := e.Open()
			if err != nil {
				return nil, Refuse("%s in %s cannot be unpacked: %v", f.Name, filepath.Base(name), err)
			}
			f.Done = 0
			return &counted{Unpack(in, in.Close, l, int64(e.CompressedSize64), f.Name), in.Close, f}, nil
		}
		f.Sibling = func(suffix string) *File {
			stem := strings.TrimSuffix(f.Name, path.Ext(f.Name))
			return byName[strings.ToLower(stem+suffix)]
		}
		byName[strings.ToLower(f.Name)] = f
		files = append(files, f)
	}
	return files, z.Close, nil
}

// Printable returns a text of a file for a message, without characters that end the line or control the terminal.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return utf8.RuneError
		}
		return r
	}, s)
}

// counted adds to the Done of its file.
type counted struct {
	in    io.Reader
	close func() error
	file  *File
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.in.Read(p)
	c.file.Done += int64(n)
	return n, err
}

func (c *counted) Close() error { return c.close() }

// unpacking reads packed data within limits.
type unpacking struct {
	in     io.Reader
	close  func() error
	limit  Limits
	packed int64
	n      int64
	name   string
}

// Unpack reads packed bytes of a file called name within limits. Closing it calls done.
func Unpack(in io.Reader, done func() error, l Limits, packed int64, name string) io.ReadCloser {
	return &unpacking{in: in, close: done, limit: l, packed: packed, name: name}
}

func (u *unpacking) Read(p []byte) (int, error) {
	n, err := u.in.Read(p)
	u.n += int64(n)
	switch {
	case u.n > u.limit.Unpacked:
		return n, Refuse("%s unpacks to more than %d bytes; unpack it first and import the result", u.name,
			u.limit.Unpacked)
	case u.n > u.limit.Free && u.n/u.limit.Ratio > u.packed:
		return n,
			Refuse("%s unpacks to more than %d times its size, as a decompression bomb does; if you trust it, "+
				"unpack it first", u.name, u.limit.Ratio)
	case err != nil && !errors.Is(err, io.EOF):
		return n, Refuse("%s cannot be unpacked: %v; it may be cut off or damaged", u.name, err)
	}
	return n, err
}

func (u *unpacking) Close() error { return u.close() }

// extract copies f into a new file in dir and returns its path.
func extract(f *File, dir string) (string, error) {
	in, err := f.Open()
	if err != nil {
		return "", err
	}
	defer in.Close()
	out, err := os.CreateTemp(dir, "*"+f.Suffix())
	if err != nil {
		return "", err
	}
	_, err = io.Copy(out, in)
	if err := errors.Join(err, out.Close()); err != nil {
		return "", fmt.Errorf("ingest: unpacking %s: %w", f.Name, err)
	}
	return out.Name(), nil
}

// NotFound returns a plain message why a path cannot be read.
func NotFound(name string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Refuse("there is no file %s", name)
	case errors.Is(err, fs.ErrPermission):
		return Refuse("no permission to read %s", name)
	}
	return fmt.Errorf("ingest: %w", err)
}
