package gpkg

import (
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"sync"
	"unsafe"
)

// A large table of spellings takes half a second to be made, in which SQLite answers. It is written beside the records of the state of the source, and the next
// process maps it: then it is at hand with the first question, and takes memory that the system may have back. A file belongs to one state of the
// source, is never changed after it was made, and can be deleted at any time. Where files are not mapped (mapFile) there are none.

// spellingsVersion is raised when the content of the files changes its meaning; older ones are made anew. It is 8 bytes.
const spellingsVersion = "grensep1"

// spellingsParts is how many parts a file has. Each has its length before it, and begins at a multiple of 8.
const spellingsParts = 13

// mapsFiles is where mapFile maps, and numbers lie in memory as they do in the files.
const mapsFiles = (runtime.GOOS == "linux" || runtime.GOOS == "darwin" || runtime.GOOS == "freebsd") && (runtime.GOARCH == "amd64" || runtime.GOARCH == "arm64")

// spellingsHome is where the files of a state of the source lie, and which were looked for.
type spellingsHome struct {
	dir, stem string
	mu        sync.Mutex
	looked    map[string]bool // by the name of the table
}

// newSpellingsHome is that of a source, whose catalog has a version; files of its former states are removed.
func newSpellingsHome(dir string, src source, version string) *spellingsHome {
	prefix, stem := src.sideName(spellingsVersion + version)
	removeOthers(dir, prefix, stem, ".spellings")
	return &spellingsHome{dir: dir, stem: stem}
}

// path names the file of a table.
func (h *spellingsHome) path(table string) string {
	return filepath.Join(h.dir, h.stem+"-"+hash(table)+".spellings")
}

// keptSpellings returns a table whose file is there; nil where there is none. Who asks while another looks for it waits.
func (r *revision) keptSpellings(name string) *spellings {
	key, tables := tableKey{r.rev, name}, r.typeAhead.tables
	get := func() (t *spellings) {
		if v, ok := tables.Get(key); ok {
			t = v.(*spellings)
		}
		return t
	}
	if t := get(); t != nil {
		return t
	}
	h := r.spellingsHome
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.looked[name] {
		return get()
	}
	if h.looked == nil {
		h.looked = map[string]bool{}
	}
	h.looked[name] = true
	t, err := openSpellings(h.path(name), name, tables.Room())
	if err != nil || !tables.Put(key, t, int64(t.size())) {
		return nil
	}
	return t
}

// keepSpellings writes a table that was made, and returns it as it is in its file; the one that was made where it cannot be had of that.
func (r *revision) keepSpellings(name string, made *spellings, room int) *spellings {
	path := r.spellingsHome.path(name)
	if len(made.rows) < r.columns.limits.spelled || !mapsFiles {
		return made
	}
	removeAbandoned(path)
	if err := atomically(path, func(tmp string) error { return made.write(tmp, name) }); err != nil {
		return made
	}
	if t, err := openSpellings(path, name, int64(room)); err == nil {
		return t
	}
	return made
}

// parts are those of the file of a table, which has a name.
func (t *spellings) parts(name string) [spellingsParts][]byte {
	g := t.grams
	return [...][]byte{[]byte(name), bytesOf([]int64{t.base}), g.codes[:], unsafe.Slice(unsafe.StringData(t.text), len(t.text)), bytesOf(t.ends), bytesOf(t.from),
		bytesOf(t.rows), bytesOf(t.first), bytesOf(t.nth), bytesOf(t.byID), bytesOf(t.high), bytesOf(append(g.grams[:len(g.grams):len(g.grams)], g.start...)), g.texts}
}

// fill sets a table to the parts of its file; false where they do not fit together.
func (t *spellings) fill(name string, parts [spellingsParts][]byte) bool {
	if string(parts[0]) != name || len(parts[1]) != 8 || len(parts[2]) != 256 {
		return false
	}
	g := &grams{texts: parts[12]}
	copy(g.codes[:], parts[2])
	t.base, t.text, t.grams = sliceOf[int64](parts[1])[0], unsafe.String(unsafe.SliceData(parts[3]), len(parts[3])), g
	t.ends, t.from, t.rows = sliceOf[uint32](parts[4]), sliceOf[uint32](parts[5]), sliceOf[spelled](parts[6])
	t.first, t.nth, t.byID = sliceOf[uint64](parts[7]), sliceOf[uint32](parts[8]), sliceOf[uint32](parts[9])
	if t.high = sliceOf[uint32](parts[10]); len(t.high) == 0 {
		t.high = nil
	}
	list := sliceOf[uint32](parts[11])
	g.grams, g.start = list[:len(list)/2], list[len(list)/2:]
	n := len(t.rows)
	return len(t.from) == len(t.ends)+1 && int(t.from[len(t.ends)]) == n && len(t.first) == n/64+1 && len(t.nth) == n/64+1 && len(t.byID) == n &&
		(t.high == nil || len(t.high) == n) && len(g.start) == len(g.grams)+1
}

// bytesOf is the memory of a slice, as it is.
func bytesOf[T any](s []T) []byte {
	var x T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*int(unsafe.Sizeof(x)))
}

// sliceOf is bytesOf the other way round. b begins where a T may.
func sliceOf[T any](b []byte) []T {
	var x T
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/int(unsafe.Sizeof(x)))
}

// write writes a table into a file that is there.
func (t *spellings) write(path, name string) (err error) {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	sum := uint32(0)
	put := func(b []byte) {
		sum = crc32.Update(sum, recordSums, b)
		_, err2 := file.Write(b)
		err = errors.Join(err, err2)
	}
	put([]byte(spellingsVersion))
	for _, part := range t.parts(name) {
		put(bytesOf([]uint64{uint64(len(part))}))
		put(part)
		put(make([]byte, -len(part)&7))
	}
	put(bytesOf([]uint64{uint64(sum)}))
	return err
}

// openSpellings maps the file of a table; an error where it is not there, not sound, or larger than room.
func openSpellings(path, name string, room int64) (*spellings, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() > room { // which the table has about as many bytes as
		return nil, errNoRoom
	}
	t := &spellings{mapped: mapFile(f, info.Size())}
	if t.mapped == nil {
		return nil, errNoRoom
	}
	runtime.AddCleanup(t, unmapFile, t.mapped)
	sound := false
	if !t.whole(func() { sound = t.read(name, t.mapped) }) || !sound {
		return nil, fmt.Errorf("gpkg: %s is damaged", path)
	}
	return t, nil
}

// whole calls what reads a table; false where its file was cut since it was mapped.
func (t *spellings) whole(read func()) (ok bool) {
	defer runtime.KeepAlive(t) // what it has may be mapped
	if t.mapped != nil {
		defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
		defer func() {
			p := recover()
			if _, fault := p.(interface{ Addr() uintptr }); p != nil && !fault { // of runtime/debug.SetPanicOnFault
				panic(p)
			}
		}()
	}
	read()
	return true
}

// read sets a table to the content of its file.
func (t *spellings) read(name string, b []byte) bool {
	n := len(b) - 8
	if n < 8 || n%8 != 0 || string(b[:8]) != spellingsVersion || uint64(crc32.Checksum(b[:n], recordSums)) != sliceOf[uint64](b[n:])[0] {
		return false
	}
	var parts [spellingsParts][]byte
	rest := b[8:n]
	for i := range parts {
		if len(rest) < 8 {
			return false
		}
		size := sliceOf[uint64](rest[:8])[0]
		if rest = rest[8:]; size > uint64(len(rest)) {
			return false
		}
		parts[i] = rest[:size:size]
		rest = rest[(size+7)&^7:]
	}
	return len(rest) == 0 && t.fill(name, parts)
}
