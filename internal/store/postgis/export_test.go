package postgis

import (
	"time"

	"context"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"grense/internal/store"
)

// Plan returns how the server would answer the statement of a page.
func (s *Store) Plan(ctx context.Context, q store.Query) (plan string, err error) {
	l, err := s.current.Load().layer(q.Collection)
	if err != nil {
		return "", err
	}
	qu, err := newQuestion(l, q)
	if err != nil {
		return "", err
	}
	var lines []string
	err = s.retry(ctx, func(c *pgxpool.Conn) error {
		st := qu.statement(qu.pageAndOne(), extras{unordered: qu.isAllOrNothing()})
		return one(ctx, c, statement{"EXPLAIN (COSTS OFF) " + st.sql, st.args}, func(r pgx.Rows) error {
			lines = append(lines, string(r.RawValues()[0]))
			return nil
		})
	})
	return strings.Join(lines, "\n"), err
}

// Ways are the names of the ways of answering, in their order.
func Ways() (names []string) {
	for _, w := range ways {
		names = append(names, w.name)
	}
	return names
}

// TellsAside reports whether marks are asked for over a connection that is for them.
func (s *Store) TellsAside() bool {
	if s.marker == nil {
		return false
	}
	s.marker.mu.Lock()
	defer s.marker.mu.Unlock()
	return s.marker.lines > 0
}

// ForgetMarks makes the connections for marks that are free look as if nobody had asked over them for an hour, and tells how many there are.
func (s *Store) ForgetMarks() int {
	s.marker.mu.Lock()
	defer s.marker.mu.Unlock()
	for _, l := range s.marker.free {
		l.asked = l.asked.Add(-time.Hour)
	}
	return s.marker.lines
}

// ConnectElsewhere makes the store take one of its connections for one to another server, until end is called.
func (s *Store) ConnectElsewhere() (end func()) {
	to := s.marker.servers
	count := func(n int) {
		to.mu.Lock()
		defer to.mu.Unlock()
		if to.live["elsewhere"] += n; to.live["elsewhere"] == 0 {
			delete(to.live, "elsewhere")
		}
	}
	count(1)
	return func() { count(-1) }
}

// ForQuestions is how many connections of an address are for questions.
func ForQuestions(url string) (int32, error) {
	cfg, _, err := poolConfig(url, toAsk)
	if err != nil {
		return 0, err
	}
	return cfg.MaxConns, nil
}
