package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"grense/internal/await"
)

// configured serves the demo with a configuration file, whose text set changes.
func configured(t *testing.T, text string) (r *running, set func(text string)) {
	t.Helper()
	dir := t.TempDir()
	conf := filepath.Join(dir, "grense.yaml")
	set = func(text string) {
		writeFile(t, conf, "auth: open\nmetrics_addr: 127.0.0.1:0\nlimits: {drain_wait: 0s}\n"+text)
	}
	set(text)
	return serve(t, dir, "--config", conf), set
}

var metricsLine = regexp.MustCompile(`metrics\s+(\S+)\n`)

// metric returns the line of a metric without its name; "" if there is none.
func (r *running) metric(t *testing.T, name string) string {
	t.Helper()
	res, err := http.Get(metricsLine.FindStringSubmatch(r.stdout.String())[1])
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// awaitMetric waits until a metric has a value: a server counts an answer and a reload after the client or the log
// has seen it.
func (r *running) awaitMetric(t *testing.T, name, want string) {
	t.Helper()
	await.Success(t, name, func() error {
		if got := r.metric(t, name); got != want {
			return fmt.Errorf("%q, want %q", got, want)
		}
		return nil
	})
}

func TestReloadTakesOverChangedSettings(t *testing.T) {
	t.Parallel()
	r, set := configured(t, "service: {title: First}\n")
	r.get(t, "/?f=json", "")
	const landings = `grense_requests_total{operation="getLandingPage",status="200"}`
	r.awaitMetric(t, landings, "1")
	set("service: {title: Second}\nlog_format: json\nsoap: {max_hits: 7}\n" +
		"collections: {fylker: {id: counties, title: Counties}}\n")
	r.hup(t, "reloaded")
	log := r.stderr.String()
	for _, want := range []string{`settings="service.title, `, "soap.max_hits", "collections.fylker.title",
		`need a restart" settings=log_format`} {
		if !strings.Contains(log, want) {
			t.Errorf("the log does not say %s:\n%s", want, log)
		}
	}
	if _, body := r.get(t, "/?f=json", ""); !strings.Contains(body, "Second") {
		t.Errorf("the landing page has the title from before: %s", body)
	}
	if code, body := r.get(t, "/collections/counties?f=json", ""); code != http.StatusOK ||
		!strings.Contains(body, "Counties") {
		t.Errorf("a collection has its new id and title: %d %s", code, body)
	}
	r.awaitMetric(t, landings, "2")
	r.awaitMetric(t, `grense_reloads_total{outcome="ok"}`, "1")
}

func TestAnInvalidConfigurationKeepsSettingsAndData(t *testing.T) {
	t.Parallel()
	r, set := configured(t, "service: {title: First}\n")
	set("service: {titel: Second}\nsoap: {max_hits: -1}\n")
	r.hup(t, "grense.yaml:5: soap.max_hits")
	if log := r.stderr.String(); !strings.Contains(log, "grense.yaml:4: service.titel: unknown setting") {
		t.Errorf("the log does not name each fault with its line:\n%s", log)
	}
	if _, body := r.get(t, "/?f=json", ""); !strings.Contains(body, "First") {
		t.Errorf("the settings from before are gone: %s", body)
	}
	if _, body := r.get(t, "/readyz", ""); !strings.Contains(body, "reload") {
		t.Errorf("/readyz: %s", body)
	}
	r.awaitMetric(t, `grense_reloads_total{outcome="failed"}`, "1")
	set("service: {title: Third}\n")
	r.hup(t, "reloaded")
	if _, body := r.get(t, "/readyz", ""); body != "ok\n" {
		t.Errorf("/readyz after the cure: %s", body)
	}
}

// TestSettingsWithWhichNothingCanBeServedKeepThoseBefore names a file that is not there.
func TestSettingsWithWhichNothingCanBeServedKeepThoseBefore(t *testing.T) {
	t.Parallel()
	r, set := configured(t, "service: {title: First}\n")
	set("service: {title: Second}\ntiles: /nowhere/x.pmtiles\n")
	r.hup(t, "reload failed; the settings and the data from before are still served")
	if _, body := r.get(t, "/?f=json", ""); !strings.Contains(body, "First") {
		t.Errorf("the settings from before are gone: %s", body)
	}
	set("service: {title: Third}\n")
	r.hup(t, "reloaded")
	if _, body := r.get(t, "/?f=json", ""); !strings.Contains(body, "Third") {
		t.Errorf("a later reload does not count: %s", body)
	}
}

// TestARequestInFlightEndsWithTheSettingsThatItBeganWith holds one open while settings are reloaded.
func TestARequestInFlightEndsWithTheSettingsThatItBeganWith(t *testing.T) {
	t.Parallel()
	r, set := configured(t, "soap: {max_hits: 7}\n")
	conn, err := net.Dial("tcp", "127.0.0.1"+r.base[strings.LastIndexByte(r.base, ':'):])
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	in := bufio.NewReader(conn)
	const form = "key="
	fmt.Fprintf(conn, "POST /key HTTP/1.1\r\nHost: x\r\nContent-Type: "+
		"application/x-www-form-urlencoded\r\nContent-Length: %d\r\nExpect: 100-continue\r\n\r\n", len(form))
	if l, err := in.ReadString('\n'); err != nil || !strings.Contains(l, "100") {
		t.Fatalf("%q, %v", l, err)
	}
	in.ReadString('\n')
	set("soap: {max_hits: 8}\n")
	r.hup(t, "reloaded")
	io.WriteString(conn, form)
	resp, err := http.ReadResponse(in, nil)
	if err != nil {
		t.Fatal("the answer in flight is lost:", err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusSeeOther {
		t.Errorf("status %d", resp.StatusCode)
	}
	r.stop()
	if code := r.exit(t); code != 0 {
		t.Errorf("exit status %d", code)
	}
}

// TestReloadChangesTheLevelOfTheLogAndWhatItHasOfRequests while the server runs.
func TestReloadChangesTheLevelOfTheLogAndWhatItHasOfRequests(t *testing.T) {
	t.Parallel()
	r, set := configured(t, "log_level: warn\n")
	r.get(t, "/conformance", "")
	set("log_level: info\n")
	r.hup(t, "settings=log_level")
	r.get(t, "/collections", "")
	r.stderr.await(t, "path=/collections ")
	set("log_level: debug\naccess_log: errors\n")
	r.hup(t, "settings=\"log_level, access_log\"")
	r.get(t, "/api?f=json", "")
	r.get(t, "/nowhere", "")
	r.stderr.await(t, "path=/nowhere ")
	set("log_level: error\n")
	r.reload <- syscall.SIGHUP
	r.awaitMetric(t, `grense_reloads_total{outcome="ok"}`, "3")
	r.get(t, "/nothing", "")
	r.stop()
	r.exit(t) // so that all lines are written
	log := r.stderr.String()
	for _, path := range []string{"path=/conformance ", "path=/api ", "path=/nothing "} {
		if strings.Contains(log, path) {
			t.Errorf("the log has %s:\n%s", path, log)
		}
	}
	if strings.Contains(log, "need a restart") {
		t.Errorf("the level needs a restart:\n%s", log)
	}
}

func TestReloadKeepsOldDataOnABrokenFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	src := demoCopy(t, dir)
	r := serve(t, dir, src, "--auth", "open")
	_, before := r.get(t, "/collections/fylker/items?f=csv", "")
	good := filepath.Join(dir, "good")
	if err := os.Rename(src, good); err != nil {
		t.Fatal(err)
	}
	writeFile(t, src, strings.Repeat("no GeoPackage ", 1000))
	r.hup(t, "reload failed; the data from before are still served")
	code, after := r.get(t, "/collections/fylker/items?f=csv", "")
	if code != http.StatusOK || after != before || len(before) < 100 {
		t.Errorf("after a failed reload: %d, the same data: %v", code, after == before)
	}
	if code, body := r.get(t, "/readyz", ""); code != http.StatusOK || !strings.Contains(body, "reload") {
		t.Errorf("/readyz: %d %q", code, body)
	}
	if err := os.Rename(good, src); err != nil {
		t.Fatal(err)
	}
	r.hup(t, "msg=reloaded")
	if code, body := r.get(t, "/readyz", ""); code != http.StatusOK || strings.Contains(body, "reload") {
		t.Errorf("/readyz after the cure: %d %q", code, body)
	}
	if code, after := r.get(t, "/collections/fylker/items?f=csv", ""); code != http.StatusOK || after != before {
		t.Errorf("after the cure: %d, the same data: %v", code, after == before)
	}
}
