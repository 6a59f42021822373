package writer_test

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"grense/internal/await"
	"grense/internal/store"
	"grense/internal/store/postgis"
	"grense/internal/store/postgis/writer"
	"grense/internal/store/storetest"
)

var cluster storetest.Cluster

func TestMain(m *testing.M) { os.Exit(cluster.Main(m)) }

var run, lines = storetest.Run, storetest.Lines

// create writes into a database.
func create(t testing.TB, url string, fill func(store.Writer)) {
	t.Helper()
	storetest.Write(t, fill)(writer.Create(context.Background(), url))
}

// openStore opens a store and closes it when the test ends.
func openStore(t testing.TB, url string, o postgis.Options) *postgis.Store {
	t.Helper()
	return storetest.Opened[*postgis.Store](t)(postgis.Open(context.Background(), url, o))
}

// eventually fails the test unless ok becomes true within 30 seconds.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	await.Within(t, 30*time.Second, what, func() error {
		if !ok() {
			return errors.New("not yet")
		}
		return nil
	})
}

// nameOf returns the name of the feature that fill has written, as a store serves it.
func nameOf(t testing.TB, s *postgis.Store) (name any) {
	t.Helper()
	err := s.Fetch(t.Context(), "a", store.Current("1"), store.Want{Properties: []string{"navn"}},
		func(f *store.Feature) error {
			name = f.Values[0]
			return nil
		})
	if err != nil {
		t.Fatal(err)
	}
	return name
}
