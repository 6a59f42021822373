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
	"grense/internal/apikey"
	"grense/internal/problem"
	"grense/internal/server/wire"
	"grense/internal/state"
	"grense/internal/store"
)

// checkSubscriber returns an error for subscriber addresses that the server would not call (OGC 18-062r2, 9). It calls
// only addresses that the operator allows.
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
		return bad("/subscriber", sub.SuccessURI, "only jobs send callbacks; ask with Prefer: respond-async")
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

// Limits of callbacks.
const (
	callsAtOnce = 8
	callTime    = time.Minute // for one attempt
	callLease   = 2 * callTime
	callTries   = 4
)

// callWait returns the wait after so many failed attempts: 1, 4 and 16 seconds. more is false after the last attempt.
func callWait(tries int) (wait time.Duration, more bool) {
	return time.Second << (2 * (tries - 1)), tries < callTries
}

// subscriber returns the address for the current state of a job; "" if there is none. It checks the operator's list
// again, which may have changed since the job was created.
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
	if u, err := url.Parse(address); err != nil || !s.outgoing.allowed(u) { // an address without host is not allowed
		return ""
	}
	return address
}

// postBegin sends the callback for a job that starts, in the background. It stops when the server ends: the server that
// takes over the job sends the callback again.
func (s *Surface) postBegin(ctx context.Context, j state.Job) {
	address := s.subscriber(&j)
	if address == "" {
		return
	}
	x, err := s.executionOf(&j)
	if err != nil { // the job will fail
		return
	}
	s.jobs.callbacks.Go(func() {
		for tries := 1; ; tries++ {
			b, _ := wire.Marshal(x.call(ctx).statusOf(&j)) // strings and numbers cannot fail
			err := s.outgoing.post(ctx, &j, address, io.NopCloser(bytes.NewReader(b)))
			wait, more := callWait(tries)
			if err == nil || ctx.Err() != nil {
				return
			}
			if !more || errors.Is(err, errPrivate) {
				s.logRefused(ctx, &j, address, err)
				return
			}
			select {
			case <-ctx.Done():
			case <-time.After(wait):
			}
		}
	})
}

func (s *Surface) logRefused(ctx context.Context, j *state.Job, address string, err error) {
	u, _ := url.Parse(address) // subscriber has parsed it
	s.Log.WarnContext(ctx, "a callback was not taken", "job", j.ID, "to", u.Host, "err", apikey.Redact(err.Error()))
}

// callOf returns the pending callback of a finished job; nil if it has none.
func (s *Surface) callOf(j *state.Job) *state.Call {
	if s.subscriber(j) == "" {
		return nil
	}
	return &state.Call{After: state.Nanos(j.Finished)}
}

// sendCallbacks sends the callbacks of finished jobs until ctx ends, including jobs of other processes and jobs that
// finished before a restart. Each callback is sent at least once: if the process that sends it dies, another sends it
// after callLease.
func (s *Surface) sendCallbacks(ctx context.Context) {
	turns := make(chan struct{}, callsAtOnce)
	for ctx.Err() == nil {
		list, err := s.jobs.store.JobList(ctx)
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
			s.jobs.callbacks.Go(func() {
				defer func() { <-turns }()
				s.sendCallback(ctx, j.ID, *j.Call)
			})
		}
		waitFor(ctx, s.jobs.ended)
	}
}

// sendCallback makes one attempt to send the callback of a finished job: its results as a document, or its failure.
func (s *Surface) sendCallback(ctx context.Context, id string, was state.Call) {
	mine := state.Call{After: time.Now().Add(callLease).UnixNano(), Tries: was.Tries + 1}
	j, err := s.jobs.store.SwapCall(ctx, id, was, &mine)
	if err != nil { // another process sends it, or the job is gone
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
	case ctx.Err() != nil: // the server ends: another process sends it at once, and this attempt does not count
		next = &was
	case more && !errors.Is(err, errPrivate):
		next = &state.Call{After: time.Now().Add(wait).UnixNano(), Tries: mine.Tries}
	default:
		s.logRefused(ctx, &j, address, err)
	}
	keep, done := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer done()
	if _, err := s.jobs.store.SwapCall(keep, id, mine, next); err != nil && !errors.Is(err, store.ErrChanged) &&
		!errors.Is(err, store.ErrNotFound) {
		s.Log.WarnContext(ctx, "the end of a callback was not stored", "job", id, "err", err)
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
	return s.outgoing.post(ctx, j, address, body)
}

// resultsOf returns the results of a job as a JSON document.
func (x *execution) resultsOf(ctx context.Context, j *state.Job) io.ReadCloser {
	c := x.call(ctx)
	in, out := io.Pipe()
	go func() {
		list, err := c.storedOutputs(j, x.req)
		if err == nil {
			err = c.sendDocument(&pipedAnswer{header: map[string][]string{}, out: out, begun: make(chan struct{})},
				list)
		}
		out.CloseWithError(err)
	}()
	return in
}

// dismissClasses returns the conformance classes of a job. Callbacks are included if they are enabled.
func (s *Surface) dismissClasses() []string {
	classes := []string{processes1 + "dismiss"}
	if s.Config.Processes.Callbacks {
		classes = append(classes, processes1+"callback")
	}
	return classes
}
