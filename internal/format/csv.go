package format

import (
	"io"

	"grense/internal/feature"
	"grense/internal/store"
)

var csvText = &Format{Name: "csv", Media: "text/csv", Charset: true, Ext: ".csv", Title: "CSV (RFC 4180)", Streams: true, Lon: true,
	Precise: true,
	Losses:  []string{lossShapes, lossHeights, lossPrecision, "the types of values", "null and an empty text are the same"},
	open: func(w io.Writer, o Options) (Writer, error) {
		enc, err := feature.NewCSV(o.Collection, feature.CSVOptions{Properties: o.Properties, SkipGeometry: o.SkipGeometry, Excel: o.Excel, Precision: o.Precision})
		if err != nil {
			return nil, err
		}
		return &csvWriter{buffered: buffered{w: w, buf: enc.AppendHeader(nil)}, enc: enc}, nil
	}}

type csvWriter struct {
	buffered
	enc *feature.CSV
}

func (c *csvWriter) Want() store.Want { return c.enc.Want() }

func (c *csvWriter) Write(f *store.Feature) (err error) {
	if c.buf, err = c.enc.Append(c.buf, f); err != nil {
		return err
	}
	return c.flush(flushAt)
}

func (c *csvWriter) Close(abort bool) error {
	return c.end("", abort)
}
