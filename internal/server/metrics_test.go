package server_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"grense/internal/config"
	"grense/internal/server"
	"grense/internal/server/metrics"
	"grense/internal/state"
	"grense/internal/store"
)

const metricsIntro = `# Metrics and logs

<!-- Generated from internal/server/metrics: go test ./internal/server -run MetricsPage -update -->

| Address | Says |
|---|---|
| ` + "`/healthz`" + ` | the process answers |
| ` + "`/readyz`" + ` | requests for data are answered; 503 while the server starts, drains or the database is away |
| ` + "`/metrics` at `--metrics-addr`" + ` | Prometheus metrics, on a listener of their own |

## Logs

The log goes to standard error. ` + "`log_format: json`" + ` writes a JSON object a line. It never holds a key. Equal warnings within
ten seconds are counted instead of repeated.

| Setting | Chooses |
|---|---|
| ` + "`log_level`" + ` | the least level: debug, info, warn or error; requests are at info |
| ` + "`access_log`" + ` | which requests are logged: all, errors, slow>1s or none |
| ` + "`server_timing`" + ` | whether responses have their times in Server-Timing, to everybody |

All can be changed while the server runs: edit the configuration and send SIGHUP. Lines about requests have the operation, the
time in milliseconds (` + "`took_ms`" + `), the id of the key, and the ids of request and trace.

## Traces

` + "`traces.endpoint`" + ` names a collector of OpenTelemetry. It gets spans by OTLP over HTTP, in JSON.

| Span | Covers |
|---|---|
| the operation, such as getFeatures | a request until its last byte |
| query | a query to the source; at most 64 of one request |
| encode | from the first feature, or the last query, to the last byte |
| job | the work on a job, in the trace of the request that made it |

` + "`traces.one_in: 100`" + ` traces one request in a hundred. A request with ` + "`traceparent`" + ` follows the flag in it. Requests never
wait for the collector: while it is away, spans are dropped, and the log says so.

## Metrics

Labels are operations, statuses and collections, never what a client sent. A server has at most 2,000 series. What is beyond a bound
is counted under ` + "`other`" + `.

| Metric | Type | Labels | Meaning |
|---|---|---|---|
`

const metricsOutro = `
Besides, there are the metrics ` + "`go_*` and `process_*`" + ` of the Prometheus client for Go.
`

var descPattern = regexp.MustCompile(
	`^Desc\{fqName: "(\w+)", help: "(.*?)", (?:unit: "", )?constLabels: \{\}, variableLabels: \{([\w,]*)\}\}$`)

// TestMetricsPageIsCurrent builds docs/run/metrics.md from the metrics of a server.
func TestMetricsPageIsCurrent(t *testing.T) {
	t.Parallel()
	a := serveOptions(t, demoStore(t), func(c *config.Config) { c.Auth = "required" }, func(o *server.Options) {
		o.Operator = metrics.Operator{CertificateEnd: time.Now, Connections: func() (int, uint64) { return 1, 0 }}
	})
	a.get("/collections/kommuner/items?limit=1")
	types := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^# TYPE (\w+) (\w+)$`).FindAllStringSubmatch(httpGetMetrics(t, a), -1) {
		types[m[1]] = m[2]
	}
	var rows []string
	for _, text := range a.srv.MetricDescriptions() {
		if !strings.Contains(text, `"grense_`) {
			continue
		}
		m := descPattern.FindStringSubmatch(text)
		if m == nil {
			t.Fatalf("%s cannot be read", text)
		}
		kind := types[m[1]]
		switch {
		case kind != "":
		case strings.HasSuffix(m[1], "_total"):
			kind = "counter"
		case m[1] == "grense_job_duration_seconds":
			kind = "histogram"
		default:
			kind = "gauge"
		}
		labels := ""
		if m[3] != "" {
			labels = "`" + strings.ReplaceAll(m[3], ",", "`, `") + "`"
		}
		rows = append(rows, fmt.Sprintf("| `%s` | %s | %s | %s |\n", m[1], kind, labels, m[2]))
	}
	slices.Sort(rows)
	want := metricsIntro + strings.Join(rows, "") + metricsOutro
	const path = "../../docs/run/metrics.md"
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != want {
		t.Errorf("%s is stale (%v); run go test ./internal/server -run MetricsPage -update", path, err)
	}
}

var seriesLine = regexp.MustCompile(`(?m)^\w+(\{.*\})? \S+$`)

// TestMetricsAreFew: their number is bounded, however many addresses, methods and statuses clients send. They pass
// the checks of Prometheus.
func TestMetricsAreFew(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	r := rand.New(rand.NewPCG(1, 2))
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	paths := a.srv.Paths()
	for range 10_000 {
		path := pick(paths...)
		path = regexp.MustCompile(`\{\w+\}|\*`).ReplaceAllStringFunc(path, func(string) string {
			return pick("kommuner", "fylker", "0301", "x"+fmt.Sprint(r.IntN(1000)), "WebMercatorQuad", "0")
		})
		if r.IntN(5) == 0 {
			path += pick("/x", "?f=html", "?f=x", "?limit=1", "?x=1", "?limit=x")
		}
		u, err := url.Parse(path)
		if err != nil {
			t.Fatal(err)
		}
		req := httptest.NewRequest(pick("GET", "GET", "GET", "HEAD", "POST", "DELETE", "OPTIONS", "PUT", "BREW"), "/",
			strings.NewReader("{}"))
		req.URL = u
		func() {
			defer func() { recover() }() //nolint:errcheck // responses that are broken off
			a.srv.Handler().ServeHTTP(httptest.NewRecorder(), req)
		}()
	}
	text := httpGetMetrics(t, a)
	if n := len(seriesLine.FindAllString(text, -1)); n > 2000 || n < 500 {
		t.Errorf("%d series", n)
	}
	if !strings.Contains(text, `operation="notFound"`) {
		t.Error("what is not found is no operation of its own")
	}
	if _, err := exec.LookPath("promtool"); err != nil {
		t.Skip("promtool is not installed: the metrics are not checked by it")
	}
	check := exec.CommandContext(t.Context(), "promtool", "check", "metrics")
	check.Stdin = strings.NewReader(text)
	if out, err := check.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("promtool: %v\n%s", err, out)
	}
}

// failingStore fails every page as PostgreSQL does.
type failingStore struct {
	store.Store
	err error
}

func (s failingStore) Page(context.Context, store.Query) (*store.Page, error) { return nil, s.err }
func (s failingStore) Ready(context.Context) error                            { return s.err }

type sqlError struct{}

func (sqlError) Error() string    { return "the administrator ended it" }
func (sqlError) SQLState() string { return "57P01" }

// TestMetricsCountFailuresAndRefusals with the store, and why requests are refused.
func TestMetricsCountFailuresAndRefusals(t *testing.T) {
	t.Parallel()
	err := fmt.Errorf("%w: %w", store.ErrUnavailable, sqlError{})
	a := serveOptions(t, failingStore{demoStore(t), err}, func(c *config.Config) { c.Auth = "required" }, nil)
	few := a.keyWith(state.Terms{Scopes: "tiles"})
	a.get("/collections/kommuner/items?limit=1", "X-API-Key", a.key).wants(503)
	a.get("/collections/kommuner/items?limit=1", "X-API-Key", few).wants(403)
	a.get("/collections/kommuner/items?limit=1").wants(401)
	a.get("/readyz").wants(503)
	a.get("/nowhere").wants(404)
	text := httpGetMetrics(t, a)
	for _, line := range []string{
		`grense_build_info{go_version="` + runtime.Version() + `",version="test"} 1`,
		`grense_store_errors_total{class="57"} 1`, `grense_store_up 0`, `grense_ready 0`,
		`grense_refused_total{reason="store"} 1`, `grense_refused_total{reason="scope"} 1`,
		`grense_refused_total{reason="key"} 1`, `grense_collection_requests_total{collection="kommuner"} 3`,
		`grense_requests_total{operation="ready",status="503"} 1`, `grense_requests_in_flight 0`,
		`grense_requests_total{operation="notFound",status="404"} 1`, `grense_jobs{status="running"} 0`,
		`grense_request_duration_seconds_count{class="5xx",operation="getFeatures"} 1`,
		`grense_queue_length{class="page"} 0`, `grense_keys{status="active"} 2`, `grense_keys_expiring 0`,
		`grense_reloads_total{outcome="failed"} 0`,
	} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("%s is missing", line)
		}
	}
	if t.Failed() {
		t.Log(text)
	}
}
