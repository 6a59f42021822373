package format

import (
	"io"

	"grense/internal/feature"
	"grense/internal/store"
)

var csvText = &Format{Name: "csv", Media: "text/csv", Charset: true, Ext: ".csv", Title: "CSV (RFC 4180)", Streams: true, Lon: true,
	Losses: []string{"geometries other than points", "the types of values"},
	open: func(w io.Writer, o Options) (Writer, error) {
		enc, err := feature.NewCSV(o.Collection, feature.CSVOptions{Properties: o.Properties, SkipGeometry: o.SkipGeometry, Excel: o.Excel})
		if err != nil {
			return nil, err
		}
		return &csvWriter{w: w, enc: enc, buf: enc.AppendHeader(nil)}, nil
	}}

type csvWriter struct {
	w   io.Writer
	enc *feature.CSV
	buf []byte
}

func (c *csvWriter) Want() store.Want { return c.enc.Want() }

func (c *csvWriter) Write(f *store.Feature) (err error) {
	if c.buf, err = c.enc.Append(c.buf, f); err != nil || len(c.buf) < flushAt {
		return err
	}
	return c.flush()
}

func (c *csvWriter) flush() error {
	_, err := c.w.Write(c.buf)
	c.buf = c.buf[:0]
	return err
}

func (c *csvWriter) Close(abort bool) error {
	if abort {
		return nil
	}
	return c.flush()
}
