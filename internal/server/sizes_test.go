package server_test

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"grense/internal/store"
)

// sampledStore counts the questions of samples, and lets those wait for gate.
type sampledStore struct {
	store.Store
	samples atomic.Int32
	gate    chan struct{}
}

func (s *sampledStore) Page(ctx context.Context, q store.Query) (*store.Page, error) {
	if q.Limit == 25 {
		s.samples.Add(1)
		<-s.gate
	}
	return s.Store.Page(ctx, q)
}

func serveSampled(t *testing.T) (*api, *sampledStore) {
	t.Helper()
	path, err := demoFile()
	if err != nil {
		t.Fatal(err)
	}
	st := &sampledStore{Store: openTest(t, path), gate: make(chan struct{})}
	return serveStore(t, st, nil), st
}

// TestPagesDoNotWaitForSizesOfFiles: a store that is slow costs pages their sizes and nothing else, and is asked once however many pages there are.
func TestPagesDoNotWaitForSizesOfFiles(t *testing.T) {
	t.Parallel()
	a, st := serveSampled(t)
	const path = "/collections/kommuner/items?f=html&lang=en&limit=1"
	var pages sync.WaitGroup
	for range 8 {
		pages.Go(func() {
			if r := a.get(path); r.StatusCode != 200 || !strings.Contains(string(r.Body), `rel="enclosure`) || strings.Contains(string(r.Body), ", about ") {
				t.Errorf("%d, files %t, sizes %t", r.StatusCode, strings.Contains(string(r.Body), `rel="enclosure`), strings.Contains(string(r.Body), ", about "))
			}
		})
	}
	pages.Wait()
	close(st.gate)
	a.settled()
	if body := a.get(path).wants(200).Body; !strings.Contains(string(body), ", about ") {
		t.Errorf("no sizes once they are known: %s", body)
	}
	if n := st.samples.Load(); n != 3 {
		t.Errorf("%d questions for one sample of three places", n)
	}
}

// TestSizesOfFilesAreKnownBeforePagesAsk for all collections that are public.
func TestSizesOfFilesAreKnownBeforePagesAsk(t *testing.T) {
	t.Parallel()
	a, st := serveSampled(t)
	close(st.gate)
	ctx, stop := context.WithCancel(t.Context())
	var work sync.WaitGroup
	work.Go(func() { a.srv.RunSizes(ctx) })
	for a.srv.SizesKnown() < 2 {
		time.Sleep(10 * time.Millisecond)
	}
	stop()
	work.Wait()
	before := st.samples.Load()
	for _, id := range []string{"kommuner", "fylker"} {
		if body := a.get("/collections/" + id + "?f=html&lang=en").wants(200).Body; !strings.Contains(string(body), ", about ") {
			t.Errorf("%s: no sizes", id)
		}
	}
	if n := st.samples.Load(); n != before {
		t.Errorf("pages sampled again: %d questions", n-before)
	}
}
