package processes

import (
	"bytes"
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"grense/api/ogcapi"
	"grense/internal/problem"
	"grense/internal/process"
	"grense/internal/server/files"
	"grense/internal/server/limit"
	"grense/internal/server/wire"
	"grense/internal/store"
)

// maxExecute bounds the body of an execution, in bytes. Larger inputs must be references.
const maxExecute = 4 << 20

// execution is an execution of a process, for a waiting client or as a job.
type execution struct {
	s    *Surface
	p    process.Process
	desc ogcapi.Process
	req  *process.Request

	mount, root string // of the links in outputs
	lang        string
	owner       string // owner of its slots
	keyID       string // of the request; "" if it has none
	held        []store.Snapshot
	begun       bool // it is a job: its queries are never refused
	progress    func(percent int, message string)
}

// execute runs a process (OGC 18-062r2, 7.11).
func (s *Surface) execute(c *call, w http.ResponseWriter) error {
	if err := c.Resolve(); err != nil {
		return err
	}
	p, err := c.findProcess()
	if err != nil {
		return err
	}
	if err := c.Pay(false); err != nil {
		return err
	}
	d := c.describeProcess(p)
	body, err := c.readExecution(d)
	if err != nil {
		return err
	}
	req, err := process.Read(body, p, d)
	if err != nil {
		return err
	}
	job := slices.Contains(d.JobControlOptions, process.Async) &&
		(c.prefersAsync() || !slices.Contains(d.JobControlOptions, process.Sync))
	if err := c.checkSubscriber(req.Subscriber, job); err != nil {
		return err
	}
	x := &execution{s: s, p: p, desc: d, req: req, mount: c.Mount, root: c.Root, lang: c.Lang, owner: c.Owner(),
		keyID: c.KeyID, progress: func(int, string) {}}
	if job {
		return s.submit(c, w, x, body)
	}
	if len(req.Reference) > 0 {
		return s.executeAsJob(c, w, x, body)
	}
	return s.executeNow(c, w, x)
}

// prefersAsync reports whether the client prefers a job (RFC 7240, 4.1; OGC 18-062r2, 7.11.2.2).
func (c *call) prefersAsync() bool {
	if c.Form {
		return c.Request.PostForm.Get("run") == "job"
	}
	for _, v := range c.Request.Header.Values("Prefer") {
		for p := range strings.SplitSeq(v, ",") {
			name, _, _ := strings.Cut(p, ";")
			if strings.EqualFold(strings.TrimSpace(name), "respond-async") {
				return true
			}
		}
	}
	return false
}

// executeNow runs a process while the client waits (OGC 18-062r2, 7.11.2.2).
func (s *Surface) executeNow(c *call, w http.ResponseWriter, x *execution) error {
	ticket := s.Turns.NewTicket(x.owner, false)
	ticket.Times = limit.TimesOf(c.Request.Context())
	if err := s.Turns.Enter(c.Request.Context(), limit.CostExecuting, ticket); err != nil {
		return err
	}
	leave := func() { s.Turns.Leave(limit.CostExecuting, ticket) }
	shelf := &tempShelf{dir: s.TempDir()}
	defer shelf.close()
	results, err := func() ([]result, error) {
		defer leave() // the slot is free while the client reads
		ctx, cancel := context.WithTimeout(c.Request.Context(), syncTime)
		defer cancel()
		return x.run(ctx, shelf)
	}()
	if err != nil {
		return err
	}
	if len(c.Request.Header.Values("Prefer")) > 0 {
		w.Header().Set("Preference-Applied", "wait")
	}
	x.req.Document = x.req.Document || c.Form && len(results) > 1
	s.WriteRates(w, c.Owner())
	return c.sendResults(w, results, x.req)
}

// executeAsJob runs a process as a job while the client waits, since outputs by reference belong to a job (OGC
// 18-062r2, 7.11.2.2). If the client disconnects, the job is dismissed.
func (s *Surface) executeAsJob(c *call, w http.ResponseWriter, x *execution, body []byte) error {
	j, err := s.makeJob(c, x, body)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(c.Request.Context(), syncTime)
	defer cancel()
	for wait := 10 * time.Millisecond; !j.Done(); wait = min(2*wait, jobBeat) {
		select {
		case <-ctx.Done():
			keep, done := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
			defer done()
			return errors.Join(ctx.Err(), s.dismissJob(keep, &j))
		case <-time.After(wait):
		}
		if j, err = s.jobs.store.Job(ctx, j.ID); err != nil && ctx.Err() == nil {
			return err
		}
	}
	list, err := c.jobOutputs(&j, x.req)
	if f, ok := errors.AsType[*failedJob](err); ok {
		return c.writeFailure(w, f)
	}
	if err != nil {
		return err
	}
	if len(c.Request.Header.Values("Prefer")) > 0 {
		w.Header().Set("Preference-Applied", "wait")
	}
	s.WriteRates(w, c.Owner())
	return c.sendResults(w, list, x.req)
}

// syncTime bounds an execution for a waiting client.
const syncTime = 10 * time.Minute

// readExecution reads the body of an execution request.
func (c *call) readExecution(d ogcapi.Process) ([]byte, error) {
	media, params, err := mime.ParseMediaType(c.Request.Header.Get("Content-Type"))
	if media == "application/x-www-form-urlencoded" {
		return c.readProcessForm(d)
	}
	if charset := strings.ToLower(params["charset"]); err != nil || media != "application/json" || charset != "" &&
		charset != "utf-8" {
		return nil, problem.New(problem.MediaType, err, "send the inputs as JSON, with Content-Type application/json")
	}
	if e := c.Request.Header.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
		return nil, problem.New(problem.MediaType, nil, "send the inputs without Content-Encoding")
	}
	if err := c.s.Flight.Admit(maxExecute); err != nil {
		return nil, err
	}
	body, err := io.ReadAll(http.MaxBytesReader(nil, c.Request.Body, maxExecute))
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return nil, problem.New(problem.TooLarge, err,
			"the body of an execution has at most %d bytes; send large inputs by reference", maxExecute)
	}
	if err != nil {
		return nil, problem.New(problem.Invalid, err, "the body ends before it is whole; send it again")
	}
	c.Hold(8 * len(body)) // memory of the decoded JSON
	return body, nil
}

// run executes the process and stores the requested outputs, in the order of the description.
func (x *execution) run(ctx context.Context, to shelf) ([]result, error) {
	env := x.env()
	env.Snapshot = func(ctx context.Context) (store.Snapshot, error) {
		snap, err := x.s.SnapshotFor(ctx, x.owner, x.begun)
		if err == nil {
			x.held = append(x.held, snap)
		}
		return snap, err
	}
	defer func() {
		for _, snap := range x.held {
			snap.Close()
		}
	}()
	if err := x.req.Resolve(ctx, env, x.desc); err != nil {
		return nil, err
	}
	ticket := x.ticket()
	outputs, err := x.p.Execute(ticket.With(ctx), env, x.req.Inputs)
	if err != nil {
		return nil, err
	}
	var results []result
	for _, spec := range x.desc.Outputs {
		id := spec.ID
		out, ok := outputs[id]
		if !ok || !slices.Contains(x.req.Outputs, id) {
			continue
		}
		r := result{id: id, media: out.Media, name: out.Name, losses: strings.Join(out.Losses, "; "),
			reference: x.req.Reference[id]}
		if r.media == "" {
			r.media = "application/json"
		}
		r.box = isBox(spec.Schema)
		write := func(ctx context.Context, w io.Writer) error { return out.Write(ctx, w) }
		if out.Write == nil {
			b, err := wire.Marshal(out.Value)
			if err != nil {
				return nil, err
			}
			r.json, r.object = true, len(b) > 0 && b[0] == '{'
			write = func(_ context.Context, w io.Writer) error { _, err := w.Write(b); return err }
		}
		if r, err = to.put(r, func(w io.Writer) error { return write(ctx, endingWriter{ctx, w}) }); err != nil {
			return nil, err
		}
		results = append(results, r)
	}
	return results, ctx.Err()
}

// endingWriter fails after its context ends, which stops processes that do not check the context.
type endingWriter struct {
	ctx context.Context
	io.Writer
}

func (w endingWriter) Write(b []byte) (int, error) {
	if err := w.ctx.Err(); err != nil {
		return 0, err
	}
	return w.Writer.Write(b)
}

// isBox reports whether a schema is that of a bounding box. Boxes are the only objects that result documents contain
// without a qualified value (OGC 18-062r2, 7.11.2.3).
func isBox(schema any) bool {
	m, _ := schema.(map[string]any)
	return m["format"] == "ogc-bbox"
}

// env returns the environment of the process.
func (x *execution) env() *process.Env {
	return &process.Env{Catalog: x.s.Store.Catalog(), Store: x.s.Store, GeoPackage: x.s.NewGeoPackage,
		Temp: x.s.TempDir(), Base: x.root + x.mount, Lang: x.lang, Now: time.Now().In(x.s.ZoneOf(x.s.Store.Catalog())),
		Open: x.open, History: x.history, Lookup: x.lookup, Divisions: x.divisions, Neighbours: x.neighbours,
		Waiting: !x.begun, Progress: x.progress}
}

// shelf stores outputs until they are sent.
type shelf interface {
	// put stores what write writes.
	put(r result, write func(io.Writer) error) (result, error)
}

// result is an output of an execution.
type result struct {
	id, media, name, losses string
	json                    bool // a value, encoded as JSON
	object                  bool // the value is an object
	box                     bool
	href, etag              string // of a stored output
	reference               bool   // requested by reference
	size                    int64
	data                    *io.SectionReader
}

// tempShelf stores values in memory and files in temporary files, until it is closed.
type tempShelf struct {
	dir   string // "": the default of the system
	files []*os.File
}

func (t *tempShelf) close() {
	for _, f := range t.files {
		f.Close()
	}
}

func (t *tempShelf) put(r result, write func(io.Writer) error) (result, error) {
	if r.json {
		var b bytes.Buffer
		err := write(&b)
		r.size = int64(b.Len())
		r.data = io.NewSectionReader(bytes.NewReader(b.Bytes()), 0, r.size)
		return r, err
	}
	f, err := os.CreateTemp(t.dir, "output-*")
	if err != nil {
		return r, diskFullError(err)
	}
	os.Remove(f.Name()) // the open file stays readable
	t.files = append(t.files, f)
	if err := write(f); err != nil {
		return r, diskFullError(err)
	}
	if r.size, err = f.Seek(0, io.SeekCurrent); err != nil {
		return r, err
	}
	r.data = io.NewSectionReader(f, 0, r.size)
	return r, nil
}

// diskFullError converts an error of a full disk for the client. It returns other errors unchanged.
func diskFullError(err error) error {
	if !files.NoRoom(err) {
		return err
	}
	return problem.New(problem.Unavailable, err, "There is no room for this now. Try again later, or ask for less.")
}
