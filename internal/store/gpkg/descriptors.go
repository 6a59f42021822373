package gpkg

import (
	"errors"
	"os"
	"slices"
	"sync"
)

// descriptors are the files of others that this process has open beside SQLite. They are of the process,
// since that is whose locks a file has: closing any descriptor of a file drops all of them (POSIX.1-2017, close),
// also those by which SQLite keeps other programs from writing into what it reads.
var descriptors struct {
	mu    sync.Mutex
	files []*descriptor
}

// descriptor is a file that is open; every user must close it, after the connections to the file that it knows of.
// All users of a file share it.
type descriptor struct {
	*os.File
	users int
	more  []*os.File // the same file, opened while its name changed
}

// describe opens a file for reading. One that is open already is not opened again, whatever its name.
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

// sameFile returns the descriptor of a file; nil when it is not open.
func sameFile(info os.FileInfo) *descriptor {
	for _, d := range descriptors.files {
		if have, err := d.Stat(); err == nil && os.SameFile(have, info) {
			return d
		}
	}
	return nil
}

// close closes the file when nobody else has it open.
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
