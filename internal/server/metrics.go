package server

import (
	"cmp"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"grense/internal/problem"
)

// metrics are what an operator watches. Labels are operations, statuses and collections, never what a client sent, and
// each has a bound: further values are counted as "other". docs/run/metrics.md is generated from them.
type metrics struct {
	*counters
	registry *prometheus.Registry
}

// counters are the metrics that count what happens. They go on when a reload builds another Kit.
type counters struct {
	inFlight    prometheus.Gauge
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
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{Name: "grense_requests_in_flight",
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

// newMetrics returns the metrics of s. The counters of the Kit before it, which may be nil, go on.
func newMetrics(s, before *Kit, o Operator) *metrics {
	m := &metrics{registry: prometheus.NewRegistry()}
	if before != nil {
		m.counters = before.metrics.counters
	} else {
		m.counters = newCounters()
	}
	m.registry.MustRegister(m.inFlight, m.requests, m.bytes, m.seconds, m.collections, m.refused, m.reloads, m.jobs,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "grense_fragments_deflated_total",
			Help: "Encoded features that were deflated."},
			func() float64 { return float64(s.Fragments.Stats().Deflated) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "grense_source_read_ratio",
			Help: "Part of the source that the first start has read, in the background; 1 when all is read."},
			func() float64 { return s.Store.Catalog().Survey.Done() }),
		cacheMetrics{s.Caches}, &stateMetrics{s: s, o: o},
	)
	return m
}

// statusLeft stands for the status where the client left before an answer was begun.
const statusLeft = 499

// record counts a request that has ended.
func (m *counters) record(c *Call, op string, rw *response, took time.Duration) {
	x := m.of(seriesKey{op, cmp.Or(rw.Status, statusLeft)})
	x.requests.Inc()
	x.bytes.Add(float64(rw.bytes))
	x.seconds.Observe(took.Seconds())
	if c.Collection != nil {
		m.collection(c.Collection.ID).Inc()
	}
	if reason := c.refusal(rw); reason != "" {
		m.refused.WithLabelValues(reason).Inc()
	}
}

// refusal returns why a call was refused; "" if it was not.
func (c *Call) refusal(rw *response) string {
	switch {
	case rw.slow:
		return refusedReader
	case c.refused != "":
		return c.refused
	}
	switch rw.Status { // of protocols with errors of their own
	case http.StatusUnauthorized:
		return refusedKey
	case http.StatusForbidden:
		return refusedScope
	case http.StatusTooManyRequests:
		return refusedRate
	case http.StatusRequestEntityTooLarge:
		return refusedSize
	case http.StatusServiceUnavailable:
		if c.op != opReady {
			return refusedBusy
		}
	}
	return ""
}

// refusals are the reasons of kinds of problems.
var refusals = map[problem.Kind]string{problem.Unauthorized: refusedKey, problem.Forbidden: refusedScope,
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
func (s *Kit) JobEnded(status string, took time.Duration) {
	s.metrics.jobs.WithLabelValues(status).Observe(took.Seconds())
}

func (m *metrics) handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{}))
	return mux
}
