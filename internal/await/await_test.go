package await

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestPollEndsWithTheConditionOrTheLimit(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		name         string
		met          time.Duration // when the condition is met
		limit        time.Duration
		least, most  time.Duration // how long the poll takes
		fails        bool
		fewest, many int // calls
	}{
		{"met at once", 0, time.Minute, 0, 0, false, 1, 1},
		{"met at once, without time", 0, 0, 0, 0, false, 1, 1},
		{"met later", time.Second, time.Minute, time.Second, time.Second + 50*time.Millisecond, false, 20, 50},
		{"met too late", time.Hour, time.Second, time.Second, time.Second + 50*time.Millisecond, true, 20, 50},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				begin, calls := time.Now(), 0
				err := poll(x.limit, func() error {
					calls++
					if time.Since(begin) < x.met {
						return errors.New("the server is down")
					}
					return nil
				})
				if took := time.Since(begin); took < x.least || took > x.most {
					t.Errorf("took %v, want %v to %v", took, x.least, x.most)
				}
				if calls < x.fewest || calls > x.many {
					t.Errorf("%d calls, want %d to %d", calls, x.fewest, x.many)
				}
				if x.fails != (err != nil) || err != nil && !strings.Contains(err.Error(), "the server is down") {
					t.Errorf("%v, fails %t", err, x.fails)
				}
			})
		})
	}
}
