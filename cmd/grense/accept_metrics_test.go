package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
)

// TestAcceptMetricsInPrometheus: a Prometheus with the rules of ops scrapes a server at work. Each expression of the
// dashboard has values, each alert has its metrics, and promtool finds that each alert fires.
func TestAcceptMetricsInPrometheus(t *testing.T) {
	if os.Getenv("GRENSE_ACCEPT") == "" {
		t.Skip("Prometheus runs in make accept")
	}
	for _, program := range []string{"prometheus", "promtool"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("NOT TESTED: dashboard and alerts, since there is no %s; install the Debian package prometheus",
				program)
		}
	}
	for _, args := range [][]string{{"check", "config", "prometheus.yaml"}, {"test", "rules", "alerts_test.yaml"}} {
		cmd := exec.CommandContext(t.Context(), "promtool", args...)
		cmd.Dir = "../../ops"
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("promtool %v: %v\n%s", args, err, out)
		}
	}
	w := newWork(t)
	p := scrape(t, w.metrics)
	exprs := dashboardExpressions(t)
	if len(exprs) < 20 {
		t.Errorf("%d expressions in the dashboard", len(exprs))
	}
	exprs = append(exprs, alertMetrics(t)...)
	for end := time.Now().Add(patience); ; {
		w.do(t)
		exprs = slices.DeleteFunc(exprs, func(e string) bool { return p.hasValues(t, e) })
		if len(exprs) == 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("no values of:\n%s", strings.Join(exprs, "\n"))
		}
	}
}

// work asks a server for what the dashboard shows.
type work struct {
	*running
	client       *http.Client
	key, metrics string
	rounds       int
}

func newWork(t *testing.T) *work {
	t.Helper()
	dir := t.TempDir()
	pool := x509.NewCertPool()
	pool.AddCert(writeCertificate(t, dir, 1, time.Now().Add(time.Hour)))
	r := serve(t, dir, "--tls-cert", dir+"/cert.pem", "--tls-key", dir+"/key.pem", "--metrics-addr", "127.0.0.1:0")
	out := r.stdout.String()
	m := regexp.MustCompile(`metrics\s+http://(\S+)/metrics\n`).FindStringSubmatch(out)
	key := regexp.MustCompile(`grense_\w{8}_\w{38}`).FindString(out)
	if m == nil || key == "" {
		t.Fatal(out)
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}
	return &work{running: r, client: &http.Client{Transport: transport}, key: key, metrics: m[1]}
}

func (w *work) do(t *testing.T) {
	t.Helper()
	ask := func(method, path, key, body string, header ...string) {
		req, err := http.NewRequestWithContext(t.Context(), method, w.base+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-API-Key", key)
		for i := 0; i < len(header); i += 2 {
			req.Header.Set(header[i], header[i+1])
		}
		res, err := w.client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		io.Copy(io.Discard, res.Body)
		res.Body.Close()
	}
	w.rounds++
	for i := range 5 { // the last part is new in each round, so that not all responses are cached
		ask(http.MethodGet, fmt.Sprintf("/collections/kommuner/items?limit=%d", 1+i), w.key, "")
		ask(http.MethodGet, fmt.Sprintf("/collections/kommuner/items?limit=1&bbox=5,59,%d.%05d,65", 6+i, w.rounds),
			w.key, "")
	}
	ask(http.MethodGet, "/collections/fylker/items/03", w.key, "")
	ask(http.MethodGet, "/collections/fylker/items", "wrong", "")
	ask(http.MethodGet, "/nowhere", w.key, "")
	ask(http.MethodGet, "/tiles/WebMercatorQuad/0/0/0", w.key, "")
	ask(http.MethodPost, "/processes/echo/execution", w.key, `{"inputs":{"string":"x"},"outputs":{"string":{}}}`,
		"Content-Type", "application/json", "Prefer", "respond-async")
	select {
	case w.reload <- syscall.SIGHUP:
	default: // a reload is in progress
	}
}

// prometheus is one that scrapes a server.
type prometheus struct{ base string }

// scrape starts a Prometheus with the rules of ops, which scrapes an address each second.
func scrape(t *testing.T, address string) *prometheus {
	t.Helper()
	dir := t.TempDir()
	rules, err := filepath.Abs("../../ops/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	conf := writeFile(t, filepath.Join(dir, "prometheus.yaml"), fmt.Sprintf("global: {scrape_interval: 1s}\n"+
		"rule_files: [%q]\nscrape_configs:\n- {job_name: grense, static_configs: [{targets: [%q]}]}\n", rules, address))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listen := l.Addr().String()
	l.Close()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	cmd := exec.CommandContext(ctx, "prometheus", "--config.file="+conf, "--storage.tsdb.path="+dir+"/data",
		"--web.listen-address="+listen)
	log := newOutput()
	cmd.Stderr = log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cancel(); cmd.Wait() })
	log.await(t, "Server is ready to receive web requests")
	return &prometheus{"http://" + listen}
}

// hasValues reports whether an expression has a value that is a number.
func (p *prometheus) hasValues(t *testing.T, expr string) bool {
	t.Helper()
	res, err := http.Get(p.base + "/api/v1/query?query=" + url.QueryEscape(expr))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var answer struct {
		Status, Error string
		Data          struct {
			Result []struct{ Value [2]any }
		}
	}
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil || answer.Status != "success" {
		t.Fatalf("%s: %v %s", expr, err, answer.Error)
	}
	for _, r := range answer.Data.Result {
		if v, _ := r.Value[1].(string); v != "" && v != "NaN" {
			return true
		}
	}
	return false
}

// dashboardExpressions are those of ops/grafana.json, with a short interval.
func dashboardExpressions(t *testing.T) (exprs []string) {
	t.Helper()
	b, err := os.ReadFile("../../ops/grafana.json")
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Panels []struct{ Targets []struct{ Expr string } }
	}
	if err := json.Unmarshal(b, &dashboard); err != nil {
		t.Fatal(err)
	}
	for _, p := range dashboard.Panels {
		for _, target := range p.Targets {
			exprs = append(exprs, strings.ReplaceAll(target.Expr, "$__rate_interval", "20s"))
		}
	}
	return exprs
}

// alertMetrics are the names of the metrics in ops/alerts.yaml.
func alertMetrics(t *testing.T) (names []string) {
	t.Helper()
	b, err := os.ReadFile("../../ops/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var rules struct {
		Groups []struct {
			Rules []struct{ Expr string }
		}
	}
	if err := yaml.Unmarshal(b, &rules); err != nil {
		t.Fatal(err)
	}
	for _, g := range rules.Groups {
		for _, r := range g.Rules {
			names = append(names, regexp.MustCompile(`\b(grense_\w+|up)\b`).FindAllString(r.Expr, -1)...)
		}
	}
	return names
}
