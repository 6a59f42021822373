package metrics

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	runtimemetrics "runtime/metrics"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"grense/internal/cache"
)

// description describes a metric whose values are read when it is scraped.
func description(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("grense_"+name, help, labels, nil)
}

// cacheMetrics collects the statistics of all caches.
type cacheMetrics struct{ group *cache.Group }

var cacheDescriptions = struct{ bytes, limit, entries, making, hits, misses, evictions *prometheus.Desc }{
	bytes:     description("cache_bytes", "Bytes held, with what holding costs.", "cache"),
	limit:     description("cache_limit_bytes", "Bytes that may be held.", "cache"),
	entries:   description("cache_entries", "Values held.", "cache"),
	making:    description("cache_making", "Values that are made in the background now.", "cache"),
	hits:      description("cache_hits_total", "Values found.", "cache"),
	misses:    description("cache_misses_total", "Values not found.", "cache"),
	evictions: description("cache_evictions_total", "Values given up for others.", "cache"),
}

// Describe sends all descriptions.
func (c cacheMetrics) Describe(ch chan<- *prometheus.Desc) {
	d := &cacheDescriptions
	for _, x := range []*prometheus.Desc{d.bytes, d.limit, d.entries, d.making, d.hits, d.misses, d.evictions} {
		ch <- x
	}
}

// Collect sends the current values.
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

// Operator are facts of the program around a server. Functions may be nil.
type Operator struct {
	CertificateEnd func() time.Time                  // of the certificate in use; zero: there is none yet
	Connections    func() (open int, refused uint64) // of clients
}

// stateMetrics collects the state of the server at each scrape.
type stateMetrics struct {
	s Server

	mu   sync.Mutex
	disk map[string]int64 // bytes by part
	read time.Time        // when disk was read
}

var stateDescriptions = struct {
	build, ready, storeUp, connections, connectionsLimit, storeErrors, modified, opened, places, inUse, queue, wait,
	jobs, disk, diskLimit, diskFree, memory, memoryLimit, certificate, keys, keysExpiring, clients,
	clientsRefused *prometheus.Desc
}{
	build:       description("build_info", "1, with the version of the program and of Go.", "version", "go_version"),
	ready:       description("ready", "1 while requests are answered, as /readyz reports."),
	storeUp:     description("store_up", "1 while the source answers."),
	connections: description("store_connections", "Connections to the source by state: in_use, idle.", "state"),
	connectionsLimit: description("store_connections_limit",
		"Connections to the source that the process may have for queries."),
	storeErrors: description("store_errors_total", "Queries that failed, by class: of PostgreSQL the first two "+
		"characters of SQLSTATE, else timeout, locked, full, unavailable.", "class"),
	modified: description("data_modified_timestamp_seconds", "When the data were last changed, if that is known."),
	opened:   description("data_opened_timestamp_seconds", "When the data were opened: at the start or a reload."),
	places:   description("queue_places", "Queries or responses that may run at once, by class.", "class"),
	inUse:    description("queue_places_in_use", "Places in use, by class.", "class"),
	queue:    description("queue_length", "Queries or responses that wait for a place, by class.", "class"),
	wait:     description("queue_wait_seconds", "Waits for a place, by class; of those that got one.", "class"),
	jobs:     description("jobs", "Stored jobs by status: accepted, running, successful, failed, dismissed.", "status"),
	disk:     description("disk_bytes", "Bytes in the data directory by part.", "part"),
	diskLimit: description(
		"disk_limit_bytes", "Bytes that a part of the data directory may have, where it has a bound.",
		"part"),
	diskFree: description("disk_free_bytes", "Bytes that are free for the data directory."),
	memory: description(
		"memory_bytes", "Memory that limits.memory bounds: heap, stacks and the runtime of Go."),
	memoryLimit:    description("memory_limit_bytes", "The setting limits.memory."),
	certificate:    description("certificate_end_timestamp_seconds", "When the TLS certificate in use ends."),
	keys:           description("keys", "API keys by status: active, inactive (expired or revoked).", "status"),
	keysExpiring:   description("keys_expiring", "Active API keys that end within 14 days."),
	clients:        description("connections", "Open connections of clients."),
	clientsRefused: description("connections_refused_total", "Connections closed because there were too many."),
}

func (m *stateMetrics) Describe(ch chan<- *prometheus.Desc) {
	d := &stateDescriptions
	for _, x := range []*prometheus.Desc{d.build, d.ready, d.storeUp, d.connections, d.connectionsLimit, d.storeErrors,
		d.modified, d.opened, d.places, d.inUse, d.queue, d.wait, d.jobs, d.disk, d.diskLimit, d.diskFree, d.memory,
		d.memoryLimit, d.certificate, d.keys, d.keysExpiring, d.clients, d.clientsRefused} {
		ch <- x
	}
}

// scrapeTimeout bounds what a scrape asks the state of.
const scrapeTimeout = 2 * time.Second

func (m *stateMetrics) Collect(ch chan<- prometheus.Metric) {
	d, s := &stateDescriptions, &m.s
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	gauge(d.build, 1, s.Version, runtime.Version())
	m.collectStore(ch, gauge)
	for _, c := range s.Turns.Stats() {
		gauge(d.places, float64(c.Places), c.Name)
		gauge(d.inUse, float64(c.InUse), c.Name)
		gauge(d.queue, float64(c.Waiting), c.Name)
		ch <- prometheus.MustNewConstHistogram(d.wait, c.Waits.Count, c.Waits.Sum.Seconds(), c.Waits.Buckets(), c.Name)
	}
	if s.Jobs != nil {
		ctx, cancel := context.WithTimeout(context.Background(), scrapeTimeout)
		defer cancel()
		if counts, err := s.Jobs.JobCounts(ctx); err == nil {
			for status, n := range counts {
				gauge(d.jobs, float64(n), status)
			}
		}
	}
	m.collectDisk(gauge)
	gauge(d.memory, float64(memoryInUse()))
	gauge(d.memoryLimit, float64(s.Config.Limits.Memory))
	if s.Operator.CertificateEnd != nil {
		if end := s.Operator.CertificateEnd(); !end.IsZero() {
			gauge(d.certificate, float64(end.Unix()))
		}
	}
	if s.Keys != nil {
		all, active := s.Keys.Count(time.Now())
		gauge(d.keys, float64(active), "active")
		gauge(d.keys, float64(all-active), "inactive")
		gauge(d.keysExpiring, float64(len(s.Keys.Expiring(time.Now()))))
	}
	if connections := s.Operator.Connections; connections != nil {
		open, refused := connections()
		gauge(d.clients, float64(open))
		ch <- prometheus.MustNewConstMetric(d.clientsRefused, prometheus.CounterValue, float64(refused))
	}
}

// collectStore sends what is known of the source.
func (m *stateMetrics) collectStore(ch chan<- prometheus.Metric, gauge func(*prometheus.Desc, float64, ...string)) {
	d, s := &stateDescriptions, &m.s
	up := float64(0)
	if s.Answers(context.Background()) == nil {
		up = 1
	}
	gauge(d.storeUp, up)
	if s.Draining() {
		up = 0
	}
	gauge(d.ready, up)
	c := s.Store.Connections()
	gauge(d.connections, float64(c.InUse), "in_use")
	gauge(d.connections, float64(c.Idle), "idle")
	gauge(d.connectionsLimit, float64(c.Limit))
	for class, n := range s.Turns.Failed() {
		ch <- prometheus.MustNewConstMetric(d.storeErrors, prometheus.CounterValue, float64(n), class)
	}
	if t := s.Store.Catalog().Modified; !t.IsZero() {
		gauge(d.modified, float64(t.Unix()))
	}
	gauge(d.opened, float64(s.Opened().Unix()))
}

// Parts of the data directory, by the first folder or the ending of a file.
const (
	partState     = "state"
	partDownloads = "downloads"
	partAnswers   = "answers"
	partTiles     = "tiles"
	partImports   = "imports"
	partSide      = "side_files"
)

// partOf returns the part of the data directory that a file belongs to, by its path below it.
func partOf(path string) string {
	switch first, _, below := strings.Cut(filepath.ToSlash(path), "/"); {
	case below && (first == partDownloads || first == partAnswers || first == partTiles || first == partImports):
		return first
	case strings.HasPrefix(first, "state.db"):
		return partState
	}
	return partSide
}

// diskAge is how long the sizes of files are used again.
const diskAge = 30 * time.Second

func (m *stateMetrics) collectDisk(gauge func(*prometheus.Desc, float64, ...string)) {
	d, s := &stateDescriptions, &m.s
	dir := s.Config.DataDir
	if dir == "" {
		return
	}
	for part, n := range m.sizes(dir) {
		gauge(d.disk, float64(n), part)
	}
	gauge(d.diskLimit, float64(s.Config.Limits.Downloads), partDownloads)
	gauge(d.diskLimit, float64(s.Config.Limits.Downloads), partAnswers)
	gauge(d.diskLimit, float64(s.Config.Processes.JobsBytes), partState)
	if n, ok := diskFree(dir); ok {
		gauge(d.diskFree, float64(n))
	}
}

// sizes returns the bytes of each part of the data directory.
func (m *stateMetrics) sizes(dir string) map[string]int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	if time.Since(m.read) < diskAge {
		return m.disk
	}
	disk := map[string]int64{partState: 0, partDownloads: 0, partAnswers: 0, partTiles: 0, partImports: 0, partSide: 0}
	filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error { // what cannot be read is not counted
		if err != nil || !e.Type().IsRegular() {
			return nil
		}
		if info, err := os.Lstat(path); err == nil {
			rel, _ := filepath.Rel(dir, path) // path is below dir
			disk[partOf(rel)] += info.Size()
		}
		return nil
	})
	m.disk, m.read = disk, time.Now()
	return disk
}

// memoryInUse returns what debug.SetMemoryLimit bounds, in bytes.
func memoryInUse() uint64 {
	samples := []runtimemetrics.Sample{{Name: "/memory/classes/total:bytes"},
		{Name: "/memory/classes/heap/released:bytes"}}
	runtimemetrics.Read(samples)
	return samples[0].Value.Uint64() - samples[1].Value.Uint64()
}
