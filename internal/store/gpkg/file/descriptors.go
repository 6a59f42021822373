package file

import (
	"errors"
	"os"
	"slices"
	"sync"
)

// descriptors are the files that this process has open besides the connections of SQLite. They are global, since locks
// belong to the process: closing any descriptor of a file drops all locks of the process on it (POSIX.1-2017, close),
// including those of SQLite.
var descriptors struct {
	mu    sync.Mutex
	files []*descriptor
}

// descriptor is an open file, shared by all users of that file. Every user must close it, after closing its connections
// to the file.
type descriptor struct {
	*os.File
	users int
	more  []*os.File // the same file, opened again while its name changed
}

// describe opens a file for reading. If the same file is open already, under any name, it returns that descriptor.
func describe(path string) (*descriptor, error) {
	descriptors.mu.Lock()
	defer descriptors.mu.Unlock()
	if info, err := os.Stat(path); err == nil {
		if d := sameFile(info); d != nil {
			d.users++
			return d, nil
		}
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	d := sameFile(info)
	if d == nil {
		d = &descriptor{File: f}
		descriptors.files = append(descriptors.files, d)
	} else {
		d.more = append(d.more, f)
	}
	d.users++
	return d, nil
}

// sameFile returns the open descriptor of a file; nil if there is none.
func sameFile(info os.FileInfo) *descriptor {
	for _, d := range descriptors.files {
		if have, err := d.Stat(); err == nil && os.SameFile(have, info) {
			return d
		}
	}
	return nil
}

// close closes the file when its last user has closed it.
func (d *descriptor) close() error {
	descriptors.mu.Lock()
	defer descriptors.mu.Unlock()
	if d.users--; d.users > 0 {
		return nil
	}
	descriptors.files = slices.DeleteFunc(descriptors.files, func(x *descriptor) bool { return x == d })
	err := d.File.Close()
	for _, f := range d.more {
		err = errors.Join(err, f.Close())
	}
	return err
}
