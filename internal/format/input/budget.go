package input

import (
	"encoding/xml"
	"errors"
	"io"
)

// Budget stops reading a text when one piece exceeds most bytes.
type Budget struct {
	in         io.Reader
	left, most int
}

func NewBudget(in io.Reader, most int) *Budget { return &Budget{in: in, left: most, most: most} }

func (b *Budget) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, Refuse("one feature, or row, has more than %d MB of text; is the file damaged?", b.most>>20)
	}
	n, err := b.in.Read(p)
	b.left -= n
	return n, err
}

func (b *Budget) Again() { b.left = b.most }

func Attr(e xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// Ended returns nil for an error that means that a file is too short.
func Ended(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return err
}
