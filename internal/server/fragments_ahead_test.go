package server_test

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"grense/internal/await"
)

// TestFeaturesAreEncodedAhead: after a page whose features were not encoded, the server encodes all others of the
// collection. They equal those of a direct request.
func TestFeaturesAreEncodedAhead(t *testing.T) {
	t.Parallel()
	a, plain := serveStore(t, openGeoPackage(t, demoPath(t)), nil), serveStore(t, openGeoPackage(t, demoPath(t)), nil)
	ctx, stop := context.WithCancel(t.Context())
	var work sync.WaitGroup
	defer work.Wait()
	defer stop()
	work.Go(func() { a.srv.RunFragments(ctx) })
	count := func(metric string) int {
		t.Helper()
		m := regexp.MustCompile(`(?m)^grense_cache_` + metric + `\{cache="fragments"\} (\d+)`).FindStringSubmatch(
			httpGetMetrics(t, a))
		if m == nil {
			t.Fatalf("no %s of fragments", metric)
		}
		n, _ := strconv.Atoi(m[1])
		return n
	}
	const path = "/collections/kommuner/items?limit=50&offset=%d"
	a.get("/collections/kommuner/items?limit=9").wants(200)
	if n := count("entries"); n != 9 {
		t.Errorf("%d features are encoded after a page of 9", n)
	}
	a.get(fmt.Sprintf(path, 200)).wants(200)
	await.Success(t, "all features are encoded", func() error {
		if n := count("entries"); n < 357 || count("making") > 0 {
			return fmt.Errorf("%d of 357", n)
		}
		return nil
	})
	misses := count("misses_total")
	features := func(body []byte) string { f, _, _ := strings.Cut(string(body), `"links":`); return f }
	for offset := 0; offset < 357; offset += 50 {
		got, want := a.get(fmt.Sprintf(path, offset)).wants(200), plain.get(fmt.Sprintf(path, offset)).wants(200)
		if features(got.Body) != features(want.Body) {
			t.Errorf("the features from %d on are others", offset)
		}
	}
	if n := count("misses_total"); n != misses {
		t.Errorf("%d features were encoded for questions", n-misses)
	}
}
