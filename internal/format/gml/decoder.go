package gml

import (
	"io"

	"grense/internal/format/input"
	"grense/internal/geo/crs"
)

// Decoder reads GML.
type Decoder struct {
	*input.XML
	memory  input.Memory
	as      crs.ID // what a person says the coordinates are in, or 0
	ordered string // the reference system that was named last, and whether its positions are swapped
	swap    bool
}

// NewDecoder returns a decoder that refuses a piece between two calls of Again of more than most bytes.
func NewDecoder(in io.Reader, most int64) *Decoder { return &Decoder{XML: input.NewXML(in, most)} }
