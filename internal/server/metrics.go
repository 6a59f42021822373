package server

import (
	"context"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"grense/internal/cache"
)

// metrics are what an operator watches. Labels are operations and statuses, never what a client sent.
type metrics struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	bytes    *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	reloads  *prometheus.CounterVec

	mu    sync.RWMutex
	known map[seriesKey]*series // found before
}

type seriesKey struct {
	op     string
	status int
}

// series are the metrics of requests of one operation and status.
type series struct {
	requests, bytes prometheus.Counter
	seconds         prometheus.Observer
}

func newMetrics(s *Kit) *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(), known: map[seriesKey]*series{},
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "grense_requests_total", Help: "Requests by operation and status."}, []string{"operation", "status"}),
		bytes:    prometheus.NewCounterVec(prometheus.CounterOpts{Name: "grense_response_bytes_total", Help: "Bytes of answers by operation."}, []string{"operation"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "grense_request_seconds", Help: "Time from request to last byte by operation.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}}, []string{"operation"}),
		reloads: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "grense_reloads_total", Help: "Reloads of the data by outcome."}, []string{"outcome"}),
	}
	m.registry.MustRegister(m.requests, m.bytes, m.seconds, m.reloads, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "grense_ready", Help: "1 while requests are answered, as /readyz reports."}, func() float64 {
			if ok, _ := s.answersRequests(context.Background()); ok { // bounded by readyTimeout
				return 1
			}
			return 0
		}),
		prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "grense_fragments_deflated_total", Help: "Encoded features that were deflated."},
			func() float64 { return float64(s.Fragments.Stats().Deflated) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "grense_source_read_ratio",
			Help: "Part of the source that the first start has read, in the background; 1 when all is read."},
			func() float64 { return s.Store.Catalog().Survey.Done() }),
		cacheMetrics{s.Caches},
	)
	return m
}

// cacheMetrics tells what each cache holds and did.
type cacheMetrics struct{ group *cache.Group }

var cacheDescriptions = struct{ bytes, limit, entries, making, hits, misses, evictions *prometheus.Desc }{
	bytes:     cacheDescription("bytes", "Bytes held, with what holding costs."),
	limit:     cacheDescription("limit_bytes", "Bytes that may be held."),
	entries:   cacheDescription("entries", "Values held."),
	making:    cacheDescription("making", "Values that are made in the background now."),
	hits:      cacheDescription("hits_total", "Values found."),
	misses:    cacheDescription("misses_total", "Values not found."),
	evictions: cacheDescription("evictions_total", "Values given up for others."),
}

func cacheDescription(name, help string) *prometheus.Desc {
	return prometheus.NewDesc("grense_cache_"+name, help, []string{"cache"}, nil)
}

// Describe names no metric: caches may be added later.
func (c cacheMetrics) Describe(chan<- *prometheus.Desc) {}

// Collect sends the present values.
func (c cacheMetrics) Collect(ch chan<- prometheus.Metric) {
	d := &cacheDescriptions
	for _, s := range c.group.Stats() {
		send := func(d *prometheus.Desc, t prometheus.ValueType, v float64) {
			ch <- prometheus.MustNewConstMetric(d, t, v, s.Name)
		}
		send(d.bytes, prometheus.GaugeValue, float64(s.Bytes))
		send(d.limit, prometheus.GaugeValue, float64(s.Limit))
		send(d.entries, prometheus.GaugeValue, float64(s.Entries))
		send(d.making, prometheus.GaugeValue, float64(s.Making))
		send(d.hits, prometheus.CounterValue, float64(s.Hits))
		send(d.misses, prometheus.CounterValue, float64(s.Misses))
		send(d.evictions, prometheus.CounterValue, float64(s.Evictions))
	}
}

func (m *metrics) observe(op string, status int, n int64, took time.Duration) {
	if status == 0 {
		status = 499 // the client left before an answer was begun
	}
	x := m.of(seriesKey{op, status})
	x.requests.Inc()
	x.bytes.Add(float64(n))
	x.seconds.Observe(took.Seconds())
}

func (m *metrics) of(k seriesKey) *series {
	m.mu.RLock()
	x := m.known[k]
	m.mu.RUnlock()
	if x == nil {
		x = &series{m.requests.WithLabelValues(k.op, strconv.Itoa(k.status)), m.bytes.WithLabelValues(k.op), m.seconds.WithLabelValues(k.op)}
		m.mu.Lock()
		m.known[k] = x
		m.mu.Unlock()
	}
	return x
}

func (m *metrics) handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{}))
	return mux
}
