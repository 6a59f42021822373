package server

import (
	"net/http"
	"slices"
	"strings"

	"grense/internal/format"
	"grense/internal/geo/crs"
	"grense/internal/problem"
	"grense/internal/server/files"
	"grense/internal/server/limit"
	"grense/internal/store"
)

// itemsReps are the representations of a page of features: those of its own, and the formats of files.
func (s *Kit) itemsReps() []Format {
	own := []Format{AsGeoJSON, asGeoJSONLD, AsHTML, AsCSV}
	reps := slices.Clone(own)
	for _, r := range s.downloadReps() {
		if !slices.ContainsFunc(own, func(x Format) bool { return x.F == r.F }) {
			reps = append(reps, r)
		}
	}
	return reps
}

// pageFormat is the format of a page of features that is a file; nil for representations of its own.
func (c *Call) pageFormat() *format.Format {
	if c.Format.F == AsGeoJSON.F {
		return nil
	}
	return format.Find(c.Format.F)
}

// fileHeaders are those of features that are a file: its losses and its reference system.
func (c *Call) fileHeaders(h http.Header, f *format.Format) {
	id, name := c.output().crs, c.Collection.ID+f.Ext
	if f.Lon {
		id = crs.CRS84
	}
	h.Set("Content-Crs", "<"+id.URI()+">")
	h.Set("Content-Disposition", `attachment; filename="`+name+`"`)
}

// TellLosses tells what the answer does not give: what its format cannot hold, and a profile that was asked for and is none of it, which is no error (OGC 23-058r2,
// 13, profile-negotiation). Of representations that are no files f is nil.
func (c *Call) TellLosses(h http.Header, f *format.Format) {
	var losses []string
	if f != nil {
		losses = slices.Clip(f.LossesIn(c.fileOptions()))
		if c.output().dialect == "excel" {
			losses = append(losses, "texts that a spreadsheet takes for formulas begin with an apostrophe")
		}
	}
	if p, ok := c.Params.(profiled); ok && c.Format.F != AsGeoJSON.F && *p.ToldProfile() != "" {
		losses = append(losses, "the profile "+*p.ToldProfile()+", which f=json has")
	}
	if len(losses) > 0 {
		h.Set("Format-Losses", strings.Join(losses, "; "))
	}
}

// itemsFile writes the features of a page as a file of their own. What comes before and behind is in the header Link.
func (c *Call) itemsFile(w http.ResponseWriter, p *store.Page, f *format.Format) error {
	out := &begun{ResponseWriter: w}
	err := c.writeItemsFile(out, p, f, c.s.downloads.Temp())
	if files.NoRoom(err) && !out.yes {
		err = c.writeItemsFile(out, p, f, "")
	}
	if files.NoRoom(err) && !out.yes {
		return problem.New(problem.Unavailable, err, "There is no room for the file now. Try again later, ask for fewer features, or take a format that needs none, as f=json or f=csv.")
	}
	return err
}

func (c *Call) writeItemsFile(w http.ResponseWriter, p *store.Page, f *format.Format, temp string) error {
	out := newSink(c, w)
	out.gzip = out.gzip && textual(f)
	to := &sinkWriter{sink: out}
	o := c.fileOptions()
	o.Temp, o.Count = temp, len(p.Rows)
	x, err := f.Open(to, o)
	if err != nil {
		return err
	}
	err = c.eachBatch(out, p.Rows, x.Want(), func(_ []byte, feature *store.Feature) ([]byte, error) {
		err := x.Write(feature)
		return out.buf, err
	})
	if err == nil && len(p.Rows) >= limit.ManyFeatures && !f.Streams { // all the work is still to be done
		err = c.writing()
	}
	to.direct = true
	if closed := x.Close(err != nil); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	return out.finish()
}

// sinkWriter gathers what a format writes; once direct is set, when no question to the store is open, what is enough goes out.
type sinkWriter struct {
	*sink
	direct bool
}

func (s *sinkWriter) Write(b []byte) (int, error) {
	s.buf = append(s.buf, b...)
	if !s.direct {
		return len(b), nil
	}
	return len(b), s.spill()
}

// selected is the collection with the properties that are wanted only.
func (c *Call) selected() *store.Collection {
	if c.output().Properties == nil {
		return c.Collection
	}
	coll := *c.Collection
	coll.Properties = nil
	for _, name := range c.output().Properties {
		if p, ok := c.Collection.Find(name); ok {
			coll.Properties = append(coll.Properties, *p)
		}
	}
	return &coll
}
