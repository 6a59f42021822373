package output

import "io"

// FirstPiece is the number of bytes at which the beginning of a file is sent.
const FirstPiece = 16 << 10

// FlushAt is the number of bytes that are gathered before they are sent.
const FlushAt = 64 << 10

// Buffered buffers the text of a streaming format on its way to w.
type Buffered struct {
	W    io.Writer
	Buf  []byte
	sent bool // something was sent
}

// Flush sends the text if it has at least n bytes; its beginning is sent at FirstPiece bytes.
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

// End sends the rest and the last words of the file, or nothing if the file is aborted.
func (b *Buffered) End(last string, abort bool) error {
	if abort {
		return nil
	}
	b.Buf = append(b.Buf, last...)
	return b.Flush(1)
}
