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

// whole is the size, in bytes, up to which an answer is built in memory before its first byte is sent.
const whole = 4 << 20

// maxPooled is the size, in bytes, above which a buffer is not used for another answer.
const maxPooled = 8 << 20

// Call answers a posted envelope. A failure before the first byte is a fault; after it the connection is aborted.
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
	e, f := parse(body, m.version, s.config.Limits)
	if f != nil {
		s.fail(w, r, e, f)
		return
	}
	if _, ok := placename.TheContract().Operation(e.child.Name); ok && s.config.Called != nil {
		s.config.Called(r, e.child.Name)
	}
	request, err := placename.Decode(e.child, s.bases, s.config.Unknown)
	if err != nil {
		s.fail(w, r, e, failureOf(err))
		return
	}
	s.logCall(r, request)
	for range tries {
		var answer placename.Answer
		if answer, err = s.config.Searcher.Search(r.Context(), request); err == nil {
			err = s.answer(w, r, e, request.Operation(), answer)
		}
		if !errors.Is(err, placename.ErrChanged) {
			break
		}
	}
	if err != nil && errors.Is(r.Context().Err(), context.Canceled) {
		panic(http.ErrAbortHandler) // the client left
	}
	if err != nil {
		s.fail(w, r, e, failureOf(err))
	}
}

// tries is how often an answer is begun when the data change while it is read.
const tries = 5

// answer writes the hits. Up to whole they are sent at once; more go out in parts, and a failure between two of them aborts. A failure
// before the first byte is returned.
func (s *Service) answer(w http.ResponseWriter, r *http.Request, e *envelope, operation string, a placename.Answer) error {
	buffer := s.buffers.Get().(*[]byte)
	b := (*buffer)[:0]
	held := 0
	hold := func(n int) (int, error) {
		if s.config.Hold == nil {
			return whole, nil
		}
		change := n - held
		held = n
		return s.config.Hold(change, n)
	}
	if most, _ := hold(0); most < whole && cap(b) > 4*most { // memory is short
		s.buffers.Put(buffer)
		buffer = new([]byte)
		b = nil
	}
	defer func() {
		hold(0) //nolint:errcheck // nothing is asked for
		if cap(b) <= maxPooled {
			*buffer = b
			s.buffers.Put(buffer)
		}
	}()
	base, _ := e.child.Base(s.bases)
	b = append(b, `<?xml version="1.0" encoding="UTF-8"?>`+"\n"+`<S:Envelope xmlns:S="`...)
	b = append(b, envelopeNS[e.version]...)
	b = append(b, `">`...)
	b = e.relates.append(b, base+placename.ActionPath(operation)+"Response")
	b = append(b, "<S:Body>"...)
	b = placename.AppendResponseStart(b, operation, base)

	w.Header().Set("Content-Type", contentTypeOf(e.version))
	sent, given := false, 0
	send := func() {
		sent = true
		if _, err := w.Write(b); err != nil {
			panic(http.ErrAbortHandler)
		}
		b = b[:0]
	}
	for a.Next != nil {
		hits, err := a.Next(r.Context())
		if err != nil {
			if sent && r.Context().Err() != nil {
				panic(http.ErrAbortHandler) // the client left
			}
			if sent {
				s.config.Logger.LogAttrs(r.Context(), slog.LevelError, "soap answer aborted",
					slog.String("request", s.config.RequestID(r)), slog.String("operation", operation), slog.Any("error", err))
				panic(http.ErrAbortHandler)
			}
			return err
		}
		if hits == nil {
			break
		}
		start, n := len(b), hits.Len()
		b = placename.AppendHits(b, operation, hits)
		most, err := hold(cap(b))
		if err != nil && !sent {
			return err
		}
		if given += n; len(b) > most {
			send()
		} else if left := a.Count - given; left > 0 && n > 0 && most == whole { // room for the rest at once, if it is like these
			b = slices.Grow(b, min(left*(len(b)-start)/n*9/8, whole+whole/4-len(b)))
		}
	}
	b = placename.AppendResponseEnd(b, operation)
	b = append(b, "</S:Body></S:Envelope>\n"...)
	if !sent {
		w.Header().Set("Content-Length", strconv.Itoa(len(b)))
	}
	send()
	return nil
}

// logCall logs who asks, as the caller says, which is not to be trusted.
func (s *Service) logCall(r *http.Request, request placename.Request) {
	c := request.Context()
	s.config.Logger.LogAttrs(r.Context(), slog.LevelInfo, "soap call",
		slog.String("request", s.config.RequestID(r)),
		slog.String("operation", request.Operation()),
		slog.String("client", safe(c.ClientIdentification, 200)),
		slog.String("system", safe(c.SystemVersion, 200)))
}

// logFault logs a refusal with its cause; those that are ours as errors.
func (s *Service) logFault(r *http.Request, f *failure, id string, status int, operation string) {
	level := slog.LevelInfo
	switch {
	case f.category == placename.Unavailable:
		level = slog.LevelWarn
	case f.code == codeServer:
		level = slog.LevelError
	}
	attrs := []slog.Attr{slog.String("request", id), slog.Int("status", status), slog.String("category", string(f.category))}
	if operation != "" {
		attrs = append(attrs, slog.String("operation", operation))
	}
	if f.cause != nil {
		attrs = append(attrs, slog.String("error", safe(f.cause.Error(), 2000)))
	}
	s.config.Logger.LogAttrs(r.Context(), level, "soap fault", attrs...)
}

// safe shortens text of others to n characters for the log and makes its control and format characters visible.
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
