package server

import (
	"cmp"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"grense/internal/apikey"
	"grense/internal/problem"
	"grense/internal/server/limit"
	"grense/internal/server/metrics"
	"grense/internal/server/problems"
	"grense/internal/trace"
)

// measure begins to record the times of a call that came at start, if it is traced or if its response reports them.
func (p *passage) measure(start time.Time) {
	c := &p.call
	if span, ok := c.s.Traces.Begin(c.Trace); ok {
		c.span, c.traceID, c.Trace = &span, span.Trace(), span.Traceparent()
	}
	if c.span == nil && !c.s.Config.ServerTiming {
		return
	}
	c.Times = &limit.Times{}
	p.Context = limit.WithTimes(p.Context, c.Times)
	if c.s.Config.ServerTiming {
		p.timing = func() { p.writeTiming(start) }
	}
}

// writeTiming sets Server-Timing (W3C Server Timing, 4): what the call has taken until the first byte of its response.
func (p *passage) writeTiming(start time.Time) {
	c := &p.call
	now := time.Now()
	var b []byte
	entry := func(name string, d time.Duration) {
		if len(b) > 0 {
			b = append(b, ", "...)
		}
		b = append(append(b, name...), ";dur="...)
		b = strconv.AppendFloat(b, float64(d.Microseconds())/1000, 'f', -1, 64)
	}
	if c.cached {
		b = append(b, "cache;desc=hit"...)
	}
	waited, asked := c.Times.Sums()
	entry("queue", waited)
	entry("query", asked)
	if since, ok := c.Times.Encoding(); ok {
		entry("encode", now.Sub(since))
	}
	entry("total", now.Sub(start))
	SetHeader(c.Response, "Server-Timing", string(b))
}

// sendTrace sends the spans of a call that ended now.
func (s *Kit) sendTrace(c *Call, rw *limit.Response, name string, start, now time.Time) {
	status := cmp.Or(rw.Status, metrics.StatusLeft)
	root := trace.Span{Name: cmp.Or(name, "request"), Serves: true, Start: start, End: now, Attrs: []slog.Attr{
		slog.String("http.request.method", apikey.Redact(problem.Clip(c.Request.Method))),
		slog.Int("http.response.status_code", status),
		slog.String("url.path", apikey.Redact(problem.Clip(c.Request.URL.Path))), slog.String("grense.request", c.ID),
		slog.Int64("http.response.body.size", rw.Bytes), slog.Bool("grense.cached", c.cached)}}
	if c.Collection != nil {
		root.Attrs = append(root.Attrs, slog.String("grense.collection", c.Collection.ID))
	}
	if status >= http.StatusInternalServerError {
		root.Failure = http.StatusText(status)
	}
	SendTrace(s.Traces, *c.span, root, c.Times)
}

// SendTrace sends a root span with the queries and the encoding that times has.
func SendTrace(to *trace.Exporter, c trace.Context, root trace.Span, times *limit.Times) {
	var children []trace.Span
	queries, more := times.Queries()
	for _, q := range queries {
		span := trace.Span{Name: "query", Start: q.Start, End: q.End,
			Attrs: []slog.Attr{slog.String("grense.class", q.Class)}}
		if q.Err != nil {
			span.Failure = problems.Code(q.Err) // its text may have values of clients
		}
		children = append(children, span)
	}
	if since, ok := times.Encoding(); ok && since.Before(root.End) {
		children = append(children, trace.Span{Name: "encode", Start: since, End: root.End})
	}
	waited, _ := times.Sums()
	root.Attrs = append(root.Attrs, slog.Float64("grense.waited_ms", float64(waited.Microseconds())/1000),
		slog.Int("grense.queries", len(queries)+more))
	to.End(c, root, children...)
}
