package processes

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"grense/api/ogcapi"
	"grense/internal/apikey"
	"grense/internal/problem"
	"grense/internal/process"
	"grense/internal/server"
	"grense/internal/server/files"
	"grense/internal/server/limit"
	"grense/internal/server/links"
	"grense/internal/server/page"
	"grense/internal/server/problems"
	"grense/internal/server/wire"
	"grense/internal/state"
	"grense/internal/store"
	"grense/internal/trace"
)

// Timing of jobs.
const (
	jobBeat      = 250 * time.Millisecond // between two checks whether a running job was dismissed
	jobHeartbeat = 1 * time.Second        // between two heartbeats of a running job
	jobStale     = 6 * time.Second        // without a heartbeat, after which another worker takes the job
	jobAttempts  = 3                      // a job that was interrupted so often fails
)

// jobs runs executions in the background.
type jobs struct {
	store     state.Jobs // nil: the server has no jobs
	worker    string     // id of this process
	wake      chan struct{}
	mu        sync.Mutex
	running   map[string]context.CancelFunc
	warned    map[string]string // the last logged error, by message
	callbacks sync.WaitGroup    // callbacks in flight
	ended     chan struct{}     // a job with a subscriber has finished
}

func newJobs(db state.Jobs) *jobs {
	return &jobs{store: db, worker: server.NewID(), wake: make(chan struct{}, 1), ended: make(chan struct{}, 1),
		running: map[string]context.CancelFunc{}, warned: map[string]string{}}
}

// jobRequest is the stored request of a job, from which any process can run it.
type jobRequest struct {
	Body                     json.RawMessage
	Root, Mount, Lang, Share string
	KeyID                    string
	RequestID, Trace         string // of the request that made the job; for its callbacks
}

// submit stores an execution as a job and writes its state (OGC 18-062r2, 7.11.3).
func (s *Surface) submit(c *call, w http.ResponseWriter, x *execution, body []byte) error {
	j, err := s.makeJob(c, x, body)
	if err != nil {
		return err
	}
	h := w.Header()
	s.WriteRates(w, c.Owner())
	h.Set("Location", c.Base()+"/jobs/"+j.ID)
	if c.Form {
		w.Header().Set("Cache-Control", "no-store")
		h.Set("Location", page.LocalPath(c.Base()+"/jobs/"+j.ID)+"?lang="+c.Lang)
		w.WriteHeader(http.StatusSeeOther)
		return nil
	}
	h.Set("Preference-Applied", "respond-async")
	return c.writeStatus(w, http.StatusCreated, &j)
}

// makeJob stores an execution as a job that waits for a worker. It fails if the caller has too many unfinished jobs.
func (s *Surface) makeJob(c *call, x *execution, body []byte) (j state.Job, err error) {
	ctx := c.Request.Context()
	list, err := s.jobs.store.JobList(ctx)
	if err != nil {
		return j, err
	}
	waiting := 0
	for i := range list {
		if !list[i].Done() && list[i].Owner == c.jobOwner() {
			waiting++
		}
	}
	if waiting >= s.Config.Processes.Waiting {
		return j, problem.New(problem.Busy, nil,
			"There are %d jobs of yours that have not finished. Wait for some, or dismiss them.", waiting)
	}
	if len(list) >= s.Config.Processes.Jobs {
		i := spare(list)
		if i < 0 {
			return j, problem.New(problem.Busy, nil, "There are %d jobs that have not finished. Try again later.",
				len(list))
		}
		if err := s.jobs.store.DropJob(ctx, list[i].ID); err != nil {
			return j, err
		}
	}
	request, err := json.Marshal(jobRequest{Body: body, Root: x.root, Mount: x.mount, Lang: x.lang, Share: x.owner,
		KeyID: x.keyID, RequestID: c.ID, Trace: c.Trace})
	if err != nil {
		return j, err
	}
	how, err := json.Marshal(jobHow{x.req.Document, slices.Collect(maps.Keys(x.req.Reference))})
	if err != nil {
		return j, err
	}
	now := time.Now().UTC()
	j = state.Job{How: how, ID: newJobID(), Process: x.p.ID(), Owner: c.jobOwner(), Status: state.JobAccepted,
		Created: now, Updated: now, Request: request}
	if err := s.jobs.store.PutJob(ctx, j); err != nil {
		return j, diskFullError(err)
	}
	s.jobs.awake()
	return j, nil
}

// spare returns the index of a finished job to delete: the oldest one of the owner with the most. list begins with the
// newest. It returns -1 if no job has finished.
func spare(list []state.Job) int {
	by := map[string]int{}
	for i := range list {
		if list[i].Done() {
			by[list[i].Owner]++
		}
	}
	found := -1
	for i := range list {
		if j := &list[i]; j.Done() && (found < 0 || by[j.Owner] >= by[list[found].Owner]) {
			found = i
		}
	}
	return found
}

// jobHow is the requested form of a job's outputs.
type jobHow struct {
	Document   bool
	References []string
}

// newJobID returns a random id that cannot be guessed.
func newJobID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails (crypto/rand)
	return hex.EncodeToString(b[:])
}

// jobOwner returns the owner of the jobs that a caller sees: its key; "" if the service needs no keys.
func (c *call) jobOwner() string {
	if c.s.Config.Auth == "open" {
		return ""
	}
	return c.KeyID
}

// warn logs an error unless it equals the last one with the same message. A nil error resets that.
func (k *jobs) warn(log *slog.Logger, message string, err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	k.mu.Lock()
	last := k.warned[message]
	k.warned[message] = text
	k.mu.Unlock()
	if text != "" && text != last {
		log.Warn(message, "err", err)
	}
}

func (k *jobs) awake() { awaken(k.wake) }

func awaken(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default: // it is awake already
	}
}

// waitFor waits for a signal, at most a second, since other processes also create work.
func waitFor(ctx context.Context, signal <-chan struct{}) {
	select {
	case <-ctx.Done():
	case <-signal:
	case <-time.After(time.Second):
	}
}

// RunJobs runs jobs until ctx ends, and then returns unfinished ones to the queue. It returns at once if the server has
// no jobs.
func (s *Surface) RunJobs(ctx context.Context) {
	if s.jobs.store == nil {
		return
	}
	var done sync.WaitGroup
	for range s.Config.Processes.Workers {
		done.Go(func() { s.workOnJobs(ctx) })
	}
	done.Go(func() { s.tidyJobs(ctx) })
	if s.Config.Processes.Callbacks {
		done.Go(func() { s.sendCallbacks(ctx) })
	}
	done.Wait()
	s.jobs.callbacks.Wait()
}

// workOnJobs runs jobs one after the other.
func (s *Surface) workOnJobs(ctx context.Context) {
	for ctx.Err() == nil {
		now := time.Now().UTC()
		j, ok, err := s.jobs.store.ClaimJob(ctx, s.jobs.worker, now, now.Add(-jobStale))
		if ctx.Err() == nil {
			s.jobs.warn(s.Log, "jobs cannot be read", err)
		}
		if ok {
			s.jobs.awake() // wake another worker: there may be more jobs
			s.work(ctx, j)
			continue
		}
		waitFor(ctx, s.jobs.wake)
	}
}

// work runs a job and stores its result.
func (s *Surface) work(ctx context.Context, j state.Job) {
	run, cancel := context.WithTimeout(ctx, s.Config.Processes.Time)
	defer cancel()
	s.jobs.mu.Lock()
	s.jobs.running[j.ID] = cancel
	s.jobs.mu.Unlock()
	defer func() {
		s.jobs.mu.Lock()
		delete(s.jobs.running, j.ID)
		s.jobs.mu.Unlock()
	}()
	s.postBegin(ctx, j)
	run, traced := s.traced(run, &j)
	var latest progress
	var beats sync.WaitGroup
	beating, stop := context.WithCancel(ctx)
	beats.Go(func() { s.beat(beating, j, &latest, cancel) })
	results, size, err := s.perform(run, &j, &latest)
	stop()
	beats.Wait()
	traced(err)
	now := time.Now().UTC()
	j.Updated = now
	keep, done := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer done()
	switch {
	case err == nil:
		j.Status, j.Finished, j.Progress, j.Message, j.Results, j.Bytes = state.JobSuccessful, now, 100, "", results,
			size
	case ctx.Err() != nil: // the server ends: make the job look stale, so that another process takes it
		j.Updated = time.Unix(1, 0)
	case errors.Is(run.Err(), context.Canceled): // dismissed, or taken by another process
		return
	default:
		if errors.Is(err, context.DeadlineExceeded) && run.Err() != nil {
			err = problem.New(problem.Timeout, err, "The job took longer than %v. Ask for less.",
				s.Config.Processes.Time)
		}
		s.fail(ctx, &j, err)
	}
	if j.Done() {
		j.Call = s.callOf(&j)
	}
	err = s.jobs.store.KeepJob(keep, j)
	if err == nil && j.Done() {
		s.Metrics.JobEnded(j.Status, j.Finished.Sub(j.Started))
	}
	if err == nil && j.Call != nil {
		awaken(s.jobs.ended)
	}
	if err != nil && !errors.Is(err, store.ErrChanged) {
		s.Log.ErrorContext(ctx, "the end of a job was not stored", "job", j.ID, "err", err)
	}
}

// traced returns ctx for the work on a job, and what sends its spans when the work has ended with an error or nil. The
// trace is that of the request that made the job.
func (s *Surface) traced(ctx context.Context, j *state.Job) (context.Context, func(error)) {
	var made jobRequest
	json.Unmarshal(j.Request, &made) // without it, the job fails
	span, ok := s.Traces.Begin(made.Trace)
	if !ok {
		return ctx, func(error) {}
	}
	start, times := time.Now(), &limit.Times{}
	return limit.WithTimes(ctx, times), func(err error) {
		root := trace.Span{Name: "job", Start: start, End: time.Now(), Attrs: []slog.Attr{
			slog.String("grense.job", j.ID), slog.String("grense.process", j.Process),
			slog.Int("grense.attempt", j.Attempt),
			slog.String("grense.request", made.RequestID)}}
		if err != nil {
			root.Failure = problems.Code(err)
		}
		server.SendTrace(s.Traces, span, root, times)
	}
}

// fail sets the state of a job to failed.
func (s *Surface) fail(ctx context.Context, j *state.Job, err error) {
	e := problems.Classify(err)
	if e.Kind == problem.Internal || files.DiskFull(err) {
		s.Log.ErrorContext(ctx, "job failed", "job", j.ID, "err", apikey.Redact(err.Error()))
	}
	p := problems.Document(e, "", "")
	p.Instance = "urn:grense:job:" + j.ID
	b, _ := wire.Marshal(p) // strings and numbers cannot fail
	j.Status, j.Finished, j.Failure, j.Message = state.JobFailed, j.Updated, b, p.Detail
}

// progress is the latest progress report of a process.
type progress struct {
	percent atomic.Int64
	message atomic.Value
}

func (p *progress) set(percent int, message string) {
	p.percent.Store(int64(min(max(percent, 0), 100)))
	p.message.Store(message)
}

// beat stores the progress of a job as a heartbeat. It cancels the work if the job was dismissed or taken by another
// process.
func (s *Surface) beat(ctx context.Context, j state.Job, latest *progress, cancel context.CancelFunc) {
	tick := time.NewTicker(jobBeat)
	defer tick.Stop()
	last := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		percent := int(latest.percent.Load())
		var err error
		if now := time.Now().UTC(); now.Sub(last) > jobHeartbeat || percent != j.Progress {
			j.Progress, j.Updated, last = percent, now, now
			j.Message, _ = latest.message.Load().(string)
			err = s.jobs.store.KeepJob(ctx, j)
		} else if is, e := s.jobs.store.Job(ctx, j.ID); errors.Is(e, store.ErrNotFound) || e == nil &&
			(is.Status != state.JobRunning || is.Attempt != j.Attempt) {
			err = store.ErrChanged
		}
		if errors.Is(err, store.ErrChanged) {
			cancel()
			return
		}
	}
}

// perform runs a job and stores its outputs.
func (s *Surface) perform(ctx context.Context, j *state.Job, latest *progress) (results json.RawMessage, size int64,
	err error) {
	defer func() {
		if p := recover(); p != nil {
			s.Log.ErrorContext(ctx, "panic", "job", j.ID, "panic", p, "stack", string(debug.Stack()))
			err = problem.New(problem.Internal, fmt.Errorf("panic: %v", p), "")
		}
	}()
	if j.Attempt > jobAttempts {
		return nil, 0, problem.New(problem.Unavailable, nil,
			"The server stopped %d times while it worked on this job. Ask for less.", jobAttempts)
	}
	x, err := s.executionOf(j)
	if err != nil {
		return nil, 0, err
	}
	x.progress = latest.set
	to := &jobShelf{s: s, ctx: ctx, job: j}
	list, err := x.run(ctx, to)
	if err != nil {
		return nil, 0, err
	}
	stored := make([]storedResult, len(list))
	for i, r := range list {
		stored[i] = storedResult{ID: r.id, Media: r.media, Name: r.name, JSON: r.json, Object: r.object, Box: r.box,
			Size: r.size}
	}
	results, err = json.Marshal(stored)
	return results, to.size, err
}

// executionOf returns the execution of a stored job.
func (s *Surface) executionOf(j *state.Job) (*execution, error) {
	var r jobRequest
	if err := json.Unmarshal(j.Request, &r); err != nil {
		return nil, err
	}
	c := s.newCall(r.Root, r.Mount, r.Lang)
	p, ok := s.processList.Find(j.Process)
	if !ok {
		return nil, problem.NotFoundf("the process %s is gone", j.Process)
	}
	d := c.describeProcess(p)
	req, err := process.Read(r.Body, p, d)
	if err != nil {
		return nil, err
	}
	return &execution{s: s, p: p, desc: d, req: req, mount: r.Mount, root: r.Root, lang: r.Lang, owner: r.Share,
		keyID: r.KeyID, begun: true}, nil
}

// storedResult describes a stored output of a job.
type storedResult struct {
	ID, Media, Name   string
	JSON, Object, Box bool
	Size              int64
}

// jobShelf stores outputs in pieces.
type jobShelf struct {
	s    *Surface
	ctx  context.Context
	job  *state.Job
	size int64 // of all outputs
}

func (t *jobShelf) put(r result, write func(io.Writer) error) (result, error) {
	p := &pieceWriter{shelf: t, piece: state.Piece{Job: t.job.ID, Attempt: t.job.Attempt, Output: r.id}}
	err := write(p)
	if err == nil {
		err = p.flush()
	}
	r.size = p.size
	return r, diskFullError(err)
}

// pieceWriter splits an output into pieces.
type pieceWriter struct {
	shelf *jobShelf
	piece state.Piece
	buf   bytes.Buffer
	size  int64
}

func (p *pieceWriter) Write(b []byte) (n int, err error) {
	for len(b) > 0 {
		m := min(len(b), state.PieceSize-p.buf.Len())
		p.buf.Write(b[:m])
		n, b = n+m, b[m:]
		if p.buf.Len() == state.PieceSize {
			if err := p.flush(); err != nil {
				return n, err
			}
		}
	}
	return n, nil
}

func (p *pieceWriter) flush() error {
	if p.buf.Len() == 0 {
		return nil
	}
	p.size += int64(p.buf.Len())
	if p.shelf.size += int64(p.buf.Len()); p.shelf.size > int64(p.shelf.s.Config.Processes.JobBytes) {
		return problem.New(problem.TooLarge, nil, "The outputs of a job have at most %d bytes. Ask for less.",
			p.shelf.s.Config.Processes.JobBytes)
	}
	p.piece.Data = p.buf.Bytes()
	err := p.shelf.s.jobs.store.PutPiece(p.shelf.ctx, p.piece)
	p.piece.N++
	p.buf.Reset()
	return err
}

// pieceReader reads a stored output.
type pieceReader struct {
	s     *Surface
	ctx   context.Context
	piece state.Piece
	read  bool
}

func (p *pieceReader) ReadAt(b []byte, at int64) (n int, err error) {
	for n < len(b) {
		i := int((at + int64(n)) / state.PieceSize)
		if !p.read || p.piece.N != i {
			p.piece.N = i
			if p.piece.Data, err = p.s.jobs.store.Piece(p.ctx, p.piece); err != nil {
				return n, err
			}
			p.read = true
		}
		from := int((at + int64(n)) % state.PieceSize)
		if from >= len(p.piece.Data) {
			return n, io.EOF
		}
		n += copy(b[n:], p.piece.Data[from:])
	}
	return n, nil
}

// tidyJobs calls tidy every minute until ctx ends.
func (s *Surface) tidyJobs(ctx context.Context) {
	for {
		if err := s.tidy(ctx); ctx.Err() == nil {
			s.jobs.warn(s.Log, "old jobs are not removed", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Minute):
		}
	}
}

// tidy deletes jobs that finished more than processes.keep ago. While the outputs exceed processes.jobs_bytes, it
// deletes the oldest job of the owner with the most bytes.
func (s *Surface) tidy(ctx context.Context) error {
	list, err := s.jobs.store.JobList(ctx)
	if err != nil {
		return err
	}
	var sum int64
	by := map[string]int64{}
	for i := range list {
		j := &list[i]
		if j.Done() && time.Since(j.Finished) > s.Config.Processes.Keep {
			if err := s.jobs.store.DropJob(ctx, j.ID); err != nil {
				return err
			}
			j.ID = ""
			continue
		}
		sum += j.Bytes
		by[j.Owner] += j.Bytes
	}
	for sum > int64(s.Config.Processes.JobsBytes) {
		most, found := "", false
		for owner, n := range by {
			if !found || n > by[most] {
				most, found = owner, true
			}
		}
		dropped := false
		for i := len(list) - 1; i >= 0 && !dropped; i-- { // the oldest is last
			if j := &list[i]; j.ID != "" && j.Owner == most && j.Bytes > 0 {
				if err := s.jobs.store.DropJob(ctx, j.ID); err != nil {
					return err
				}
				sum, by[most], dropped, j.ID = sum-j.Bytes, by[most]-j.Bytes, true, ""
			}
		}
		if !dropped {
			return nil
		}
	}
	return nil
}

// findJob returns the job in the path. It fails if the job belongs to another caller (OGC 18-062r2, 7.12.3).
func (c *call) findJob() (*state.Job, error) {
	id := c.PathParam("jobId")
	missing := problem.Of(problem.NotFoundf("there is no job %q; %s/jobs lists yours", problem.Clip(id), c.Base()))
	missing.Type, missing.Code = noSuchJob, "NoSuchJob"
	if c.s.jobs.store == nil || strings.ContainsFunc(id, func(r rune) bool { return r < '0' || r > 'z' }) {
		return nil, missing
	}
	j, err := c.s.jobs.store.Job(c.Request.Context(), id)
	if errors.Is(err, store.ErrNotFound) || err == nil && j.Owner != c.jobOwner() {
		return nil, missing
	}
	return &j, err
}

// statusOf returns the state of a job (OGC 18-062r2, 7.12).
func (c *call) statusOf(j *state.Job) ogcapi.StatusInfo {
	at := func(t time.Time) string {
		if t.IsZero() {
			return ""
		}
		return t.UTC().Format("2006-01-02T15:04:05.000Z")
	}
	here := c.Base() + "/jobs/" + j.ID
	info := ogcapi.StatusInfo{ProcessID: j.Process, Type: "process", JobID: j.ID, Status: j.Status,
		Message: j.Message, Created: at(j.Created), Started: at(j.Started), Finished: at(j.Finished),
		Updated: at(j.Updated), Progress: j.Progress, Links: []ogcapi.Link{
			{Rel: "self", Type: "application/json", Title: "This document as JSON", Href: here + "?f=json"},
			{Rel: "alternate", Type: "text/html", Title: "This document as HTML", Href: here + "?f=html",
				Hreflang: links.Hreflang}}}
	switch j.Status {
	case state.JobSuccessful, state.JobFailed:
		info.Links = append(info.Links, ogcapi.Link{Rel: ogcapi.RelResults, Type: mediaOfResults(j), Title: "Results",
			Href: here + "/results"})
	case state.JobAccepted, state.JobRunning:
		info.Links = append(info.Links, ogcapi.Link{Rel: "monitor", Type: "application/json",
			Title: "State of the job", Href: here + "?f=json"})
	}
	return info
}

func (c *call) writeStatus(w http.ResponseWriter, status int, j *state.Job) error {
	b, err := wire.Marshal(c.statusOf(j))
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "private, no-store")
	h.Set("Vary", server.VaryKeyed)
	h.Set("Content-Language", page.LanguageTag(c.Lang))
	c.WriteBody(w, status, wire.PlainBody(b))
	return nil
}
