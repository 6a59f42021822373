package server

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"

	"grense/internal/format"
	"grense/internal/server/files"
	"grense/internal/store"
)

// followFrom is how much of a file is written before it is sent while it grows, in bytes. A shorter one is sent whole, with its length.
const followFrom = 64 << 10

// following is an answer that is sent while its file grows, by a goroutine of its own, so that what is made waits for no reader.
type following struct {
	d     *files.Writer
	began bool // the answer has begun
	err   error
	done  chan struct{} // closed when the goroutine has ended, before which nobody else writes the answer or reads began and err
}

// follow sends the file to the client once followFrom of it is written; begin sets the header before. It returns nil where the file cannot be followed. The caller must call join.
func (c *Call) follow(w http.ResponseWriter, d *files.Writer, begin func()) *following {
	if c.Response == nil || c.Request.Method == http.MethodHead {
		return nil
	}
	file, err := os.Open(d.File.Name())
	if err != nil {
		return nil
	}
	x, ctx := &following{d: d, done: make(chan struct{})}, c.Request.Context()
	go func() {
		defer close(x.done)
		defer file.Close()
		size, ended, err := d.Await(ctx, followFrom)
		if ended || err != nil {
			return
		}
		begin()
		c.Response.fromDisk()
		x.began = true
		w.WriteHeader(http.StatusOK)
		for at := int64(0); x.err == nil; {
			if at < size {
				_, x.err = io.CopyN(w, file, size-at)
				at = size
				continue
			}
			if ended {
				return
			}
			size, ended, x.err = d.Await(ctx, at+1)
		}
	}()
	return x
}

// join waits until the answer is sent as far as the file goes, whose writer has called end, and reports whether it began at all. Then err is what it failed with.
func (x *following) join() (began bool, err error) {
	if x == nil {
		return false, nil
	}
	<-x.done
	return x.began, x.err
}

// makeWhole makes the file of a whole collection in the state that a snapshot has, which is kept, or waits for who makes it. Where it was sent as it grew nothing is left to be sent.
func (c *Call) makeWhole(w http.ResponseWriter, f *format.Format, snap store.Snapshot, state store.Version) (file *os.File, sent bool, err error) {
	revision := c.revisionOf(state)
	var sending *following
	defer func() { sending.join() }()
	file, err = c.load(f, snap, state, func(out *files.Writer) {
		if f.Streams && c.file().revision == "" && c.Request.Header.Get("Range") == "" && !c.hasFile(revision, f) {
			sending = c.follow(w, out, func() { c.fileFields(w.Header(), revision, f) })
		}
	})
	if !files.NoRoom(err) { // else it is asked again
		snap.Close()
	}
	began, failed := sending.join()
	if !began {
		return file, false, err
	}
	if err == nil {
		file.Close()
	}
	return nil, true, failed
}

// load opens the file of a whole collection in the state that a snapshot has; where it is not kept it is made, after begun was called.
func (c *Call) load(f *format.Format, snap store.Snapshot, state store.Version, begun func(*files.Writer)) (*os.File, error) {
	return c.s.downloads.Load(c.Request.Context(), downloadName(c.Collection.ID, c.revisionOf(state), f), func(out *files.Writer) error {
		begun(out)
		return c.makeFile(out, f, snap)
	})
}

// streamFile writes a temporary file, which the client reads as it grows. The snapshot and the place of a large answer are given back when it is written.
func (c *Call) streamFile(w http.ResponseWriter, f *format.Format, snap store.Snapshot, temp string) error {
	tmp, err := os.CreateTemp(temp, "file-*")
	if err != nil {
		return fmt.Errorf("%w: %w", files.ErrNoRoom, err)
	}
	defer os.Remove(tmp.Name())
	defer tmp.Close()
	d, leave := &files.Writer{File: tmp}, c.Response.takePlace()
	defer leave()
	var sending *following
	if f.Streams {
		sending = c.follow(w, d, func() {})
	}
	defer sending.join()
	defer d.End(errors.New("server: the file was given up"))
	err = c.produce(d, f, snap, temp)
	d.End(err)
	if !files.NoRoom(err) { // else it is asked again
		snap.Close()
	}
	leave()
	if began, failed := sending.join(); began {
		return failed
	}
	if err == nil {
		_, err = tmp.Seek(0, io.SeekStart)
	}
	if err != nil {
		return err
	}
	w.Header().Set("Content-Length", strconv.FormatInt(d.Size, 10))
	c.Response.fromDisk()
	_, err = io.Copy(w, tmp)
	return err
}
