package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"grense/internal/await"
	"grense/internal/demo"
	"grense/internal/history"
	"grense/internal/register"
	"grense/internal/source"
)

// patience bounds every wait of a test. It is long, because only a failure needs it.
const patience = 2 * time.Minute

// output collects what a process writes and lets a test wait for a text in it.
type output struct {
	mu      sync.Mutex
	buf     bytes.Buffer
	changed chan struct{}
}

func newOutput() *output { return &output{changed: make(chan struct{}, 1)} }

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	select {
	case o.changed <- struct{}{}:
	default:
	}
	return o.buf.Write(b)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// await waits until text stands in the output and returns all of it.
func (o *output) await(t *testing.T, text string) string {
	t.Helper()
	end := time.After(patience)
	for {
		if s := o.String(); strings.Contains(s, text) {
			return s
		}
		select {
		case <-o.changed:
		case <-end:
			t.Fatalf("%q is not in the output:\n%s", text, o)
		}
	}
}

// environ is an environment without the settings of the machine that runs the test.
func environ(dir string) []string { return []string{"HOME=" + dir} }

// command runs grense to its end and returns status and outputs. dir is its home.
func command(t *testing.T, dir string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	return piped(t, dir, nil, args...)
}

// piped is command with something to read.
func piped(t *testing.T, dir string, in io.Reader, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	code = run(ctx, &process{Args: args, Environ: environ(dir), Stdin: in, Stdout: &out, Stderr: &errs})
	if ctx.Err() != nil {
		t.Fatalf("grense %v did not end: %s%s", args, &out, &errs)
	}
	return code, out.String(), errs.String()
}

// running is a grense serve in progress.
type running struct {
	base   string // URL without a slash at the end
	stdout *output
	stderr *output
	reload chan os.Signal
	stop   context.CancelFunc // as SIGTERM does
	done   chan int           // the exit status, once
	p      *process
}

var baseLine = regexp.MustCompile(`for programs\s+(\S+)/\n`)

// serve starts grense serve on a free port and stops it when the test ends. Draining does not wait, unless args say so.
// dir holds the demo already: to make it takes seconds.
func serve(t *testing.T, dir string, args ...string) *running {
	t.Helper()
	haveDemo(t, dir)
	return serveAsIs(t, dir, args...)
}

// serveAsIs is serve with what dir holds, which may be nothing.
func serveAsIs(t *testing.T, dir string, args ...string) *running {
	t.Helper()
	return serveWith(t, dir, func(*process) {}, args...)
}

// serveWith is serveAsIs with a process that change has changed.
func serveWith(t *testing.T, dir string, change func(*process), args ...string) *running {
	t.Helper()
	r := &running{stdout: newOutput(), stderr: newOutput(), reload: make(chan os.Signal, 1), done: make(chan int, 1)}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	r.stop = stop
	p := &process{Args: append([]string{"serve", "--addr", "127.0.0.1:0"}, args...),
		Environ: append(environ(dir), "GRENSE_LIMITS_DRAIN_WAIT=0s"),
		Stdout:  r.stdout, Stderr: r.stderr, Terminal: true, Reload: r.reload}
	r.p = p
	if i := strings.Join(args, " "); strings.Contains(i, "--config") {
		p.Environ = environ(dir)
	}
	change(p)
	over := make(chan struct{})
	go func() {
		code := run(ctx, p)
		if code != 0 {
			fmt.Fprintf(r.stdout, "\nexit %d in a browser for programs !/\n", code) // ends await
		}
		r.done <- code
		close(over)
	}()
	t.Cleanup(func() {
		stop()
		select {
		case <-over:
		case <-time.After(patience):
			t.Error("serve does not end")
		}
	})
	text := r.stdout.await(t, "for programs")
	m := baseLine.FindStringSubmatch(text)
	if m == nil || m[1] == "!" {
		t.Fatalf("serve did not start:\n%s\n%s", text, r.stderr)
	}
	r.base = m[1]
	return r
}

// hup reloads and waits for the log to say want.
func (r *running) hup(t *testing.T, want string) {
	t.Helper()
	r.reload <- syscall.SIGHUP
	r.stderr.await(t, want)
}

// exit waits for the end and returns the status.
func (r *running) exit(t *testing.T) int {
	t.Helper()
	select {
	case code := <-r.done:
		return code
	case <-time.After(patience):
		t.Fatal("serve does not end")
		return -1
	}
}

// get asks for a path with a key ("" for none) and returns status and body.
func (r *running) get(t *testing.T, path, key string) (int, string) {
	t.Helper()
	code, body, _ := r.send(t, http.MethodGet, path, key, "")
	return code, body
}

// send sends a request with a key ("" for none) and a body of JSON ("" for none).
func (r *running) send(t *testing.T, method, path, key, body string) (int, string, http.Header) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, r.base+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if key != "" {
		req.Header.Set("X-API-Key", key)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Prefer", "respond-async")
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b), resp.Header
}

// finishedJob runs a job, whose result is "abc", and returns its path.
func (r *running) finishedJob(t *testing.T, key string) string {
	t.Helper()
	code, text, header := r.send(t, http.MethodPost, "/processes/echo/execution", key,
		`{"inputs":{"string":"abc"},"outputs":{"string":{}}}`)
	job := strings.TrimPrefix(header.Get("Location"), r.base)
	if job == "" {
		t.Fatalf("no job: status %d, %s", code, text)
	}
	await.Success(t, job, func() error {
		if _, text = r.get(t, job, key); !strings.Contains(text, `"successful"`) {
			return errors.New(text)
		}
		return nil
	})
	return job
}

// theDemo is the demo as serve makes it, made once for all tests.
var theDemo = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "grense-demo-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path, err := source.Demo(context.Background(), dir)
	if err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

func copyDemo(t *testing.T, to string) {
	t.Helper()
	b, err := theDemo()
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, to, string(b))
}

// demoCopy returns the path of a GeoPackage with the demo, in dir.
func demoCopy(t *testing.T, dir string) string {
	t.Helper()
	to := filepath.Join(dir, "kart.gpkg")
	copyDemo(t, to)
	return to
}

// haveDemo puts the demo where serve looks for it when dir is its home, unless it is there.
func haveDemo(t *testing.T, dir string) {
	t.Helper()
	path := demoPath(dir)
	if _, err := os.Stat(path); err == nil {
		return
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	copyDemo(t, path)
}

// demoPath is where serve keeps the demo when dir is its home.
func demoPath(dir string) string {
	times, err := history.NorwayVersion()
	if err != nil {
		panic(err) // it is embedded
	}
	return filepath.Join(dir, ".local/share/grense", "demo-"+demo.Version+"-"+register.Version+"-"+times+".gpkg")
}

func writeFile(t *testing.T, name, text string) string {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}
