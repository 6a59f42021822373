package server

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"runtime/debug"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"grense/internal/apikey"
	"grense/internal/problem"
	"grense/internal/server/limit"
	"grense/internal/server/media"
	"grense/internal/server/metrics"
	"grense/internal/server/wire"
)

// Headers for scripts of other origins (Fetch standard, CORS protocol).
const (
	// if a preflight names none
	allowHeaders = "X-API-Key, Authorization, Accept, Accept-Language, Content-Type, SOAPAction, If-Match, " +
		"If-None-Match, Prefer, Range"
	// valid for all, since no response to other origins uses credentials
	exposeHeaders = "*"
	// seconds
	preflightAge = "86400"
)

// contentPolicy allows pages to load our own files only, and nothing inline (CSP Level 3). Swagger UI needs data: for
// images of its style sheet, and connect-src for the requests that it tries.
const contentPolicy = "default-src 'none'; style-src 'self'; img-src 'self' data:; script-src 'self'; connect-src " +
	"'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// TransportSecurity is the value of Strict-Transport-Security on responses over TLS: HTTPS only for a year (RFC 6797).
const TransportSecurity = "max-age=31536000"

// WriteRates sets the header fields with the rate limit of an owner.
func (s *Kit) WriteRates(w http.ResponseWriter, owner string) {
	if policy, left := s.Turns.RateHeaders(owner); policy != "" {
		SetHeader(w, "Ratelimit-Policy", policy)
		SetHeader(w, "Ratelimit", left)
	}
}

// allowedHeaders returns the value of Access-Control-Allow-Headers. It allows all headers that a preflight names (Fetch
// standard, 4.8). If these are not tokens (RFC 9110, 5.6.2), or hold a key, it returns the default list.
func allowedHeaders(r *http.Request) string {
	asked := strings.Join(r.Header.Values("Access-Control-Request-Headers"), ", ")
	if holdsKey(asked) {
		return allowHeaders
	}
	for i := range len(asked) {
		if c := asked[i]; c <= ' ' && c != ' ' && c != '\t' || c >= 0x7f ||
			strings.IndexByte(`"(),/:;<=>?@[\]{}`, c) >= 0 && c != ',' {
			return allowHeaders
		}
	}
	return cmp.Or(asked, allowHeaders)
}

// SetHeader sets a header field of any ResponseWriter. The name is in canonical form.
func SetHeader(w http.ResponseWriter, name, value string) {
	if rw, ok := w.(*limit.Response); ok {
		rw.Set(name, value)
		return
	}
	w.Header()[name] = []string{value}
}

// fields are header fields that many responses share. Names are in canonical form; nobody may change the values.
type fields []struct {
	name   string
	values []string
}

// add appends a field.
func (f *fields) add(name string, values ...string) {
	*f = append(*f, struct {
		name   string
		values []string
	}{name, values})
}

func (f fields) has(name string) bool {
	for i := range f {
		if f[i].name == name {
			return true
		}
	}
	return false
}

// set sets the fields of a header.
func (f fields) set(h http.Header) {
	for i := range f {
		h[f[i].name] = f[i].values
	}
}

// everyAnswer are the header fields of all responses.
var everyAnswer = fields{
	{"Access-Control-Allow-Origin", []string{"*"}},
	{"Access-Control-Expose-Headers", []string{exposeHeaders}},
	{"X-Content-Type-Options", []string{"nosniff"}},
}

// everyDocument are the header fields of documents that browsers display with links and scripts.
var everyDocument = fields{
	{"Content-Security-Policy", []string{contentPolicy}},
	{"Referrer-Policy", []string{"same-origin"}}, // other sites do not learn what people search for
}

// isDocument reports whether browsers display a media type as a document that may load and run things: HTML, XML, SVG,
// or no type.
func isDocument(media string) bool {
	return media == "" || strings.HasPrefix(media, "text/html") || strings.Contains(media, "xml")
}

// passage is all that the chain allocates for a request. It is the context of the request.
type passage struct {
	context.Context
	call     Call
	response limit.Response
	timing   func() // sets Server-Timing; nil: the setting is off
	route    chi.Context
	id       [1]string    // as a value of the header
	room     [6][2]string // for the router
}

// Value returns the call and the routing context, and other values from the context of the connection.
func (p *passage) Value(key any) any {
	switch key {
	case any(callKey{}):
		return &p.call
	case any(chi.RouteCtxKey):
		return &p.route
	}
	return p.Context.Value(key)
}

// Begin is called before the header of the response is sent. It ends the wait of others for the response, whose rest
// takes as long as its client, and sets header fields.
func (p *passage) Begin() {
	if m := p.call.lead; m != nil {
		p.call.lead = nil
		m.end(nil, false)
	}
	if p.timing != nil {
		p.timing()
	}
	if h := p.response.Header(); isDocument(First(h["Content-Type"])) {
		everyDocument.set(h)
	}
}

// pass returns the passage of a new request.
func (s *Kit) pass(w http.ResponseWriter, r *http.Request, start time.Time) *passage {
	p := &passage{Context: r.Context()}
	c := &p.call
	c.Admission = s.Limits.Admission(&p.response)
	c.s, c.ID, c.Lang = s, NewID(), media.Language(media.Requested(r.URL), r.Header["Accept-Language"])
	c.Root, c.Address = s.proxies.Address(r)
	c.Request = r.WithContext(p)
	wire.ReadRange(c.Request.Header)
	p.response = limit.Response{ResponseWriter: w, Hook: p, Plain: r.TLS == nil,
		Deadline: s.Config.Limits.WriteTimeout, Slowest: int64(s.Config.Limits.Slowest), Makers: s.Makers}
	if r.TLS == nil && r.ProtoMajor == 1 { // an HTTP/2 connection may carry other responses at the same time
		p.response.Gather = GathererOf(r.Context())
	}
	x := &p.route
	x.RoutePath = s.proxies.Path(r.URL)
	x.URLParams.Keys, x.URLParams.Values, x.RoutePatterns = p.room[0][:0], p.room[1][:0], p.room[2][:0]
	s.readIDs(c)
	p.id[0] = c.ID
	p.measure(start)
	return p
}

// chain wraps the router with request id, recovery, log, metrics, client address and headers for other origins.
func (s *Kit) chain(router *router) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		s.Metrics.InFlight.Inc()
		way := s.pass(w, r, start)
		c, rw := &way.call, &way.response
		r = c.Request
		h := rw.Header()
		everyAnswer.set(h)
		h["X-Request-Id"] = way.id[:]
		if r.TLS != nil {
			h.Set("Strict-Transport-Security", TransportSecurity)
		}
		if !s.ready.Load() { // this response ends the connection, so that closing it later interrupts nothing
			h.Set("Connection", "close")
		}
		if r.Method == http.MethodOptions {
			h.Set("Access-Control-Allow-Headers", allowedHeaders(r))
			h.Add("Vary", "Access-Control-Request-Headers")
			h.Set("Access-Control-Max-Age", preflightAge)
		}
		defer func() {
			p := recover()
			c.Free()
			rw.Discard()
			if p != nil && p != http.ErrAbortHandler {
				s.Log.ErrorContext(way, "panic", "request", c.ID, "path", apikey.Redact(r.URL.Path), "panic",
					apikey.Redact(fmt.Sprint(p)), "stack", string(debug.Stack()))
				if rw.Status == 0 {
					c.Fail(rw, problem.New(problem.Internal, nil, ""))
					p = nil
				} else {
					p = http.ErrAbortHandler
				}
			}
			s.record(c, rw, r, start)
			if p != nil {
				panic(p)
			}
		}()
		router.find(&way.route).ServeHTTP(rw, r)
		c.Free()
		if err := rw.Drain(); err != nil {
			panic(http.ErrAbortHandler) // part of the response has been sent
		}
	})
}

// record writes the log line and the metrics of a request that came at start.
func (s *Kit) record(c *Call, rw *limit.Response, r *http.Request, start time.Time) {
	now := time.Now()
	took := now.Sub(start)
	name := c.op
	if c.Operation != "" {
		name += "." + c.Operation
	}
	ended := metrics.Request{Operation: name, Status: rw.Status, Bytes: rw.Bytes, Took: took, Refused: c.refused,
		Slow: rw.Slow, Probe: c.op == opReady}
	if c.Collection != nil {
		ended.Collection = c.Collection.ID
	}
	s.Metrics.InFlight.Dec()
	s.Metrics.Ended(ended)
	if r.Context().Err() != nil {
		c.BrokenOff()
	}
	if _, inside := r.Context().Value(insideKey{}).(Inside); c.KeyID != "" && !inside {
		s.Keys.Used(c.KeyID, rw.Bytes, rw.Status == http.StatusForbidden || rw.Status == http.StatusTooManyRequests,
			now)
	}
	if (r.URL.Path == "/healthz" || r.URL.Path == "/readyz") && rw.Status == http.StatusOK {
		return
	}
	if c.span != nil {
		s.sendTrace(c, rw, name, start, now)
	}
	if !s.access.Logs(cmp.Or(rw.Status, metrics.StatusLeft), took) {
		return
	}
	query := apikey.Redact(problem.Clip(s.withoutKey(r.URL.RawQuery)))
	if strings.Contains(query, "code=") {
		query = "code=***" // a one-time code is a key until it is redeemed
	}
	ctx, log := r.Context(), s.Log.Handler()
	if !log.Enabled(ctx, slog.LevelInfo) {
		return
	}
	line := slog.NewRecord(now, slog.LevelInfo, "request", 0) // pc 0: finding the caller would cost time
	line.AddAttrs(slog.String("request", c.ID), slog.String("method", apikey.Redact(problem.Clip(r.Method))),
		slog.String("path", apikey.Redact(problem.Clip(r.URL.Path))), slog.String("query", query),
		slog.Int("status", rw.Status), slog.Int64("bytes", rw.Bytes),
		slog.Float64("took_ms", float64(took.Microseconds())/1000), slog.String("key", c.KeyID),
		slog.String("client", c.Address), slog.String("agent", apikey.Redact(problem.Clip(r.UserAgent()))))
	if c.Operation != "" {
		line.AddAttrs(slog.String("operation", c.Operation))
	}
	if c.traceID != "" {
		line.AddAttrs(slog.String("trace", c.traceID))
	}
	if c.cached {
		line.AddAttrs(slog.Bool("cached", true))
	}
	log.Handle(ctx, line) //nolint:errcheck // a log that fails cannot be logged
}

// hiddenKey is shown instead of the value of a parameter that holds a key.
const hiddenKey = "***"

// isKeyParameter reports whether clients may send a key in a query parameter of this name, on some route.
func (s *Kit) isKeyParameter(name string) bool {
	return name != "" && strings.EqualFold(name, s.Config.Compat.KeyParameter)
}

// withoutKey hides the value of the query parameter that clients may send a key in.
func (s *Kit) withoutKey(query string) string {
	if s.Config.Compat.KeyParameter == "" || query == "" {
		return query
	}
	parts := strings.Split(query, "&")
	for i, part := range parts {
		name, _, _ := strings.Cut(part, "=")
		if plain, err := url.QueryUnescape(name); err == nil && s.isKeyParameter(plain) {
			parts[i] = name + "=" + hiddenKey
		}
	}
	return strings.Join(parts, "&")
}

type gathererKey struct{}

// WithGatherer returns the context of a connection without TLS whose responses use the Gatherer.
func WithGatherer(ctx context.Context, g limit.Gatherer) context.Context {
	return context.WithValue(ctx, gathererKey{}, g)
}

// GathererOf returns the Gatherer of a connection's context; nil if there is none.
func GathererOf(ctx context.Context) limit.Gatherer {
	g, _ := ctx.Value(gathererKey{}).(limit.Gatherer)
	return g
}

func NewID() string {
	var b [8]byte
	rand.Read(b[:]) // never fails (crypto/rand)
	return hex.EncodeToString(b[:])
}
