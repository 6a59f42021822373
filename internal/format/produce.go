package format

import (
	"context"
	"io"

	"grense/internal/format/output"
	"grense/internal/store"
)

// many is from how many features on a file begins with its first piece; one of fewer is mostly made whole before it
// does, so that what fails is told.
const many = 500

// Produce writes a whole file. Questions to the snapshot gather pieces in memory, so that nobody waits for a reader
// inside of one.
func (f *Format) Produce(ctx context.Context, out io.Writer, o output.Options, from output.Source) error {
	q := from.Query
	q.Count, q.Limit, q.Offset = store.CountCheap, output.ProducePage, 0
	first, err := from.Snapshot.Page(ctx, q)
	if err != nil {
		return err
	}
	o.Count = first.Matched
	to := &output.Pieces{Out: out, Most: 4 * output.FirstPiece}
	if first.Matched >= many {
		to.Most = output.FirstPiece
	}
	w, err := f.Open(to, o)
	if err != nil {
		return err
	}
	if err := (output.Feeder{W: w, To: to, From: from}).Follow(ctx, first); err != nil {
		w.Close(true)
		return err
	}
	to.Direct = true
	if err := to.Flush(); err != nil {
		w.Close(true)
		return err
	}
	return w.Close(false)
}
