package features

import (
	"net/http"
	"slices"

	"grense/internal/format"
	"grense/internal/geo/crs"
	"grense/internal/problem"
	"grense/internal/server"
	"grense/internal/server/files"
	"grense/internal/server/limit"
	"grense/internal/server/media"
	"grense/internal/store"
)

// itemsReps returns the representations of a page of features: its own and the file formats.
func (s *surface) itemsReps() []media.Format {
	own := []media.Format{media.GeoJSON, media.GeoJSONLD, media.HTML, media.CSV}
	reps := slices.Clone(own)
	for _, r := range s.downloadReps() {
		if !slices.ContainsFunc(own, func(x media.Format) bool { return x.F == r.F }) {
			reps = append(reps, r)
		}
	}
	return reps
}

// pageFormat returns the file format of a page of features; nil for its own representations.
func (c *call) pageFormat() *format.Format {
	if c.Format.F == media.GeoJSON.F {
		return nil
	}
	return format.Find(c.Format.F)
}

// fileHeaders sets the header fields of features in a file: their losses and their coordinate system.
func (c *call) fileHeaders(h http.Header, f *format.Format) {
	id, name := c.Output().Crs, c.Collection.ID+f.Ext
	if f.Lon {
		id = crs.CRS84
	}
	h.Set("Content-Crs", "<"+id.URI()+">")
	h.Set("Content-Disposition", `attachment; filename="`+name+`"`)
}

// itemsFile writes the features of a page as one file. The links to other pages are in the header Link.
func (c *call) itemsFile(w http.ResponseWriter, p *store.Page, f *format.Format) error {
	out := &begun{ResponseWriter: w}
	err := c.writeItemsFile(out, p, f, c.s.Files.Temp())
	if files.NoRoom(err) && !out.yes {
		err = c.writeItemsFile(out, p, f, "")
	}
	if files.NoRoom(err) && !out.yes {
		return problem.New(problem.Unavailable, err,
			"There is no room for the file now. Try again later, ask for fewer features, or take a format that "+
				"needs none, as f=json or f=csv.")
	}
	return err
}

func (c *call) writeItemsFile(w http.ResponseWriter, p *store.Page, f *format.Format, temp string) error {
	out := server.NewSink(c.Call, w)
	out.Gzip = out.Gzip && textual(f)
	to := &sinkWriter{Sink: out}
	o := c.fileOptions()
	o.Temp, o.Count = temp, len(p.Rows)
	x, err := f.Open(to, o)
	if err != nil {
		return err
	}
	err = c.eachBatch(out, p.Rows, x.Want(), func(_ []byte, feature *store.Feature) ([]byte, error) {
		err := x.Write(feature)
		return out.Buf, err
	})
	if err == nil && len(p.Rows) >= limit.ManyFeatures && !f.Streams { // nothing is written yet
		err = c.Writing(c.Request.Context())
	}
	to.direct = true
	if closed := x.Close(err != nil); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	return out.Finish()
}

// sinkWriter buffers the output of a format. If direct is set, while no query is open, it flushes the buffer when it
// is long enough.
type sinkWriter struct {
	*server.Sink
	direct bool
}

func (s *sinkWriter) Write(b []byte) (int, error) {
	s.Buf = append(s.Buf, b...)
	if !s.direct {
		return len(b), nil
	}
	return len(b), s.Spill()
}

// selected returns the collection with the requested properties only.
func (c *call) selected() *store.Collection {
	if c.Output().Properties == nil {
		return c.Collection
	}
	coll := *c.Collection
	coll.Properties = nil
	for _, name := range c.Output().Properties {
		if p, ok := c.Collection.Find(name); ok {
			coll.Properties = append(coll.Properties, *p)
		}
	}
	return &coll
}
