package features

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

// followFrom is the number of bytes that are written before the file is sent while it grows. Shorter files are sent
// whole, with their length.
const followFrom = 64 << 10

// following is a response that a goroutine sends while its file grows, so that the writer does not wait for the
// client.
type following struct {
	d     *files.Writer
	began bool // the response has begun
	err   error
	// closed when the goroutine has ended; before that, only the goroutine writes the response and began and err
	done chan struct{}
}

// follow sends the file to the client once followFrom bytes are written; begin sets the header before that. follow
// returns nil if the file cannot be followed. The caller must call join.
func (c *call) follow(w http.ResponseWriter, d *files.Writer, begin func()) *following {
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
		c.Response.FromDisk()
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

// join waits until the response contains all that the writer of the file wrote before it called End. It reports
// whether the response began; err is the error of the response.
func (x *following) join() (began bool, err error) {
	if x == nil {
		return false, nil
	}
	<-x.done
	return x.began, x.err
}

// makeWhole creates and caches the file of a whole collection from a snapshot, or waits for another request that
// does. If the file was sent while it grew, sent is true.
func (c *call) makeWhole(w http.ResponseWriter, f *format.Format, snap store.Snapshot,
	state store.Version) (file *os.File, sent bool, err error) {
	revision := c.revisionOf(state)
	var sending *following
	defer func() { sending.join() }()
	file, err = c.load(f, snap, state, func(out *files.Writer) {
		if f.Streams && c.file().Revision == "" && c.Request.Header.Get("Range") == "" && !c.hasFile(revision, f) {
			sending = c.follow(w, out, func() { c.fileFields(w.Header(), revision, f) })
		}
	})
	if !files.NoRoom(err) { // else the next attempt writes elsewhere
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

// load opens the cached file of a whole collection for the version of a snapshot. If there is none, load calls begun
// and creates the file.
func (c *call) load(f *format.Format, snap store.Snapshot, state store.Version, begun func(*files.Writer)) (*os.File,
	error) {
	return c.s.Files.Load(c.Request.Context(), downloadName(c.Collection.ID, c.revisionOf(state), f),
		func(out *files.Writer) error {
			begun(out)
			return c.makeFile(out, f, snap)
		})
}

// streamFile writes a temporary file while the client reads it. It releases the snapshot and the place of a large
// response as soon as the file is written.
func (c *call) streamFile(w http.ResponseWriter, f *format.Format, snap store.Snapshot, temp string) error {
	tmp, err := os.CreateTemp(temp, "file-*")
	if err != nil {
		return fmt.Errorf("%w: %w", files.ErrNoRoom, err)
	}
	defer os.Remove(tmp.Name())
	defer tmp.Close()
	d, leave := &files.Writer{File: tmp}, c.Response.TakePlace()
	defer leave()
	var sending *following
	if f.Streams {
		sending = c.follow(w, d, func() {})
	}
	defer sending.join()
	defer d.End(errors.New("server: the file was given up"))
	err = c.produce(d, f, snap, temp)
	d.End(err)
	if !files.NoRoom(err) { // else the next attempt writes elsewhere
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
	c.Response.FromDisk()
	_, err = io.Copy(w, tmp)
	return err
}
