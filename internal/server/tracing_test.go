package server_test

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

	"grense/internal/config"
	"grense/internal/server"
	"grense/internal/trace"
)

var timingEntry = regexp.MustCompile(`^(queue|query|encode|total);dur=\d+(\.\d{1,3})?$`)

// TestServerTimingTellsTheTimesOfAResponse where the setting is on, also of one that was cached; else there is none.
func TestServerTimingTellsTheTimesOfAResponse(t *testing.T) {
	t.Parallel()
	on := serve(t, "", func(c *config.Config) { c.ServerTiming = true })
	off := serve(t, "", nil)
	const page = "/collections/kommuner/items?limit=5"
	for _, c := range []struct{ path, want string }{
		{page, "queue query encode total"},
		{"/collections/kommuner/items?limit=300&f=html", "queue query encode total"},
		{"/collections/kommuner/items?limit=x", "queue query total"}, // nothing was asked
		{"/conformance", "queue query total"},
		{"/nowhere", "queue query total"},
	} {
		if got := off.get(c.path).Header.Get("Server-Timing"); got != "" {
			t.Errorf("%s: Server-Timing %q although the setting is off", c.path, got)
		}
		value := on.get(c.path).Header.Get("Server-Timing")
		var names []string
		for entry := range strings.SplitSeq(value, ", ") {
			name, _, _ := strings.Cut(entry, ";")
			if names = append(names, name); !timingEntry.MatchString(entry) {
				t.Errorf("%s: Server-Timing %q", c.path, value)
			}
		}
		if got := strings.Join(names, " "); got != c.want {
			t.Errorf("%s: Server-Timing tells %s, want %s", c.path, got, c.want)
		}
	}
	on.get(page)
	r := on.get(page)
	if got := r.Header.Values("Server-Timing"); len(got) != 1 || !strings.HasPrefix(got[0], "cache;desc=hit, ") {
		t.Errorf("a cached response has Server-Timing %q", got)
	}
	if off.get(page).wants(200); strings.Contains(string(off.get(page).Body), "Timing") {
		t.Error("the setting shows in a body")
	}
}

// span is one that a collector got.
type span struct {
	TraceID, SpanID, ParentSpanID, Name string
	Kind                                int
	Start, End                          int64 `json:",string"`
	Attributes                          []struct {
		Key   string
		Value map[string]any
	}
	Status struct{ Message string }
}

func (s *span) attribute(key string) any {
	for _, a := range s.Attributes {
		if a.Key == key {
			for _, v := range a.Value {
				return v
			}
		}
	}
	return nil
}

// traced serves the demo with traces to a collector. spans ends both and returns what the collector got.
func traced(t *testing.T, oneIn int, change func(*config.Config)) (a *api, spans func() (list []span, text string)) {
	t.Helper()
	var mu sync.Mutex
	var bodies []string
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err != nil || r.URL.Path != "/v1/traces" {
			t.Errorf("%s: %v", r.URL, err)
		}
		mu.Lock()
		defer mu.Unlock()
		bodies = append(bodies, string(b))
	}))
	t.Cleanup(collector.Close)
	e, err := trace.New(trace.Options{Endpoint: collector.URL, OneIn: oneIn, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var done sync.WaitGroup
	done.Go(func() { e.Run(ctx) })
	a = serveOptions(t, demoStore(t), change, func(o *server.Options) { o.Traces = e })
	return a, func() (list []span, text string) {
		a.stop()
		a.Close() // waits for requests
		cancel()
		done.Wait()
		mu.Lock()
		defer mu.Unlock()
		for _, b := range bodies {
			var m struct {
				ResourceSpans []struct {
					ScopeSpans []struct{ Spans []json.RawMessage }
				}
			}
			decode(t, []byte(b), &m)
			for _, raw := range m.ResourceSpans[0].ScopeSpans[0].Spans {
				s := span{}
				text := strings.NewReplacer("startTimeUnixNano", "start", "endTimeUnixNano", "end").Replace(string(raw))
				decode(t, []byte(text), &s)
				list = append(list, s)
			}
		}
		return list, strings.Join(bodies, "\n")
	}
}

// TestTracesHaveRequestQueryEncodeAndJob: the spans of a request follow the trace of its client, and those of a job the
// request that made it.
func TestTracesHaveRequestQueryEncodeAndJob(t *testing.T) {
	t.Parallel()
	a, spans := traced(t, 1, nil)
	id := a.get("/collections/kommuner/items?limit=60", "Traceparent", traceOf).wants(200).Header.Get("X-Request-Id")
	a.get("/collections/kommuner/items/none").wants(404)
	a.get("/healthz").wants(200)
	job := a.run("echo", `{"inputs":{"string":"x"},"outputs":{"string":{}}}`, "Prefer", "respond-async").wants(201)
	a.until(job.Header.Get("Location"), "successful")
	list, text := spans()
	by := map[string]*span{}
	for i := range list {
		s := &list[i]
		if s.End < s.Start {
			t.Errorf("%s ends before it starts", s.Name)
		}
		if s.TraceID == traceID || s.Name == "job" || s.Name == "execute" || s.Name == "getFeature" {
			by[s.Name] = s
		}
	}
	for _, name := range []string{"getFeatures", "query", "encode", "job", "execute", "getFeature"} {
		if by[name] == nil {
			t.Fatalf("no span %s in\n%s", name, text)
		}
	}
	root := by["getFeatures"]
	if root.ParentSpanID != "00f067aa0ba902b7" || root.Kind != 2 || root.attribute("grense.request") != id ||
		root.attribute("http.response.status_code") != "200" || root.attribute("grense.collection") != "kommuner" {
		t.Errorf("%+v", root)
	}
	for _, name := range []string{"query", "encode"} {
		if s := by[name]; s.TraceID != traceID || s.ParentSpanID != root.SpanID ||
			s.Start < root.Start || s.End > root.End {
			t.Errorf("%s is not within its request: %+v", name, s)
		}
	}
	if made, s := by["execute"], by["job"]; s.TraceID != made.TraceID || s.ParentSpanID != made.SpanID ||
		s.attribute("grense.process") != "echo" {
		t.Errorf("the job %+v is not of the request %+v", s, made)
	}
	if s := by["getFeature"]; s.ParentSpanID != "" || s.Status.Message != "" {
		t.Errorf("what the client did wrong is a failure, or has a parent: %+v", s)
	}
	if strings.Contains(text, "/healthz") {
		t.Error("health checks are traced")
	}
}

// TestTracesAreSampled by the client's flag, else one in so many; what is not sampled passes the client's trace on.
func TestTracesAreSampled(t *testing.T) {
	t.Parallel()
	a, spans := traced(t, 1<<40, nil)
	a.get("/conformance").wants(200)
	a.get("/collections", "Traceparent", traceOf[:53]+"00").wants(200)
	a.get("/collections/kommuner", "Traceparent", traceOf).wants(200)
	list, text := spans()
	if len(list) != 1 || list[0].attribute("url.path") != "/collections/kommuner" {
		t.Errorf("got\n%s", text)
	}
}

// TestTracesHoldNoKey, wherever it is sent, and no query.
func TestTracesHoldNoKey(t *testing.T) {
	t.Parallel()
	a, spans := traced(t, 1, func(c *config.Config) { c.Auth = "required" })
	for _, path := range []string{"/collections/kommuner/items?limit=1&x=" + a.key, "/collections/" + a.key + "/items",
		"/" + a.key, "/key?code=Code0123456789"} {
		a.get(path, "X-API-Key", a.key, "User-Agent", a.key, "Cookie", "grense_key="+a.key, "X-Request-Id", a.key)
	}
	list, text := spans()
	if len(list) < 4 || strings.Contains(text, a.key) || strings.Contains(text, "Code0123456789") {
		t.Errorf("%d spans:\n%s", len(list), text)
	}
}
