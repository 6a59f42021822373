// Package main_test runs the built program, bin/grense, as its users do: as a process, beside real clients.
package main_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"grense/internal/sharedtest"
)

// patience bounds every wait for the program. It is long, because only a failure needs it.
const patience = time.Minute

var (
	listeningLine = regexp.MustCompile(`listening on\s+(\S+)$`)
	baseLine      = regexp.MustCompile(`for programs\s+(\S+)/$`)
	metricsLine   = regexp.MustCompile(`metrics\s+(\S+/metrics)$`)
)

// rootPath is a path in the project's folder.
func rootPath(t testing.TB, elem ...string) string {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(append([]string{root}, elem...)...)
}

// sharedPath is a path in the folder of shared data. It need not exist.
func sharedPath(t testing.TB, elem ...string) string { return sharedtest.Find(elem...) }

// program returns bin/grense as a command whose home is dir, without the settings of the machine that runs the test.
func program(t testing.TB, ctx context.Context, dir string, args ...string) *exec.Cmd {
	t.Helper()
	bin := rootPath(t, "bin", "grense")
	if _, err := os.Stat(bin); err != nil {
		t.Fatal("there is no bin/grense; make builds it")
	}
	cmd := exec.CommandContext(ctx, bin, args...)
	cmd.Env = []string{"HOME=" + dir, "GRENSE_LIMITS_DRAIN_WAIT=0s"}
	return cmd
}

// createKey makes a key through the command line, with more flags than its name.
func createKey(t testing.TB, dir string, flags ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := program(t, ctx, dir, append([]string{"key", "create", "--name", "a real client"}, flags...)...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	key := strings.TrimSpace(string(out))
	if err != nil || !strings.HasPrefix(key, "grense_") || strings.ContainsAny(key, " \n") {
		t.Fatalf("key create: %v\n%s%s", err, out, &errs)
	}
	return key
}

// serving is a grense serve in progress.
type serving struct {
	base, addr string // base is a URL without a slash at the end
	key        string
	dir        string // its home
	cmd        *exec.Cmd
	log        string // file with its log, JSON lines
	ended      chan struct{}
	bin        string      // another program than bin/grense
	away       bool        // the test stops its database, so the log may have failures
	metrics    chan string // holds their address, once it is known
}

// serve starts grense serve with a key of its own on a free port.
// When the test ends it must drain and leave a clean log.
// Settings are environment variables that come after ours.
func serve(t testing.TB, settings []string, args ...string) *serving {
	t.Helper()
	return start(t, &serving{}, settings, args...)
}

// start is serve of a program that may be another one: bin of s, which is bin/grense where it is empty.
func start(t testing.TB, s *serving, settings []string, args ...string) *serving {
	t.Helper()
	s.dir, s.ended, s.metrics = t.TempDir(), make(chan struct{}), make(chan string, 1)
	s.key = createKey(t, s.dir)
	s.log = filepath.Join(s.dir, "log.jsonl")
	logFile, err := os.Create(s.log)
	if err != nil {
		t.Fatal(err)
	}
	defer logFile.Close()
	s.cmd = program(t, context.WithoutCancel(t.Context()), s.dir,
		append([]string{"serve", "--addr", "127.0.0.1:0", "--log-format", "json"}, args...)...)
	if s.bin != "" {
		s.cmd.Path = s.bin
	}
	s.cmd.Env = append(s.cmd.Env, settings...)
	s.cmd.Stderr = logFile
	stdout, err := s.cmd.StdoutPipe()
	if err == nil {
		err = s.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	found := make(chan [2]string, 1)
	go func() {
		defer close(s.ended)
		addr := ""
		for in := bufio.NewScanner(stdout); in.Scan(); {
			if m := listeningLine.FindStringSubmatch(in.Text()); m != nil {
				addr = m[1]
			}
			if m := baseLine.FindStringSubmatch(in.Text()); m != nil {
				found <- [2]string{addr, m[1]} // the line comes once
			}
			if m := metricsLine.FindStringSubmatch(in.Text()); m != nil {
				s.metrics <- m[1]
			}
		}
		s.cmd.Wait()
	}()
	t.Cleanup(func() { s.finish(t) })
	select {
	case f := <-found:
		s.addr, s.base = f[0], f[1]
	case <-s.ended:
		t.Fatalf("serve %v did not start:\n%s", args, s.logged(t))
	case <-time.After(patience):
		t.Fatalf("serve %v does not say where it listens:\n%s", args, s.logged(t))
	}
	s.awaitData(t)
	return s
}

// awaitData waits until the data are open: before, the program answers that it is starting.
func (s *serving) awaitData(t testing.TB) {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); {
		res, err := s.client().Get("http://" + s.host() + "/readyz")
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(res.Body)
		res.Body.Close()
		if res.StatusCode == http.StatusOK || !bytes.Contains(text, []byte("starting")) {
			return
		}
		select {
		case <-s.ended:
			t.Fatalf("serve ended:\n%s", s.logged(t))
		case <-time.After(20 * time.Millisecond):
		}
	}
	t.Fatalf("serve does not open its data:\n%s", s.logged(t))
}

// host is the address as URLs have it: that of a Unix socket is localhost.
func (s *serving) host() string {
	if strings.HasPrefix(s.addr, "unix:") {
		return "localhost"
	}
	return s.addr
}

// client connects to addr, which may be a Unix socket.
func (s *serving) client() *http.Client {
	path, ok := strings.CutPrefix(s.addr, "unix:")
	if !ok {
		return http.DefaultClient
	}
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", path)
	}
	return &http.Client{Transport: &http.Transport{DialContext: dial}}
}

type logLine struct {
	Level, Msg, Path, Category string
	Status                     int
}

// wrong reports whether a line speaks of a failure of the server. A SOAP fault has status 500 even when the client is
// to blame (SOAP 1.1, 6.2): its category decides.
func (l logLine) wrong() bool {
	switch {
	case l.Level == "ERROR":
		return true
	case l.Msg == "soap fault":
		return l.Category != "VALIDATION" && l.Category != "LIMIT_EXCEEDED"
	}
	return l.Status >= 500 && l.Path != "/readyz" && !strings.Contains(l.Path, "/soap/")
}

func (s *serving) logged(t testing.TB) string {
	t.Helper()
	b, err := os.ReadFile(s.log)
	if err != nil {
		t.Error(err)
	}
	return string(b)
}

func (s *serving) signal(t testing.TB, sig os.Signal) {
	t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		t.Fatal(err)
	}
}

// exit waits for the end and returns the status.
func (s *serving) exit(t testing.TB) int {
	t.Helper()
	select {
	case <-s.ended:
	case <-time.After(patience):
		s.cmd.Process.Kill()
		t.Fatal("serve does not end")
	}
	return s.cmd.ProcessState.ExitCode()
}

// finish stops the program if it still runs. Exit status 0, no error, no 5xx and no key in the log are right.
func (s *serving) finish(t testing.TB) {
	t.Helper()
	s.cmd.Process.Signal(syscall.SIGTERM) // no error: it may have ended
	if code := s.exit(t); code != 0 {
		t.Errorf("serve ended with status %d", code)
	}
	log, bad := s.logged(t), 0
	for l := range strings.Lines(log) {
		var line logLine
		if err := json.Unmarshal([]byte(l), &line); err == nil && (s.away || !line.wrong()) {
			continue
		}
		if bad++; bad <= 20 {
			t.Errorf("in the log: %.1000s", l)
		}
	}
	if s.key != "" && strings.Contains(log, s.key) {
		t.Error("the log holds the key")
	}
}

// get asks for a path with the key and returns status and body.
func (s *serving) get(ctx context.Context, path string) (int, []byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.base+path, nil)
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("X-API-Key", s.key)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return resp.StatusCode, b, err
}

// getJSON decodes the answer to path into v.
func (s *serving) getJSON(t testing.TB, path string, v any) {
	t.Helper()
	code, body, err := s.get(t.Context(), path)
	if err == nil && code != http.StatusOK {
		err = fmt.Errorf("status %d: %.500s", code, body)
	}
	if err == nil {
		err = json.Unmarshal(body, v)
	}
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// TestAMissingTemporaryDirectoryIsNamedWithTheCure.
func TestAMissingTemporaryDirectoryIsNamedWithTheCure(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	z.Write([]byte(`{"type":"FeatureCollection","features":[]}`))
	if err := errors.Join(z.Close(), os.WriteFile(dir+"/x.gpkg.gz", packed.Bytes(), 0o600)); err != nil {
		t.Fatal(err)
	}
	cmd := program(t, t.Context(), dir, "import", dir+"/x.gpkg.gz", "--into", dir+"/y.gpkg", "--collection", "y")
	cmd.Env = append(cmd.Env, "TMPDIR="+dir+"/missing")
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "set TMPDIR") {
		t.Errorf("%v: %s", err, out)
	}
}

// exchange sends a request and reads the whole answer.
func exchange(t testing.TB, c *http.Client, req *http.Request) (*http.Response, []byte) {
	t.Helper()
	resp, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, b
}
