package server_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"grense/internal/await"
	"grense/internal/config"
	"grense/internal/server"
	"grense/internal/server/surface"
	"grense/internal/state"
	"grense/internal/store"
	"grense/internal/store/postgis/statedb"
)

// callAnywhere permits the server to call addresses that are not public, such as those of tests.
func callAnywhere(s *surface.Server) { s.Processes.Public = func(netip.Addr) bool { return true } }

// other is a server that inputs may refer to and callbacks go to.
func other(t *testing.T) (s *httptest.Server, posted func() []string) {
	t.Helper()
	var mu sync.Mutex
	var list []string
	fail := 1
	m := http.NewServeMux()
	m.HandleFunc("GET /data/t.csv", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/csv")
		io.WriteString(w, "kode\n301\n")
	})
	m.HandleFunc("GET /data/away", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/data/t.csv", http.StatusFound)
	})
	m.HandleFunc("GET /secret/t.csv", func(w http.ResponseWriter, _ *http.Request) {
		t.Error("what is not allowed was read")
	})
	m.HandleFunc("POST /data/{what}", func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if what := r.PathValue("what"); what == "success" && fail > 0 { // it is tried again
			fail--
			w.WriteHeader(503)
			return
		}
		b, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		list = append(list, r.PathValue("what")+" "+string(b))
	})
	s = httptest.NewServer(m)
	t.Cleanup(s.Close)
	return s, func() []string { mu.Lock(); defer mu.Unlock(); return slices.Clone(list) }
}

// TestOtherServersAreReadOnlyWhereTheOperatorAllows: OGC 18-062r2, 7.11.2.4.
func TestOtherServersAreReadOnlyWhereTheOperatorAllows(t *testing.T) {
	t.Parallel()
	o, _ := other(t)
	a := serve(t, "", func(c *config.Config) { c.Processes.Allow = []string{o.URL + "/data/"} })
	ask := func(path string) answer {
		return a.run("enrich-table",
			`{"inputs":{"table":{"href":"`+path+`"},"collections":"kommuner"},"outputs":{"table":{}}}`)
	}
	if r := ask(o.URL + "/data/t.csv").wants(400); !strings.Contains(string(r.Body), "not public") {
		t.Errorf("a private address: %s", r.Body)
	}
	callAnywhere(a.srv)
	if r := ask(o.URL + "/data/t.csv").wants(200); string(
		r.Body) != "kode,kommuner_id,kommuner_name,enrich_error\n301,0301,Oslo,\n" {
		t.Errorf("%s", r.Body)
	}
	host := strings.TrimPrefix(o.URL, "http://")
	for _, path := range []string{o.URL + "/data/away", o.URL + "/data/none", o.URL + "/secret/t.csv",
		o.URL + "/data/../secret/t.csv", o.URL + "/data/%2e%2e/secret/t.csv", o.URL + "/database",
		o.URL + "/data/t.csv#x",
		"https://" + host + "/data/t.csv", "http://u@" + host + "/data/t.csv", o.URL + "@example.org/data/t.csv",
		"ftp://" + host + "/data/t.csv"} {
		if r := ask(path); r.StatusCode != 400 || !strings.Contains(string(r.Body), `"/inputs/table/href"`) {
			t.Errorf("%s: %d %s", path, r.StatusCode, r.Body)
		}
	}
}

// TestSubscribersAreCalledBack where the operator allows it (OGC 18-062r2, 9); the class is declared only then.
func TestSubscribersAreCalledBack(t *testing.T) {
	t.Parallel()
	o, posted := other(t)
	a := serve(t, "", func(c *config.Config) {
		c.Processes.Allow, c.Processes.Callbacks = []string{o.URL + "/data"}, true
	})
	plain := serve(t, "", nil)
	// never called, although the operator has listed it
	for _, host := range []string{o.URL, strings.Replace(o.URL, "127.0.0.1", "localhost", 1)} {
		for _, name := range []string{"successUri", "inProgressUri", "failedUri"} {
			uris := map[string]string{"successUri": "http://192.0.2.1/data"}
			uris[name] = host + "/data/success"
			sub, _ := json.Marshal(uris)
			b := serve(t, "", func(c *config.Config) {
				c.Processes.Allow, c.Processes.Callbacks = []string{host + "/data", "http://192.0.2.1/data"}, true
			})
			r := b.run("echo", `{"inputs":{"string":"x"},"outputs":{"string":{}},"subscriber":`+string(sub)+`}`,
				"Prefer", "respond-async")
			if r.wants(400); !strings.Contains(string(r.Body), "public") {
				t.Errorf("%s at %s: %s", name, host, r.Body)
			}
			if n := len(b.get("/jobs").wants(200).json()["jobs"].([]any)); n != 0 {
				t.Errorf("%s: %d jobs were made", name, n)
			}
		}
	}
	callAnywhere(a.srv)
	const class = "http://www.opengis.net/spec/ogcapi-processes-1/1.0/conf/callback"
	if strings.Contains(string(plain.get("/conformance").Body), class) ||
		!strings.Contains(string(a.get("/conformance").Body), class) {
		t.Error("the class callback")
	}
	body := func(in, uri string) string {
		return `{"inputs":{` + in + `},"outputs":{"string":{}},"subscriber":{"successUri":"` + uri +
			`","inProgressUri":"` + o.URL + `/data/progress","failedUri":"` + o.URL + `/data/failed"}}`
	}
	for _, r := range []answer{plain.run("echo", body(`"string":"x"`, o.URL+"/data/success"), "Prefer",
		"respond-async"), a.run("echo", body(`"string":"x"`, o.URL+"/data/success")),
		a.run("echo", body(`"string":"x"`, o.URL+"/secret"), "Prefer", "respond-async"),
		a.run("echo", body(`"string":"x"`, ""), "Prefer", "respond-async"),
		a.run("echo", body(`"string":"x"`, "http://169.254.169.254/"), "Prefer", "respond-async")} {
		if r.StatusCode != 400 || !strings.Contains(string(r.Body), `"/subscriber`) {
			t.Errorf("%d %s", r.StatusCode, r.Body)
		}
	}
	a.run("echo", body(`"string":"Å"`, o.URL+"/data/success"), "Prefer", "respond-async").wants(201)
	a.run("echo", body(`"string":{"href":"`+o.URL+`/data/none"}`, o.URL+"/data/success"), "Prefer",
		"respond-async").wants(201)
	await.Success(t, "callbacks", func() error {
		got := posted()
		has := func(name, part string) bool {
			return slices.ContainsFunc(got, func(s string) bool {
				what, doc, _ := strings.Cut(s, " ")
				return what == name && strings.Contains(doc, part) && json.Valid([]byte(doc))
			})
		}
		if has("success", `{"string":"Å"}`) && has("failed", "/inputs/string/href") &&
			has("progress", `"status":"running"`) {
			return nil
		}
		return fmt.Errorf("posted %q", got)
	})
}

// listener is a server that receives callbacks. It refuses them until takes is true, and counts them.
type listener struct {
	*httptest.Server
	takes   atomic.Bool
	refused chan struct{} // the first that it refuses
	taken   chan string
}

func listen(t *testing.T) *listener {
	t.Helper()
	l := &listener{refused: make(chan struct{}, 1), taken: make(chan string, 100)}
	l.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		if l.takes.Load() {
			l.taken <- string(b)
			return
		}
		w.WriteHeader(http.StatusServiceUnavailable)
		select {
		case l.refused <- struct{}{}:
		default: // it is known
		}
	}))
	t.Cleanup(l.Close)
	return l
}

// sharedState opens the same job store once for each server, in a file or a database.
func sharedState(t *testing.T) (open func() state.Jobs) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "state.db")
	if onPostGIS() {
		path = cluster.Database(t)
	}
	return func() state.Jobs {
		t.Helper()
		var s *state.DB
		var err error
		if onPostGIS() {
			s, err = statedb.Open(t.Context(), path)
		} else {
			s, err = state.Open(t.Context(), path)
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		if err := s.PrepareJobs(t.Context()); err != nil {
			t.Fatal(err)
		}
		return s
	}
}

// allNotified waits until no job has a notification left to send.
func allNotified(t *testing.T, kept state.Jobs) {
	t.Helper()
	await.Success(t, "all notifications", func() error {
		list, err := kept.JobList(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if slices.ContainsFunc(list, func(j state.Job) bool { return !j.Done() || j.Call != nil }) {
			return fmt.Errorf("jobs %+v", list)
		}
		return nil
	})
}

// serveCalling serves the demo with callbacks to l.
func serveCalling(t *testing.T, jobs state.Jobs, l *listener) *api {
	t.Helper()
	return serveOptions(t, openTest(t, demoPath(t)), func(c *config.Config) {
		c.Processes.Allow, c.Processes.Callbacks = []string{l.URL}, true
	}, func(o *server.Options) { o.Jobs = jobs }, callAnywhere)
}

func (l *listener) subscribe(a *api, in string) (job string) {
	a.t.Helper()
	return a.run("echo",
		`{"inputs":{`+in+`},"outputs":{"string":{}},"subscriber":{"successUri":"`+l.URL+`/?token=secret",`+
			`"failedUri":"`+l.URL+`/?token=secret"}}`, "Prefer", "respond-async").wants(201).Header.Get("Location")
}

// TestSubscribersAreNotifiedByAnotherServer: after the first server has ended, another one sends the notifications of
// success and failure. Then none is left to send, and no log contains the address.
func TestSubscribersAreNotifiedByAnotherServer(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct{ in, sends string }{
		"success": {`"string":"Å"`, `{"string":"Å"}`},
		"failure": {`"string":{"href":"http://192.0.2.1/x"}`, `/inputs/string/href`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, open := listen(t), sharedState(t)
			first := serveCalling(t, open(), l)
			l.subscribe(first, x.in)
			await.Receive(t, l.refused)
			first.stop()
			l.takes.Store(true)
			kept := open()
			second := serveCalling(t, kept, l)
			if got := await.Receive(t, l.taken); !strings.Contains(got, x.sends) {
				t.Errorf("told %s", got)
			}
			allNotified(t, kept)
			if logs := first.logs.String() + second.logs.String(); strings.Contains(logs, "secret") ||
				len(l.taken) > 0 {
				t.Errorf("told %d times more; %s", len(l.taken), logs)
			}
		})
	}
}

// TestOneOfTwoServersNotifiesASubscriber of one state.
func TestOneOfTwoServersNotifiesASubscriber(t *testing.T) {
	t.Parallel()
	l, open := listen(t), sharedState(t)
	l.takes.Store(true)
	kept := open()
	a, b := serveCalling(t, kept, l), serveCalling(t, open(), l)
	const n = 10
	for i := range n {
		l.subscribe([]*api{a, b}[i%2], fmt.Sprintf(`"string":"%d"`, i))
	}
	received := map[string]int{}
	for range n {
		received[await.Receive(t, l.taken)]++
	}
	allNotified(t, kept)
	if len(received) != n || len(l.taken) > 0 {
		t.Errorf("%v and %d more", received, len(l.taken))
	}
}

// TestASubscriberThatNeverTakesIsGivenUp: the log says so without its address.
func TestASubscriberThatNeverTakesIsGivenUp(t *testing.T) {
	t.Parallel()
	l, open := listen(t), sharedState(t)
	kept := open()
	a := serveCalling(t, kept, l)
	job := l.subscribe(a, `"string":"x"`)
	id := job[strings.LastIndex(job, "/")+1:]
	await.Success(t, "no more tries", func() error {
		j, err := kept.Job(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if j.Done() && j.Call == nil {
			return nil
		}
		// it need not be waited for
		if j.Call != nil && j.Call.Tries > 0 && j.Call.Tries < 4 && j.Call.After > 1 &&
			j.Call.After < time.Now().Add(30*time.Second).UnixNano() {
			due := *j.Call
			due.After = 1
			if _, err := kept.SwapCall(t.Context(), id, *j.Call, &due); err != nil &&
				!errors.Is(err, store.ErrChanged) {
				t.Fatal(err)
			}
		}
		return fmt.Errorf("job %+v", j)
	})
	if logs := a.logs.String(); !strings.Contains(logs, "a callback was not taken") ||
		strings.Contains(logs, "secret") {
		t.Error(logs)
	}
}
