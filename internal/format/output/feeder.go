package output

import (
	"bytes"
	"context"
	"errors"
	"io"

	"grense/internal/store"
)

// How much of a file is gathered before it goes out in the end, in bytes, and how many ids are asked for at once.
const (
	producePiece = 1 << 20
	ProducePage  = 5000
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

// Feeder gives a Writer the features that a source selects. to is what it writes to; nil: it writes nothing before its
// end.
type Feeder struct {
	W    Writer
	To   *Pieces
	From Source
}

func (x Feeder) Feed(ctx context.Context) error {
	first, err := x.next(ctx, x.From.Query.Cursor)
	if err != nil {
		return err
	}
	return x.Follow(ctx, first)
}

// Follow gives the features of a page and of those behind it.
func (x Feeder) Follow(ctx context.Context, p *store.Page) (err error) {
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
func (x Feeder) next(ctx context.Context, at store.Cursor) (*store.Page, error) {
	q := x.From.Query
	q.Count, q.Limit, q.Offset, q.Cursor = store.CountNone, ProducePage, 0, at
	return x.From.Snapshot.Page(ctx, q)
}

func (x Feeder) page(ctx context.Context, rows []store.Row) error {
	for len(rows) > 0 {
		n, want := 0, x.W.Want()
		want.VersionIDs = x.From.VersionIDs
		err := x.From.Snapshot.Fetch(ctx, x.From.Query.Collection, rows, want, func(f *store.Feature) error {
			n++
			if err := x.W.Write(f); err != nil {
				return err
			}
			if x.To != nil && x.To.piece.Len() >= x.To.Most {
				return errGathered
			}
			return nil
		})
		if err != nil && err != errGathered {
			return err
		}
		rows = rows[n:]
		if x.To != nil {
			if err := x.To.Flush(); err != nil {
				return err
			}
		}
	}
	return ctx.Err()
}

// Pieces gathers what a format writes; once direct is set it passes everything on.
type Pieces struct {
	piece  bytes.Buffer
	Most   int // bytes that gather
	Out    io.Writer
	Direct bool
}

func (p *Pieces) Write(b []byte) (int, error) {
	if p.Direct {
		return p.Out.Write(b)
	}
	return p.piece.Write(b)
}

func (p *Pieces) Flush() error {
	if p.piece.Len() == 0 { // an answer that can still be another one is not begun
		return nil
	}
	_, err := p.Out.Write(p.piece.Bytes())
	p.piece.Reset()
	p.Most = min(4*p.Most, producePiece)
	return err
}
