package processes

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"time"

	"grense/api/ogcapi"
	"grense/internal/problem"
	"grense/internal/process"
	"grense/internal/server"
	"grense/internal/server/page"
	"grense/internal/server/wire"
	"grense/internal/state"
	"grense/internal/store"
)

// jobList lists the jobs of the caller, the newest first (OGC 18-062r2, 11.2).
func (s *Surface) jobList(c *call, w http.ResponseWriter) error {
	doc := ogcapi.Jobs{Jobs: []ogcapi.StatusInfo{}, Links: c.SelfLinks("/jobs")}
	view := jobsView{Titles: map[string]string{}}
	if s.jobs.store != nil {
		list, err := s.jobs.store.JobList(c.Request.Context())
		if err != nil {
			return err
		}
		p := c.Params.(*jobsParams)
		now := time.Now()
		list = slices.DeleteFunc(list, func(j state.Job) bool { return j.Owner != c.jobOwner() || !p.wants(&j, now) })
		for i := min(p.offset, len(list)); i < min(p.offset+p.limit, len(list)); i++ {
			doc.Jobs = append(doc.Jobs, c.statusOf(&list[i]))
			view.Titles[list[i].Process] = c.processTitle(list[i].Process)
		}
		doc.Links = append(doc.Links, c.ListPages("/jobs", p.offset, p.limit, len(list))...)
	}
	view.Jobs = doc.Jobs
	view.Prev, view.Next = server.PreviousNext(doc.Links)
	if l := wire.LinkHeader(doc.Links); l != "" {
		w.Header().Set("Link", l)
	}
	return c.writeFresh(w, &server.Answer{JSON: doc, Links: doc.Links,
		Page: &page.Page{Name: "jobs", Title: c.Text("jobs.title"), Crumbs: c.Crumbs("processes"), Data: view,
			Refresh: slices.ContainsFunc(doc.Jobs,
				func(j ogcapi.StatusInfo) bool {
					return j.Status == state.JobAccepted ||
						j.Status == state.JobRunning
				})}})
}

// jobsView is the data of the page.
type jobsView struct {
	Jobs   []ogcapi.StatusInfo
	Titles map[string]string // of processes, by id

	Prev, Next string // addresses of the neighbouring pages; "" if there are none
}

// processTitle returns the title of a process, or its id if the process no longer exists.
func (c *call) processTitle(id string) string {
	if p, ok := c.s.processList.Find(id); ok {
		return p.Describe(c.Catalog, c.Lang).Title
	}
	return id
}

// wants reports whether a job matches the parameters. The duration of a running job ends now.
func (p *jobsParams) wants(j *state.Job, now time.Time) bool {
	if p.process != nil && !slices.Contains(p.process, j.Process) || p.status != nil &&
		!slices.Contains(p.status, j.Status) {
		return false
	}
	if p.from != nil && j.Created.Before(*p.from) || p.to != nil && j.Created.After(*p.to) {
		return false
	}
	if !p.hasShort && !p.hasLongest {
		return true
	}
	if j.Started.IsZero() {
		return false
	}
	end := j.Finished
	if end.IsZero() {
		end = now
	}
	took := end.Sub(j.Started).Seconds()
	return (!p.hasShort || took >= p.shortest) && (!p.hasLongest || took <= p.longest)
}

// writeFresh writes a document that must not be cached.
func (c *call) writeFresh(w http.ResponseWriter, a *server.Answer) error {
	b, err := c.Render(a)
	if err != nil {
		return err
	}
	return c.WriteDoc(w, b)
}

// job writes the state of a job (OGC 18-062r2, 7.12).
func (s *Surface) job(c *call, w http.ResponseWriter) error {
	j, err := c.findJob()
	if err != nil {
		return err
	}
	info := c.statusOf(j)
	view := jobView{StatusInfo: info, Process: c.processTitle(j.Process), Done: j.Done()}
	if j.Status == state.JobSuccessful {
		stored, err := storedResults(j)
		if err != nil {
			return err
		}
		for _, k := range stored {
			view.Results = append(view.Results,
				page.DownloadLink{Title: k.ID, Href: c.Base() + "/jobs/" + j.ID + "/results/" + k.ID, Media: k.Media,
					Ext: k.Media, Size: c.Size(k.Size)})
		}
	}
	return c.writeFresh(w, &server.Answer{JSON: info,
		Page: &page.Page{Name: "job", Title: c.Text("job.title"), Crumbs: c.Crumbs("jobs"), Data: view,
			Refresh: !view.Done}})
}

// jobView is the data of the page.
type jobView struct {
	ogcapi.StatusInfo
	Process string
	Done    bool
	Results []page.DownloadLink
}

// dismiss cancels a job, or deletes a finished one (OGC 18-062r2, 12).
func (s *Surface) dismiss(c *call, w http.ResponseWriter) error {
	if err := c.Resolve(); err != nil {
		return err
	}
	j, err := s.dismissed(c)
	if err != nil {
		return err
	}
	info := *j
	info.Status = state.JobDismissed
	return c.writeStatus(w, http.StatusOK, &info)
}

// dismissed cancels or deletes the job in the path and returns it.
func (s *Surface) dismissed(c *call) (*state.Job, error) {
	j, err := c.findJob()
	if err != nil {
		return nil, err
	}
	return j, s.dismissJob(c.Request.Context(), j)
}

func (s *Surface) dismissJob(ctx context.Context, j *state.Job) error {
	now := time.Now().UTC()
	if j.Done() {
		return s.jobs.store.DropJob(ctx, j.ID)
	}
	err := s.jobs.store.DismissJob(ctx, j.ID, now)
	if errors.Is(err, store.ErrChanged) { // it has finished since it was read
		return s.jobs.store.DropJob(ctx, j.ID)
	}
	if err != nil {
		return err
	}
	j.Finished, j.Updated = now, now
	s.jobs.mu.Lock()
	if cancel := s.jobs.running[j.ID]; cancel != nil {
		cancel()
	}
	s.jobs.mu.Unlock()
	return nil
}

// jobForm dismisses a job from its page.
func (s *Surface) jobForm(c *call, w http.ResponseWriter) error {
	if err := c.Resolve(); err != nil {
		return err
	}
	if err := server.ReadForm(c.Request, c.Root, server.MaxForm); err != nil {
		return err
	}
	if _, err := s.dismissed(c); err != nil {
		return err
	}
	w.Header().Set("Location", page.LocalPath(c.Base()+"/jobs")+"?lang="+c.Lang)
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusSeeOther)
	return nil
}

func storedResults(j *state.Job) (list []storedResult, err error) {
	return list, json.Unmarshal(j.Results, &list)
}

// mediaOfResults returns the media type of a finished job's results. It is "" if they have no body, since all outputs
// are references.
func mediaOfResults(j *state.Job) string {
	stored, err := storedResults(j)
	req, bad := requestOf(j)
	if j.Status != state.JobSuccessful || err != nil || bad != nil {
		return "application/problem+json"
	}
	if req.Document {
		return "application/json"
	}
	stored = slices.DeleteFunc(stored, func(k storedResult) bool { return req.Reference[k.ID] })
	switch len(stored) {
	case 0:
		return ""
	case 1:
		return stored[0].Media
	}
	return "multipart/related"
}

// finishedJob returns the job in the path if it has results; a failed job is a *failedJob error (OGC 18-062r2, 7.13).
func (c *call) finishedJob() (*state.Job, error) {
	j, err := c.findJob()
	if err != nil {
		return nil, err
	}
	return j, c.succeeded(j)
}

// succeeded returns nil if a job has results, and the reason if not.
func (c *call) succeeded(j *state.Job) error {
	switch j.Status {
	case state.JobSuccessful:
		return nil
	case state.JobFailed:
		var p ogcapi.Problem
		if err := json.Unmarshal(j.Failure, &p); err != nil {
			return err
		}
		return &failedJob{p}
	}
	e := problem.Of(problem.NotFoundf("the job is %s and has no results; its state is at %s/jobs/%s", j.Status,
		c.Base(), j.ID))
	e.Type, e.Code = resultNotReady, "ResultNotReady"
	return e
}

// jobOutputs returns the outputs of a job in the requested form.
func (c *call) jobOutputs(j *state.Job, req *process.Request) ([]result, error) {
	if err := c.succeeded(j); err != nil {
		return nil, err
	}
	return c.storedOutputs(j, req)
}

// failedJob is the error of a failed job: the problem with which it ended.
type failedJob struct{ p ogcapi.Problem }

func (f *failedJob) Error() string { return f.p.Detail }

// writeFailure writes the problem with which a job ended.
func (c *call) writeFailure(w http.ResponseWriter, f *failedJob) error {
	b, err := wire.Marshal(f.p)
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", "application/problem+json")
	h.Set("Cache-Control", "no-store")
	h.Set("Vary", server.VaryKeyed)
	c.WriteBody(w, f.p.Status, wire.PlainBody(b))
	return nil
}

// results writes the outputs of a job in the form that its execution requested.
func (s *Surface) results(c *call, w http.ResponseWriter) error {
	j, err := c.finishedJob()
	if f, ok := err.(*failedJob); ok {
		return c.writeFailure(w, f)
	}
	if err != nil {
		return err
	}
	req, err := requestOf(j)
	if err != nil {
		return err
	}
	list, err := c.storedOutputs(j, req)
	if err != nil {
		return err
	}
	return c.sendResults(w, list, req)
}

// requestOf returns the requested form of a job's outputs.
func requestOf(j *state.Job) (*process.Request, error) {
	var how jobHow
	if err := json.Unmarshal(j.How, &how); err != nil {
		return nil, err
	}
	req := &process.Request{Document: how.Document, Reference: map[string]bool{}}
	for _, id := range how.References {
		req.Reference[id] = true
	}
	return req, nil
}

// storedOutputs returns the outputs of a successful job.
func (c *call) storedOutputs(j *state.Job, req *process.Request) ([]result, error) {
	stored, err := storedResults(j)
	if err != nil {
		return nil, err
	}
	var list []result
	for _, k := range stored {
		at := &pieceReader{s: c.s, ctx: c.Request.Context(),
			piece: state.Piece{Job: j.ID, Attempt: j.Attempt, Output: k.ID}}
		list = append(list, result{id: k.ID, media: k.Media, name: k.Name, json: k.JSON, object: k.Object, box: k.Box,
			size: k.Size, reference: req.Reference[k.ID],
			href: c.Base() + "/jobs/" + j.ID + "/results/" + k.ID, etag: j.ID + "-" + k.ID,
			data: io.NewSectionReader(at, 0, k.Size)})
	}
	return list, nil
}

// output writes one output of a job.
func (s *Surface) output(c *call, w http.ResponseWriter) error {
	j, err := c.finishedJob()
	if f, ok := err.(*failedJob); ok {
		return c.writeFailure(w, f)
	}
	if err != nil {
		return err
	}
	list, err := c.storedOutputs(j, &process.Request{})
	if err != nil {
		return err
	}
	for _, r := range list {
		if r.id == c.PathParam("outputId") {
			h := w.Header()
			h.Set("Vary", server.VaryKeyed)
			h.Set("Cache-Control", "private, no-cache")
			return c.sendResult(w, r)
		}
	}
	return problem.NotFoundf("the job has no output %q", problem.Clip(c.PathParam("outputId")))
}
