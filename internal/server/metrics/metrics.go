// Package metrics counts what an operator watches, and describes the state of a server to Prometheus.
package metrics

import (
	"cmp"
	"context"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"grense/internal/apikey"
	"grense/internal/cache"
	"grense/internal/config"
	"grense/internal/feature"
	"grense/internal/problem"
	"grense/internal/server/limit"
	"grense/internal/state"
	"grense/internal/store"
)

// Metrics are what an operator watches. Labels are operations, statuses and collections, never what a client sent, and
// each has a bound: further values are counted as "other". docs/run/metrics.md is generated from them. It is safe for
// concurrent use.
type Metrics struct {
	*counters
	Registry *prometheus.Registry
}

// counters are the metrics that count what happens. They go on when a reload builds another server.
type counters struct {
	InFlight    prometheus.Gauge
	requests    *prometheus.CounterVec
	bytes       *prometheus.CounterVec
	seconds     *prometheus.HistogramVec
	collections *prometheus.CounterVec
	refused     *prometheus.CounterVec
	reloads     *prometheus.CounterVec
	jobs        *prometheus.HistogramVec

	mu    sync.RWMutex
	known map[seriesKey]*series             // series found before
	named map[string]prometheus.Counter     // of collections
	pairs map[[2]string]prometheus.Observer // of operations and classes of statuses
}

// Server are the parts of a server that metrics read at each scrape.
type Server struct {
	Version   string
	Config    *config.Config
	Store     store.Store
	Turns     *limit.Turns
	Jobs      state.Jobs      // nil: none are stored
	Keys      *apikey.Checker // nil: there are none
	Caches    *cache.Group
	Fragments *feature.Cache
	Operator  Operator
	Draining  func() bool
	Answers   func(context.Context) error // why the store does not answer; it returns soon
	Opened    func() time.Time            // when the data were opened
}

// Bounds of series, so that all metrics together stay below 2,000.
const (
	maxStatuses    = 250 // pairs of operation and status
	maxDurations   = 90  // pairs of operation and class of statuses; each is a histogram
	maxCollections = 100
)

// other is the label of what is beyond a bound.
const other = "other"

type seriesKey struct {
	op     string
	status int
}

// series are the metrics of one operation and status.
type series struct {
	requests, bytes prometheus.Counter
	seconds         prometheus.Observer
}

func counter(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "grense_" + name, Help: help}, labels)
}

func histogram(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "grense_" + name, Help: help, Buckets: buckets},
		labels)
}

// Reasons for which requests are refused.
const (
	refusedKey    = "key"
	refusedScope  = "scope"
	refusedBusy   = "busy"
	refusedTime   = "timeout"
	refusedStore  = "store"
	refusedSize   = "size"
	refusedReader = "slow_reader"
	refusedRate   = "rate"
)

func newCounters() *counters {
	m := &counters{
		known: map[seriesKey]*series{}, named: map[string]prometheus.Counter{},
		pairs: map[[2]string]prometheus.Observer{},
		InFlight: prometheus.NewGauge(prometheus.GaugeOpts{Name: "grense_requests_in_flight",
			Help: "Requests that are being answered."}),
		requests: counter("requests_total", "Requests by operation and status; 499 is a client that left first.",
			"operation", "status"),
		bytes: counter("response_bytes_total", "Bytes of responses by operation.", "operation"),
		seconds: histogram("request_duration_seconds",
			"Time from request to last byte by operation and class of statuses.",
			[]float64{.001, .005, .025, .1, .5, 2.5, 10}, "operation", "class"),
		collections: counter("collection_requests_total", "Requests by collection; beyond 100 collections, other.",
			"collection"),
		refused: counter("refused_total",
			"Requests that were refused, by reason: key, wrong_keys, scope, rate, quota, "+
				"resets, busy, timeout, store, size, slow_reader.", "reason"),
		reloads: counter("reloads_total", "Reloads of settings and data by outcome: ok, failed.", "outcome"),
		jobs: histogram("job_duration_seconds", "Time from start to end of jobs by status: successful, failed.",
			[]float64{1, 10, 60, 600, 3600}, "status"),
	}
	for _, outcome := range []string{"ok", "failed"} { // so that a rate is known from the first reload on
		m.reloads.WithLabelValues(outcome)
	}
	return m
}

// New returns the metrics of s. The counters of the server before it, which may be nil, go on.
func New(s Server, before *Metrics) *Metrics {
	m := &Metrics{Registry: prometheus.NewRegistry()}
	if before != nil {
		m.counters = before.counters
	} else {
		m.counters = newCounters()
	}
	m.Registry.MustRegister(m.InFlight, m.requests, m.bytes, m.seconds, m.collections, m.refused, m.reloads, m.jobs,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "grense_fragments_deflated_total",
			Help: "Encoded features that were deflated."},
			func() float64 { return float64(s.Fragments.Stats().Deflated) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "grense_source_read_ratio",
			Help: "Part of the source that the first start has read, in the background; 1 when all is read."},
			func() float64 { return s.Store.Catalog().Survey.Done() }),
		cacheMetrics{s.Caches}, &stateMetrics{s: s},
	)
	return m
}

// StatusLeft stands for the status where the client left before an answer was begun.
const StatusLeft = 499

// Request is a request that has ended.
type Request struct {
	Operation  string
	Status     int // 0 if the client left first
	Bytes      int64
	Took       time.Duration
	Collection string // "" for none
	Refused    string // why it was refused; "": it was not, or by a protocol with errors of its own
	Slow       bool   // the client read too slowly
	Probe      bool   // it asks whether the server is ready, so that 503 is an answer
}

// Ended counts a request.
func (m *counters) Ended(r Request) {
	x := m.of(seriesKey{r.Operation, cmp.Or(r.Status, StatusLeft)})
	x.requests.Inc()
	x.bytes.Add(float64(r.Bytes))
	x.seconds.Observe(r.Took.Seconds())
	if r.Collection != "" {
		m.collection(r.Collection).Inc()
	}
	if reason := r.refusal(); reason != "" {
		m.refused.WithLabelValues(reason).Inc()
	}
}

// refusal returns why a request was refused; "" if it was not.
func (r *Request) refusal() string {
	switch {
	case r.Slow:
		return refusedReader
	case r.Refused != "":
		return r.Refused
	}
	switch r.Status {
	case http.StatusUnauthorized:
		return refusedKey
	case http.StatusForbidden:
		return refusedScope
	case http.StatusTooManyRequests:
		return refusedRate
	case http.StatusRequestEntityTooLarge:
		return refusedSize
	case http.StatusServiceUnavailable:
		if !r.Probe {
			return refusedBusy
		}
	}
	return ""
}

// Refusals are the reasons of kinds of problems.
var Refusals = map[problem.Kind]string{problem.Unauthorized: refusedKey, problem.Forbidden: refusedScope,
	problem.Busy: refusedBusy, problem.Timeout: refusedTime, problem.Unavailable: refusedStore,
	problem.TooLarge: refusedSize, problem.TooMany: refusedRate}

func (m *counters) of(k seriesKey) *series {
	m.mu.RLock()
	x := m.known[k]
	m.mu.RUnlock()
	if x != nil {
		return x
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if x = m.known[k]; x != nil {
		return x
	}
	if len(m.known) >= maxStatuses {
		k.op = other
		if x = m.known[k]; x != nil {
			return x
		}
	}
	x = &series{m.requests.WithLabelValues(k.op, strconv.Itoa(k.status)), m.bytes.WithLabelValues(k.op),
		m.duration(k.op, strconv.Itoa(k.status/100)+"xx")}
	m.known[k] = x
	return x
}

// duration returns the histogram of an operation and a class of statuses; the lock is held.
func (m *counters) duration(op, class string) prometheus.Observer {
	if m.pairs[[2]string{op, class}] == nil && len(m.pairs) >= maxDurations {
		op = other
	}
	pair := [2]string{op, class}
	if m.pairs[pair] == nil {
		m.pairs[pair] = m.seconds.WithLabelValues(op, class)
	}
	return m.pairs[pair]
}

func (m *counters) collection(id string) prometheus.Counter {
	m.mu.RLock()
	x := m.named[id]
	m.mu.RUnlock()
	if x != nil {
		return x
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.named) >= maxCollections {
		return m.collections.WithLabelValues(other)
	}
	x = m.collections.WithLabelValues(id)
	m.named[id] = x
	return x
}

// JobEnded counts a job that has ended, with its status and the time that it took.
func (m *counters) JobEnded(status string, took time.Duration) {
	m.jobs.WithLabelValues(status).Observe(took.Seconds())
}

// Reloaded counts a reload; err is nil if it went well.
func (m *counters) Reloaded(err error) {
	outcome := "ok"
	if err != nil {
		outcome = "failed"
	}
	m.reloads.WithLabelValues(outcome).Inc()
}

// Handler returns the handler of /metrics. It belongs on a listener of its own.
func (m *Metrics) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(m.Registry, promhttp.HandlerOpts{}))
	return mux
}
