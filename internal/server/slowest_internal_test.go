package server

import (
	"errors"
	"net/http"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

// reader takes an answer at so many bytes in a second, within the deadlines that are set for it.
type reader struct {
	speed int
	until time.Time
}

func (*reader) Header() http.Header { return http.Header{} }
func (*reader) WriteHeader(int)     {}

func (r *reader) SetWriteDeadline(t time.Time) error {
	r.until = t
	return nil
}

func (r *reader) Write(b []byte) (int, error) {
	takes, left := time.Duration(len(b))*time.Second/time.Duration(r.speed), time.Until(r.until)
	time.Sleep(min(takes, max(left, 0)))
	if takes > left {
		return int(left.Seconds() * float64(r.speed)), os.ErrDeadlineExceeded
	}
	return len(b), nil
}

// TestReadersSlowerThanTheSlowestAreEnded: limits.slowest counts after the first seconds and over all of the answer; 0 leaves the bound of one write.
func TestReadersSlowerThanTheSlowestAreEnded(t *testing.T) {
	t.Parallel()
	const size = 2 << 20
	for _, c := range []struct {
		speed   int
		slowest int64
		ended   bool
	}{
		{speed: 1 << 10, slowest: 4 << 10, ended: true},
		{speed: 3 << 10, slowest: 4 << 10, ended: true},
		{speed: 5 << 10, slowest: 4 << 10},
		{speed: 5 << 10, slowest: 8 << 10, ended: true},
		{speed: 1 << 20, slowest: 4 << 10},
		{speed: 3 << 10, slowest: 0},
		{speed: 1 << 10, slowest: 0, ended: true}, // a chunk takes longer than a write may
	} {
		synctest.Test(t, func(t *testing.T) {
			r := &reader{speed: c.speed}
			w := &response{ResponseWriter: r, deadline: 30 * time.Second, slowest: c.slowest}
			start := time.Now()
			n, err := w.Write(make([]byte, size))
			if c.ended != errors.Is(err, os.ErrDeadlineExceeded) || !c.ended && n != size || w.gone != c.ended {
				t.Errorf("%d bytes in a second, slowest %d: %d bytes, %v", c.speed, c.slowest, n, err)
			}
			if took := time.Since(start); c.ended && took > time.Minute {
				t.Errorf("%d bytes in a second, slowest %d: ended after %v", c.speed, c.slowest, took)
			}
		})
	}
}
