package state_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"grense/internal/state"
	"grense/internal/store"
	"grense/internal/store/postgis/statedb"
	"grense/internal/store/storetest"
)

var cluster storetest.Cluster

func TestMain(m *testing.M) {
	code := m.Run()
	cluster.Stop()
	os.Exit(code)
}

// onBoth runs a test with each driver. open opens the same state once more, as another process does.
func onBoth(t *testing.T, test func(t *testing.T, open func() *state.DB)) {
	t.Parallel()
	for name, where := range map[string]func(*testing.T) func(context.Context) (*state.DB, error){
		"SQLite": func(t *testing.T) func(context.Context) (*state.DB, error) {
			path := filepath.Join(t.TempDir(), "sub", "state.db")
			return func(ctx context.Context) (*state.DB, error) { return state.Open(ctx, path) }
		},
		"PostgreSQL": func(t *testing.T) func(context.Context) (*state.DB, error) {
			url := cluster.Database(t)
			return func(ctx context.Context) (*state.DB, error) { return statedb.Open(ctx, url) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			open := where(t)
			test(t, func() *state.DB {
				t.Helper()
				db, err := open(context.Background())
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { db.Close() })
				return db
			})
		})
	}
}

func TestKeys(t *testing.T) {
	onBoth(t, func(t *testing.T, open func() *state.DB) {
		ctx, a, b := t.Context(), open(), open()
		at := time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)
		k := state.Key{ID: "abcdefgh", Name: "Åse", Hash: [32]byte{1, 2, 31: 3}, Created: at,
			Expires: at.Add(time.Hour)}
		later := state.Key{ID: "aaaaaaaa", Name: "x", Created: at.Add(time.Second)}
		for _, k := range []state.Key{later, k} {
			if err := a.PutKey(ctx, k); err != nil {
				t.Fatal(err)
			}
		}
		if err := b.PutKey(ctx, k); err == nil {
			t.Error("an id was used twice")
		}
		if added, err := b.PutFirstKey(ctx, state.Key{ID: "bcdefghi", Created: at}); added || err != nil {
			t.Errorf("a first key beside others: %v", err)
		}
		for _, day := range []time.Time{at, at.AddDate(0, 0, -1)} {
			if err := b.TouchKeys(ctx, day, []string{k.ID, "unknown"}); err != nil {
				t.Error(err)
			}
		}
		for _, when := range []time.Time{at.Add(time.Minute), at.Add(time.Hour)} {
			if err := b.RevokeKey(ctx, k.ID, when); err != nil {
				t.Error(err)
			}
		}
		if err := a.RevokeKey(ctx, "unknown", at); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("an unknown key was revoked: %v", err)
		}
		k.LastUsed, k.Revoked = at.Truncate(24*time.Hour), at.Add(time.Minute)
		keys, err := a.Keys(ctx)
		if err != nil || len(keys) != 2 || keys[0] != k || keys[1] != later {
			t.Errorf("keys %+v, %v; want %+v", keys, err, k)
		}
		next := state.Key{ID: "nextnext", Name: "x", Created: at.Add(time.Hour)}
		if err := a.RotateKey(ctx, later.ID, at.Add(48*time.Hour), next); err != nil {
			t.Error(err)
		}
		if err := a.RotateKey(ctx, k.ID, at, next); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("a revoked key was rotated: %v", err)
		}
		more := state.Key{ID: "moremore", Name: "y", Created: at.Add(2 * time.Hour)}
		if n, err := b.ImportKeys(ctx, []state.Key{next, more}); n != 1 || err != nil {
			t.Errorf("%d keys were added, %v", n, err)
		}
		later.Expires = at.Add(48 * time.Hour)
		if keys, err := a.Keys(ctx); err != nil || !slices.Equal(keys, []state.Key{k, later, next, more}) {
			t.Errorf("keys %+v, %v", keys, err)
		}
		if err := a.Close(); err != nil {
			t.Error(err)
		}
		if _, err := a.Keys(ctx); !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("a closed state: %v", err)
		}
	})
}

// TestOneFirstKey: of processes that start at once with one state, one adds the first key.
func TestOneFirstKey(t *testing.T) {
	onBoth(t, func(t *testing.T, open func() *state.DB) {
		var added atomic.Int32
		var all sync.WaitGroup
		for i := range 8 {
			db := open()
			all.Go(func() {
				ok, err := db.PutFirstKey(t.Context(), state.Key{ID: strconv.Itoa(i), Created: time.Now()})
				if err != nil {
					t.Error(err)
				}
				if ok {
					added.Add(1)
				}
			})
		}
		all.Wait()
		if added.Load() != 1 {
			t.Errorf("%d first keys", added.Load())
		}
	})
}

// TestACancelledCallLocksNothing: neither itself nor the next one.
func TestACancelledCallLocksNothing(t *testing.T) {
	onBoth(t, func(t *testing.T, open func() *state.DB) {
		db := open()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := db.PutKey(ctx, state.Key{ID: "a", Created: time.Now()}); err != context.Canceled {
			t.Errorf("error %v", err)
		}
		if err := db.PutKey(t.Context(), state.Key{ID: "a", Created: time.Now()}); err != nil {
			t.Error(err)
		}
	})
}

func TestASecretIsTheSameForAllProcesses(t *testing.T) {
	onBoth(t, func(t *testing.T, open func() *state.DB) {
		var got [4][]byte
		var all sync.WaitGroup
		for i := range got {
			db := open()
			all.Go(func() {
				secret, err := db.Secret(t.Context())
				if got[i] = secret; err != nil || len(secret) != state.SecretSize {
					t.Errorf("%d bytes, %v", len(secret), err)
				}
			})
		}
		all.Wait()
		again, err := open().Secret(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for i := range got {
			if !bytes.Equal(got[i], again) {
				t.Errorf("two secrets: %x, %x", got[i], again)
			}
		}
	})
}

// TestTermsOfKeysAreStoredWithThem however a key is added.
func TestTermsOfKeysAreStoredWithThem(t *testing.T) {
	onBoth(t, func(t *testing.T, open func() *state.DB) {
		ctx, a, b := t.Context(), open(), open()
		at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
		key := func(id string, rate int) state.Key {
			return state.Key{ID: id, Name: "x", Created: at, Terms: state.Terms{Note: "æ", Scopes: "soap tiles",
				Origins: "https://example.org", Rate: rate, Quota: 1 << 40}}
		}
		plain := state.Key{ID: "plain", Name: "x", Created: at}
		if ok, err := a.PutFirstKey(ctx, key("first", 1)); !ok || err != nil {
			t.Fatal(ok, err)
		}
		if err := b.PutKey(ctx, key("other", 2)); err != nil {
			t.Fatal(err)
		}
		if err := a.PutKey(ctx, plain); err != nil {
			t.Fatal(err)
		}
		if n, err := b.ImportKeys(ctx, []state.Key{key("other", 9), key("moved", 3)}); n != 1 || err != nil {
			t.Fatal(n, err)
		}
		if err := b.RotateKey(ctx, "plain", at, key("rotated", 4)); err != nil {
			t.Fatal(err)
		}
		plain.Expires = at
		want := []state.Key{key("first", 1), key("moved", 3), key("other", 2), plain, key("rotated", 4)}
		if keys, err := a.Keys(ctx); err != nil || !slices.Equal(keys, want) {
			t.Errorf("%+v, %v", keys, err)
		}
	})
}

// TestUsesAddUp of several processes, by key and day, until they are dropped.
func TestUsesAddUp(t *testing.T) {
	onBoth(t, func(t *testing.T, open func() *state.DB) {
		ctx, a, b := t.Context(), open(), open()
		if list, err := a.Uses(ctx, time.Time{}, ""); len(list) != 0 || err != nil {
			t.Fatalf("%+v, %v", list, err)
		}
		if err := a.DropUses(ctx, time.Now()); err != nil {
			t.Error(err)
		}
		one := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		two := one.AddDate(0, 0, 1)
		var all sync.WaitGroup
		for _, db := range []*state.DB{a, b} {
			all.Go(func() {
				for range 5 {
					err := db.AddUses(ctx, []state.Use{{"k", one.Add(time.Hour), 1, 2, 3, 4},
						{"k", two, 1, 1 << 33, 1, 1}})
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		if err := a.AddUses(ctx, []state.Use{{"a", two, 1, 1, 1, 0}}); err != nil {
			t.Error(err)
		}
		first, other, second := state.Use{"k", one, 10, 20, 30, 40}, state.Use{"a", two, 1, 1, 1, 0},
			state.Use{"k", two, 10, 10 << 33, 10, 10}
		for _, x := range []struct {
			since time.Time
			key   string
			want  []state.Use
		}{
			{time.Time{}, "", []state.Use{first, other, second}},
			{two, "k", []state.Use{second}},
		} {
			if list, err := b.Uses(ctx, x.since, x.key); err != nil || !slices.Equal(list, x.want) {
				t.Errorf("%+v, %v", list, err)
			}
		}
		if err := a.DropUses(ctx, two); err != nil {
			t.Error(err)
		}
		if list, err := b.Uses(ctx, time.Time{}, "k"); err != nil || !slices.Equal(list, []state.Use{second}) {
			t.Errorf("%+v, %v", list, err)
		}
	})
}
