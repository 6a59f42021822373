package csv

import (
	"io"

	"grense/internal/feature"
	"grense/internal/format/output"
	"grense/internal/store"
)

// Losses lists what a reader may not get back.
var Losses = []string{
	output.LossShapes,
	output.LossHeights,
	output.LossPrecision,
	"the types of values",
	"null and an empty text are the same",
}

func New(w io.Writer, o output.Options) (output.Writer, error) {
	enc, err := feature.NewCSV(o.Collection, feature.CSVOptions{Properties: o.Properties, SkipGeometry: o.SkipGeometry,
		Excel: o.Excel, Precision: o.Precision})
	if err != nil {
		return nil, err
	}
	return &writer{Buffered: output.Buffered{W: w, Buf: enc.AppendHeader(nil)}, enc: enc}, nil
}

type writer struct {
	output.Buffered
	enc *feature.CSV
}

func (c *writer) Want() store.Want { return c.enc.Want() }

func (c *writer) Write(f *store.Feature) (err error) {
	if c.Buf, err = c.enc.Append(c.Buf, f); err != nil {
		return err
	}
	return c.Flush(output.FlushAt)
}

func (c *writer) Close(abort bool) error {
	return c.End("", abort)
}
