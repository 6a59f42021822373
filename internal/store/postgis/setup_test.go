package postgis_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"grense/internal/await"
	"grense/internal/store"
	"grense/internal/store/postgis"
	"grense/internal/store/storetest"
)

// run executes statements as a superuser.
var run = storetest.Run

// base makes a database with the tables that sql makes.
func base(t testing.TB, sql string) string {
	t.Helper()
	url := cluster.Database(t)
	run(t, url, sql)
	return url
}

// eventually fails the test unless ok becomes true within 30 seconds: a change has to be seen in five.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	await.Within(t, 30*time.Second, what, func() error {
		if !ok() {
			return errors.New("not yet")
		}
		return nil
	})
}

func page(t testing.TB, s *postgis.Store, q store.Query) *store.Page {
	t.Helper()
	p, err := s.Page(context.Background(), q)
	if err != nil {
		t.Fatalf("%+v: %v", q, err)
	}
	return p
}

func ids(p *store.Page) string {
	var list []string
	for _, r := range p.Rows {
		list = append(list, r.ID)
	}
	return strings.Join(list, " ")
}

// values fetches one feature.
func values(t testing.TB, s *postgis.Store, collection, id string) map[string]any {
	t.Helper()
	c, ok := s.Catalog().Collection(collection)
	if !ok {
		t.Fatalf("no collection %q", collection)
	}
	m := map[string]any{}
	err := s.Fetch(context.Background(), collection, store.Current(id), store.Want{}, func(f *store.Feature) error {
		i := 0
		for _, p := range c.Properties {
			if !p.Hidden {
				m[p.Name] = f.Values[i]
				i++
			}
		}
		g, err := f.Geometry.Orb()
		m["(geometry)"] = g
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// logs collects what is logged.
type logs struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func (l *logs) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

// roleOf makes a role that may read nothing yet, and returns its name and the address of the database as that role.
func roleOf(t testing.TB, url string) (role, asRole string) {
	t.Helper()
	return storetest.Role(t, url, "")
}
