package server

import (
	"net/http"

	"grense/internal/feature"
	"grense/internal/store"
)

// itemsCSV writes the properties as CSV (RFC 4180), points with their coordinates.
func (c *call) itemsCSV(w http.ResponseWriter, p *store.Page) error {
	coll := c.selected()
	enc, err := feature.NewCSV(coll, feature.CSVOptions{})
	if err != nil {
		return err
	}
	want := enc.Want()
	want.Properties = c.output().properties
	out := newSink(c, w)
	out.buf = enc.AppendHeader(out.buf)
	if err := c.eachBatch(out, p.Rows, want, enc.Append); err != nil {
		return err
	}
	return out.finish()
}

// selected is the collection with the properties that are wanted only.
func (c *call) selected() *store.Collection {
	if c.output().properties == nil {
		return c.coll
	}
	coll := *c.coll
	coll.Properties = nil
	for _, name := range c.output().properties {
		if p, ok := c.coll.Find(name); ok {
			coll.Properties = append(coll.Properties, *p)
		}
	}
	return &coll
}
