package server

import (
	"context"
	"net/http"
	"strings"
	"time"
)

// healthz reports that the process is alive.
func (s *Kit) healthz(w http.ResponseWriter, r *http.Request) { s.state(w, r, http.StatusOK, "ok") }

// readyTimeout bounds the check of the store.
const readyTimeout = 2 * time.Second

// readyz reports whether requests for data succeed: it fails while the server drains or the store does not answer.
// After a failed reload it succeeds, with a note, since the old data are served.
func (s *Kit) readyz(w http.ResponseWriter, r *http.Request) {
	status := http.StatusOK
	ok, text := s.answersRequests(r.Context())
	if !ok {
		status = http.StatusServiceUnavailable
	}
	s.state(w, r, status, text)
}

// answersRequests reports whether requests for data will be answered, and what is to be said of it.
func (s *Kit) answersRequests(ctx context.Context) (ok bool, text string) {
	if !s.ready.Load() {
		return false, "draining"
	}
	if err := s.storeAnswers(ctx); err != nil {
		s.Log.WarnContext(ctx, "not ready", "err", err)
		return false, "the store does not answer"
	}
	if s.reloadErr.Load() != nil {
		return true, "ok, as before the last reload, which failed; see the log"
	}
	return true, "ok"
}

// storeAnswers returns why the store does not answer; nil if it does. It waits for at most readyTimeout.
func (s *Kit) storeAnswers(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	return s.Store.Ready(ctx)
}

func (s *Kit) state(w http.ResponseWriter, r *http.Request, status int, text string) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		h.Set("Allow", "GET, HEAD")
		status, text = http.StatusMethodNotAllowed, "use GET"
	}
	h.Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		w.Write([]byte(strings.TrimSpace(text) + "\n")) // net/http notices a client that has disconnected
	}
}
