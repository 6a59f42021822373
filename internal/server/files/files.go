// Package files caches the files of whole collections on disk, a file for each state of the data, and writes files that
// are read while they grow. It knows no routes and no formats.
package files

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"grense/internal/config"
	"grense/internal/problem"
	"grense/internal/store"
)

// Cache holds the files of whole collections on disk, one for each data version. Together they have at most so many
// bytes; the least recently used go first. A file that is being sent stays readable after it was removed.
type Cache struct {
	dir  string // "" if nothing is cached
	none bool   // no file is cached; dir holds only files that are being written
	most int64

	slots chan struct{} // for snapshots that hold a connection

	mu     sync.Mutex
	making map[string]chan struct{}
	stream map[string]bool // names of files that are streamed to a client while they are read

	Changes fileChanges
}

// fileChanges counts how often files of a collection were added or removed. Its zero value is ready; it is safe for
// concurrent use.
type fileChanges struct {
	mu  sync.RWMutex
	of  map[string]uint64 // by collection
	all uint64
}

// Count returns how often files of a collection were added or removed, or those of all for "".
func (x *fileChanges) Count(collection string) uint64 {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if collection == "" {
		return x.all
	}
	return x.of[collection]
}

// add counts a change of a file, by its name.
func (x *fileChanges) add(name string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	collection, _, _ := strings.Cut(name, ".")
	if x.of == nil {
		x.of = map[string]uint64{}
	}
	x.of[collection]++
	x.all++
}

// ErrNoRoom reports that a file could not be cached.
var ErrNoRoom = errors.New("files: no room for a cached file")

// underWay is the folder, below that of the cached files, for files that are being written.
const underWay = ".partial"

// New returns a cache in a folder, and removes unfinished files of an earlier process.
func New(dir string, l config.Limits) *Cache {
	k := &Cache{dir: dir, none: l.Answers == 0, most: int64(l.Downloads), slots: make(chan struct{}, 2),
		making: map[string]chan struct{}{}, stream: map[string]bool{}}
	if dir == "" {
		return k
	}
	left, _ := os.ReadDir(filepath.Join(dir, underWay)) // empty if there is no such folder
	for _, e := range left {
		// another process may be writing it
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > time.Hour {
			os.RemoveAll(filepath.Join(dir, underWay, e.Name()))
		}
	}
	return k
}

// Enter waits for a slot; the caller must call the returned function to release it.
func (k *Cache) Enter(ctx context.Context, wait time.Duration) (leave func(), err error) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case k.slots <- struct{}{}:
		return func() { <-k.slots }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-timer.C:
		return nil, problem.New(problem.Busy, nil,
			"Other downloads are being made. Try again after the seconds in Retry-After.")
	}
}

// Temp returns the folder for temporary files; "" is that of the system.
func (k *Cache) Temp() string {
	dir := filepath.Join(k.dir, underWay)
	if k.dir == "" || os.MkdirAll(dir, 0o700) != nil {
		return ""
	}
	return dir
}

// DiskFull reports whether the disk is full, as opposed to a quota.
func DiskFull(err error) bool { return NoRoom(err) && !errors.Is(err, ErrNoRoom) }

// NoRoom reports whether an error means that a disk, or the quota on it, is full.
func NoRoom(err error) bool {
	return errors.Is(err, ErrNoRoom) || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) ||
		errors.Is(err, syscall.EFBIG) || errors.Is(err, store.ErrFull)
}

// Keeps reports whether files are cached at all.
func (k *Cache) Keeps() bool { return k.dir != "" && !k.none }

// Open opens a cached file; the error is fs.ErrNotExist if there is none.
func (k *Cache) Open(name string) (*os.File, error) {
	if !k.Keeps() {
		return nil, os.ErrNotExist
	}
	path := filepath.Join(k.dir, name)
	f, err := os.Open(path)
	if err == nil {
		now := time.Now()
		os.Chtimes(path, now, now) // marks the file as used; if that fails, it is only removed earlier
	}
	return f, err
}

// Length returns the size of a cached file in bytes; 0 if there is none.
func (k *Cache) Length(name string) int64 {
	if !k.Keeps() {
		return 0
	}
	info, err := os.Stat(filepath.Join(k.dir, name))
	if err != nil {
		return 0
	}
	return info.Size()
}

// Has reports whether a file of the collection is cached.
func (k *Cache) Has(collection string) bool {
	if !k.Keeps() {
		return false
	}
	entries, _ := os.ReadDir(k.dir) // an unreadable folder has none
	return slices.ContainsFunc(entries, func(e os.DirEntry) bool { return strings.HasPrefix(e.Name(), collection+".") })
}

// Load returns the file of that name, and calls write to create it unless another caller does so already. ErrNoRoom
// means that the file cannot be cached.
func (k *Cache) Load(ctx context.Context, name string, write func(*Writer) error) (*os.File, error) {
	if !k.Keeps() {
		return nil, ErrNoRoom
	}
	for {
		if f, err := k.Open(name); err == nil {
			return f, nil
		}
		k.mu.Lock()
		other := k.making[name]
		if other == nil {
			k.making[name] = make(chan struct{})
		}
		k.mu.Unlock()
		if other == nil {
			break
		}
		select {
		case <-other:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	defer func() {
		k.mu.Lock()
		close(k.making[name])
		delete(k.making, name)
		k.mu.Unlock()
	}()
	if f, err := k.Open(name); err == nil { // another caller created it between the two checks
		return f, nil
	}
	return k.fill(name, write)
}

// Alone reports whether nobody streams the file of that name. If so, the caller must call Streamed after its own
// stream.
func (k *Cache) Alone(name string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.stream[name] {
		return false
	}
	k.stream[name] = true
	return true
}

func (k *Cache) Streamed(name string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.stream, name)
}

// fill writes a file and then gives it its name.
func (k *Cache) fill(name string, write func(*Writer) error) (*os.File, error) {
	tmp, err := os.CreateTemp(k.Temp(), "file-*")
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoRoom, err)
	}
	disk := &Writer{File: tmp}
	defer func() { disk.End(errors.New("files: the file was given up")) }() // if write has panicked
	err = write(disk)
	disk.End(err)
	if err == nil {
		err = os.Rename(tmp.Name(), filepath.Join(k.dir, name))
		disk.err = err
	}
	if err != nil {
		tmp.Close()
		os.Remove(tmp.Name())
		if disk.err != nil {
			return nil, fmt.Errorf("%w: %w", ErrNoRoom, disk.err)
		}
		return nil, err
	}
	k.Changes.add(name)
	if _, err := tmp.Seek(0, io.SeekStart); err != nil {
		tmp.Close()
		return nil, err
	}
	k.trim(name)
	return tmp, nil
}

// trim removes the least recently used files beyond the limit, except for the one that was just created.
func (k *Cache) trim(made string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	entries, err := os.ReadDir(k.dir)
	if err != nil {
		return
	}
	var files []os.FileInfo
	var sum int64
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || e.IsDir() {
			continue
		}
		sum += info.Size()
		if e.Name() != made {
			files = append(files, info)
		}
	}
	slices.SortFunc(files, func(a, b os.FileInfo) int {
		return cmp.Compare(a.ModTime().UnixNano(),
			b.ModTime().UnixNano())
	})
	for _, f := range files {
		if sum <= k.most {
			return
		}
		if os.Remove(filepath.Join(k.dir, f.Name())) == nil {
			sum -= f.Size()
			k.Changes.add(f.Name())
		}
	}
}
