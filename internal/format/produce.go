package format

import (
	"context"
	"io"

	"grense/internal/format/output"
	"grense/internal/store"
)

// many is the number of features from which a file is sent in pieces. A smaller one is mostly complete before it is
// sent, so that errors are reported properly.
const many = 500

// Produce writes a whole file. It buffers pieces in memory during queries, so that no query waits
// for the reader of the file.
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
