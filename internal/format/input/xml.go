package input

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strings"

	"golang.org/x/text/encoding/charmap"
)

// XML reads XML with limited pieces, in UTF-8 or a Latin character set.
type XML struct {
	*xml.Decoder
	text *Budget
}

// NewXML returns a decoder that refuses more than most bytes between two calls of Again.
func NewXML(in io.Reader, most int64) *XML {
	d := &XML{text: NewBudget(in, int(min(max(most, 1<<20), math.MaxInt32)))}
	d.Decoder = xml.NewDecoder(d.text)
	d.CharsetReader = func(charset string, in io.Reader) (io.Reader, error) {
		switch strings.ToLower(charset) {
		case "us-ascii":
			return in, nil
		case "iso-8859-1", "latin1":
			return charmap.ISO8859_1.NewDecoder().Reader(in), nil
		case "windows-1252":
			return charmap.Windows1252.NewDecoder().Reader(in), nil
		case "iso-8859-15":
			return charmap.ISO8859_15.NewDecoder().Reader(in), nil
		}
		return nil, Refuse("the encoding %q is not read; save the file as UTF-8", Shorten(charset))
	}
	return d
}

// Again begins a new piece.
func (d *XML) Again() { d.text.Again() }

// Leave reads to the end of the current element.
func (d *XML) Leave() error {
	for depth := 1; depth > 0; { // Skip is recursive without a limit
		t, err := d.Token()
		if err != nil {
			return d.Wrong(err)
		}
		switch t.(type) {
		case xml.StartElement:
			depth++
		case xml.EndElement:
			depth--
		}
	}
	return nil
}

// Line returns the line that was read last, from 1.
func (d *XML) Line() int { return d.Place().Line }

// Place returns the position of the reader.
func (d *XML) Place() Place {
	line, column := d.InputPos()
	return Place{Line: line, Column: column}
}

// Wrong converts an error of XML to a refusal.
func (d *XML) Wrong(err error) error {
	if bad, ok := errors.AsType[*xml.SyntaxError](err); ok {
		switch bad.Msg {
		case "unexpected EOF":
			return Refuse("the file is cut off at line %d", bad.Line)
		case "invalid UTF-8":
			return Refuse("line %d: the text is not UTF-8; save the file as UTF-8", bad.Line)
		}
		return Refuse("line %d: this is not well-formed XML: %s", bad.Line, bad.Msg)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return Refuse("the file is cut off at line %d", d.Line())
	}
	// An error of the declaration has no type.
	if what, ofXML := strings.CutPrefix(err.Error(), "xml: "); ofXML && !errors.Is(err, ErrRefused) {
		return Refuse("line %d: this is not read as XML: %s", d.Line(), Shorten(what))
	}
	return err
}
