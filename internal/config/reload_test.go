package config_test

import (
	"slices"
	"testing"

	"grense/internal/config"
)

func TestReloadTakesOverWhatNeedsNoRestart(t *testing.T) {
	t.Parallel()
	const before = "addr: 127.0.0.1:1\nauth: open\nlimits: {rate: 5, read_timeout: 10s}\n" +
		"collections: {a: {title: A}, b: {title: B}}\ntrusted_proxies: [10.0.0.0/8]\n"
	for name, c := range map[string]struct {
		now         string
		taken, kept []string
	}{
		"nothing": {now: before},
		"comments, order and spelling": {now: "# new\nauth: open\naddr: 127.0.0.1:1\n" +
			"limits: {read_timeout: 10000ms, rate: 5}\n" +
			"collections: {b: {title: B}, a: {title: A}}\ntrusted_proxies: [10.1.2.3/8]\n"},
		"both kinds": {
			now: "addr: 127.0.0.1:2\nlimits: {rate: 6, read_timeout: 11s}\n" +
				"collections: {b: {title: B}, c: {hidden: true}}\n",
			taken: []string{"trusted_proxies", "collections.a.title", "limits.rate",
				"collections.c.hidden"},
			kept: []string{"addr", "auth", "limits.read_timeout"},
		},
	} {
		running := load(t, config.Sources{File: write(t, before)})
		next, change, err := config.Reload(config.Sources{File: write(t, c.now), Environ: home}, running)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range c.taken {
			if !slices.Contains(change.Taken, path) {
				t.Errorf("%s: %s is not taken over, only %v", name, path, change.Taken)
			}
		}
		if len(c.taken) == 0 && len(change.Taken) > 0 {
			t.Errorf("%s: %v are taken over", name, change.Taken)
		}
		if !slices.Equal(change.Kept, c.kept) {
			t.Errorf("%s: %v stay, want %v", name, change.Kept, c.kept)
		}
		if next.Addr != running.Addr || next.Auth != running.Auth ||
			next.Service.Description.In("en") != running.Service.Description.In("en") {
			t.Errorf("%s: addr %s, auth %s, %s", name, next.Addr, next.Auth, next.Service.Description.In("en"))
		}
	}
}

func TestReloadReturnsTheFaultsOfLoad(t *testing.T) {
	t.Parallel()
	running := load(t, config.Sources{})
	_, _, err := config.Reload(config.Sources{File: write(t, "auth: x\nlimits: {rate: y}\n"), Environ: home}, running)
	if faults, ok := err.(config.Faults); !ok || len(faults) != 2 {
		t.Errorf("got %v, want two faults", err)
	}
}
