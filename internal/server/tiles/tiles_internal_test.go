package tiles

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
)

// TestATileIsMadeOnce: of many that ask at once one makes it, and so does each where that one fails.
func TestATileIsMadeOnce(t *testing.T) {
	t.Parallel()
	for _, fault := range []error{nil, errors.New("of its own")} {
		synctest.Test(t, func(t *testing.T) {
			const askers = 12
			tc, release, ended := newTileCache(nil, tileBytes), make(chan struct{}), make(chan *encodedTile, askers)
			made := make(chan int, askers)
			ask := func(ctx context.Context) {
				first := false
				m, err := tc.get(ctx, tileKey{rev: "1"}, func() (*encodedTile, error) {
					first = len(made) == 0
					made <- 1
					<-release
					if first && fault != nil {
						return nil, fault
					}
					return &encodedTile{keep: true}, nil
				})
				if err != nil && !(first && errors.Is(err, fault)) && ctx.Err() == nil {
					t.Error(err)
				}
				ended <- m
			}
			ctx, leave := context.WithCancel(t.Context())
			for range askers - 1 {
				go ask(t.Context())
				synctest.Wait()
			}
			go ask(ctx)
			synctest.Wait()
			if len(made) != 1 || len(ended) != 0 {
				t.Fatalf("it is being made %d times, and %d have it", len(made), len(ended))
			}
			leave()
			synctest.Wait()
			if len(ended) != 1 {
				t.Error("who has left waits on")
			}
			close(release)
			synctest.Wait()
			want := 1
			if fault != nil {
				want = askers - 1
			}
			if len(made) != want || len(ended) != askers {
				t.Errorf("it was made %d times and not %d, and %d of %d have it", len(made), want, len(ended), askers)
			}
			if _, kept := tc.Get(tileKey{rev: "1"}); kept != (fault == nil) {
				t.Errorf("it is kept: %v", kept)
			}
		})
	}
}
