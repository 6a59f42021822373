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

// fullAtWill is a folder on a disk of its own of 1 MB, and what fills it.
func fullAtWill(t *testing.T) (dir string, fill func()) {
	t.Helper()
	dir = t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"); err != nil {
		t.Skipf("NOT TESTED: a small disk cannot be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	return dir, func() {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, "full"), make([]byte, 1<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("the disk is not full: %v", err)
		}
	}
}

// TestKeysAreRevokedOnAFullDisk: where a server has set room aside, by whom opens the state then, too; no key is made.
func TestKeysAreRevokedOnAFullDisk(t *testing.T) {
	t.Parallel()
	dir, fill := fullAtWill(t)
	open := func() store.State {
		st, err := gpkg.OpenState(t.Context(), filepath.Join(dir, "state.db"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { st.Close() })
		return st
	}
	st, ctx, now := open(), t.Context(), time.Now()
	if err := st.(store.Jobs).PrepareJobs(ctx); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"a", "b", "c"} {
		if err := st.PutKey(ctx, store.Key{ID: id, Created: now}); err != nil {
			t.Fatal(err)
		}
	}
	fill()
	for _, id := range []string{"a", "b"} {
		if err := st.RevokeKey(ctx, id, now); err != nil {
			t.Errorf("%s: %v", id, err)
		}
		st = open()
	}
	keys, err := st.Keys(ctx)
	if err != nil || len(keys) != 3 {
		t.Fatalf("%v %v", keys, err)
	}
	for _, k := range keys {
		if k.Revoked.IsZero() != (k.ID == "c") {
			t.Errorf("%s is revoked at %v", k.ID, k.Revoked)
		}
	}
	if err := st.PutKey(ctx, store.Key{ID: "d", Created: now, Name: string(make([]byte, 64<<10))}); !errors.Is(err, store.ErrFull) {
		t.Errorf("a key is made without room: %v", err)
	}
	if err := st.RevokeKey(ctx, "c", now); err != nil {
		t.Error(err)
	}
}

// TestJobsThatWereTakenAreBegunAndEndedOnAFullDisk: none stays as it is because nothing can be written about it, and no other is taken.
func TestJobsThatWereTakenAreBegunAndEndedOnAFullDisk(t *testing.T) {
	t.Parallel()
	dir, fill := fullAtWill(t)
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
	fill()
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
	if err := os.Remove(filepath.Join(dir, "full")); err != nil {
		t.Fatal(err)
	}
	if err := put("e"); err != nil {
		t.Error(err)
	}
}
