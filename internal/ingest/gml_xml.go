package ingest

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strings"

	"golang.org/x/text/encoding/charmap"

	"grense/internal/geo/crs"
)

// GMLDecoder reads GML as XML: no piece of more than a bound, and Latin letters besides UTF-8.
type GMLDecoder struct {
	*xml.Decoder
	text    *budget
	memory  memory
	as      crs.ID // what a person says the coordinates are in, or 0
	ordered string // the reference system that was named last, and whether its positions are swapped
	swap    bool
}

// NewGMLDecoder returns a decoder that refuses a piece between two calls of Again of more than most bytes.
func NewGMLDecoder(in io.Reader, most int64) *GMLDecoder {
	d := &GMLDecoder{text: &budget{in: in, most: int(min(max(most, 1<<20), math.MaxInt32))}}
	d.text.again()
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
		return nil, refusal("the encoding %q is not read; save the file as UTF-8", shorten(charset))
	}
	return d
}

// Again begins a new piece.
func (d *GMLDecoder) Again() { d.text.again() }

// Leave reads to the end of the element that has begun.
func (d *GMLDecoder) Leave() error {
	for depth := 1; depth > 0; { // Skip is recursive and has no bound of its own
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

// Line is the line that was read last, from 1.
func (d *GMLDecoder) Line() int { return d.place().line }

func (d *GMLDecoder) place() place {
	line, column := d.InputPos()
	return place{line, column}
}

// Wrong makes a refusal of an error of XML.
func (d *GMLDecoder) Wrong(err error) error {
	if bad, ok := errors.AsType[*xml.SyntaxError](err); ok {
		switch bad.Msg {
		case "unexpected EOF":
			return refusal("the file is cut off at line %d", bad.Line)
		case "invalid UTF-8":
			return refusal("line %d: the text is not UTF-8; save the file as UTF-8", bad.Line)
		}
		return refusal("line %d: this is not well-formed XML: %s", bad.Line, bad.Msg)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return refusal("the file is cut off at line %d", d.Line())
	}
	if what, ofXML := strings.CutPrefix(err.Error(), "xml: "); ofXML && !errors.Is(err, ErrRefused) { // of the declaration, which has no type of error
		return refusal("line %d: this is not read as XML: %s", d.Line(), shorten(what))
	}
	return err
}
