package postgis_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"grense/internal/store"
	"grense/internal/store/postgis"
	"grense/internal/store/storetest"
)

// aside opens a store that asks for marks over a connection of its own.
func aside(t *testing.T, url string, o postgis.Options) *postgis.Store {
	t.Helper()
	s := openStore(t, url, o)
	mark(t, s)
	eventually(t, "over a connection of their own", s.TellsAside)
	return s
}

// mark is the mark of the collection sted.
func mark(t *testing.T, s *postgis.Store) string {
	t.Helper()
	m, err := s.Mark(context.Background(), "sted")
	if err != nil || m == "" {
		t.Errorf("mark %q, %v", m, err)
	}
	return m
}

// TestMarksNeedNoConnectionOfQuestions: what is known to be unchanged is told while all connections are in use.
func TestMarksNeedNoConnectionOfQuestions(t *testing.T) {
	t.Parallel()
	url := base(t, places)
	s := aside(t, url, postgis.Options{})
	first := mark(t, s)
	for range s.Room()[store.CostPage] {
		snap, err := s.Snapshot(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer snap.Close()
	}
	impatient := store.WithPatience(t.Context(), 10*time.Millisecond)
	if _, err := s.Page(impatient, store.Query{Collection: "sted", Limit: 1}); !errors.Is(err, store.ErrBusy) {
		t.Fatalf("there is a connection left: %v", err)
	}
	if m, err := s.Mark(impatient, "sted"); err != nil || m == "" {
		t.Errorf("mark %q, %v", m, err)
	}
	run(t, url, "DELETE FROM sted WHERE kode = 'a'")
	if m, ok := s.MarkAside(impatient, "sted"); !ok || m == "" || m == first {
		t.Errorf("after a change: mark %q, %v, want another than %q", m, ok, first)
	}
	if m, ok := s.MarkAside(impatient, "annet"); ok {
		t.Errorf("mark %q of no collection", m)
	}
}

// TestMarksTellWhatWasCommittedBefore: who asks after a commit never has the mark of before it, whoever else is asking; the marks of one who asks go on.
func TestMarksTellWhatWasCommittedBefore(t *testing.T) {
	t.Parallel()
	url := base(t, places)
	s := aside(t, url, postgis.Options{})
	over := make(chan struct{})
	var writers, readers sync.WaitGroup
	for i := range 10 {
		writers.Go(func() {
			c, err := pgx.Connect(context.Background(), url)
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close(context.Background())
			for n := range 40 {
				before := mark(t, s)
				if _, err := c.Exec(context.Background(), "INSERT INTO sted (kode) VALUES ($1)", fmt.Sprintf("k%d-%d", i, n)); err != nil {
					t.Error(err)
				}
				if after := mark(t, s); after == before {
					t.Errorf("writer %d, row %d: the mark is still %q", i, n, after)
				}
			}
		})
	}
	for range 4 {
		readers.Go(func() {
			for last := uint64(0); ; {
				var xmin, xmax uint64
				m := mark(t, s)
				if _, err := fmt.Sscanf(m, "%d:%d:", &xmin, &xmax); err != nil || xmax < last {
					t.Errorf("mark %q after one of %d: %v", m, last, err)
				}
				last = xmax
				select {
				case <-over:
					return
				default:
				}
			}
		})
	}
	writers.Wait()
	close(over)
	readers.Wait()
	if !s.TellsAside() {
		t.Error("the connection for marks is gone")
	}
}

// TestManyMarksAtOnceHaveFourConnections, those that are not needed any more are closed.
func TestManyMarksAtOnceHaveFourConnections(t *testing.T) {
	t.Parallel()
	url := base(t, places)
	s := aside(t, url, postgis.Options{Poll: time.Hour})
	eventually(t, "four connections", func() bool {
		var askers sync.WaitGroup
		for range 16 {
			askers.Go(func() {
				for range 20 {
					mark(t, s)
				}
			})
		}
		askers.Wait()
		return s.ForgetMarks() >= 4
	})
	if n := len(lines(t, url, "SELECT pid::text FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'SELECT (SELECT CASE WHEN pg_is_in_recovery%'")); n > 5 { // one is of the pool, which told the first mark
		t.Errorf("%d connections asked for marks", n)
	}
	for range 8 {
		mark(t, s)
	}
	if n := s.ForgetMarks(); n != 1 {
		t.Errorf("%d connections are left of four that nobody needed for an hour", n)
	}
	mark(t, s)
}

// TestMarksAfterTheirConnectionIsLost are told by the pool, until there is another.
func TestMarksAfterTheirConnectionIsLost(t *testing.T) {
	t.Parallel()
	url := base(t, places)
	s := aside(t, url, postgis.Options{Poll: time.Hour})
	first := mark(t, s)
	if pids := lines(t, url, "SELECT pg_terminate_backend(pid)::text FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND query LIKE 'SELECT (SELECT CASE WHEN pg_is_in_recovery%'"); len(pids) == 0 {
		t.Fatal("no connection asks for marks")
	}
	var askers sync.WaitGroup
	for range 8 {
		askers.Go(func() { mark(t, s) })
	}
	askers.Wait()
	run(t, url, "DELETE FROM sted WHERE kode = 'a'")
	if mark(t, s) == first {
		t.Error("a row less is the same state")
	}
	eventually(t, "over a connection of their own again", func() bool { mark(t, s); return s.TellsAside() })
	first = mark(t, s)
	run(t, url, "DELETE FROM sted WHERE kode = 'b'")
	if mark(t, s) == first {
		t.Error("a row less is the same state over the new connection")
	}
}

// TestMarksOfASilentServerAreNotWaitedFor: who waits for the question of another leaves when its request ends, and who asks does soon.
func TestMarksOfASilentServerAreNotWaitedFor(t *testing.T) {
	t.Parallel()
	w := storetest.NewWire(t, base(t, places))
	s := aside(t, w.Address, postgis.Options{Poll: time.Hour})
	mark(t, s)
	end := w.Silence()
	defer func() { end() }()
	asks, ended := context.WithTimeout(t.Context(), 3*time.Second)
	defer ended()
	asked, led := w.Asked(), make(chan error, 1)
	go func() { _, err := s.Mark(asks, "sted"); led <- err }()
	eventually(t, "asked", func() bool { return w.Asked() > asked })
	short, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	waited := make(chan error, 1)
	go func() { _, err := s.Mark(short, "sted"); waited <- err }()
	select {
	case err := <-waited:
		if !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("who waited: %v", err)
		}
	case err := <-led:
		t.Errorf("who asked was given up first: %v", err)
		<-waited
	}
	end()
	end = func() {}
	if err := <-led; err != nil {
		t.Errorf("who asked: %v", err)
	}
	mark(t, s)
}

// TestMarksOfSeveralServersAreAskedOverThePool: a connection of their own might be to another server than questions go to.
func TestMarksOfSeveralServersAreAskedOverThePool(t *testing.T) {
	t.Parallel()
	url := base(t, places)
	_, host, _ := strings.Cut(url, "@")
	host, _, _ = strings.Cut(host, "/")
	s := openStore(t, strings.Replace(url, "@"+host, "@"+host+","+strings.Replace(host, "127.0.0.1", "localhost", 1), 1), postgis.Options{})
	mark(t, s)
	if _, ok := s.MarkAside(t.Context(), "sted"); ok || s.TellsAside() {
		t.Error("marks have a connection of their own")
	}
}

// TestMarksAreOfTheServerThatIsAsked: while connections of the pool are to several servers there is none for marks, and none is made in vain.
func TestMarksAreOfTheServerThatIsAsked(t *testing.T) {
	t.Parallel()
	s := aside(t, base(t, places), postgis.Options{})
	end := s.ConnectElsewhere()
	for begun := time.Now(); time.Since(begun) < time.Second; {
		if mark(t, s); s.TellsAside() {
			t.Fatal("marks have a connection of their own")
		}
	}
	end()
	eventually(t, "over a connection of their own again", func() bool { mark(t, s); return s.TellsAside() })
}

// TestMarksAfterTheServerHasRecovered are others: a crash may lose the last transactions, whose numbers are given again. So are the revisions of rows.
func TestMarksAfterTheServerHasRecovered(t *testing.T) {
	t.Parallel()
	alone := storetest.Cluster{Private: true}
	t.Cleanup(alone.Stop)
	url := alone.Database(t)
	run(t, url, places)
	s := aside(t, url, postgis.Options{Poll: time.Hour})
	first := mark(t, s)
	row := page(t, s, store.Query{Collection: "sted", Limit: 1}).Rows[0]
	crash(t, url)
	second := mark(t, s)
	if second == first {
		t.Errorf("mark %q after %q", second, first)
	}
	if again := page(t, s, store.Query{Collection: "sted", Limit: 1}).Rows[0]; again.ID != row.ID || again.Rev == row.Rev {
		t.Errorf("row %v after %v", again, row)
	}
	eventually(t, "over connections of their own again", func() bool { second = mark(t, s); return s.TellsAside() })
	if third := mark(t, s); third != second {
		t.Errorf("mark %q after %q of the pool", third, second)
	}
}

// crash ends one process of a server of the test's own, so that it ends all connections and recovers, and waits until it has.
func crash(t *testing.T, url string) {
	t.Helper()
	ctx := t.Context()
	var both [2]*pgx.Conn
	for i := range both {
		c, err := pgx.Connect(ctx, url)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close(context.Background())
		both[i] = c
	}
	if _, err := both[0].Exec(ctx, "DO $$ BEGIN EXECUTE format('COPY (SELECT 1) TO PROGRAM ''kill -9 %s''', pg_backend_pid()); END $$"); err == nil {
		t.Fatal("the process of a connection is still there")
	}
	eventually(t, "all connections ended", func() bool { _, err := both[1].Exec(ctx, "SELECT 1"); return err != nil })
	eventually(t, "recovered", func() bool {
		c, err := pgx.Connect(ctx, url)
		if err == nil {
			c.Close(ctx)
		}
		return err == nil
	})
}
