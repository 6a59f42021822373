package state_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"grense/internal/state"
	"grense/internal/store"
)

func TestOnlyTheOwnerMayReadTheFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "sub", "state.db")
	db, err := state.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

// older is a file as Grense wrote it before version 1 of its tables was numbered.
const older = `CREATE TABLE grense_key (id TEXT PRIMARY KEY NOT NULL, name TEXT NOT NULL, hash BLOB NOT NULL, created TEXT NOT NULL,
		expires TEXT, revoked TEXT, last_used TEXT) WITHOUT ROWID;
	INSERT INTO grense_key VALUES ('abcdefgh', 'Kart', x'01', '2026-01-02T03:04:05.000000006Z', NULL, NULL, '2026-01-03T00:00:00.000000000Z');
	CREATE TABLE grense_secret (id INTEGER PRIMARY KEY CHECK (id = 1), value BLOB NOT NULL);
	INSERT INTO grense_secret VALUES (1, zeroblob(32));
	CREATE TABLE grense_job (id TEXT PRIMARY KEY NOT NULL, process TEXT NOT NULL, owner TEXT NOT NULL, status TEXT NOT NULL, created INTEGER NOT NULL,
		started INTEGER NOT NULL, finished INTEGER NOT NULL, updated INTEGER NOT NULL, worker TEXT NOT NULL, attempt INTEGER NOT NULL, body TEXT NOT NULL, request BLOB NOT NULL);
	INSERT INTO grense_job VALUES ('a', 'echo', 'k', 'successful', 5, 6, 7, 8, 'w', 1, '{"progress":100}', x'00');
	CREATE TABLE grense_job_piece (job TEXT NOT NULL, attempt INTEGER NOT NULL, output TEXT NOT NULL, n INTEGER NOT NULL, data BLOB NOT NULL,
		PRIMARY KEY (job, attempt, output, n));
	INSERT INTO grense_job_piece VALUES ('a', 1, 'o', 0, x'0102');
	CREATE TABLE grense_change (seq INTEGER PRIMARY KEY NOT NULL, at INTEGER NOT NULL, op TEXT NOT NULL, collection TEXT NOT NULL, id TEXT NOT NULL, title TEXT NOT NULL,
		count INTEGER NOT NULL);
	INSERT INTO grense_change VALUES (1, 5, 'load', 'c', '', '', 3);
	CREATE TABLE grense_tracked (collection TEXT PRIMARY KEY NOT NULL, schema TEXT NOT NULL, state TEXT NOT NULL, pass INTEGER NOT NULL) WITHOUT ROWID;
	INSERT INTO grense_tracked VALUES ('c', 's', '1', 1);
	CREATE TABLE grense_tracked_feature (collection TEXT NOT NULL, id TEXT NOT NULL, title TEXT NOT NULL, digest BLOB NOT NULL, PRIMARY KEY (collection, id)) WITHOUT ROWID;
	INSERT INTO grense_tracked_feature VALUES ('c', 'x', 'X', zeroblob(16));`

func TestOlderFilesAreReadAndWritten(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"", "; PRAGMA user_version=1", "; PRAGMA user_version=2"} {
		path, ctx := filepath.Join(t.TempDir(), "state.db"), t.Context()
		script(t, path, older+version)
		db, err := state.Open(ctx, path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		if err := errors.Join(db.PrepareJobs(ctx), db.PrepareChanges(ctx)); err != nil {
			t.Fatal(err)
		}
		want := state.Key{ID: "abcdefgh", Name: "Kart", Hash: [32]byte{1},
			Created: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC), LastUsed: time.Date(2026, 1, 3, 0, 0, 0, 0, time.UTC)}
		if keys, err := db.Keys(ctx); err != nil || len(keys) != 1 || keys[0] != want {
			t.Errorf("%+v, %v", keys, err)
		}
		if secret, err := db.Secret(ctx); err != nil || !bytes.Equal(secret, make([]byte, state.SecretSize)) {
			t.Errorf("secret %x, %v", secret, err)
		}
		if j, err := db.Job(ctx, "a"); err != nil || j.Progress != 100 || j.Created != state.FromNanos(5) ||
			j.Updated != state.FromNanos(8) {
			t.Errorf("%+v, %v", j, err)
		}
		if b, err := db.Piece(ctx, state.Piece{Job: "a", Attempt: 1, Output: "o"}); err != nil ||
			!bytes.Equal(b, []byte{1, 2}) {
			t.Errorf("%x, %v", b, err)
		}
		r := state.Recording{Collection: "c", Was: state.Tracked{Pass: 1}, Now: state.Tracked{Schema: "s", State: "2"},
			Changes: []state.Change{{Op: state.ChangeRemove, ID: "x"}}}
		if err := db.Record(ctx, r); err != nil {
			t.Error(err)
		}
		if list, err := db.ChangesAfter(ctx, 0, 9); err != nil || len(list) != 2 || list[0].Count != 3 ||
			list[1].Seq != 2 || list[1].Title != "X" {
			t.Errorf("%+v, %v", list, err)
		}
	}
}

func TestAFileOfANewerProgramIsRefused(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	script(t, path, "PRAGMA user_version=3")
	if _, err := state.Open(t.Context(), path); err == nil || !strings.Contains(err.Error(), "state version 3") {
		t.Errorf("error %v", err)
	}
}

// script runs statements in a file.
func script(t *testing.T, path, sql string) {
	t.Helper()
	c, err := sqlite.OpenConn(path, sqlite.OpenReadWrite|sqlite.OpenCreate)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(sqlitex.ExecuteScript(c, sql, nil), c.Close()); err != nil {
		t.Fatal(err)
	}
}

// fullAtWill is a folder on a disk of its own of 1 MB, and what fills it. The disk is detached at the end, not
// unmounted: a program that another test starts at that moment holds the open files until it runs.
func fullAtWill(t *testing.T) (dir string, fill func()) {
	t.Helper()
	dir = t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"); err != nil {
		t.Skipf("NOT TESTED: a small disk cannot be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir, func() {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, "full"), make([]byte, 1<<20), 0o600); !errors.Is(err,
			syscall.ENOSPC) {
			t.Fatalf("the disk is not full: %v", err)
		}
	}
}

// TestKeysAreRevokedOnAFullDisk: where a server has set room aside, by whom opens the state then, too; no key is made.
func TestKeysAreRevokedOnAFullDisk(t *testing.T) {
	t.Parallel()
	dir, fill := fullAtWill(t)
	open := func() *state.DB {
		st, err := state.Open(t.Context(), filepath.Join(dir, "state.db"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { st.Close() })
		return st
	}
	st, ctx, now := open(), t.Context(), time.Now()
	if err := st.PrepareJobs(ctx); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"a", "b", "c"} {
		if err := st.PutKey(ctx, state.Key{ID: id, Created: now}); err != nil {
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
	if err := st.PutKey(ctx, state.Key{ID: "d", Created: now, Name: string(make([]byte, 64<<10))}); !errors.Is(err,
		store.ErrFull) {
		t.Errorf("a key is made without room: %v", err)
	}
	if err := st.RevokeKey(ctx, "c", now); err != nil {
		t.Error(err)
	}
}

// TestJobsThatWereTakenAreBegunAndEndedOnAFullDisk: none stays as it is because nothing can be written about
// it, and no other is taken.
func TestJobsThatWereTakenAreBegunAndEndedOnAFullDisk(t *testing.T) {
	t.Parallel()
	dir, fill := fullAtWill(t)
	st, err := state.Open(t.Context(), filepath.Join(dir, "state.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	jobs, ctx, now := st, t.Context(), time.Now()
	if err := jobs.PrepareJobs(ctx); err != nil {
		t.Fatal(err)
	}
	put := func(id string) error {
		return jobs.PutJob(ctx, state.Job{ID: id, Process: "echo", Status: state.JobAccepted, Created: now,
			Updated: now, Request: make([]byte, 2000)})
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
		if err := jobs.PutPiece(ctx, state.Piece{Job: j.ID, Attempt: 1, Output: "x",
			Data: make([]byte, 200<<10)}); !errors.Is(err, store.ErrFull) {
			t.Errorf("an output has room: %v", err)
		}
		j.Status, j.Failure, j.Finished = state.JobFailed, []byte(`{"title":"full"}`), now
		if err := jobs.KeepJob(ctx, j); err != nil {
			t.Fatal(err)
		}
		if got, err := jobs.Job(ctx, j.ID); err != nil || got.Status != state.JobFailed {
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
