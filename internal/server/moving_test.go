package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"zombiezen.com/go/sqlite/sqlitex"

	"grense/internal/config"
	"grense/internal/store"
	"grense/internal/store/gpkg"
)

// moving is a file that another program writes into whenever a page of it was found, before its features are read.
type moving struct {
	*gpkg.Store
	write func()
	wal   bool // so that readers do not block writers
}

func (s *moving) Page(ctx context.Context, q store.Query) (*store.Page, error) {
	p, err := s.Store.Page(ctx, q)
	s.write()
	return p, err
}

func (s *moving) Hold(ctx context.Context) (store.Snapshot, error) {
	x, err := s.Store.Hold(ctx)
	return &movingSnapshot{x, s}, err
}

type movingSnapshot struct {
	store.Snapshot
	of *moving
}

func (x *movingSnapshot) Page(ctx context.Context, q store.Query) (*store.Page, error) {
	p, err := x.Snapshot.Page(ctx, q)
	if x.of.wal {
		x.of.write()
	}
	return p, err
}

// TestPagesOfAFileWhoseCommitsNeverRestAreOfOneState: each is given, whole, though others commit whenever one is found.
func TestPagesOfAFileWhoseCommitsNeverRestAreOfOneState(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"WAL", "DELETE"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			st, path := many(t, 2000)
			db, n := writable(t, path), 0
			exec := func(sql string) {
				if err := sqlitex.ExecuteTransient(db, sql, nil); err != nil {
					t.Error(err)
				}
			}
			exec("PRAGMA journal_mode=" + mode)
			s := &moving{Store: st, wal: mode == "WAL"}
			s.write = func() {
				n++
				exec(fmt.Sprintf("UPDATE many SET navn = 'n%d'", n))
			}
			a := serveOptions(t, s, func(c *config.Config) { c.Limits.Buffer = 1 << 20 }, nil)
			for range 2 {
				for _, query := range []string{"limit=10", "limit=400", "limit=2000", "limit=10&offset=1500",
					"limit=10&f=jsonld", "limit=10&f=csv", "limit=2000&f=csv"} {
					r := a.get("/collections/many/items?" + query).wants(200)
					if query != "limit=10" && query != "limit=2000" {
						continue
					}
					var page struct {
						Features []struct{ Properties struct{ Navn string } }
					}
					if err := json.Unmarshal([]byte(r.Body), &page); err != nil {
						t.Fatal(err)
					}
					states := map[string]int{}
					for _, f := range page.Features {
						states[f.Properties.Navn]++
					}
					if len(states) != 1 {
						t.Errorf("%s: features of %v", query, states)
					}
				}
			}
		})
	}
}
