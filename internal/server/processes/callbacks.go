package processes

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/url"
	"time"

	"grense/api/ogcapi"
	"grense/internal/problem"
	"grense/internal/server"
	"grense/internal/state"
	"grense/internal/store"
)

// checkSubscriber says what is wrong with the addresses that want to be told of a job (OGC 18-062r2, 9); they are
// called only where the operator allows it.
func (c *call) checkSubscriber(sub *ogcapi.Subscriber, job bool) error {
	if sub == nil {
		return nil
	}
	bad := func(name, value, cure string) error {
		return &problem.Error{Kind: problem.Invalid,
			Faults: []problem.Fault{{In: "body", Param: name, Value: value, Cure: cure}}}
	}
	switch {
	case !c.s.Config.Processes.Callbacks:
		return bad("/subscriber", sub.SuccessURI,
			"leave it out, callbacks are not offered; ask with Prefer: respond-async and then for the state of the job")
	case !job:
		return bad("/subscriber", sub.SuccessURI, "callbacks tell of jobs; ask with Prefer: respond-async")
	case sub.SuccessURI == "":
		return bad("/subscriber/successUri", "", "it is missing; the standard requires it")
	}
	for _, x := range [...][2]string{{"successUri", sub.SuccessURI}, {"inProgressUri", sub.InProgressURI},
		{"failedUri", sub.FailedURI}} {
		if x[1] == "" {
			continue
		}
		u, err := url.Parse(x[1])
		if err != nil || !c.s.outgoing.allowed(u) {
			return bad("/subscriber/"+x[0], x[1], "use an address that the operator allows callbacks to")
		}
		if c.s.outgoing.private(c.Request.Context(), u) {
			return bad("/subscriber/"+x[0], x[1], "use a host whose addresses are all public; others are never called")
		}
	}
	return nil
}

// How subscribers are called back.
const (
	callsAtOnce = 8
	callTime    = time.Minute // for one try
	callLease   = 2 * callTime
	callTries   = 4
)

// callWait is how long after so many tries in vain the next one is: 1, 4 and 16 seconds; more is false when that was
// the last.
func callWait(tries int) (wait time.Duration, more bool) {
	return time.Second << (2 * (tries - 1)), tries < callTries
}

// subscriber is where a job tells of its state; "" for nowhere. The operator's list may have changed since the job
// was made.
func (s *Surface) subscriber(j *state.Job) (address string) {
	var r jobRequest
	var x struct{ Subscriber ogcapi.Subscriber }
	if !s.Config.Processes.Callbacks || json.Unmarshal(j.Request, &r) != nil || json.Unmarshal(r.Body, &x) != nil {
		return ""
	}
	switch j.Status {
	case state.JobRunning:
		address = x.Subscriber.InProgressURI
	case state.JobSuccessful:
		address = x.Subscriber.SuccessURI
	case state.JobFailed:
		address = x.Subscriber.FailedURI
	}
	if u, err := url.Parse(address); err != nil || !s.outgoing.allowed(u) { // nothing without a host is
		return ""
	}
	return address
}

// tellBegin tells the state of a job that begins, in the background while the server lives: who takes the job over
// tells it anew.
func (s *Surface) tellBegin(ctx context.Context, j state.Job) {
	address := s.subscriber(&j)
	if address == "" {
		return
	}
	x, err := s.executionOf(&j)
	if err != nil { // it will fail
		return
	}
	s.jobs.told.Go(func() {
		for tries := 1; ; tries++ {
			b, _ := server.Marshal(x.call(ctx).statusOf(&j)) // strings and numbers only
			err := s.outgoing.post(ctx, address, io.NopCloser(bytes.NewReader(b)))
			wait, more := callWait(tries)
			if err == nil || ctx.Err() != nil {
				return
			}
			if !more || errors.Is(err, errPrivate) {
				s.notTaken(ctx, &j, address, err)
				return
			}
			select {
			case <-ctx.Done():
			case <-time.After(wait):
			}
		}
	})
}

func (s *Surface) notTaken(ctx context.Context, j *state.Job, address string, err error) {
	u, _ := url.Parse(address) // subscriber has read it
	s.Log.WarnContext(ctx, "a callback was not taken", "job", j.ID, "to", u.Host, "err", server.Redacted(err.Error()))
}

// callOf is what a job that has ended is still to tell; nil for nothing.
func (s *Surface) callOf(j *state.Job) *state.Call {
	if s.subscriber(j) == "" {
		return nil
	}
	return &state.Call{After: state.Nanos(j.Finished)}
}

// tellSubscribers sends the callbacks of jobs that have ended until ctx ends, also of jobs that another process ran or
// that ended before a restart. Each callback is sent at least once: if the process that sends it dies, another sends it
// after callLease.
func (s *Surface) tellSubscribers(ctx context.Context) {
	turns := make(chan struct{}, callsAtOnce)
	for ctx.Err() == nil {
		list, err := s.jobs.kept.JobList(ctx)
		if err != nil && ctx.Err() == nil {
			s.Log.WarnContext(ctx, "jobs cannot be read", "err", err)
		}
		for i := range list {
			j := &list[i]
			if j.Call == nil || !j.Done() || j.Call.After > time.Now().UnixNano() {
				continue
			}
			select {
			case <-ctx.Done():
				return
			case turns <- struct{}{}:
			}
			s.jobs.told.Go(func() {
				defer func() { <-turns }()
				s.tellEnd(ctx, j.ID, *j.Call)
			})
		}
		rest(ctx, s.jobs.ended)
	}
}

// tellEnd tries once to tell how a job ended: its results as a document when it has succeeded, its failure else.
func (s *Surface) tellEnd(ctx context.Context, id string, was state.Call) {
	mine := state.Call{After: time.Now().Add(callLease).UnixNano(), Tries: was.Tries + 1}
	j, err := s.jobs.kept.SwapCall(ctx, id, was, &mine)
	if err != nil { // another tells it, or the job is gone
		if ctx.Err() == nil && !errors.Is(err, store.ErrChanged) && !errors.Is(err, store.ErrNotFound) {
			s.Log.WarnContext(ctx, "a callback is not begun", "job", id, "err", err)
		}
		return
	}
	address := s.subscriber(&j)
	if address != "" {
		err = s.postEnd(ctx, address, &j)
	}
	var next *state.Call
	switch wait, more := callWait(mine.Tries); {
	case err == nil:
	case ctx.Err() != nil: // the server ends: another tries at once, and this was no try
		next = &was
	case more && !errors.Is(err, errPrivate):
		next = &state.Call{After: time.Now().Add(wait).UnixNano(), Tries: mine.Tries}
	default:
		s.notTaken(ctx, &j, address, err)
	}
	keep, done := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer done()
	if _, err := s.jobs.kept.SwapCall(keep, id, mine, next); err != nil && !errors.Is(err, store.ErrChanged) &&
		!errors.Is(err, store.ErrNotFound) {
		s.Log.WarnContext(ctx, "the end of a callback is not kept", "job", id, "err", err)
	}
}

func (s *Surface) postEnd(ctx context.Context, address string, j *state.Job) error {
	body := io.NopCloser(bytes.NewReader(j.Failure))
	if j.Status == state.JobSuccessful {
		x, err := s.executionOf(j)
		if err != nil {
			return err
		}
		body = x.resultsOf(ctx, j)
	}
	return s.outgoing.post(ctx, address, body)
}

// resultsOf is the document of the outputs of a job.
func (x *execution) resultsOf(ctx context.Context, j *state.Job) io.ReadCloser {
	c := x.call(ctx)
	in, out := io.Pipe()
	go func() {
		list, err := c.keptOutputs(j, x.req)
		if err == nil {
			err = c.sendDocument(&pipedAnswer{header: map[string][]string{}, out: out, begun: make(chan struct{})},
				list)
		}
		out.CloseWithError(err)
	}()
	return in
}

// dismissClasses are the conformance classes of one job; callbacks are declared where they are configured.
func (s *Surface) dismissClasses() []string {
	classes := []string{processes1 + "dismiss"}
	if s.Config.Processes.Callbacks {
		classes = append(classes, processes1+"callback")
	}
	return classes
}
