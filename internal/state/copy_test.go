package state_test

import (
	"bytes"
	"path/filepath"
	"testing"
	"time"

	"grense/internal/state"
)

// TestACopyHoldsKeysFinishedJobsAndChanges, and a restored one numbers changes above those of the meantime.
func TestACopyHoldsKeysFinishedJobsAndChanges(t *testing.T) {
	onBoth(t, func(t *testing.T, open func() *state.DB) {
		ctx, from := t.Context(), open()
		ok := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
		key := state.Key{ID: "abcdefgh", Name: "kart", Hash: [32]byte{1}, Created: at, Revoked: at.Add(time.Hour)}
		ok(from.PutKey(ctx, key))
		secret, err := from.Secret(ctx)
		ok(err)
		ok(from.PrepareChanges(ctx))
		ok(from.Record(ctx, state.Recording{Collection: "a", Now: state.Tracked{Schema: "s"}, At: at, Afresh: true,
			Changes: []state.Change{{Op: state.ChangeLoad, Count: 1}, {Op: state.ChangeAdd, ID: "x"}}}))
		ok(from.PrepareJobs(ctx))
		done := state.Job{ID: "done", Process: "echo", Status: state.JobSuccessful, Created: at, Finished: at,
			Attempt: 1, Results: []byte(`{"a":1}`), Request: []byte("{}")}
		ok(from.PutJob(ctx, done))
		ok(from.PutJob(ctx, state.Job{ID: "waits", Process: "echo", Status: state.JobAccepted, Created: at,
			Request: []byte("{}")}))
		piece := state.Piece{Job: "done", Attempt: 1, Output: "a", N: 1, Data: bytes.Repeat([]byte{7, 0}, 1000)}
		ok(from.PutPiece(ctx, piece))

		to, err := state.Open(ctx, filepath.Join(t.TempDir(), "copy.db"))
		ok(err)
		defer to.Close()
		n, err := from.Copy(ctx, to)
		ok(err)
		if want := (state.Copied{Keys: 1, Jobs: 1, Changes: 2}); n != want {
			t.Errorf("copied %+v, want %+v", n, want)
		}
		if keys, err := to.Keys(ctx); err != nil || len(keys) != 1 || keys[0] != key {
			t.Errorf("keys %+v, %v", keys, err)
		}
		if s, err := to.Secret(ctx); err != nil || !bytes.Equal(s, secret) {
			t.Errorf("another secret, %v", err)
		}
		if b, err := to.Piece(ctx, piece); err != nil || !bytes.Equal(b, piece.Data) {
			t.Errorf("%d bytes of an output, %v", len(b), err)
		}
		if j, err := to.Job(ctx, "done"); err != nil || j.Status != state.JobSuccessful || !j.Finished.Equal(at) ||
			string(j.Results) != `{"a":1}` {
			t.Errorf("job %+v, %v", j, err)
		}
		ok(to.Restored(ctx, at, at.Add(time.Minute)))
		last, err := to.LastChanges(ctx, 1)
		ok(err)
		if len(last) != 1 || last[0].Seq < 2+60_000 || last[0].Op != state.ChangeLoad || last[0].Collection != "a" {
			t.Errorf("after the restore %+v", last)
		}
		if tracked, err := to.Tracked(ctx); err != nil || len(tracked) != 0 {
			t.Errorf("tracked %v, %v", tracked, err)
		}
	})
}
