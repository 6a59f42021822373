package main

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"

	"grense/api/ogcapi"
	"grense/internal/server"
)

// front handles requests from the start. Until the data are opened, only /healthz succeeds, and other responses contain
// the reason why the service is not ready; then the service handles all requests.
type front struct {
	service atomic.Pointer[assembly] // nil: not ready
	reason  atomic.Pointer[string]
}

func newFront() *front {
	f := &front{}
	f.because("opening the source")
	return f
}

func (f *front) because(reason string) { f.reason.Store(&reason) }

// open passes all further requests to a.
func (f *front) open(a *assembly) { f.service.Store(a) }

// openingRetry is the Retry-After header, in seconds, until the data are opened.
const openingRetry = "5"

func (f *front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	for a := f.service.Load(); a != nil; a = f.service.Load() {
		if a.enter() { // else it was replaced just now
			defer a.leave()
			a.handler.ServeHTTP(w, r)
			return
		}
	}
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	if r.TLS != nil {
		h.Set("Strict-Transport-Security", server.TransportSecurity)
	}
	reason := *f.reason.Load()
	switch r.URL.Path {
	case "/healthz":
		h.Set("Content-Type", "text/plain; charset=utf-8")
		w.Write([]byte("ok\n")) // the server notices if the client has gone
		return
	case "/readyz":
		h.Set("Content-Type", "text/plain; charset=utf-8")
		h.Set("Retry-After", openingRetry)
		w.WriteHeader(http.StatusServiceUnavailable)
		w.Write([]byte("starting: " + reason + "\n"))
		return
	}
	h.Set("Content-Type", "application/problem+json")
	h.Set("Retry-After", openingRetry)
	w.WriteHeader(http.StatusServiceUnavailable)
	const detail = "The service is starting and opens its data; try again in a moment."
	json.NewEncoder(w).
		Encode(ogcapi.Problem{Type: "about:blank", Title: http.StatusText(http.StatusServiceUnavailable),
			Status: http.StatusServiceUnavailable,
			Detail: detail, Code: "ServiceUnavailable", Description: detail})
}

// reasonHandler is a slog.Handler that also passes the last message to front, as the reason why it is not ready.
type reasonHandler struct {
	slog.Handler
	f *front
}

func (t reasonHandler) Handle(ctx context.Context, r slog.Record) error {
	if t.f.service.Load() == nil && r.Level >= slog.LevelInfo {
		t.f.because(strings.TrimSpace(r.Message))
	}
	return t.Handler.Handle(ctx, r)
}

func (t reasonHandler) WithAttrs(a []slog.Attr) slog.Handler {
	return reasonHandler{t.Handler.WithAttrs(a), t.f}
}
func (t reasonHandler) WithGroup(name string) slog.Handler {
	return reasonHandler{t.Handler.WithGroup(name), t.f}
}
