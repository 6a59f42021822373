package processes

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"
	"unicode/utf16"

	"grense/internal/enrich"
	"grense/internal/problem"
	"grense/internal/server"
	"grense/internal/server/media"
	"grense/internal/server/page"
)

// maxField bounds the size of a form field other than the table, in bytes.
const maxField = 1 << 10

// tableStream is a table from a client and the response to it. Each read and write extends its deadline.
type tableStream struct {
	c      *call
	w      http.ResponseWriter
	rc     *http.ResponseController
	body   io.Reader
	lines  bool   // one JSON object on each line; else CSV
	form   bool   // the table is the last field of a form
	file   string // name of the file in the form
	report string // name of the trailer with the counts (RFC 9110, 6.5)
	begun  bool
	few    bool // the last read returned less than interactive
}

// openTable opens the table of a request: the body, or the last field of a form, whose other fields are parameters.
func (c *call) openTable(w http.ResponseWriter, report string) (*tableStream, error) {
	t := &tableStream{c: c, w: w, rc: http.NewResponseController(w), body: c.Request.Body, report: report}
	sent, _, err := mime.ParseMediaType(c.Request.Header.Get("Content-Type"))
	if sent == "multipart/form-data" {
		return t, t.openForm()
	}
	t.lines = slices.Contains([]string{media.Lines.Media, "application/jsonl", "application/x-jsonlines"}, sent)
	if err != nil || !t.lines && sent != media.CSV.Media {
		return nil, problem.New(problem.MediaType, err,
			"send the table with Content-Type text/csv or application/x-ndjson")
	}
	if e := c.Request.Header.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
		return nil, problem.New(problem.MediaType, nil, "send the table without Content-Encoding")
	}
	return t, nil
}

// openForm parses the fields before the table.
func (t *tableStream) openForm() error {
	if err := server.CheckOrigin(t.c.Request, t.c.Root); err != nil {
		return err
	}
	parts, err := t.c.Request.MultipartReader()
	if err != nil {
		return problem.New(problem.MediaType, err, "send the form as multipart/form-data")
	}
	table, err := t.c.readTableFields(parts)
	if err != nil {
		return err
	}
	in := bufio.NewReader(table)
	head, _ := in.Peek(64) // the next read returns the error
	t.body, t.form, t.lines, t.file = in, true, enrich.IsLines(head), table.FileName()
	return nil
}

// media returns the media type of the response, which is that of the table.
func (t *tableStream) media() string {
	if t.lines {
		return media.Lines.ContentType()
	}
	return media.CSV.ContentType()
}

// fileName returns the name of the response as a file: that of the uploaded file with done added, such as
// people-enriched.csv.
func (t *tableStream) fileName(done string) string {
	end := ".csv"
	if t.lines {
		end = ".jsonl"
	}
	name := path.Base(strings.ReplaceAll(t.file, "\\", "/"))
	if name == "." || name == "/" {
		return "table" + end
	}
	return strings.TrimSuffix(name, path.Ext(name)) + "-" + done + end
}

// interactive is the number of bytes below which a read means that the client may be waiting for the response so far.
const interactive = 2 << 10

// Read reads from the client.
func (t *tableStream) Read(b []byte) (n int, err error) {
	if d := t.c.s.Config.Limits.ReadTimeout; d > 0 {
		t.rc.SetReadDeadline(time.Now().Add(d)) // not every ResponseWriter supports deadlines
	}
	n, err = t.body.Read(b)
	t.few = n < interactive && err == nil
	return n, endsEarly(err)
}

// endsEarly converts the error of a broken connection for the client. It returns io.EOF unchanged.
func endsEarly(err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		return err
	}
	return problem.New(problem.Invalid, err, "the table ends before it is whole; send it again")
}

// Write writes to the client, and flushes if the client may be waiting for it.
func (t *tableStream) Write(b []byte) (int, error) {
	t.begin()
	n, err := t.w.Write(b)
	if err == nil && t.few {
		if err = t.rc.Flush(); errors.Is(err, http.ErrNotSupported) {
			err = nil
		}
	}
	return n, err
}

// begin writes the header of the response.
func (t *tableStream) begin() {
	if t.begun {
		return
	}
	t.begun = true
	h := t.w.Header()
	h.Set("Content-Type", t.media())
	h.Set("Cache-Control", "no-store")
	h.Set("Trailer", t.report)
	t.c.s.WriteRates(t.w, t.c.Owner())
	t.w.WriteHeader(http.StatusOK)
}

// finish sets the trailer to the report as ASCII JSON.
func (t *tableStream) finish(report any) error {
	b, err := json.Marshal(report)
	t.begin()
	var field []byte
	for _, r := range string(b) {
		if r < 0x80 {
			field = append(field, byte(r))
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			field = fmt.Appendf(field, "\\u%04x", unit)
		}
	}
	t.w.Header().Set(t.report, string(field))
	return err
}

// readTableFields parses the fields before the table as parameters. It skips empty ones.
func (c *call) readTableFields(parts *multipart.Reader) (table *multipart.Part, err error) {
	var faults []problem.Fault
	c.Form, c.Request.PostForm = true, url.Values{}
	for {
		part, err := parts.NextPart()
		switch {
		case errors.Is(err, io.EOF):
			return nil, problem.Invalidf("table", "", "choose a file; it is the last field of the form")
		case err != nil:
			return nil, problem.New(problem.Invalid, err, "the form ends before it is whole; send it again")
		case part.FormName() == "table" && len(faults) > 0:
			problem.SortFaults(faults)
			return nil, &problem.Error{Kind: problem.Invalid, Faults: faults}
		case part.FormName() == "table":
			return part, nil
		}
		b, err := io.ReadAll(io.LimitReader(part, maxField+1))
		if err != nil {
			return nil, endsEarly(err)
		}
		name, value := part.FormName(), strings.TrimSpace(string(b))
		p := c.Route.ParamNamed(c.Collection, name)
		if p != nil && len(b) <= maxField {
			c.Request.PostForm.Set(name, value)
		}
		switch {
		case p == nil || p.Parse == nil:
			err = problem.Invalidf(name, problem.Clip(value), "there is no such field; %s",
				c.Route.ParameterNames(c.Collection))
		case len(b) > maxField:
			err = problem.Invalidf(name, problem.Clip(value), "use at most %d bytes", maxField)
		case value != "":
			err = p.Parse(c.Call, c.Params, []string{value})
		}
		if err != nil {
			faults = append(faults, problem.Of(err).Faults...)
		}
	}
}

// uploads maps processes to the routes that do the same for a file.
var uploads = map[string]string{"enrich-table": "/enrich", "harmonise-series": "/harmonise"}

// tableForm returns the form for a file with the values and errors of the request; nil if the request is no form. The
// user has to choose the file again, since browsers do not fill in files.
func (s *Surface) tableForm(c *call, f page.Faulty) (*page.Page, error) {
	if !c.Form {
		return nil, nil
	}
	for id, path := range uploads {
		p, ok := s.processList.Find(id)
		if !ok || path != c.Route.Path {
			continue
		}
		d := c.describeProcess(p)
		v := c.processPage(d)
		v.Faulty = f
		for i := range v.Fields {
			in := &v.Fields[i]
			in.send(c.Request.PostForm.Get(in.ID))
			for j := range v.Faults {
				if at := &v.Faults[j]; at.Name == in.ID {
					at.Target, at.Title, in.SentFault = "up-"+in.ID, in.Title, at
				}
			}
		}
		return &page.Page{Name: "process", Title: d.Title, Crumbs: c.Crumbs("processes"), Data: &v,
			Path: "/processes/" + d.ID}, nil
	}
	return nil, nil
}

// boundedWriter fails after a number of bytes.
type boundedWriter struct {
	io.Writer
	left int64
}

func (b *boundedWriter) Write(p []byte) (int, error) {
	if b.left -= int64(len(p)); b.left < 0 {
		return 0, problem.New(problem.TooLarge, nil,
			"The table is too large for the form. Send it to /enrich as a stream, or run grense enrich.")
	}
	return b.Writer.Write(p)
}
