package format

import "io"

// buffered is the text of a format that streams, on its way to w.
type buffered struct {
	w    io.Writer
	buf  []byte
	sent bool // some of it
}

// flush sends the text when it has n bytes or more, and the beginning of it when it has firstPiece.
func (b *buffered) flush(n int) error {
	if !b.sent {
		n = min(n, firstPiece)
	}
	if len(b.buf) < n {
		return nil
	}
	_, err := b.w.Write(b.buf)
	b.buf, b.sent = b.buf[:0], true
	return err
}

// end sends the rest with the last words of the file; nothing of one that is aborted.
func (b *buffered) end(last string, abort bool) error {
	if abort {
		return nil
	}
	b.buf = append(b.buf, last...)
	return b.flush(1)
}
