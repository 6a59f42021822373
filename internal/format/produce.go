package format

import (
	"bytes"
	"context"
	"errors"
	"io"

	"grense/internal/store"
)

// How much of a file is gathered before it goes out, in bytes, and how many ids are asked for at once.
const (
	producePiece = 1 << 20
	producePage  = 5000
)

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
	to := &pieces{out: out}
	w, err := f.Open(to, o)
	if err != nil {
		return err
	}
	if err := (feeder{w, to, from}).feed(ctx); err != nil {
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
	q := x.from.Query
	q.Count, q.Limit, q.Offset = store.CountNone, producePage, 0
	for {
		p, err := x.from.Snapshot.Page(ctx, q)
		if err != nil {
			return err
		}
		if err := x.page(ctx, p.Rows); err != nil || p.Next == "" {
			return err
		}
		q.Cursor = p.Next
	}
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
			if x.to != nil && x.to.piece.Len() >= producePiece {
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
	return err
}
