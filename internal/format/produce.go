package format

import (
	"bytes"
	"context"
	"errors"
	"io"

	"grense/internal/store"
)

// How much of a file is gathered before it goes out, in bytes, of its beginning and in the end, and how many ids are asked for at once.
const (
	firstPiece   = 16 << 10
	producePiece = 1 << 20
	producePage  = 5000
)

// many is from how many features on a file begins with its first piece; one of fewer is mostly made whole before it does, so that what fails is told.
const many = 500

// errGathered ends a Fetch whose piece is large enough.
var errGathered = errors.New("format: the piece is full")

// Source is which features of a snapshot are written; the query's limit, offset and count say nothing.
type Source struct {
	Snapshot store.Snapshot
	Query    store.Query
	// VersionIDs is that of store.Want.
	VersionIDs bool
}

// Produce writes a whole file. Questions to the snapshot gather pieces in memory, so that nobody waits for a reader inside of one.
func (f *Format) Produce(ctx context.Context, out io.Writer, o Options, from Source) error {
	q := from.Query
	q.Count, q.Limit, q.Offset = store.CountCheap, producePage, 0
	first, err := from.Snapshot.Page(ctx, q)
	if err != nil {
		return err
	}
	o.Count = first.Matched
	to := &pieces{out: out, most: 4 * firstPiece}
	if first.Matched >= many {
		to.most = firstPiece
	}
	w, err := f.Open(to, o)
	if err != nil {
		return err
	}
	if err := (feeder{w, to, from}).follow(ctx, first); err != nil {
		w.Close(true)
		return err
	}
	to.direct = true
	if err := to.flush(); err != nil {
		w.Close(true)
		return err
	}
	return w.Close(false)
}

// feeder gives a Writer the features that a source selects. to is what it writes to; nil: it writes nothing before its end.
type feeder struct {
	w    Writer
	to   *pieces
	from Source
}

func (x feeder) feed(ctx context.Context) error {
	first, err := x.next(ctx, x.from.Query.Cursor)
	if err != nil {
		return err
	}
	return x.follow(ctx, first)
}

// follow gives the features of a page and of those behind it.
func (x feeder) follow(ctx context.Context, p *store.Page) (err error) {
	for {
		if err := x.page(ctx, p.Rows); err != nil || p.Next == "" {
			return err
		}
		if p, err = x.next(ctx, p.Next); err != nil {
			return err
		}
	}
}

// next is the page at a cursor; the first for "".
func (x feeder) next(ctx context.Context, at store.Cursor) (*store.Page, error) {
	q := x.from.Query
	q.Count, q.Limit, q.Offset, q.Cursor = store.CountNone, producePage, 0, at
	return x.from.Snapshot.Page(ctx, q)
}

func (x feeder) page(ctx context.Context, rows []store.Row) error {
	for len(rows) > 0 {
		n, want := 0, x.w.Want()
		want.VersionIDs = x.from.VersionIDs
		err := x.from.Snapshot.Fetch(ctx, x.from.Query.Collection, rows, want, func(f *store.Feature) error {
			n++
			if err := x.w.Write(f); err != nil {
				return err
			}
			if x.to != nil && x.to.piece.Len() >= x.to.most {
				return errGathered
			}
			return nil
		})
		if err != nil && err != errGathered {
			return err
		}
		rows = rows[n:]
		if x.to != nil {
			if err := x.to.flush(); err != nil {
				return err
			}
		}
	}
	return ctx.Err()
}

// pieces gathers what a format writes; once direct is set it passes everything on.
type pieces struct {
	piece  bytes.Buffer
	most   int // bytes that gather
	out    io.Writer
	direct bool
}

func (p *pieces) Write(b []byte) (int, error) {
	if p.direct {
		return p.out.Write(b)
	}
	return p.piece.Write(b)
}

func (p *pieces) flush() error {
	if p.piece.Len() == 0 { // an answer that can still be another one is not begun
		return nil
	}
	_, err := p.out.Write(p.piece.Bytes())
	p.piece.Reset()
	p.most = min(4*p.most, producePiece)
	return err
}
