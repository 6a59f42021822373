package server

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"runtime/debug"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"grense/internal/apikey"
	"grense/internal/problem"
)

// Headers for programs of other origins (Fetch standard, CORS protocol).
const (
	allowHeaders  = "X-API-Key, Authorization, Accept, Accept-Language, Content-Type, If-Match, If-None-Match, Prefer, Range"
	exposeHeaders = "Content-Crs, Link, Link-Template, ETag, Location, OGC-NumberMatched, OGC-NumberReturned, Retry-After, WWW-Authenticate, Preference-Applied, Content-Bbox, Content-Datetime"
	preflightAge  = "86400" // seconds
)

// contentPolicy lets pages load nothing but our own files, and nothing inline (CSP Level 3). Images of data: are those of Swagger
// UI's style sheet; connections are those of the requests that it tries out.
const contentPolicy = "default-src 'none'; style-src 'self'; img-src 'self' data:; script-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// everyAnswer are the header fields of every answer. Nobody changes the values.
var everyAnswer = http.Header{
	"Access-Control-Allow-Origin":   {"*"},
	"Access-Control-Expose-Headers": {exposeHeaders},
	"X-Content-Type-Options":        {"nosniff"},
	"Content-Security-Policy":       {contentPolicy},
	"Referrer-Policy":               {"same-origin"}, // what people ask for is not told to others
}

// chain wraps the router: request id, recovery, log, metrics, address, headers for other origins.
func (s *Server) chain(router *chi.Mux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		c := &call{s: s, id: newID(), lang: language(r.URL.Query().Get("lang"), r.Header.Values("Accept-Language"))}
		c.root = s.address(r)
		rw := &response{ResponseWriter: w, deadline: s.cfg.Limits.WriteTimeout}
		rctx := chi.NewRouteContext()
		ctx := context.WithValue(r.Context(), callKey{}, c)
		ctx = context.WithValue(ctx, chi.RouteCtxKey, rctx)
		r = r.WithContext(ctx)
		c.r = r
		rctx.RoutePath = s.routePath(r.URL)
		rctx.RouteMethod = http.MethodGet // a path is found whatever the method; its route answers 405 by itself

		h := rw.Header()
		maps.Copy(h, everyAnswer)
		h.Set("X-Request-Id", c.id)
		if r.Method == http.MethodOptions {
			h.Set("Access-Control-Allow-Headers", allowHeaders)
			h.Set("Access-Control-Max-Age", preflightAge)
		}
		defer func() {
			p := recover()
			if p != nil && p != http.ErrAbortHandler {
				s.log.ErrorContext(ctx, "panic", "request", c.id, "path", redact(r.URL.Path), "panic", p, "stack", string(debug.Stack()))
				if rw.status == 0 {
					c.fail(rw, problem.New(problem.Internal, nil, ""))
					p = nil
				} else {
					p = http.ErrAbortHandler
				}
			}
			s.record(c, rw, r, time.Since(start))
			if p != nil {
				panic(p)
			}
		}()
		router.ServeHTTP(rw, r)
	})
}

// record writes the log line and the metrics of one request.
func (s *Server) record(c *call, rw *response, r *http.Request, took time.Duration) {
	name := "none"
	if c.rt != nil {
		name = c.rt.Op
	}
	var more []slog.Attr
	if c.soapOperation != "" {
		name += "." + c.soapOperation
		more = append(more, slog.String("operation", c.soapOperation))
	}
	s.metrics.observe(name, rw.status, rw.bytes, took)
	if (r.URL.Path == "/healthz" || r.URL.Path == "/readyz") && rw.status == http.StatusOK {
		return
	}
	query := redact(clip(r.URL.RawQuery))
	if strings.Contains(query, "code=") {
		query = "code=***" // a one-time code is as good as a key until it is redeemed
	}
	attrs := []slog.Attr{
		slog.String("request", c.id), slog.String("method", clip(r.Method)), slog.String("path", redact(clip(r.URL.Path))), slog.String("query", query),
		slog.Int("status", rw.status), slog.Int64("bytes", rw.bytes), slog.Duration("took", took.Round(time.Microsecond)), slog.String("key", c.keyID), slog.String("agent", redact(clip(r.UserAgent())))}
	s.log.LogAttrs(r.Context(), slog.LevelInfo, "request", append(attrs, more...)...)
}

// routePath is the path below the base URL, escaped as it came, without a slash at its end. A proxy may have cut the path of the
// base URL off, or not.
func (s *Server) routePath(u *url.URL) string {
	p := u.EscapedPath()
	if s.prefix != "" {
		if rest, ok := strings.CutPrefix(p, s.prefix); ok && (rest == "" || rest[0] == '/') {
			p = rest
		}
	}
	if p = strings.TrimSuffix(p, "/"); p == "" {
		return "/"
	}
	return p
}

// address is the URL that links of the answer start with: the configured one, or, from a trusted proxy, the one it names. The Host
// header of a client never counts.
func (s *Server) address(r *http.Request) string {
	if len(s.cfg.TrustedProxies) == 0 {
		return s.root
	}
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return s.root
	}
	peer, err := netip.ParseAddr(host)
	if err != nil {
		return s.root
	}
	for _, p := range s.cfg.TrustedProxies {
		if p.Contains(peer.Unmap()) {
			return s.forwarded(r.Header)
		}
	}
	return s.root
}

// hostPattern is what a forwarded host may look like: a name or an address, with a port.
var hostPattern = regexp.MustCompile(`^(?:[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?|\[[0-9A-Fa-f:.]{2,45}\])(?::[0-9]{1,5})?$`)

// prefixPattern is what a forwarded path may look like.
var prefixPattern = regexp.MustCompile(`^(?:/[A-Za-z0-9._~-]{1,64}){1,8}/?$`)

// forwarded reads Forwarded (RFC 7239) or X-Forwarded-*, of the nearest proxy. What is missing or malformed is taken from the base URL.
func (s *Server) forwarded(h http.Header) string {
	base, _ := url.Parse(s.root)
	proto, host, prefix := base.Scheme, base.Host, s.prefix
	set := func(p, ho string) {
		if p = strings.ToLower(p); p == "http" || p == "https" {
			proto = p
		}
		if hostPattern.MatchString(ho) {
			host = ho
		}
	}
	if f := h.Values("Forwarded"); len(f) > 0 {
		var p, ho string
		for pair := range strings.SplitSeq(lastElement(f), ";") {
			k, v, _ := strings.Cut(strings.TrimSpace(pair), "=")
			switch strings.ToLower(k) {
			case "proto":
				p = strings.Trim(v, `"`)
			case "host":
				ho = strings.Trim(v, `"`)
			}
		}
		set(p, ho)
	} else {
		set(lastElement(h.Values("X-Forwarded-Proto")), lastElement(h.Values("X-Forwarded-Host")))
	}
	if p := lastElement(h.Values("X-Forwarded-Prefix")); prefixPattern.MatchString(p) {
		prefix = strings.TrimSuffix(p, "/")
	}
	return proto + "://" + host + prefix
}

// lastElement is the last element of a list header: the one that the nearest proxy wrote.
func lastElement(values []string) string {
	if len(values) == 0 {
		return ""
	}
	v := values[len(values)-1]
	return strings.TrimSpace(v[strings.LastIndexByte(v, ',')+1:])
}

// response counts what is written and moves the write deadline with each write: a reader that stands still is cut off, a long
// download goes on.
type response struct {
	http.ResponseWriter
	status   int
	bytes    int64
	deadline time.Duration // for one write
}

func (w *response) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// chunk is the most that is written under one deadline, in bytes.
const chunk = 64 << 10

func (w *response) Write(b []byte) (n int, err error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	rc := http.NewResponseController(w.ResponseWriter)
	for len(b) > 0 && err == nil {
		rc.SetWriteDeadline(time.Now().Add(w.deadline)) // not every ResponseWriter has deadlines
		var m int
		m, err = w.ResponseWriter.Write(b[:min(len(b), chunk)])
		n += m
		b = b[m:]
	}
	w.bytes += int64(n)
	return n, err
}

// Unwrap lets http.ResponseController reach the connection.
func (w *response) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func newID() string {
	var b [8]byte
	rand.Read(b[:]) // never fails (crypto/rand)
	return hex.EncodeToString(b[:])
}

// redact blots keys out of a text, so that they reach no log, URL or error body.
func redact(s string) string { return apikey.Redact(s) }

// gate lets a number of requests at once to the store. The others wait for their turn; those that are new are refused after a while.
type gate struct {
	slots chan struct{}
	wait  time.Duration
}

func newGate(n int, wait time.Duration) *gate {
	return &gate{slots: make(chan struct{}, max(n, 1)), wait: wait}
}

// enter waits for a turn. Work that was begun is never refused: a download that breaks off costs its client all of it.
func (g *gate) enter(ctx context.Context, begun bool) error {
	select {
	case g.slots <- struct{}{}:
		return nil
	default:
	}
	var late <-chan time.Time
	if !begun {
		t := time.NewTimer(g.wait)
		defer t.Stop()
		late = t.C
	}
	select {
	case g.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-late:
		return problem.New(problem.Busy, nil, "the server is busy; try again after the seconds in Retry-After")
	}
}

func (g *gate) leave() { <-g.slots }

// run waits for a turn and runs fn with a bound on its time.
func (g *gate) run(ctx context.Context, begun bool, most time.Duration, fn func(context.Context) error) error {
	if err := g.enter(ctx, begun); err != nil {
		return err
	}
	defer g.leave()
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	return fn(ctx)
}
