//go:build unix

package main_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"grense/internal/await"
)

// crowd is many slow readers at once and, beside them, one client of another key.
type crowd struct {
	readers int
	path    func(i int) string // that a reader asks
	beside  string             // that the other client asks
	lasts   time.Duration      // from when each has the beginning of its answer
}

// attack lets the crowd read, and prints what it cost. what names the attack.
func (c crowd) attack(t *testing.T, s *serving, what string) {
	t.Helper()
	other := s.asker(s.newKey(t))
	ctx, cancel := context.WithTimeout(t.Context(), c.lasts+patience)
	defer cancel()
	var all sync.WaitGroup
	var begun, told, failed atomic.Int64
	for i := range c.readers {
		all.Go(func() {
			request := fmt.Sprintf("GET %s HTTP/1.1\r\nHost: x\r\nAccept-Encoding: gzip\r\nX-API-Key: %s\r\n\r\n",
				c.path(i), s.key)
			status := s.sendAgain(ctx, request, &told, func() {
				if begun.Add(1) == int64(c.readers) {
					time.AfterFunc(c.lasts, cancel)
				}
			})
			if status != http.StatusOK && status != http.StatusServiceUnavailable {
				failed.Add(1)
			}
		})
	}
	seen := other.watch(t, ctx, &all, c.beside)
	all.Wait()
	t.Logf("%s: %d answers were begun; %d times a reader was told that the server is busy", what,
		begun.Load(), told.Load())
	figure(t, fmt.Sprintf("%d slow readers of %s, `memory: 512MiB`: most memory", c.readers, what), s.peak(t), 512<<20)
	figure(t, "  answers to them other than 200 and 503", failed.Load(), 0)
	figure(t, "  readers without an answer, who asked again after Retry-After", c.readers-int(begun.Load()), 0)
	seen.report(t)
}

// TestAttackSlowDownloads: hundreds of readers who take whole collections slowly, as files that are made while they
// read, cost little memory, whatever the format.
func TestAttackSlowDownloads(t *testing.T) {
	attack(t)
	for _, f := range []string{"json", "csv", "gpkg", "parquet"} {
		t.Run(f, func(t *testing.T) {
			s := serveCommunes(t, "GRENSE_LIMITS_MEMORY=512MiB")
			s.away = true
			at := "/collections/" + s.only(t)
			crowd{readers: 900, beside: at + "/items/7", lasts: phase(t, 10*time.Second), path: func(int) string {
				return at + "/download?f=" + f
			}}.attack(t, s, "downloads as "+f)
		})
	}
}

// TestAttackSlowSelections: the same of files that are made for one reader each.
func TestAttackSlowSelections(t *testing.T) {
	attack(t)
	for _, f := range []string{"geojsonseq", "gpkg", "parquet", "xlsx"} {
		t.Run(f, func(t *testing.T) {
			s := serveCommunes(t, "GRENSE_LIMITS_MEMORY=512MiB")
			s.away = true
			at := "/collections/" + s.only(t)
			crowd{readers: 300, beside: at + "/items/7", lasts: phase(t, 10*time.Second), path: func(i int) string {
				return at + "/download?f=" + f + "&bbox=" + url.QueryEscape(fmt.Sprintf("2,%d.%03d,3,49.5", 46+i%2, i))
			}}.attack(t, s, "downloads of selections as "+f)
		})
	}
}

// TestAttackSlowTiles: hundreds of readers who take the largest tiles slowly cost little memory,
// and others get theirs at once.
func TestAttackSlowTiles(t *testing.T) {
	attack(t)
	s := serveCommunes(t, "GRENSE_LIMITS_MEMORY=512MiB")
	s.away = true
	at := "/collections/" + s.only(t)
	tiles := []string{"5/11/16", "6/22/32", "7/44/64", "7/44/65", "7/45/64", "8/88/129"}
	ask := s.asker(s.key)
	await.Success(t, "levels", func() error { // the first request begins them; a minute or two of a processor
		code, body, _, err := ask.ask(t.Context(), at+"/tiles/WebMercatorQuad/"+tiles[0])
		if err == nil && code != http.StatusOK {
			err = fmt.Errorf("%d, %.300s", code, body)
		}
		return err
	})
	figure(t, "levels of tiles of 35,357 communes are built, `memory: 512MiB`: most memory", s.peak(t), 512<<20)
	crowd{readers: 900, beside: at + "/items/7", lasts: phase(t, 10*time.Second), path: func(i int) string {
		return at + "/tiles/WebMercatorQuad/" + tiles[i%len(tiles)]
	}}.attack(t, s, "tiles")
}

// TestAttackSlowestReaders: readers who stand still, or are slower than limits.slowest,
// see the end of the connection soon.
func TestAttackSlowestReaders(t *testing.T) {
	attack(t)
	s := serve(t, []string{"GRENSE_AUTH=open"}, layersFile(t, 1, 200_000, 1))
	var all sync.WaitGroup
	var mu sync.Mutex
	worst := map[bool]time.Duration{}
	for _, path := range []string{"/collections/lag_0/items?limit=10000", "/collections/lag_0/download?f=geojsonseq"} {
		for _, speed := range []int{0, 1 << 10, 2 << 10, 3 << 10} {
			all.Go(func() {
				still := time.Duration(0)
				if speed == 0 {
					still = 15900 * time.Millisecond
				}
				took, read, err := s.endOf(t, path, speed, still)
				t.Logf("%s at %d bytes a second: %d bytes, ended after %v, %v", path, speed, read, took, err)
				mu.Lock()
				defer mu.Unlock()
				worst[speed > 0] = max(worst[speed > 0], took)
			})
		}
	}
	all.Wait()
	figure(t, "readers who stand still within long answers: until they see the end", worst[false], 16*time.Second)
	figure(t, "readers of 1, 2 and 3 KiB in a second, until they see the end", worst[true], 40*time.Second)
}
