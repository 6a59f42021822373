package server

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"path"
	"strings"

	"grense/internal/enrich"
	"grense/internal/problem"
)

// maxField bounds a field of the form beside the table, in bytes.
const maxField = 1 << 10

// enrichForm answers the form for a file on the page of enrich-table: the fields are the parameters, the table is the last one. Browsers read no answer before they have sent
// everything, so that the answer waits in a file until then.
func (c *call) enrichForm(w http.ResponseWriter) error {
	if err := c.checkOrigin(); err != nil {
		return err
	}
	parts, err := c.r.MultipartReader()
	if err != nil {
		return problem.New(problem.MediaType, err, "send the form as multipart/form-data")
	}
	table, err := c.readEnrichFields(parts)
	if err != nil {
		return err
	}
	find, err := c.newDivider(c.params.(*enrichParams))
	if err != nil {
		return err
	}
	in := bufio.NewReader(table)
	head, _ := in.Peek(64) // what is wrong is told by the next read
	e := &enriching{c: c, w: w, rc: http.NewResponseController(w), find: find, table: enrich.NewCSV(find, c.params.(*enrichParams).columns), body: in}
	r := result{id: "table", media: asCSV.Media, name: "table.csv"}
	if bytes.HasPrefix(bytes.TrimLeft(head, "\ufeff \t\r\n"), []byte("{")) {
		e.table, r.media, r.name = enrich.NewLines(find, c.params.(*enrichParams).columns), asLines.Media, "table.jsonl"
	}
	if name := path.Base(strings.ReplaceAll(table.FileName(), "\\", "/")); name != "." && name != "/" {
		r.name = strings.TrimSuffix(name, path.Ext(name)) + "-enriched" + path.Ext(r.name)
	}
	shelf := &tempShelf{dir: c.s.downloads.temp()}
	defer shelf.close()
	if r, err = shelf.put(r, func(w io.Writer) error {
		return e.through(&boundedWriter{Writer: w, left: int64(c.s.cfg.Processes.JobBytes)})
	}); err != nil {
		return err
	}
	report, err := json.Marshal(e.table.Report)
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set(enrichReport, string(report))
	c.s.turns.rates.headers(w, c.owner())
	return c.sendResult(w, r)
}

// readEnrichFields takes the fields before the table as parameters. Those that are empty were not filled in.
func (c *call) readEnrichFields(parts *multipart.Reader) (table *multipart.Part, err error) {
	var faults []problem.Fault
	c.form, c.r.PostForm = true, url.Values{}
	for {
		part, err := parts.NextPart()
		switch {
		case errors.Is(err, io.EOF):
			return nil, problem.Invalidf("table", "", "choose a file; it is the last field of the form")
		case err != nil:
			return nil, problem.New(problem.Invalid, err, "the form ends before it is whole; send it again")
		case part.FormName() == "table" && len(faults) > 0:
			sortFaults(faults)
			return nil, &problem.Error{Kind: problem.Invalid, Faults: faults}
		case part.FormName() == "table":
			return part, nil
		}
		b, err := io.ReadAll(io.LimitReader(part, maxField+1))
		if err != nil {
			return nil, endsEarly(err)
		}
		name, value := part.FormName(), strings.TrimSpace(string(b))
		p := c.paramNamed(c.rt, name)
		if p != nil && len(b) <= maxField {
			c.r.PostForm.Set(name, value)
		}
		switch {
		case p == nil || p.parse == nil:
			err = problem.Invalidf(name, clip(value), "there is no such field; %s", c.parameterNames(c.rt))
		case len(b) > maxField:
			err = problem.Invalidf(name, clip(value), "use at most %d bytes", maxField)
		case value != "":
			err = p.parse(c, c.params, []string{value})
		}
		if err != nil {
			faults = append(faults, problem.Of(err).Faults...)
		}
	}
}

// enrichAgain is the page of the form for a file with what was typed; nil where the table came without one. Browsers fill in no files, so that the file is chosen anew.
func (s *Server) enrichAgain(c *call, f faulty) (*page, error) {
	if !c.form {
		return nil, nil
	}
	p, ok := s.processList.Find("enrich-table")
	if !ok {
		return nil, nil
	}
	d := c.describeProcess(p)
	v := c.processPage(d)
	v.faulty = f
	for i := range v.Fields {
		in := &v.Fields[i]
		in.Sent = c.r.PostForm.Get(in.ID)
		for j := range v.Faults {
			if at := &v.Faults[j]; at.Name == in.ID {
				at.Target, at.Title, in.SentFault = "up-"+in.ID, in.Title, at
			}
		}
	}
	return &page{Name: "process", Title: d.Title, Crumbs: c.crumbs("processes"), Data: &v, Path: "/processes/" + d.ID}, nil
}

// boundedWriter takes so many bytes.
type boundedWriter struct {
	io.Writer
	left int64
}

func (b *boundedWriter) Write(p []byte) (int, error) {
	if b.left -= int64(len(p)); b.left < 0 {
		return 0, problem.New(problem.TooLarge, nil, "The table is too large for the form. Send it to /enrich as a stream, or run grense enrich.")
	}
	return b.Writer.Write(p)
}
