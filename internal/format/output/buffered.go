package output

import "io"

// FirstPiece is how much of a file is gathered before its beginning goes out, in bytes.
const FirstPiece = 16 << 10

// FlushAt is how many bytes are gathered before they are written.
const FlushAt = 64 << 10

// Buffered is the text of a format that streams, on its way to w.
type Buffered struct {
	W    io.Writer
	Buf  []byte
	sent bool // some of it
}

// Flush sends the text when it has n bytes or more, and the beginning of it when it has firstPiece.
func (b *Buffered) Flush(n int) error {
	if !b.sent {
		n = min(n, FirstPiece)
	}
	if len(b.Buf) < n {
		return nil
	}
	_, err := b.W.Write(b.Buf)
	b.Buf, b.sent = b.Buf[:0], true
	return err
}

// End sends the rest with the last words of the file; nothing of one that is aborted.
func (b *Buffered) End(last string, abort bool) error {
	if abort {
		return nil
	}
	b.Buf = append(b.Buf, last...)
	return b.Flush(1)
}
