package postgis_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"grense/internal/store"
	"grense/internal/store/postgis"
)

// TestSnapshotsWaitForAConnectionAsQuestionsDo: where all are in use, one is refused as busy after its patience,
// and has the connection that is given back before that.
func TestSnapshotsWaitForAConnectionAsQuestionsDo(t *testing.T) {
	t.Parallel()
	s := openStore(t, base(t, "CREATE TABLE punkt (id INT PRIMARY KEY)")+"&pool_max_conns=1",
		postgis.Options{Poll: time.Hour})
	first, err := s.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithTimeout(t.Context(), 10*time.Second)
	defer end()
	start := time.Now()
	if snap, err := s.Snapshot(store.WithPatience(ctx, 100*time.Millisecond)); !errors.Is(err, store.ErrBusy) ||
		time.Since(start) > 5*time.Second {
		t.Errorf("%v, %v after %v", snap, err, time.Since(start))
	}
	time.AfterFunc(50*time.Millisecond, func() { first.Close() })
	snap, err := s.Snapshot(store.WithPatience(t.Context(), time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	if err := snap.Close(); err != nil {
		t.Fatal(err)
	}
}
