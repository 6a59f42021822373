package main_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"grense/internal/await"
)

// TestAttackStormOfReplacements replaces the file 500 times for each size, at random moments, with SIGHUP and
// without, under eight readers.
// No answer is of two versions, and the last one is served soon after the last SIGHUP.
func TestAttackStormOfReplacements(t *testing.T) {
	attack(t)
	for _, rows := range []int{40, 30_000} {
		t.Run(fmt.Sprint(rows), func(t *testing.T) { stormOfReplacements(t, rows, repeats(t, 500)) })
	}
}

func stormOfReplacements(t *testing.T, rows, replacements int) {
	t.Helper()
	files := map[int]string{}
	for n := 1; n <= 3; n++ { // version n has n times the rows
		files[n] = layersFile(t, 1, n*rows, int64(n))
	}
	live := filepath.Join(t.TempDir(), "live.gpkg")
	put := func(n int) {
		b, err := os.ReadFile(files[n])
		if err == nil {
			err = os.WriteFile(live+".new", b, 0o600)
		}
		if err == nil {
			err = os.Rename(live+".new", live)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	put(1)
	// a reload may get 503
	s := start(t, &serving{away: true}, []string{"GRENSE_LIMITS_RATE=0", "GRENSE_AUTH=open"}, live)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var readers sync.WaitGroup
	var answers, mixed, refused atomic.Int64
	for range 8 {
		readers.Go(func() {
			for ctx.Err() == nil {
				switch n, code, err := versionServed(ctx, s, rows); {
				case ctx.Err() != nil:
				case err != nil:
					mixed.Add(1)
					t.Log(err)
				case code != http.StatusOK:
					refused.Add(1)
				case n > 0:
					answers.Add(1)
				}
			}
		})
	}
	last, reloads := 1, 0
	for range replacements {
		last = 1 + rand.IntN(3)
		put(last)
		if rand.IntN(2) == 0 {
			s.signal(t, syscall.SIGHUP)
			reloads++
		}
		await.Pace(time.Duration(rand.IntN(50)) * time.Millisecond)
	}
	s.signal(t, syscall.SIGHUP)
	behind := time.Now()
	for {
		if n, code, err := versionServed(ctx, s, rows); err == nil && code == http.StatusOK && n == last {
			break
		}
		if time.Since(behind) > time.Minute {
			break
		}
	}
	took := time.Since(behind)
	stop()
	readers.Wait()
	t.Logf("%d rows: %d replacements, %d reloads asked, %d answers, %d times 503", rows, replacements, reloads,
		answers.Load(), refused.Load())
	figure(t, fmt.Sprintf("%d replacements of a file of %d rows: answers of two versions", replacements, rows),
		mixed.Load(), 0)
	figure(t, "  from the last signal to reload to the last version", took, 10*time.Second)
	figure(t, "  answers other than 200, of a thousand", refused.Load()*1000/max(answers.Load(), 1), 10)
}

// versionServed asks for a page and a box, and returns the version that both the number of
// matches and every row are of.
func versionServed(ctx context.Context, s *serving, rows int) (n, code int, err error) {
	req, err := http.NewRequestWithContext(ctx, "GET", s.base+"/collections/lag_0/items?limit=20&bbox=-180,-90,180,90",
		nil)
	if err != nil {
		return 0, 0, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, 0, err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		return 0, res.StatusCode, err
	}
	var page struct {
		NumberMatched int
		Features      []struct{ Properties struct{ A int } }
	}
	if err := json.Unmarshal(b, &page); err != nil {
		return 0, 0, err
	}
	n = page.NumberMatched / rows
	for _, f := range page.Features {
		if f.Properties.A != n || page.NumberMatched%rows != 0 {
			return n, res.StatusCode, fmt.Errorf("%d matched, and a row of version %d", page.NumberMatched,
				f.Properties.A)
		}
	}
	if len(page.Features) == 0 {
		return 0, res.StatusCode, fmt.Errorf("no features of %d matched", page.NumberMatched)
	}
	return n, res.StatusCode, nil
}
