package limit

import (
	"bytes"
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	"grense/internal/problem"
)

// slow is the request of a reader that has read a response too slowly.
func slow(m *Makers) (*Admission, *httptest.ResponseRecorder) {
	rec := httptest.NewRecorder()
	w := &Response{ResponseWriter: rec, Deadline: time.Minute, Makers: m, blocked: 2 * TooSlow}
	return &Admission{limits: &Limits{Makers: m, Turns: m.Turns}, KeyID: "a", Response: w}, rec
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
			m := NewMakers(t.TempDir(), c.most, someTurns())
			call, rec := slow(m)
			if err := call.Large(t.Context()); err != nil {
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
			if err := call.Response.Drain(); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(rec.Body.Bytes(), body) || call.Response.Bytes != int64(len(body)) {
				t.Errorf("%d bytes came, %d are counted; want %d", rec.Body.Len(), call.Response.Bytes, len(body))
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
	for name, take := range map[string]func(*Admission, context.Context) error{"pages": (*Admission).Large,
		"files": (*Admission).LargeFile} {
		t.Run(name, func(t *testing.T) {
			m := NewMakers(t.TempDir(), 1<<20, someTurns())
			m.Wait = 0
			var calls []*Admission
			for {
				c, _ := slow(m)
				err := take(c, t.Context())
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
			other, _ := slow(m)
			other.KeyID = "b"
			if err := take(other, t.Context()); err != nil {
				t.Errorf("another owner: %v", err)
			}
			m.Wait = time.Minute
			gone, leave := context.WithCancel(t.Context())
			leave()
			late, _ := slow(m)
			if err := take(late, gone); err != context.Canceled {
				t.Errorf("%v for a client that has left", err)
			}
			calls[0].Response.Release()
			late, _ = slow(m)
			if err := take(late, t.Context()); err != nil {
				t.Errorf("a place that was given back is not given out: %v", err)
			}
		})
	}
}
