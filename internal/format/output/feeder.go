package output

import (
	"bytes"
	"context"
	"errors"
	"io"

	"grense/internal/store"
)

// Bytes that are gathered at the end of a file before they are sent, and ids in one query.
const (
	producePiece = 1 << 20
	ProducePage  = 5000
)

// errGathered ends a Fetch once the piece is large enough.
var errGathered = errors.New("format: the piece is full")

// Source selects the features of a snapshot to write. Limit, offset and count of its query are ignored.
type Source struct {
	Snapshot store.Snapshot
	Query    store.Query
	// VersionIDs is store.Want.VersionIDs.
	VersionIDs bool
}

// Feeder passes the features of a source to a Writer. to is the destination of the Writer;
// nil if it writes nothing before its end.
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

// Follow writes the features of a page and of all pages after it.
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

// next returns the page at a cursor; the first for "".
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

// Pieces buffers the output of a format; once direct is set it passes everything on.
type Pieces struct {
	piece  bytes.Buffer
	Most   int // bytes to buffer
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
	if p.piece.Len() == 0 { // the response is not begun while it can still become an error
		return nil
	}
	_, err := p.Out.Write(p.piece.Bytes())
	p.piece.Reset()
	p.Most = min(4*p.Most, producePiece)
	return err
}
