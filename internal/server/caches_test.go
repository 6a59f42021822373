package server_test

import (
	"context"
	"regexp"
	"testing"

	"grense/internal/await"
	"grense/internal/store"
)

// TestEachCacheIsInTheMetrics: each cache of the process reports its bytes under its name.
func TestEachCacheIsInTheMetrics(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	a.do("GET", "/collections/kommuner/items?limit=10")
	a.do("GET", "/conformance")
	a.do("GET", "/preview.png")
	a.do("GET", "/collections/kommuner/items?limit=2&f=html") // its form lists fylker
	m := httpGetMetrics(t, a)
	for _, name := range []string{"fragments", "documents", "previews", "form_options"} {
		for _, metric := range []string{"bytes", "limit_bytes", "entries"} {
			if !regexp.MustCompile(`(?m)^grense_cache_` + metric + `\{cache="` + name + `"\} [1-9]`).MatchString(m) {
				t.Errorf("no %s of %s in\n%s", metric, name, m)
			}
		}
	}
}

// held is a store whose snapshots wait.
type held struct {
	store.Store
	free chan struct{}
}

func (s *held) Snapshot(ctx context.Context) (store.Snapshot, error) {
	select {
	case <-s.free:
	case <-ctx.Done():
	}
	return s.Store.Snapshot(ctx)
}

// TestMetricsReportBackgroundBuilds looks up a position, for which an index is made that takes a snapshot.
func TestMetricsReportBackgroundBuilds(t *testing.T) {
	t.Parallel()
	s := &held{Store: openGeoPackage(t, demoPath(t)), free: make(chan struct{})}
	a := serveStore(t, s, nil)
	making := regexp.MustCompile(`(?m)^grense_cache_making\{cache="points"\} [1-9]`)
	if making.MatchString(httpGetMetrics(t, a)) {
		t.Error("an index is made before anyone has asked")
	}
	a.get("/lookup?lon=10.75&lat=59.91").wants(200)
	await.True(t, "an index is being built", func() bool { return making.MatchString(httpGetMetrics(t, a)) })
	close(s.free)
	a.waitIndexed(t, 10.75, 59.91, "kommuner", "fylker")
	await.True(t, "no index is being built", func() bool { return !making.MatchString(httpGetMetrics(t, a)) })
}
