//go:build unix

package main_test

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// TestAttackRefused: what is refused, whatever for, costs next to nothing, and its client learns why.
func TestAttackRefused(t *testing.T) {
	attack(t)
	file := generated(t, 500)
	t.Run("rate", func(t *testing.T) {
		s := serve(t, []string{"GRENSE_LIMITS_RATE=1"}, file)
		s.away = true
		s.refuses(t, "requests beyond limits.rate", http.StatusTooManyRequests, "Retry-After", func(int) *http.Request {
			return asked(s, "/collections/sted/items?limit=10")
		})
		s.refuses(t, "searches of SOAP beyond limits.rate", http.StatusTooManyRequests, "LIMIT_EXCEEDED",
			func(int) *http.Request { return soapAsked(s, "*vik*") })
	})
	t.Run("faults", func(t *testing.T) {
		s := serve(t, nil, file)
		s.refuses(t, "filters of 2 KB whose last word is missing", http.StatusBadRequest, "filter",
			func(int) *http.Request {
				return asked(s, "/collections/sted/items?filter="+url.QueryEscape(strings.Repeat("sted_id=1 OR ", 150)))
			})
		s.refuses(t, "addresses that are not there", http.StatusNotFound, "there is no", func(int) *http.Request {
			return asked(s, "/collections/"+strings.Repeat("x", 100)+"/items")
		})
	})
	t.Run("busy", func(t *testing.T) {
		s := serve(t, []string{"GRENSE_LIMITS_CONCURRENT=1", "GRENSE_LIMITS_QUEUE_WAIT=1ms"}, file)
		s.away = true
		holdPlace(t, s, file)
		s.refuses(t, "items while the only place is taken", http.StatusServiceUnavailable, "busy",
			func(int) *http.Request { return asked(s, "/collections/sted/items/2") })
	})
}

// refuses asks until it is refused, and then 1,000 times more.
func (s *serving) refuses(t *testing.T, what string, status int, why string, request func(n int) *http.Request) {
	t.Helper()
	const times = 1000
	a, let, silent := s.asker(s.key), 0, 0
	for end := time.Now().Add(patience); ; {
		if code, body, _, err := a.do(request(0)); err == nil && code == status {
			break
		} else if time.Now().After(end) {
			t.Fatalf("%s: %d, %v, %s", what, code, err, body)
		}
	}
	before := s.cpu(t)
	for n := range times {
		code, body, _, err := a.do(request(n))
		if err == nil && code == http.StatusOK { // it was time again
			let++
		} else if err != nil || code != status || !strings.Contains(body, why) {
			if silent++; silent <= 3 {
				t.Logf("%s: %d, %v, %.500s", what, code, err, body)
			}
		}
	}
	figure(t, what+": CPU of a refusal", (s.cpu(t)-before)/times, time.Millisecond)
	figure(t, "  refusals without a reason", silent, 0)
	figure(t, "  requests that were not refused", let, times/10)
}

// holdPlace lets questions of s wait for the lock of its file, which takes no processor, so that others get no place.
func holdPlace(t *testing.T, s *serving, file string) {
	t.Helper()
	c, err := sqlite.OpenConn(file, sqlite.OpenReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	if err := sqlitex.ExecuteTransient(c, "BEGIN EXCLUSIVE", nil); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	holder := s.asker(s.newKey(t))
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			holder.ask(ctx, "/collections/sted/items/3") // until the time-out of the lock, or refused
		}
	}()
	t.Cleanup(func() {
		c.Close()
		cancel()
		<-ended
	})
}
