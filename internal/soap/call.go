package soap

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"grense/api/placename"
)

// buffered is the size in bytes up to which a response is built in memory before it is sent.
const buffered = 8 << 20

// maxPooled is the largest size in bytes of a buffer that is reused. It allows for the growth of slices.
const maxPooled = buffered + buffered/2

// Call handles a posted envelope. A failure before the first byte becomes a fault; after it the connection is aborted.
func (s *Service) Call(w http.ResponseWriter, r *http.Request) {
	m, f := readMediaType(r)
	if f != nil {
		s.fail(w, r, &envelope{version: versionOf(r)}, f)
		return
	}
	body, f := s.readBody(w, r, m)
	if f != nil {
		s.fail(w, r, &envelope{version: m.version}, f)
		return
	}
	x, f := s.message(body, m.version)
	if x.operation != "" && s.config.Called != nil {
		s.config.Called(r, x.operation)
	}
	e, request := x.envelope, x.request
	if f != nil {
		s.fail(w, r, e, f)
		return
	}
	s.logCall(r, request)
	var err error
	made := func() error { return s.answer(w, r, e, request) }
	if s.config.Keep == nil || e.relates != nil { // with WS-Addressing the response contains the message ID
		err = made()
	} else {
		w.Header().Set("Content-Type", contentTypeOf(e.version))
		err = s.config.Keep(w, r, x.question, made)
	}
	if err != nil && errors.Is(r.Context().Err(), context.Canceled) {
		panic(http.ErrAbortHandler) // the client has gone
	}
	if err != nil {
		s.fail(w, r, e, failureOf(err))
	}
}

// answer runs the search and writes the hits.
func (s *Service) answer(w http.ResponseWriter, r *http.Request, e *envelope, request placename.Request) (err error) {
	for range tries {
		var found placename.Answer
		if found, err = s.config.Searcher.Search(r.Context(), request); err == nil {
			err = (&reply{s: s, w: w, r: r, envelope: e, operation: request.Operation()}).write(found)
		}
		if !errors.Is(err, placename.ErrChanged) {
			break
		}
	}
	return err
}

// tries is the number of attempts if the data change while they are read.
const tries = 5

// reply is a response in progress. Up to buffered bytes it is sent at once; a larger one is sent in parts, and a
// failure between two parts aborts it.
type reply struct {
	s         *Service
	w         http.ResponseWriter
	r         *http.Request
	envelope  *envelope
	operation string

	b    []byte // not sent yet
	held int    // bytes reported to Config.Hold
	sent bool   // a part has been sent
}

// start appends what precedes the hits, end what follows them.
func (p *reply) start(b []byte) []byte {
	base, _ := p.envelope.child.Base(p.s.bases)
	b = append(b, `<?xml version="1.0" encoding="UTF-8"?>`+"\n"+`<S:Envelope xmlns:S="`...)
	b = append(b, envelopeNS[p.envelope.version]...)
	b = append(b, `">`...)
	b = p.envelope.relates.append(b, base+placename.ActionPath(p.operation)+"Response")
	b = append(b, "<S:Body>"...)
	return placename.AppendResponseStart(b, p.operation, base)
}

func (p *reply) end(b []byte) []byte {
	return append(placename.AppendResponseEnd(b, p.operation), "</S:Body></S:Envelope>\n"...)
}

// write writes the hits. It returns failures before the first byte.
func (p *reply) write(a placename.Answer) error {
	first, err := p.next(a) // may wait in the queue, so no buffer is allocated yet
	if err != nil {
		return err
	}
	buffer := p.s.buffers.Get().(*[]byte)
	p.b = (*buffer)[:0]
	if most, _ := p.hold(0); most < buffered && cap(p.b) > 4*most { // memory is scarce
		p.s.buffers.Put(buffer)
		buffer = new([]byte)
		p.b = nil
	}
	defer func() {
		p.hold(0) //nolint:errcheck // a request for 0 bytes does not fail
		if cap(p.b) <= maxPooled {
			*buffer = p.b
			p.s.buffers.Put(buffer)
		}
	}()
	p.b = p.start(p.b)
	p.w.Header().Set("Content-Type", contentTypeOf(p.envelope.version))
	if err := p.hits(a, first); err != nil {
		return err
	}
	p.b = p.end(p.b)
	if whole := p.s.config.Whole; whole != nil && !p.sent {
		p.sent = true
		if whole(p.w, p.r, p.b) != nil {
			panic(http.ErrAbortHandler)
		}
		return nil
	}
	if !p.sent {
		p.w.Header().Set("Content-Length", strconv.Itoa(len(p.b)))
	}
	p.send()
	return nil
}

// next returns the next batch of hits; nil at the end.
func (p *reply) next(a placename.Answer) (placename.Hits, error) {
	if a.Next == nil {
		return nil, nil
	}
	return a.Next(p.r.Context())
}

// hits writes all hits; the first batch has been read.
func (p *reply) hits(a placename.Answer, hits placename.Hits) error {
	for given := 0; hits != nil; {
		start, n := len(p.b), hits.Len()
		p.b = p.s.config.NilTypes.AppendHits(p.b, p.operation, hits)
		most, err := p.hold(cap(p.b))
		if err != nil && !p.sent {
			return err
		}
		if given += n; len(p.b) > most {
			p.send()
		} else if left := a.Count - given; left > 0 && n > 0 && most == buffered {
			// space for the rest, if it is like the first batch
			p.b = slices.Grow(p.b, min(left*(len(p.b)-start)/n*9/8, buffered+buffered/4-len(p.b)))
		}
		if hits, err = p.next(a); err != nil && p.sent {
			p.abort(err)
		} else if err != nil {
			return err
		}
	}
	return nil
}

// hold reserves n bytes instead of those reserved so far, and returns how many are allowed.
func (p *reply) hold(n int) (int, error) {
	if p.s.config.Hold == nil {
		return buffered, nil
	}
	change := n - p.held
	p.held = n
	return p.s.config.Hold(change, n)
}

func (p *reply) send() {
	p.sent = true
	if _, err := p.w.Write(p.b); err != nil {
		panic(http.ErrAbortHandler)
	}
	p.b = p.b[:0]
}

// abort closes the connection, since a part of the response has been sent. It logs that unless the client has gone.
func (p *reply) abort(err error) {
	if p.r.Context().Err() == nil {
		p.s.config.Logger.LogAttrs(p.r.Context(), slog.LevelError, "soap answer aborted",
			slog.String("request", p.s.config.RequestID(p.r)), slog.String("operation", p.operation),
			slog.Any("error", err))
	}
	panic(http.ErrAbortHandler)
}

// logCall logs the caller's name in the request, which is not authenticated.
func (s *Service) logCall(r *http.Request, request placename.Request) {
	c := request.Context()
	s.config.Logger.LogAttrs(r.Context(), slog.LevelInfo, "soap call",
		slog.String("request", s.config.RequestID(r)),
		slog.String("operation", request.Operation()),
		slog.String("client", safe(c.ClientIdentification, 200)),
		slog.String("system", safe(c.SystemVersion, 200)))
}

// logFault logs a refusal with its cause, at level error if the server is to blame.
func (s *Service) logFault(r *http.Request, f *failure, id string, status int, operation string) {
	level := slog.LevelInfo
	switch {
	case f.category == placename.Unavailable:
		level = slog.LevelWarn
	case f.code == codeServer:
		level = slog.LevelError
	}
	attrs := []slog.Attr{
		slog.String("request", id),
		slog.Int("status", status),
		slog.String("category", string(f.category)),
	}
	if operation != "" {
		attrs = append(attrs, slog.String("operation", operation))
	}
	if f.cause != nil {
		attrs = append(attrs, slog.String("error", safe(f.cause.Error(), 2000)))
	}
	s.config.Logger.LogAttrs(r.Context(), level, "soap fault", attrs...)
}

// safe prepares foreign text for the log: at most n characters, with control and format characters escaped.
func safe(s string, n int) string {
	var b strings.Builder
	for i, c := range []rune(s) {
		if i == n {
			b.WriteString("…")
			break
		}
		if unicode.IsControl(c) || unicode.Is(unicode.Cf, c) || c == '\u2028' || c == '\u2029' {
			fmt.Fprintf(&b, `\u%04x`, c)
			continue
		}
		b.WriteRune(c)
	}
	return b.String()
}
