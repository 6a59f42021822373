package server

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// metrics are what an operator watches. Labels are operations and statuses, never what a client sent.
type metrics struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	bytes    *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	reloads  *prometheus.CounterVec
}

func newMetrics(s *Server) *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "grense_requests_total", Help: "Requests by operation and status."}, []string{"operation", "status"}),
		bytes:    prometheus.NewCounterVec(prometheus.CounterOpts{Name: "grense_response_bytes_total", Help: "Bytes of answers by operation."}, []string{"operation"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "grense_request_seconds", Help: "Time from request to last byte by operation.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}}, []string{"operation"}),
		reloads: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "grense_reloads_total", Help: "Reloads of the data by outcome."}, []string{"outcome"}),
	}
	cache := func(name, help string, read func() float64) prometheus.Collector {
		return prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "grense_fragment_cache_" + name, Help: help}, read)
	}
	m.registry.MustRegister(m.requests, m.bytes, m.seconds, m.reloads, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "grense_ready", Help: "1 while requests are answered."}, func() float64 {
			if s.ready.Load() {
				return 1
			}
			return 0
		}),
		cache("hits_total", "Encoded features found.", func() float64 { return float64(s.fragments.Stats().Hits) }),
		cache("deflated_total", "Encoded features that were deflated.", func() float64 { return float64(s.fragments.Stats().Deflated) }),
		cache("misses_total", "Encoded features not found.", func() float64 { return float64(s.fragments.Stats().Misses) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "grense_fragment_cache_bytes", Help: "Bytes of encoded features kept."}, func() float64 { return float64(s.fragments.Stats().Bytes) }),
	)
	return m
}

func (m *metrics) observe(op string, status int, n int64, took time.Duration) {
	if status == 0 {
		status = 499 // the client left before an answer was begun
	}
	m.requests.WithLabelValues(op, strconv.Itoa(status)).Inc()
	m.bytes.WithLabelValues(op).Add(float64(n))
	m.seconds.WithLabelValues(op).Observe(took.Seconds())
}

func (m *metrics) handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{}))
	return mux
}
