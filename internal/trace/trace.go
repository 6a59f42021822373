// Package trace sends spans to a collector of OpenTelemetry, as OTLP over HTTP in JSON (OTLP 1.5).
//
// A trace is sent as a whole when its root span has ended. Nothing waits for the collector: while it does not answer,
// spans gather up to a bound, and further ones are dropped.
package trace

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
	mathrand "math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Bounds of what waits for the collector.
const (
	queueLength = 2048             // traces that wait
	batchTraces = 256              // traces in one request
	batchWait   = time.Second      // after which an incomplete batch is sent
	sendTime    = 10 * time.Second // of one request
	lastTime    = 2 * time.Second  // of the last request, when the process ends
	maxRetry    = 30 * time.Second // between two tries
)

// Options configure an Exporter.
type Options struct {
	Endpoint string // base address of the collector; /v1/traces is added unless it has a path
	OneIn    int    // one trace in so many is sent; those that a caller has begun follow the caller
	Version  string // of the program
	Log      *slog.Logger
}

// Exporter sends spans. A nil Exporter samples nothing. It is safe for concurrent use.
type Exporter struct {
	address string
	oneIn   int
	log     *slog.Logger
	client  *http.Client
	queue   chan []span
	lost    chan struct{} // has an element if traces were dropped since the last batch
	about   []attribute
}

// New returns an exporter. Run must run for it to send anything.
func New(o Options) (*Exporter, error) {
	u, err := url.Parse(o.Endpoint)
	if err != nil {
		return nil, fmt.Errorf("trace: %w", err)
	}
	if strings.Trim(u.Path, "/") == "" {
		u.Path = "/v1/traces"
	}
	return &Exporter{address: u.String(), oneIn: max(1, o.OneIn), log: o.Log,
		client: &http.Client{Transport: &http.Transport{Proxy: http.ProxyFromEnvironment}},
		queue:  make(chan []span, queueLength), lost: make(chan struct{}, 1),
		about: attributes([]slog.Attr{slog.String("service.name", "grense"), slog.String("service.version", o.Version),
			slog.String("service.instance.id", hexOf(8))})}, nil
}

// Context identifies a root span in its trace.
type Context struct{ trace, span, parent string }

// Begin begins a trace, or a part of the one that a header traceparent names; "" is none. ok is false if it is not
// sampled.
func (e *Exporter) Begin(traceparent string) (c Context, ok bool) {
	if e == nil {
		return c, false
	}
	if part := strings.Split(traceparent, "-"); len(part) == 4 {
		flags, err := strconv.ParseUint(part[3], 16, 8)
		return Context{part[1], hexOf(8), part[2]}, err == nil && flags&1 == 1
	}
	if e.oneIn > 1 && mathrand.N(e.oneIn) > 0 {
		return c, false
	}
	return Context{trace: hexOf(16), span: hexOf(8)}, true
}

// Traceparent returns the header traceparent for what the root span causes (W3C Trace Context, 3.2).
func (c Context) Traceparent() string { return "00-" + c.trace + "-" + c.span + "-01" }

// Trace returns the id of the trace.
func (c Context) Trace() string { return c.trace }

// Span is a part of a trace.
type Span struct {
	Name       string
	Serves     bool // it answers a request
	Start, End time.Time
	Attrs      []slog.Attr
	Failure    string // "": it succeeded
}

// End queues a root span with its children.
func (e *Exporter) End(c Context, root Span, children ...Span) {
	list := make([]span, 0, 1+len(children))
	list = append(list, root.encode(c.trace, c.span, c.parent))
	for _, s := range children {
		list = append(list, s.encode(c.trace, hexOf(8), c.span))
	}
	select {
	case e.queue <- list:
	default:
		select {
		case e.lost <- struct{}{}:
		default: // it is known
		}
	}
}

// Run sends what is queued until ctx ends, and then the rest once.
func (e *Exporter) Run(ctx context.Context) {
	tick := time.NewTicker(batchWait)
	defer tick.Stop()
	var batch []span
	traces := 0
	send := func() {
		if len(batch) > 0 {
			e.deliver(ctx, batch)
			batch, traces = nil, 0
		}
	}
	for {
		select {
		case list := <-e.queue:
			batch = append(batch, list...)
			if traces++; traces >= batchTraces {
				send()
			}
		case <-tick.C:
			send()
			select {
			case <-e.lost:
				e.log.Warn("spans were dropped, since the collector of traces does not take them as fast")
			default: // none
			}
		case <-ctx.Done():
			for len(e.queue) > 0 {
				batch = append(batch, <-e.queue...)
			}
			send()
			return
		}
	}
}

// deliver sends a batch until the collector takes or refuses it. When ctx has ended it tries once.
func (e *Exporter) deliver(ctx context.Context, batch []span) {
	for wait := batchWait; ; wait = min(2*wait, maxRetry) {
		again, err := e.post(ctx, batch)
		if err == nil {
			return
		}
		e.log.Warn("the collector of traces does not take spans", "err", err)
		if !again || ctx.Err() != nil {
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
	}
}

// post sends a batch once. again reports whether another try may succeed.
func (e *Exporter) post(ctx context.Context, batch []span) (again bool, err error) {
	ended := ctx
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), sendTime)
	defer cancel()
	defer context.AfterFunc(ended, func() { time.AfterFunc(lastTime, cancel) })()
	body, err := json.Marshal(request{[]resourceSpans{{resource{e.about}, []scopeSpans{{scope{"grense"}, batch}}}}})
	if err != nil {
		return false, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.address, bytes.NewReader(body))
	if err != nil {
		return false, err
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := e.client.Do(req)
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err // without the address, which may have a password
	}
	if err != nil {
		return true, err
	}
	defer res.Body.Close()
	io.CopyN(io.Discard, res.Body, 1<<16) //nolint:errcheck // so that the connection can be used again
	switch res.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true, fmt.Errorf("trace: it answers %d", res.StatusCode)
	}
	if res.StatusCode/100 != 2 {
		return false, fmt.Errorf("trace: it answers %d", res.StatusCode)
	}
	return false, nil
}

// hexOf returns n random bytes in hexadecimal digits.
func hexOf(n int) string {
	b := make([]byte, n)
	rand.Read(b) // never fails (crypto/rand)
	return hex.EncodeToString(b)
}
