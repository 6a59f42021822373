package main

import (
	"context"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestTheServiceManagerIsToldOfStartReloadHealthAndEnd over a socket, as sd_notify(3) defines it.
func TestTheServiceManagerIsToldOfStartReloadHealthAndEnd(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	haveDemo(t, dir)
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(dir, "notify"), Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	reload, done := make(chan os.Signal, 1), make(chan int, 1)
	p := &process{Args: []string{"serve", "--addr", "127.0.0.1:0", "--auth", "open"}, Stdout: newOutput(),
		Stderr: newOutput(), Reload: reload,
		Environ: append(environ(dir), "NOTIFY_SOCKET="+socket.LocalAddr().String(), "WATCHDOG_USEC=100000",
			"GRENSE_LIMITS_DRAIN_WAIT=0s")}
	go func() { done <- run(ctx, p) }()
	await := func(want string) {
		t.Helper()
		socket.SetReadDeadline(time.Now().Add(patience))
		for b := make([]byte, 1<<10); ; {
			n, err := socket.Read(b)
			if err != nil {
				t.Fatalf("no %s: %v", want, err)
			}
			if slices.Contains(strings.Split(string(b[:n]), "\n"), want) {
				return
			}
		}
	}
	await("READY=1")
	await("WATCHDOG=1")
	reload <- os.Interrupt
	await("RELOADING=1")
	await("READY=1")
	stop()
	await("STOPPING=1")
	if code := <-done; code != 0 {
		t.Errorf("status %d", code)
	}
}

// TestHealthTellsByItsStatusWhetherAServerAnswers.
func TestHealthTellsByItsStatusWhetherAServerAnswers(t *testing.T) {
	t.Parallel()
	s := serve(t, t.TempDir(), "--auth", "open")
	if code, stdout, _ := command(t, t.TempDir(), "health", "--ready", s.base); code != 0 || stdout != "ok\n" {
		t.Errorf("status %d, %q", code, stdout)
	}
	config := writeFile(t, filepath.Join(t.TempDir(), "grense.yaml"),
		"addr: "+strings.TrimPrefix(s.base, "http://")+"\n")
	if code, stdout, stderr := command(t, t.TempDir(), "health", "--config", config); code != 0 || stdout != "ok\n" {
		t.Errorf("status %d, %q %s", code, stdout, stderr)
	}
	s.stop()
	<-s.done
	if code, _, stderr := command(t, t.TempDir(), "health", s.base); code != exitFailed ||
		!strings.Contains(stderr, "no answer") {
		t.Errorf("status %d, %s", code, stderr)
	}
}

func TestConfigShowAndCheck(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	good := writeFile(t, filepath.Join(dir, "grense.yaml"),
		"source: postgres://reader:tiger@db/maps\nlimits: {memory: 1GiB}\n")
	code, stdout, stderr := command(t, dir, "config", "show", "--changed", "--config", good)
	if code != 0 || strings.Contains(stdout, "tiger") || !strings.Contains(stdout, "limits.memory") ||
		!strings.Contains(stdout, "grense.yaml:2") {
		t.Errorf("status %d\n%s%s", code, stdout, stderr)
	}
	if code, stdout, stderr = command(t, dir, "config", "check", good); code != 0 ||
		!strings.Contains(stdout, "no faults") {
		t.Errorf("status %d\n%s%s", code, stdout, stderr)
	}
	bad := writeFile(t, filepath.Join(dir, "bad.yaml"), "limits: {memroy: 1GiB}\nauth: x\n")
	if code, _, stderr = command(t, dir, "config", "check", bad); code != exitFailed ||
		!strings.Contains(stderr, "bad.yaml:1") || !strings.Contains(stderr, "bad.yaml:2") {
		t.Errorf("status %d\n%s", code, stderr)
	}
}

func TestConfigCheckReadsTheFilesOfStyles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, x := range []struct {
		style string
		code  int
		says  string
	}{
		{`{"version":8,"sources":{},"layers":[{"id":"sea","type":"background"}]}`, 0, "no faults"},
		{`{"version":7,"sources":{},"layers":[{"id":"sea","type":"background"}]}`, exitFailed, "its version is 7"},
		{``, exitFailed, "it is not a style"},
	} {
		file := writeFile(t, filepath.Join(dir, "roads.json"), x.style)
		conf := writeFile(t, filepath.Join(dir, "grense.yaml"), "styles: {roads: {file: "+file+"}}\n")
		code, stdout, stderr := command(t, dir, "config", "check", conf)
		if code != x.code || !strings.Contains(stdout+stderr, x.says) ||
			code != 0 && !strings.Contains(stderr, "styles.roads: "+file) {
			t.Errorf("%s: status %d\n%s%s", x.style, code, stdout, stderr)
		}
	}
}

func TestAVariableThatNothingReadsIsNamedWithTheNearestOne(t *testing.T) {
	t.Parallel()
	p := &process{Environ: []string{"GRENSE_LIMITS_MEMROY=1GiB", "GRENSE_SERVICE_HOST=10.0.0.1"}}
	if got, want := p.unknownVariables(),
		[]string{"nothing reads the environment variable GRENSE_LIMITS_MEMROY; " +
			"did you mean GRENSE_LIMITS_MEMORY?"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestTheSourceMayStandInTheConfiguration: serve and config agree on it.
func TestTheSourceMayStandInTheConfiguration(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := writeFile(t, filepath.Join(dir, "areas.geojson"),
		`{"type":"FeatureCollection","features":[{"type":"Feature","id":"a","properties":{"n":1},`+
			`"geometry":{"type":"Point","coordinates":[10,60]}}]}`)
	config := writeFile(t, filepath.Join(dir, "grense.yaml"),
		"source: "+file+"\nauth: open\nlimits: {drain_wait: 0s}\n")
	s := serveAsIs(t, dir, "--config", config)
	res, err := http.Get(s.base + "/collections/areas/items/a")
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusOK {
		t.Errorf("status %d", res.StatusCode)
	}
}
