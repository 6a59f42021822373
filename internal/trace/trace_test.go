package trace_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"grense/internal/trace"
)

const caller = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

// collector is a receiver of OTLP that answers with the given statuses, then with 200.
type collector struct {
	*httptest.Server
	bodies chan string
	paths  chan string
}

func collect(t *testing.T, statuses ...int) *collector {
	t.Helper()
	c := &collector{bodies: make(chan string, 100), paths: make(chan string, 100)}
	var mu sync.Mutex
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err != nil || r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%v %s", err, r.Header.Get("Content-Type"))
		}
		mu.Lock()
		if len(statuses) > 0 {
			w.WriteHeader(statuses[0])
			statuses = statuses[1:]
		}
		mu.Unlock()
		c.bodies <- string(b)
		c.paths <- r.URL.Path
	}))
	t.Cleanup(c.Close)
	return c
}

// exporting returns an exporter, and ends it.
func exporting(t *testing.T, endpoint string, oneIn int) (e *trace.Exporter, stop func()) {
	t.Helper()
	e, err := trace.New(trace.Options{Endpoint: endpoint, OneIn: oneIn, Version: "1.2.3",
		Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var done sync.WaitGroup
	done.Go(func() { e.Run(ctx) })
	stop = sync.OnceFunc(func() { cancel(); done.Wait() })
	t.Cleanup(stop)
	return e, stop
}

func TestSpansAreThoseOfOTLP(t *testing.T) {
	t.Parallel()
	c := collect(t)
	e, stop := exporting(t, c.URL, 1)
	k, ok := e.Begin(caller)
	if !ok || k.Trace() != "4bf92f3577b34da6a3ce929d0e0e4736" {
		t.Fatalf("%+v, %v", k, ok)
	}
	at := time.Unix(1_700_000_000, 5)
	e.End(k, trace.Span{Name: "getFeature", Serves: true, Start: at, End: at.Add(time.Second), Failure: "500",
		Attrs: []slog.Attr{slog.Int("n", 7), slog.String("s", "x"), slog.String("empty", ""), slog.Bool("b", true),
			slog.Float64("f", .5)}},
		trace.Span{Name: "query", Start: at, End: at})
	stop() // what is queued is sent first
	ids := regexp.MustCompile(`"(spanId|service.instance.id","value":\{"stringValue)":"[0-9a-f]{16}"`)
	got := <-c.bodies
	root := strings.Split(k.Traceparent(), "-")[2]
	got = strings.ReplaceAll(got, root, "ROOT")
	got = ids.ReplaceAllString(got, `"$1":"ID"`)
	const want = `{"resourceSpans":[{"resource":{"attributes":[` +
		`{"key":"service.name","value":{"stringValue":"grense"}},` +
		`{"key":"service.version","value":{"stringValue":"1.2.3"}},` +
		`{"key":"service.instance.id","value":{"stringValue":"ID"}}]},` +
		`"scopeSpans":[{"scope":{"name":"grense"},"spans":[` +
		`{"traceId":"4bf92f3577b34da6a3ce929d0e0e4736","spanId":"ROOT","parentSpanId":"00f067aa0ba902b7",` +
		`"name":"getFeature","kind":2,"startTimeUnixNano":"1700000000000000005",` +
		`"endTimeUnixNano":"1700000001000000005","attributes":[{"key":"n","value":{"intValue":"7"}},` +
		`{"key":"s","value":{"stringValue":"x"}},{"key":"b","value":{"boolValue":true}},` +
		`{"key":"f","value":{"doubleValue":0.5}}],"status":{"message":"500","code":2}},` +
		`{"traceId":"4bf92f3577b34da6a3ce929d0e0e4736","spanId":"ID","parentSpanId":"ROOT","name":"query","kind":1,` +
		`"startTimeUnixNano":"1700000000000000005","endTimeUnixNano":"1700000000000000005"}]}]}]}`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if p := <-c.paths; p != "/v1/traces" {
		t.Errorf("sent to %s", p)
	}
}

func TestSamplingFollowsTheCallerElseTheRatio(t *testing.T) {
	t.Parallel()
	var none *trace.Exporter
	if _, ok := none.Begin(caller); ok {
		t.Error("an exporter that is not there samples")
	}
	rarely, err := trace.New(trace.Options{Endpoint: "http://localhost", OneIn: 1 << 40})
	if err != nil {
		t.Fatal(err)
	}
	always, err := trace.New(trace.Options{Endpoint: "http://localhost", OneIn: 1})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		e           *trace.Exporter
		traceparent string
		want        bool
	}{
		"sampled by the caller":     {rarely, caller, true},
		"not sampled by the caller": {always, strings.TrimSuffix(caller, "1") + "0", false},
		"other flags":               {rarely, strings.TrimSuffix(caller, "1") + "3", true},
		"one in many":               {rarely, "", false},
		"each":                      {always, "", true},
	} {
		k, ok := c.e.Begin(c.traceparent)
		if ok != c.want {
			t.Errorf("%s: %v", name, ok)
		}
		if ok && !regexp.MustCompile(`^00-[0-9a-f]{32}-[0-9a-f]{16}-01$`).MatchString(k.Traceparent()) {
			t.Errorf("%s: traceparent %s", name, k.Traceparent())
		}
	}
}

// TestACollectorThatIsBusyIsAskedAgain, and one that refuses is not.
func TestACollectorThatIsBusyIsAskedAgain(t *testing.T) {
	t.Parallel()
	c := collect(t, http.StatusServiceUnavailable, http.StatusOK, http.StatusBadRequest, http.StatusOK)
	e, _ := exporting(t, c.URL+"/custom/path", 1)
	send := func(name string) {
		k, _ := e.Begin("")
		e.End(k, trace.Span{Name: name})
	}
	names := func() (list []string) {
		var m struct {
			ResourceSpans []struct {
				ScopeSpans []struct{ Spans []struct{ Name string } }
			}
		}
		if err := json.Unmarshal([]byte(<-c.bodies), &m); err != nil {
			t.Fatal(err)
		}
		for _, s := range m.ResourceSpans[0].ScopeSpans[0].Spans {
			list = append(list, s.Name)
		}
		return list
	}
	send("first")
	for _, want := range []string{"first", "first"} { // 503, then 200
		if got := names(); got[0] != want {
			t.Errorf("got %v, want %s", got, want)
		}
	}
	send("second")
	if got := names(); got[0] != "second" { // 400
		t.Errorf("got %v", got)
	}
	send("third")
	if got := names(); got[0] != "third" {
		t.Errorf("got %v; what was refused is sent again", got)
	}
	if p := <-c.paths; p != "/custom/path" {
		t.Errorf("sent to %s", p)
	}
}

// TestNothingWaitsForACollectorThatIsAway, and the process ends.
func TestNothingWaitsForACollectorThatIsAway(t *testing.T) {
	t.Parallel()
	blocked := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-blocked }))
	t.Cleanup(s.Close)
	t.Cleanup(func() { close(blocked) })
	e, err := trace.New(trace.Options{Endpoint: s.URL, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	for range 10_000 { // more than may wait
		k, _ := e.Begin("")
		e.End(k, trace.Span{Name: "x"})
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	e.Run(ended)
}
