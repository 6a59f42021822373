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
	"grense/internal/problem"
	"grense/internal/process"
	"grense/internal/server"
	"grense/internal/server/page"
	"grense/internal/state"
	"grense/internal/store"
)

// How jobs are kept and worked on.
const (
	jobBeat     = 250 * time.Millisecond // how often a worker looks whether its job is wanted
	jobTells    = 1 * time.Second        // how often it says that it lives
	jobStale    = 6 * time.Second        // after which another takes over
	jobAttempts = 3                      // a job that ended so many servers is not begun again
)

// jobs is the part of the server that works on executions which nobody waits for.
type jobs struct {
	kept    state.Jobs // nil: none are kept
	worker  string     // names this process
	wake    chan struct{}
	mu      sync.Mutex
	running map[string]context.CancelFunc
	warned  map[string]string // the error that was last logged, by message
	told    sync.WaitGroup    // callbacks on their way
	ended   chan struct{}     // a subscriber is to be told
}

func newJobs(kept state.Jobs) *jobs {
	return &jobs{kept: kept, worker: server.NewID(), wake: make(chan struct{}, 1), ended: make(chan struct{}, 1),
		running: map[string]context.CancelFunc{}, warned: map[string]string{}}
}

// jobRequest is what a job is made of again, also by another process.
type jobRequest struct {
	Body                     json.RawMessage
	Root, Mount, Lang, Share string
	KeyID                    string
}

// submit stores an execution as a job, and answers with its state (OGC 18-062r2, 7.11.3).
func (s *Surface) submit(c *call, w http.ResponseWriter, x *execution, body []byte) error {
	j, err := s.makeJob(c, x, body)
	if err != nil {
		return err
	}
	h := w.Header()
	s.TellRates(w, c.Owner())
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

// makeJob stores an execution as a job that waits for a worker. It refuses callers who have too many jobs.
func (s *Surface) makeJob(c *call, x *execution, body []byte) (j state.Job, err error) {
	ctx := c.Request.Context()
	list, err := s.jobs.kept.JobList(ctx)
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
		if err := s.jobs.kept.DropJob(ctx, list[i].ID); err != nil {
			return j, err
		}
	}
	request, err := json.Marshal(jobRequest{Body: body, Root: x.root, Mount: x.mount, Lang: x.lang, Share: x.owner,
		KeyID: x.keyID})
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
	if err := s.jobs.kept.PutJob(ctx, j); err != nil {
		return j, noRoomFor(err)
	}
	s.jobs.awake()
	return j, nil
}

// spare is the oldest finished job of the owner who has most of them, in a list with the newest first; -1 for none.
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

// jobHow is in which form the outputs of a job were asked for.
type jobHow struct {
	Document   bool
	References []string
}

// newJobID is a name that nobody guesses.
func newJobID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails (crypto/rand)
	return hex.EncodeToString(b[:])
}

// jobOwner is whose jobs a caller sees: those of its key; where no keys are asked for they have no owner.
func (c *call) jobOwner() string {
	if c.s.Config.Auth == "open" {
		return ""
	}
	return c.KeyID
}

// warn logs an error unless it is the one that was last logged with the message. nil ends a series.
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
	default: // somebody is awake already
	}
}

// rest waits until something is told, or others may have made work.
func rest(ctx context.Context, told <-chan struct{}) {
	select {
	case <-ctx.Done():
	case <-told:
	case <-time.After(time.Second):
	}
}

// RunJobs works on jobs until ctx ends; then it gives back what it has not finished. It returns at once where no jobs
// are kept.
func (s *Surface) RunJobs(ctx context.Context) {
	if s.jobs.kept == nil {
		return
	}
	var done sync.WaitGroup
	for range s.Config.Processes.Workers {
		done.Go(func() { s.workOnJobs(ctx) })
	}
	done.Go(func() { s.tidyJobs(ctx) })
	if s.Config.Processes.Callbacks {
		done.Go(func() { s.tellSubscribers(ctx) })
	}
	done.Wait()
	s.jobs.told.Wait()
}

// workOnJobs takes one job after the other.
func (s *Surface) workOnJobs(ctx context.Context) {
	for ctx.Err() == nil {
		now := time.Now().UTC()
		j, ok, err := s.jobs.kept.ClaimJob(ctx, s.jobs.worker, now, now.Add(-jobStale))
		if ctx.Err() == nil {
			s.jobs.warn(s.Log, "jobs cannot be read", err)
		}
		if ok {
			s.jobs.awake() // there may be more for others
			s.work(ctx, j)
			continue
		}
		rest(ctx, s.jobs.wake)
	}
}

// work executes one job and writes how it ended.
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
	s.tellBegin(ctx, j)
	var told progress
	var beats sync.WaitGroup
	beating, stop := context.WithCancel(ctx)
	beats.Go(func() { s.beat(beating, j, &told, cancel) })
	results, size, err := s.perform(run, &j, &told)
	stop()
	beats.Wait()
	now := time.Now().UTC()
	j.Updated = now
	keep, done := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer done()
	switch {
	case err == nil:
		j.Status, j.Finished, j.Progress, j.Message, j.Results, j.Bytes = state.JobSuccessful, now, 100, "", results,
			size
	case ctx.Err() != nil: // the server ends: another goes on
		j.Updated = time.Unix(1, 0)
	case errors.Is(run.Err(), context.Canceled): // dismissed, or another's: nothing is to be written
		return
	default:
		if errors.Is(err, context.DeadlineExceeded) && run.Err() != nil {
			err = problem.New(problem.Timeout, err, "The job took longer than %v. Ask for less.",
				s.Config.Processes.Time)
		}
		s.fails(ctx, &j, err)
	}
	if j.Done() {
		j.Call = s.callOf(&j)
	}
	err = s.jobs.kept.KeepJob(keep, j)
	if err == nil && j.Call != nil {
		awaken(s.jobs.ended)
	}
	if err != nil && !errors.Is(err, store.ErrChanged) {
		s.Log.ErrorContext(ctx, "the end of a job is not kept", "job", j.ID, "err", err)
	}
}

// fails makes a job one that failed.
func (s *Surface) fails(ctx context.Context, j *state.Job, err error) {
	e := server.Classify(err)
	if e.Kind == problem.Internal || server.DiskFull(err) {
		s.Log.ErrorContext(ctx, "job failed", "job", j.ID, "err", server.Redacted(err.Error()))
	}
	p := s.NewCall().ProblemOf(e)
	p.Instance = "urn:grense:job:" + j.ID
	b, _ := server.Marshal(p) // strings and numbers only
	j.Status, j.Finished, j.Failure, j.Message = state.JobFailed, j.Updated, b, p.Detail
}

// progress is what a process last told.
type progress struct {
	percent atomic.Int64
	message atomic.Value
}

func (p *progress) tell(percent int, message string) {
	p.percent.Store(int64(min(max(percent, 0), 100)))
	p.message.Store(message)
}

// beat tells progress, and ends the work when the job was dismissed or is another's.
func (s *Surface) beat(ctx context.Context, j state.Job, told *progress, cancel context.CancelFunc) {
	tick := time.NewTicker(jobBeat)
	defer tick.Stop()
	last := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		percent := int(told.percent.Load())
		var err error
		if now := time.Now().UTC(); now.Sub(last) > jobTells || percent != j.Progress {
			j.Progress, j.Updated, last = percent, now, now
			j.Message, _ = told.message.Load().(string)
			err = s.jobs.kept.KeepJob(ctx, j)
		} else if is, e := s.jobs.kept.Job(ctx, j.ID); errors.Is(e, store.ErrNotFound) || e == nil &&
			(is.Status != state.JobRunning || is.Attempt != j.Attempt) {
			err = store.ErrChanged
		}
		if errors.Is(err, store.ErrChanged) {
			cancel()
			return
		}
	}
}

// perform executes a job. Its outputs go into the store of jobs.
func (s *Surface) perform(ctx context.Context, j *state.Job, told *progress) (results json.RawMessage, size int64,
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
	x.progress = told.tell
	to := &jobShelf{s: s, ctx: ctx, job: j}
	list, err := x.run(ctx, to)
	if err != nil {
		return nil, 0, err
	}
	kept := make([]keptResult, len(list))
	for i, r := range list {
		kept[i] = keptResult{ID: r.id, Media: r.media, Name: r.name, JSON: r.json, Object: r.object, Box: r.box,
			Size: r.size}
	}
	results, err = json.Marshal(kept)
	return results, to.size, err
}

// executionOf makes the execution of a job, as it was asked for.
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

// keptResult is what is known of an output of a job.
type keptResult struct {
	ID, Media, Name   string
	JSON, Object, Box bool
	Size              int64
}

// jobShelf keeps outputs in pieces.
type jobShelf struct {
	s    *Surface
	ctx  context.Context
	job  *state.Job
	size int64 // of all
}

func (t *jobShelf) put(r result, write func(io.Writer) error) (result, error) {
	p := &pieceWriter{shelf: t, piece: state.Piece{Job: t.job.ID, Attempt: t.job.Attempt, Output: r.id}}
	err := write(p)
	if err == nil {
		err = p.flush()
	}
	r.size = p.size
	return r, noRoomFor(err)
}

// pieceWriter cuts an output into pieces.
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
	err := p.shelf.s.jobs.kept.PutPiece(p.shelf.ctx, p.piece)
	p.piece.N++
	p.buf.Reset()
	return err
}

// pieceReader reads an output.
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
			if p.piece.Data, err = p.s.jobs.kept.Piece(p.ctx, p.piece); err != nil {
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

// tidyJobs removes jobs that have expired, and the oldest of whom has most where there are too many.
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

// tidy removes what has finished longer ago than processes.keep, and outputs beyond processes.jobs_bytes.
func (s *Surface) tidy(ctx context.Context) error {
	list, err := s.jobs.kept.JobList(ctx)
	if err != nil {
		return err
	}
	var sum int64
	by := map[string]int64{}
	for i := range list {
		j := &list[i]
		if j.Done() && time.Since(j.Finished) > s.Config.Processes.Keep {
			if err := s.jobs.kept.DropJob(ctx, j.ID); err != nil {
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
				if err := s.jobs.kept.DropJob(ctx, j.ID); err != nil {
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

// findJob is the job that the path names, where it is one of the caller's (OGC 18-062r2, 7.12.3).
func (c *call) findJob() (*state.Job, error) {
	id := c.PathParam("jobId")
	missing := problem.Of(problem.NotFoundf("there is no job %q; %s/jobs lists yours", server.Clip(id), c.Base()))
	missing.Type, missing.Code = noSuchJob, "NoSuchJob"
	if c.s.jobs.kept == nil || strings.ContainsFunc(id, func(r rune) bool { return r < '0' || r > 'z' }) {
		return nil, missing
	}
	j, err := c.s.jobs.kept.Job(c.Request.Context(), id)
	if errors.Is(err, store.ErrNotFound) || err == nil && j.Owner != c.jobOwner() {
		return nil, missing
	}
	return &j, err
}

// statusOf is the state of a job (OGC 18-062r2, 7.12).
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
				Hreflang: server.Hreflang}}}
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
	b, err := server.Marshal(c.statusOf(j))
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "private, no-store")
	h.Set("Vary", server.VaryKeyed)
	h.Set("Content-Language", page.LanguageTag(c.Lang))
	c.WriteBody(w, status, server.PlainBody(b))
	return nil
}
