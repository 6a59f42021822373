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
	as      crs.ID // the reference system that the user states, or 0
	ordered string // the reference system that was named last, and whether its positions are swapped
	swap    bool
}

// NewDecoder returns a decoder that refuses more than most bytes between two calls of Again.
func NewDecoder(in io.Reader, most int64) *Decoder { return &Decoder{XML: input.NewXML(in, most)} }
