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

	"grense/internal/cql2"
	"grense/internal/state"
	"grense/internal/store"
	"grense/internal/store/postgis"
	"grense/internal/store/postgis/conn"
	"grense/internal/store/postgis/statedb"
	"grense/internal/store/storetest"
)

// TestThroughAPooler: the recipe of README holds in both modes, and what we set is not left to other clients.
func TestThroughAPooler(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"session", "transaction"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			url := base(t, places+"INSERT INTO sted SELECT 'k' || i, 'n' || i, ST_SetSRID(ST_MakePoint(10 + i * "+
				"0.001, 60), 4258) FROM generate_series(1, 200) i")
			through := storetest.Bouncer(t, url, mode, 8)
			if _, err := postgis.Open(context.Background(), through, postgis.Options{}); !errors.Is(err,
				conn.ErrPooler) || !strings.Contains(err.Error(), "pool_mode=") {
				t.Errorf("without the recipe: %v", err)
			}
			s := openStore(t, through+"&pool_mode="+mode+"&pool_max_conns=6", postgis.Options{})
			filter := cql2.Compare{Op: cql2.Gt, L: cql2.Prop{Name: "navn", Type: cql2.TypeText}, R: cql2.Text("n1")}
			var askers sync.WaitGroup
			for range 8 {
				askers.Go(func() {
					for range 10 {
						ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
						p, err := s.Page(ctx, store.Query{Collection: "sted", Filter: filter, Limit: 50})
						if err == nil && p.Matched != 200 { // with Ås, by code point
							err = fmt.Errorf("matched %d", p.Matched)
						}
						if err == nil {
							err = s.Fetch(ctx, "sted", p.Rows, store.Want{}, func(*store.Feature) error { return nil })
						}
						cancel()
						if err != nil {
							t.Error(err)
							return
						}
					}
				})
			}
			askers.Wait()
			if err := s.Ready(context.Background()); err != nil {
				t.Error(err)
			}
			unlike(t, through, mode)
		})
	}
}

// unlike fails the test when a session of the server has a setting of ours for another client.
func unlike(t *testing.T, through, mode string) {
	t.Helper()
	if mode != "transaction" { // a session is reset before another client has it
		return
	}
	for range 20 {
		cfg, err := pgx.ParseConfig(through)
		if err != nil {
			t.Fatal(err)
		}
		cfg.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol
		c, err := pgx.ConnectConfig(context.Background(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		var got string
		err = c.QueryRow(context.Background(),
			"SELECT concat_ws('/', current_setting('plan_cache_mode'), "+
				"current_setting('default_transaction_read_only'), current_setting('statement_timeout'), "+
				"current_setting('jit'))").Scan(&got)
		c.Close(context.Background())
		if err != nil || got != "auto/off/0/on" {
			t.Fatalf("another client has %q: %v", got, err)
		}
	}
}

// TestQueueAtTheLimitOfARole: questions wait for a connection, they do not fail.
func TestQueueAtTheLimitOfARole(t *testing.T) {
	t.Parallel()
	url := base(t, places)
	role, asRole := storetest.Role(t, url, "CONNECTION LIMIT 2")
	run(t, url, "GRANT SELECT ON sted TO "+role)
	s := openStore(t, asRole, postgis.Options{})
	var askers sync.WaitGroup
	for range 16 {
		askers.Go(func() {
			for range 5 {
				if _, err := s.Page(context.Background(), store.Query{Collection: "sted", Limit: 1}); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	askers.Wait()
}

// TestMostConnections: pool_max_conns is all that a process has, with keys, listening and signs of life.
func TestMostConnections(t *testing.T) {
	t.Parallel()
	for _, limit := range []struct{ connections, least int }{{4, 3}, {6, 3}, {9, 6}, {20, 8}} {
		t.Run(fmt.Sprint(limit.connections), func(t *testing.T) {
			t.Parallel()
			url := base(t, places)
			role, asRole := storetest.Role(t, url, "")
			asRole += fmt.Sprint("&sslmode=disable&pool_max_conns=", limit.connections)
			run(t, url, "GRANT SELECT ON sted TO "+role+"; CREATE SCHEMA grense AUTHORIZATION "+role)
			s := openStore(t, asRole, postgis.Options{})
			state, err := statedb.Open(context.Background(), asRole)
			if err != nil {
				t.Fatal(err)
			}
			defer state.Close()
			askAll(t, s, state)
			c, err := pgx.Connect(context.Background(), url)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close(context.Background())
			var most int
			if err := c.QueryRow(context.Background(), "SELECT count(*) FROM pg_stat_activity WHERE usename = $1",
				role).Scan(&most); err != nil || most > limit.connections || most < limit.least {
				t.Errorf("%d connections: %v", most, err)
			}
		})
	}
}

// askAll asks whatever has a connection of its own, many times at once.
func askAll(t *testing.T, s *postgis.Store, state *state.DB) {
	t.Helper()
	ctx := context.Background()
	var askers sync.WaitGroup
	for range 16 {
		askers.Go(func() {
			for range 5 {
				_, page := s.Page(ctx, store.Query{Collection: "sted", Limit: 1})
				_, version := s.Version(ctx, "sted")
				_, keys := state.Keys(ctx)
				if err := errors.Join(page, version, keys, s.Ready(ctx)); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	askers.Wait()
}
