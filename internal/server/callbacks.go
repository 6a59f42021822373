package server

import (
	"bytes"
	"context"
	"io"
	"net/url"

	"grense/api/ogcapi"
	"grense/internal/problem"
	"grense/internal/store"
)

// checkSubscriber says what is wrong with the addresses that want to be told of a job (OGC 18-062r2, 9); they are called only where the operator allows it.
func (c *call) checkSubscriber(sub *ogcapi.Subscriber, job bool) error {
	if sub == nil {
		return nil
	}
	bad := func(name, value, cure string) error {
		return &problem.Error{Kind: problem.Invalid, Faults: []problem.Fault{{In: "body", Param: name, Value: value, Cure: cure}}}
	}
	switch {
	case !c.s.cfg.Processes.Callbacks:
		return bad("/subscriber", sub.SuccessURI, "leave it out, callbacks are not offered; ask with Prefer: respond-async and then for the state of the job")
	case !job:
		return bad("/subscriber", sub.SuccessURI, "callbacks tell of jobs; ask with Prefer: respond-async")
	case sub.SuccessURI == "":
		return bad("/subscriber/successUri", "", "it is missing; the standard requires it")
	}
	for _, x := range [...][2]string{{"successUri", sub.SuccessURI}, {"inProgressUri", sub.InProgressURI}, {"failedUri", sub.FailedURI}} {
		if x[1] == "" {
			continue
		}
		if u, err := url.Parse(x[1]); err != nil || !c.s.outgoing.allowed(u) {
			return bad("/subscriber/"+x[0], x[1], "use an address that the operator allows callbacks to")
		}
	}
	return nil
}

// tellSubscriber calls back in the background: the state when a job begins, its results as a document when it has succeeded, its failure else.
func (s *Server) tellSubscriber(ctx context.Context, j store.Job) {
	x, err := s.executionOf(&j)
	if err != nil || x.req.Subscriber == nil || !s.cfg.Processes.Callbacks {
		return
	}
	sub := x.req.Subscriber
	address, body := sub.InProgressURI, func() io.ReadCloser {
		b, _ := marshal(x.call(ctx).statusOf(&j)) // strings and numbers only
		return io.NopCloser(bytes.NewReader(b))
	}
	switch j.Status {
	case store.JobSuccessful:
		address, body = sub.SuccessURI, func() io.ReadCloser { return x.resultsOf(ctx, &j) }
	case store.JobFailed:
		address, body = sub.FailedURI, func() io.ReadCloser { return io.NopCloser(bytes.NewReader(j.Failure)) }
	}
	u, err := url.Parse(address)
	if address == "" || err != nil || !s.outgoing.allowed(u) { // the list may have changed since
		return
	}
	s.jobs.told.Go(func() {
		if err := s.outgoing.post(ctx, address, body); err != nil && ctx.Err() == nil {
			s.log.WarnContext(ctx, "a callback was not taken", "job", j.ID, "to", u.Host, "err", redact(err.Error()))
		}
	})
}

// resultsOf is the document of the outputs of a job.
func (x *execution) resultsOf(ctx context.Context, j *store.Job) io.ReadCloser {
	c := x.call(ctx)
	in, out := io.Pipe()
	go func() {
		list, err := c.keptOutputs(j, x.req)
		if err == nil {
			err = c.sendDocument(&pipedAnswer{header: map[string][]string{}, out: out, begun: make(chan struct{})}, list)
		}
		out.CloseWithError(err)
	}()
	return in
}

// dismissClasses are the conformance classes of one job; callbacks are declared where they are configured.
func (s *Server) dismissClasses() []string {
	classes := []string{processes1 + "dismiss"}
	if s.cfg.Processes.Callbacks {
		classes = append(classes, processes1+"callback")
	}
	return classes
}
