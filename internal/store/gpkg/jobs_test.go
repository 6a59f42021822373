package gpkg_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"grense/internal/store"
	"grense/internal/store/gpkg"
	"grense/internal/store/storetest"
)

func TestJobs(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	storetest.Jobs(t, func() store.Jobs {
		s, err := gpkg.OpenState(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return s.(store.Jobs)
	})
}

// TestJobsThatWereTakenAreBegunAndEndedOnAFullDisk: none stays as it is because nothing can be written about it, and no other is taken.
func TestJobsThatWereTakenAreBegunAndEndedOnAFullDisk(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"); err != nil {
		t.Skipf("NOT TESTED: a small disk cannot be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	st, err := gpkg.OpenState(t.Context(), filepath.Join(dir, "state.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	jobs, ctx, now := st.(store.Jobs), t.Context(), time.Now()
	if err := jobs.PrepareJobs(ctx); err != nil {
		t.Fatal(err)
	}
	put := func(id string) error {
		return jobs.PutJob(ctx, store.Job{ID: id, Process: "echo", Status: store.JobAccepted, Created: now, Updated: now, Request: make([]byte, 2000)})
	}
	for _, id := range []string{"a", "b", "c"} {
		if err := put(id); err != nil {
			t.Fatal(err)
		}
	}
	full := filepath.Join(dir, "full")
	if err := os.WriteFile(full, make([]byte, 1<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("the disk is not full: %v", err)
	}
	for range 3 {
		j, ok, err := jobs.ClaimJob(ctx, "me", now, now)
		if err != nil || !ok {
			t.Fatalf("%v %v", ok, err)
		}
		if err := jobs.PutPiece(ctx, store.Piece{Job: j.ID, Attempt: 1, Output: "x", Data: make([]byte, 200<<10)}); !errors.Is(err, store.ErrFull) {
			t.Errorf("an output has room: %v", err)
		}
		j.Status, j.Failure, j.Finished = store.JobFailed, []byte(`{"title":"full"}`), now
		if err := jobs.KeepJob(ctx, j); err != nil {
			t.Fatal(err)
		}
		if got, err := jobs.Job(ctx, j.ID); err != nil || got.Status != store.JobFailed {
			t.Errorf("%v %v", got, err)
		}
	}
	for i := range 20 { // until what is left is used up
		if err = put("d" + string(rune('a'+i))); err != nil {
			break
		}
	}
	if !errors.Is(err, store.ErrFull) {
		t.Errorf("jobs are taken without room for their end: %v", err)
	}
	if err := os.Remove(full); err != nil {
		t.Fatal(err)
	}
	if err := put("e"); err != nil {
		t.Error(err)
	}
}
