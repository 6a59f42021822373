package server

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io"
	"log/slog"
	"math"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/go-chi/chi/v5"

	"grense/internal/apikey"
	"grense/internal/problem"
	"grense/internal/server/limit"
)

// Headers for programs of other origins (Fetch standard, CORS protocol).
const (
	allowHeaders  = "X-API-Key, Authorization, Accept, Accept-Language, Content-Type, SOAPAction, If-Match, If-None-Match, Prefer, Range" // if a preflight names none
	exposeHeaders = "*"                                                                                                                   // no answer to other origins depends on credentials, so that it stands for all
	preflightAge  = "86400"                                                                                                               // seconds
)

// contentPolicy lets pages load nothing but our own files, and nothing inline (CSP Level 3). Images of data: are those of Swagger
// UI's style sheet; connections are those of the requests that it tries out.
const contentPolicy = "default-src 'none'; style-src 'self'; img-src 'self' data:; script-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// TransportSecurity is the value of Strict-Transport-Security on every answer over TLS: browsers use https for a year (RFC 6797).
const TransportSecurity = "max-age=31536000"

// TellRates sets the header fields that tell an owner its rate limit.
func (s *Kit) TellRates(w http.ResponseWriter, owner string) {
	if policy, left := s.Turns.RateHeaders(owner); policy != "" {
		SetHeader(w, "Ratelimit-Policy", policy)
		SetHeader(w, "Ratelimit", left)
	}
}

// allowedHeaders returns the value of Access-Control-Allow-Headers: the headers that a preflight names, since no header is
// forbidden here (Fetch standard, 4.8). Names that are no tokens (RFC 9110, 5.6.2) give the default list.
func allowedHeaders(r *http.Request) string {
	asked := strings.Join(r.Header.Values("Access-Control-Request-Headers"), ", ")
	for i := range len(asked) {
		if c := asked[i]; c <= ' ' && c != ' ' && c != '\t' || c >= 0x7f || strings.IndexByte(`"(),/:;<=>?@[\]{}`, c) >= 0 && c != ',' {
			return allowHeaders
		}
	}
	return cmp.Or(asked, allowHeaders)
}

// fields are fields of a header, ready to be set in many answers. Names are in canonical form; nobody changes the values.
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

// set puts the fields into a header.
func (f fields) set(h http.Header) {
	for i := range f {
		h[f[i].name] = f[i].values
	}
}

// everyAnswer are the header fields of every answer.
var everyAnswer = fields{
	{"Access-Control-Allow-Origin", []string{"*"}},
	{"Access-Control-Expose-Headers", []string{exposeHeaders}},
	{"X-Content-Type-Options", []string{"nosniff"}},
}

// everyDocument are the header fields of whatever a browser may show with links and scripts of its own.
var everyDocument = fields{
	{"Content-Security-Policy", []string{contentPolicy}},
	{"Referrer-Policy", []string{"same-origin"}}, // what people ask for is not told to others
}

// isDocument reports whether browsers show a media type as a document that may load and run things: HTML, XML, SVG, and what has no type.
func isDocument(media string) bool {
	return media == "" || strings.HasPrefix(media, "text/html") || strings.Contains(media, "xml")
}

// passage is what the chain makes for a request, in one piece: its context, which knows the call and the router's part.
type passage struct {
	context.Context
	call     Call
	response response
	route    chi.Context
	id       [1]string    // as a field of the header
	room     [6][2]string // for the router
}

// Value is that of the context of the connection, but for what the chain knows.
func (p *passage) Value(key any) any {
	switch key {
	case any(callKey{}):
		return &p.call
	case any(chi.RouteCtxKey):
		return &p.route
	}
	return p.Context.Value(key)
}

// pass begins the way of a request through the chain.
func (s *Kit) pass(w http.ResponseWriter, r *http.Request) *passage {
	p := &passage{Context: r.Context()}
	c := &p.call
	c.s, c.ID, c.Lang = s, NewID(), language(askedLanguage(r.URL), r.Header["Accept-Language"])
	c.Root, c.Address = s.address(r)
	c.Response, c.Request = &p.response, r.WithContext(p)
	readRange(c.Request.Header)
	p.response = response{ResponseWriter: w, plain: r.TLS == nil, deadline: s.Config.Limits.WriteTimeout, slowest: int64(s.Config.Limits.Slowest), makers: s.Makers}
	if r.TLS == nil && r.ProtoMajor == 1 { // of HTTP/2 other answers may be under way
		p.response.gather = GathererOf(r.Context())
	}
	x := &p.route
	x.RoutePath = s.routePath(r.URL)
	x.URLParams.Keys, x.URLParams.Values, x.RoutePatterns = p.room[0][:0], p.room[1][:0], p.room[2][:0]
	c.readIDs()
	p.id[0] = c.ID
	return p
}

// chain wraps the router: request id, recovery, log, metrics, address, headers for other origins.
func (s *Kit) chain(router *router) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		s.metrics.inFlight.Inc()
		way := s.pass(w, r)
		c, rw := &way.call, &way.response
		r = c.Request
		h := rw.Header()
		everyAnswer.set(h)
		h["X-Request-Id"] = way.id[:]
		if r.TLS != nil {
			h.Set("Strict-Transport-Security", TransportSecurity)
		}
		if !s.ready.Load() { // the connection ends with this answer, so that closing it later breaks off nothing
			h.Set("Connection", "close")
		}
		if r.Method == http.MethodOptions {
			h.Set("Access-Control-Allow-Headers", allowedHeaders(r))
			h.Add("Vary", "Access-Control-Request-Headers")
			h.Set("Access-Control-Max-Age", preflightAge)
		}
		defer func() {
			p := recover()
			c.Hold(-c.held)
			rw.release()
			if rw.spool != nil { // not drained, since the answer is broken off
				rw.spool.Close()
				rw.spool, rw.spooled = nil, true
			}
			if p != nil && p != http.ErrAbortHandler {
				s.Log.ErrorContext(way, "panic", "request", c.ID, "path", Redacted(r.URL.Path), "panic", p, "stack", string(debug.Stack()))
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
		c.Hold(-c.held)
		rw.release()
		if err := rw.drain(); err != nil {
			panic(http.ErrAbortHandler) // its beginning is out
		}
	})
}

// askedLanguage is the parameter lang, for which a query that cannot have it is not parsed.
func askedLanguage(u *url.URL) string {
	for part := range strings.SplitSeq(u.RawQuery, "&") {
		if name, _, _ := strings.Cut(part, "="); name == "lang" || strings.Contains(name, "%") {
			return u.Query().Get("lang")
		}
	}
	return ""
}

// record writes the log line and the metrics of one request that came at start.
func (s *Kit) record(c *Call, rw *response, r *http.Request, start time.Time) {
	now := time.Now()
	took := now.Sub(start)
	name := c.op
	if c.Operation != "" {
		name += "." + c.Operation
	}
	s.metrics.inFlight.Dec()
	s.metrics.record(c, name, rw, took)
	if r.Context().Err() != nil {
		c.brokenOff()
	}
	if _, inside := r.Context().Value(insideKey{}).(Inside); c.KeyID != "" && !inside {
		s.keys.Used(c.KeyID, rw.bytes, rw.Status == http.StatusForbidden || rw.Status == http.StatusTooManyRequests, now)
	}
	if (r.URL.Path == "/healthz" || r.URL.Path == "/readyz") && rw.Status == http.StatusOK {
		return
	}
	if !s.access.Logs(cmp.Or(rw.Status, statusLeft), took) {
		return
	}
	query := Redacted(Clip(r.URL.RawQuery))
	if strings.Contains(query, "code=") {
		query = "code=***" // a one-time code is as good as a key until it is redeemed
	}
	ctx, log := r.Context(), s.Log.Handler()
	if !log.Enabled(ctx, slog.LevelInfo) {
		return
	}
	line := slog.NewRecord(now, slog.LevelInfo, "request", 0) // nobody looks for the place in the code, which costs a look at the stack
	line.AddAttrs(slog.String("request", c.ID), slog.String("method", Clip(r.Method)), slog.String("path", Redacted(Clip(r.URL.Path))), slog.String("query", query),
		slog.Int("status", rw.Status), slog.Int64("bytes", rw.bytes), slog.Float64("took_ms", float64(took.Microseconds())/1000), slog.String("key", c.KeyID), slog.String("client", c.Address), slog.String("agent", Redacted(Clip(r.UserAgent()))))
	if c.Operation != "" {
		line.AddAttrs(slog.String("operation", c.Operation))
	}
	if c.traceID != "" {
		line.AddAttrs(slog.String("trace", c.traceID))
	}
	if c.cached {
		line.AddAttrs(slog.Bool("cached", true))
	}
	log.Handle(ctx, line) //nolint:errcheck // there is nobody to tell
}

// routePath is the path below the base URL, escaped as it came, without a slash at its end. A proxy may have cut the path of the
// base URL off, or not.
func (s *Kit) routePath(u *url.URL) string {
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

// address is the URL that links of the answer start with, and the address of the client: the configured URL and the peer, or, from a trusted
// proxy, what it names. The Host header of a client never counts.
func (s *Kit) address(r *http.Request) (root, client string) {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return s.Root, ""
	}
	peer, err := netip.ParseAddr(host)
	if err != nil {
		return s.Root, ""
	}
	trusted := len(s.Config.TrustedProxies) > 0
	if peer.Is4() && !trusted {
		return s.Root, host
	}
	peer = peer.Unmap().WithZone("")
	if !trusted || !s.trusts(peer) {
		return s.Root, peer.String()
	}
	return s.forwarded(r.Header), s.client(peer, r.Header).String()
}

func (s *Kit) trusts(peer netip.Addr) bool {
	return slices.ContainsFunc(s.Config.TrustedProxies, func(p netip.Prefix) bool { return p.Contains(peer) })
}

// mostHops is how many proxies in a row are looked through.
const mostHops = 16

// client is the nearest address that is not of a trusted proxy, as Forwarded (RFC 7239) or X-Forwarded-For tells from right to left. What
// is malformed or hidden ends the look: the last address known counts.
func (s *Kit) client(peer netip.Addr, h http.Header) netip.Addr {
	hops := h.Values("X-Forwarded-For")
	if f := h.Values("Forwarded"); len(f) > 0 {
		hops = nil
		for _, element := range strings.Split(strings.Join(f, ","), ",") {
			hops = append(hops, forOf(element))
		}
	} else {
		hops = strings.Split(strings.Join(hops, ","), ",")
	}
	for n := 0; len(hops) > 0 && n < mostHops && s.trusts(peer); n++ {
		last := strings.TrimSpace(hops[len(hops)-1])
		hops = hops[:len(hops)-1]
		if at, err := netip.ParseAddrPort(last); err == nil {
			last = at.Addr().String()
		}
		next, err := netip.ParseAddr(strings.Trim(last, "[]"))
		if err != nil {
			break
		}
		peer = next.Unmap().WithZone("")
	}
	return peer
}

// forOf is the parameter for of an element of Forwarded; "" when there is none.
func forOf(element string) string {
	for pair := range strings.SplitSeq(element, ";") {
		if k, v, _ := strings.Cut(strings.TrimSpace(pair), "="); strings.EqualFold(k, "for") {
			return strings.Trim(v, `"`)
		}
	}
	return ""
}

// shareOf is whose share of the server an address takes: its own, or that of its network of 64 bits, which one subscriber has (RFC 6177).
func shareOf(client string) string {
	if !strings.Contains(client, ":") {
		return client
	}
	a, err := netip.ParseAddr(client)
	if err != nil || a.Is4() {
		return client
	}
	p, _ := a.Prefix(64) // 64 bits are in every address of 128
	return p.String()
}

// hostPattern is what a forwarded host may look like: a name or an address, with a port.
var hostPattern = regexp.MustCompile(`^(?:[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?|\[[0-9A-Fa-f:.]{2,45}\])(?::[0-9]{1,5})?$`)

// prefixPattern is what a forwarded path may look like.
var prefixPattern = regexp.MustCompile(`^(?:/[A-Za-z0-9._~-]{1,64}){1,8}/?$`)

// forwarded reads Forwarded (RFC 7239) or X-Forwarded-*, of the nearest proxy. What is missing or malformed is taken from the base URL.
func (s *Kit) forwarded(h http.Header) string {
	base, _ := url.Parse(s.Root)
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
	if p := lastElement(h.Values("X-Forwarded-Prefix")); prefixPattern.MatchString(p) && path.Clean(p) == strings.TrimSuffix(p, "/") {
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
	Status   int
	bytes    int64
	gather   Gatherer      // what whole answers go through; nil: they are written as they come
	plain    bool          // the connection has no TLS
	gone     bool          // the client takes no more
	slow     bool          // because it read too slowly
	deadline time.Duration // for one write
	slowest  int64         // bytes in a second that the reader must take on average, after patience
	blocked  time.Duration // in writes
	makers   *limit.Makers
	leave    func()       // gives the place of a large answer that is being made back; nil: none is held
	direct   bool         // that place is of an answer that goes straight to its reader
	rest     func()       // gives the place of writing back; nil: none is held
	spool    *limit.Spool // what goes behind the bytes that are sent; nil: nothing waits
	spooled  bool         // the answer had its spool
	values   [12]string
	valued   int     // how many of values are in use
	lead     *making // what others may wait for until the answer begins; nil: nothing
}

// set sets a field of the header, whose name is in canonical form. Most answers have few, whose values lie beside each other.
func (w *response) set(name, value string) {
	if n := w.valued; n < len(w.values) {
		w.valued++
		w.values[n] = value
		w.Header()[name] = w.values[n : n+1 : n+1]
		return
	}
	w.Header()[name] = []string{value}
}

// SetHeader is response.set for any answer.
func SetHeader(w http.ResponseWriter, name, value string) {
	if rw, ok := w.(*response); ok {
		rw.set(name, value)
		return
	}
	w.Header()[name] = []string{value}
}

func (w *response) WriteHeader(status int) {
	if w.Status == 0 {
		w.Status = status
		if w.lead != nil { // what follows takes as long as its reader does
			w.lead.end(nil, false)
			w.lead = nil
		}
		if h := w.Header(); isDocument(First(h["Content-Type"])) {
			everyDocument.set(h)
		}
	}
	w.ResponseWriter.WriteHeader(status)
}

// chunk is the most that is written under one deadline, in bytes.
const chunk = 64 << 10

func (w *response) Write(b []byte) (n int, err error) {
	if w.Status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	for len(b) > 0 {
		if w.spool == nil && !w.spooled && w.blocked > limit.TooSlow {
			w.spool = limit.NewSpool(w.makers)
			w.spooled = w.spool == nil
		}
		if w.spool == nil {
			m, err := w.send(b[:min(len(b), chunk)])
			if n, b = n+m, b[m:]; err != nil {
				return n, err
			}
			continue
		}
		m := w.keep(b)
		if n, b = n+m, b[m:]; len(b) == 0 {
			break
		}
		if err := w.drain(); err != nil {
			return n, err
		}
	}
	return n, nil
}

// Gatherer is a connection that can hold back what is written into it, so that head and body of an answer leave in one piece.
type Gatherer interface {
	Hold()
	Release() error // writes what was held back
}

type gathererKey struct{}

// WithGatherer lets answers to requests without TLS, which come by a connection with that context, go through its Gatherer.
func WithGatherer(ctx context.Context, g Gatherer) context.Context {
	return context.WithValue(ctx, gathererKey{}, g)
}

// GathererOf is that of the connection of a request; nil where it has none.
func GathererOf(ctx context.Context) Gatherer {
	g, _ := ctx.Value(gathererKey{}).(Gatherer)
	return g
}

// whole writes an answer whose header says its length.
func (w *response) whole(parts ...[]byte) error {
	size := 0
	for _, b := range parts {
		size += len(b)
	}
	flusher, ok := w.ResponseWriter.(http.Flusher)
	if w.gather == nil || !ok || size > chunk || w.spool != nil {
		for _, b := range parts {
			if _, err := w.Write(b); err != nil {
				return err
			}
		}
		return nil
	}
	_, err := w.timed(int64(size), func() (n int64, err error) {
		w.gather.Hold()
		for _, b := range parts {
			m, failed := w.ResponseWriter.Write(b)
			if n += int64(m); failed != nil {
				err = failed
			}
		}
		flusher.Flush()
		return n, cmp.Or(w.gather.Release(), err)
	})
	return err
}

// send writes to the client.
func (w *response) send(b []byte) (n int, err error) {
	for len(b) > 0 && err == nil {
		size := min(len(b), chunk)
		var m int
		_, err = w.timed(int64(size), func() (int64, error) {
			m, err = w.ResponseWriter.Write(b[:size])
			return int64(m), err
		})
		n += m
		b = b[m:]
	}
	return n, err
}

// timed calls send within the time that size bytes have, and counts what it sent.
func (w *response) timed(size int64, send func() (int64, error)) (int64, error) {
	w.Resting() // a slow reader must not occupy a place that others queue for
	start := time.Now()
	http.NewResponseController(w.ResponseWriter).SetWriteDeadline(start.Add(w.allowed(size))) // not every ResponseWriter has deadlines
	n, err := send()
	w.blocked += time.Since(start)
	w.bytes += n
	w.gone = w.gone || err != nil
	w.slow = errors.Is(err, os.ErrDeadlineExceeded)
	return n, err
}

// filePiece is the most of a file that is sent under one deadline, in bytes.
const filePiece = 4 << 20

// ReadFrom sends what a file has, or a part of it, as the system copies it, where the connection can take that; anything else is written. What is counted,
// and which reader is cut off, is as with Write.
func (w *response) ReadFrom(src io.Reader) (n int64, err error) {
	left, file := int64(math.MaxInt64), src
	if part, ok := src.(*io.LimitedReader); ok {
		left, file = part.N, part.R
	}
	to, ok := w.ResponseWriter.(io.ReaderFrom)
	if _, isFile := file.(syscall.Conn); !ok || !isFile || !w.plain || w.spool != nil || !w.spooled {
		return io.Copy(struct{ io.Writer }{w}, src)
	}
	if w.Status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	for left > 0 {
		size := min(left, filePiece)
		m, err := w.timed(min(size, chunk), func() (int64, error) { return to.ReadFrom(&io.LimitedReader{R: file, N: size}) })
		n, left = n+m, left-m
		if m >= chunk && errors.Is(err, os.ErrDeadlineExceeded) { // slow, but it takes as much as one write has
			w.gone, w.slow = false, false
			continue
		}
		if err != nil || m < size { // the end of the file
			return n, err
		}
	}
	return n, nil
}

// patience is how long a reader may take in all before its speed counts.
const patience = 5 * time.Second

// allowed is the time for the next write, after which n bytes more will be out.
func (w *response) allowed(n int64) time.Duration {
	if w.slowest == 0 {
		return w.deadline
	}
	seconds := float64(w.bytes+n) / float64(w.slowest)
	return min(w.deadline, patience+time.Duration(seconds*float64(time.Second))-w.blocked)
}

// Unwrap lets http.ResponseController reach the connection.
func (w *response) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func NewID() string {
	var b [8]byte
	rand.Read(b[:]) // never fails (crypto/rand)
	return hex.EncodeToString(b[:])
}

// Redacted blots keys out of a text, so that they reach no log, URL or error body.
func Redacted(s string) string { return apikey.Redact(s) }
