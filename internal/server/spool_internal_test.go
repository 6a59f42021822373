package server

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	"grense/internal/problem"
	"grense/internal/server/limit"
)

// slowCall is the call of a reader that has read a response too slowly.
func slowCall(t *testing.T, m *limit.Makers) (*Call, *httptest.ResponseRecorder) {
	t.Helper()
	rec := httptest.NewRecorder()
	c := &Call{s: &Kit{Makers: m, Turns: m.Turns}, KeyID: "a",
		Request: httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)}
	c.Response = &response{ResponseWriter: rec, deadline: time.Minute, makers: m, blocked: 2 * limit.TooSlow}
	return c, rec
}

func filesIn(t *testing.T, dir string) int {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return len(list)
}

func TestAnswersOfSlowReadersWaitOnDisk(t *testing.T) {
	var body []byte
	for i := range 100_000 {
		body = fmt.Appendf(body, "%d;", i)
	}
	for name, c := range map[string]struct {
		most int64
		at   int  // bytes sent before drain
		held bool // its place
	}{"all": {2 << 30, 0, false}, "what there is room for": {20 << 10, len(body), false},
		"no room": {0, len(body), true}} {
		t.Run(name, func(t *testing.T) {
			m := limit.NewMakers(t.TempDir(), c.most, someTurns())
			call, rec := slowCall(t, m)
			if err := call.Large(); err != nil {
				t.Fatal(err)
			}
			for at := 0; at < len(body); at += 100 << 10 {
				if n, err := call.Response.Write(body[at:min(at+100<<10, len(body))]); err != nil || n == 0 {
					t.Fatal(n, err)
				}
			}
			if held := call.Response.leave != nil; held != c.held || rec.Body.Len() != c.at {
				t.Errorf("the place is held: %t, %d bytes sent; want %t, %d", held, rec.Body.Len(), c.held, c.at)
			}
			if err := call.Response.drain(); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(rec.Body.Bytes(), body) || call.Response.bytes != int64(len(body)) {
				t.Errorf("%d bytes came, %d are counted; want %d", rec.Body.Len(), call.Response.bytes, len(body))
			}
			if m.Used.Load() != 0 || filesIn(t, m.Dir) != 0 {
				t.Errorf("%d bytes and %d files are left", m.Used.Load(), filesIn(t, m.Dir))
			}
		})
	}
}

// TestLargeAnswersAreMadeAFewAtATime: the first few responses go to their readers and the others to files. One owner
// cannot occupy all places.
func TestLargeAnswersAreMadeAFewAtATime(t *testing.T) {
	for name, take := range map[string]func(*Call) error{"pages": (*Call).Large, "files": (*Call).LargeFile} {
		t.Run(name, func(t *testing.T) {
			m := limit.NewMakers(t.TempDir(), 1<<20, someTurns())
			m.Wait = 0
			var calls []*Call
			for {
				c, _ := slowCall(t, m)
				err := take(c)
				if problem.Of(err).Kind == problem.Busy {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				calls = append(calls, c)
			}
			if last := calls[len(calls)-1]; last.Response.spool == nil || calls[0].Response.spool != nil {
				t.Error("the first few go to their readers, the others to files")
			}
			other, _ := slowCall(t, m)
			other.KeyID = "b"
			if err := take(other); err != nil {
				t.Errorf("another owner: %v", err)
			}
			m.Wait = time.Minute
			gone, leave := context.WithCancel(t.Context())
			leave()
			late, _ := slowCall(t, m)
			late.Request = late.Request.WithContext(gone)
			if err := take(late); err != context.Canceled {
				t.Errorf("%v for a client that has left", err)
			}
			calls[0].Response.release()
			late, _ = slowCall(t, m)
			if err := take(late); err != nil {
				t.Errorf("a place that was given back is not given out: %v", err)
			}
		})
	}
}
