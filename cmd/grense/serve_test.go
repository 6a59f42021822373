package main

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

const oneItem = "/collections/fylker/items?limit=1"

var (
	keyPrinted = regexp.MustCompile(`grense_[0-9A-Za-z]{8}_[0-9A-Za-z]{38}`)
	curlLine   = regexp.MustCompile(`curl -H '(\S+): (\S+)' '(\S+)'\n`)
	codeLink   = regexp.MustCompile(`\n  (\S+/key\?code=\S+)\n`)
)

func TestServeDemoFromNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := serve(t, dir)
	m := curlLine.FindStringSubmatch(r.stdout.String())
	if m == nil {
		t.Fatalf("no curl line in\n%s", r.stdout)
	}
	header, key, url := m[1], m[2], m[3]
	if !strings.HasPrefix(url, r.base+"/") || header != "X-API-Key" {
		t.Errorf("curl asks %s with %s", url, header)
	}
	if code, body := r.get(t, strings.TrimPrefix(url, r.base), key); code != http.StatusOK ||
		!strings.Contains(body, `"FeatureCollection"`) {
		t.Errorf("the curl line gives %d: %.200s", code, body)
	}
	if code, _ := r.get(t, oneItem, ""); code != http.StatusUnauthorized {
		t.Errorf("without a key: %d", code)
	}
	if code, body := r.get(t, "/?f=json", ""); code != http.StatusOK || !strings.Contains(body, `"rel":"license"`) {
		t.Errorf("landing page: %d, want one with the licence of the demo: %s", code, body)
	}
	r.codeLinkWorksOnce(t, key)
	for _, path := range []string{"/" + key, "/collections/" + key, "/collections/fylker/items/" + key,
		oneItem + "&x=" + key} {
		if code, body := r.get(t, path, key); code >= http.StatusInternalServerError || strings.Contains(body, key) {
			t.Errorf("a key in an address: %d, it comes back: %v\n%s", code, strings.Contains(body, key), body)
		}
	}

	r.stop()
	if code := r.exit(t); code != 0 {
		t.Errorf("exit status %d\n%s", code, r.stderr)
	}
	for _, secret := range []string{key, key[len("grense_")+9:]} {
		if strings.Contains(r.stderr.String(), secret) {
			t.Error("the log holds the key")
		}
	}
	if n := len(keyPrinted.FindAllString(r.stdout.String(), -1)); n != 2 {
		t.Errorf("the key stands %d times in the output; once alone and once for curl are right", n)
	}

	again := serve(t, dir)
	if keyPrinted.MatchString(again.stdout.String()) || strings.Contains(again.stdout.String(), "code=") {
		t.Errorf("a second start prints a key:\n%s", again.stdout)
	}
	if code, _ := again.get(t, oneItem, key); code != http.StatusOK {
		t.Errorf("the key of the first start gives %d", code)
	}
}

// codeLinkWorksOnce follows the printed link twice.
func (r *running) codeLinkWorksOnce(t *testing.T, key string) {
	t.Helper()
	m := codeLink.FindStringSubmatch(r.stdout.String())
	if m == nil || !strings.HasPrefix(m[1], r.base) {
		t.Fatalf("no link with a code in\n%s", r.stdout)
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	for i, want := range []string{key, ""} {
		resp, err := client.Get(m[1])
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		got := ""
		for _, c := range resp.Cookies() {
			if c.Name == "grense_key" && c.HttpOnly {
				got = c.Value
			}
		}
		if got != want || strings.Contains(resp.Header.Get("Location"), key) {
			t.Errorf("use %d of the link: status %d, cookie set %v, want %v", i+1, resp.StatusCode,
				got != "", want != "")
		}
	}
}

func TestServeOpenPrintsNoKey(t *testing.T) {
	t.Parallel()
	r := serve(t, t.TempDir(), "--auth", "open")
	if keyPrinted.MatchString(r.stdout.String()) {
		t.Error("a key is printed")
	}
	if code, _ := r.get(t, oneItem, ""); code != http.StatusOK {
		t.Errorf("without a key: %d", code)
	}
}

// TestKeysOfTheCommandLineCountInARunningServer makes and revokes a key beside a server.
func TestKeysOfTheCommandLineCountInARunningServer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	key, id := createKey(t, dir, "--name", "old")
	r := serve(t, dir)
	if strings.Contains(r.stdout.String(), "shown only now") {
		t.Error("serve makes a key though there is one")
	}
	if code, _ := r.get(t, oneItem, key); code != http.StatusOK {
		t.Fatalf("key made before: %d", code)
	}
	late, _ := createKey(t, dir, "--name", "late")
	command(t, dir, "key", "revoke", id)
	start := time.Now()
	for _, c := range []struct {
		key  string
		want int
	}{{late, http.StatusOK}, {key, http.StatusUnauthorized}} {
		for {
			code, _ := r.get(t, oneItem, c.key)
			if code == c.want {
				break
			}
			if time.Since(start) > 5*time.Second {
				t.Fatalf("status %d after 5 s, want %d", code, c.want)
			}
		}
	}
	if got := line(t, dir, id); strings.HasSuffix(got, " - - -") {
		t.Errorf("no day of last use: %q", got)
	}
}

func TestServeFileWithConfiguration(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	conf := writeFile(t, filepath.Join(dir, "grense.yaml"), `
auth: open
log_format: json
limits: {drain_wait: 0s}
service: {title: {nb: Våre kart}}
collections:
  fylker: {id: counties, title: {en: Counties}}
  nonsense: {title: x}
`)
	r := serve(t, dir, demoCopy(t, dir), "--config", conf, "--base-url", "https://example.org/geo")
	if r.base != "https://example.org/geo" {
		t.Errorf("base URL %s", r.base)
	}
	addr := regexp.MustCompile(`listening on\s+(\S+)\n`).FindStringSubmatch(r.stdout.String())[1]
	r.base = "http://" + addr
	if code, body := r.get(t, "/?f=json", ""); code != http.StatusOK || !strings.Contains(body, "Våre kart") ||
		strings.Contains(body, addr) || !strings.Contains(body, "https://example.org/geo/openapi") {
		t.Errorf("landing page: %d %s", code, body)
	}
	if _, body := r.get(t, "/?f=json", ""); strings.Contains(body, `"rel":"license"`) {
		t.Errorf("data get a licence that nobody gave them: %s", body)
	}
	if code, body := r.get(t, "/collections/counties?f=json&lang=en", ""); code != http.StatusOK ||
		!strings.Contains(body, `"Counties"`) {
		t.Errorf("renamed collection: %d %.300s", code, body)
	}
	log := r.stderr.await(t, "nonsense")
	for l := range strings.Lines(log) {
		if !json.Valid([]byte(l)) {
			t.Errorf("log line is not JSON: %s", l)
		}
	}
}

// TestAnUnchangingFileIsSwappedWhole: another file in its place is served after SIGHUP, and one with a
// journal beside it is not.
func TestAnUnchangingFileIsSwappedWhole(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name string, squared int) string {
		made := filepath.Join(dir, name+".gpkg")
		if code, _, stderr := command(t, dir, "import", writeFile(t, filepath.Join(dir, "ruter.geojson"),
			squares(squared)), "--collection", "ruter", "--into", made); code != 0 {
			t.Fatal(stderr)
		}
		return made
	}
	src, next := file("ruter", 20), file("next", 25)
	conf := writeFile(t, filepath.Join(dir, "grense.yaml"), "auth: open\nunchanging: true\nlimits: {drain_wait: 0s}\n")
	r := serve(t, dir, src, "--config", conf)
	has := func(when string, want int) {
		t.Helper()
		if code, body := r.get(t, "/collections/ruter/items?limit=1", ""); code != http.StatusOK ||
			!strings.Contains(body, fmt.Sprintf(`"numberMatched":%d`, want)) {
			t.Errorf("%s: %d %.500s", when, code, body)
		}
	}
	has("at first", 20)
	if err := os.Rename(next, src); err != nil {
		t.Fatal(err)
	}
	has("before the reload", 20)
	writeFile(t, src+"-wal", "changes")
	r.hup(t, "reload failed; the data from before are still served")
	has("after a refused reload", 20)
	if err := os.Remove(src + "-wal"); err != nil {
		t.Fatal(err)
	}
	r.hup(t, "msg=reloaded")
	has("after the reload", 25)
	if code, _, stderr := command(t, dir, "check", "postgres://127.0.0.1:1/none", "--config", conf); code == 0 ||
		!strings.Contains(stderr, "grense.yaml:2: unchanging: is for a GeoPackage") {
		t.Errorf("check of a database: %d %s", code, stderr)
	}
}

// TestDrainFinishesAnswersUnderWay holds one request open while the server is stopped.
func TestDrainFinishesAnswersUnderWay(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	conf := writeFile(t, filepath.Join(dir, "grense.yaml"), "limits: {drain_wait: 1s}\n")
	r := serve(t, dir, "--config", conf)
	addr := "127.0.0.1" + r.base[strings.LastIndexByte(r.base, ':'):]
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	in := bufio.NewReader(conn)
	const form = "key="
	fmt.Fprintf(conn, "POST /key HTTP/1.1\r\nHost: x\r\nContent-Type: "+
		"application/x-www-form-urlencoded\r\nContent-Length: %d\r\nExpect: 100-continue\r\n\r\n", len(form))
	if l, err := in.ReadString('\n'); err != nil || !strings.Contains(l, "100") {
		// sent when the handler reads the body, so it is in progress
		t.Fatalf("%q, %v", l, err)
	}
	in.ReadString('\n')

	r.stop()
	r.stderr.await(t, "draining")
	if code, _ := r.get(t, "/readyz", ""); code != http.StatusServiceUnavailable {
		t.Errorf("/readyz while draining: %d", code)
	}
	if code, _ := r.get(t, "/", ""); code != http.StatusOK {
		t.Errorf("landing page while draining: %d", code)
	}
	for end := time.Now().Add(patience); ; {
		c, err := net.Dial("tcp", addr)
		if errors.Is(err, syscall.ECONNREFUSED) {
			break
		}
		if err == nil {
			c.Close()
		}
		if time.Now().After(end) {
			t.Fatal("the server goes on accepting")
		}
	}
	select {
	case code := <-r.done:
		t.Fatalf("exit %d before the answer was out", code)
	default:
	}
	io.WriteString(conn, form)
	resp, err := http.ReadResponse(in, nil)
	if err != nil {
		t.Fatal("the answer under way is lost:", err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusSeeOther {
		t.Errorf("status %d", resp.StatusCode)
	}
	if code := r.exit(t); code != 0 {
		t.Errorf("exit status %d", code)
	}
}

func TestDrainCutsOffAtItsTimeout(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	conf := writeFile(t, filepath.Join(dir, "grense.yaml"), "limits: {drain_wait: 0s, drain_timeout: 50ms}\n")
	r := serve(t, dir, "--config", conf)
	conn, err := net.Dial("tcp", "127.0.0.1"+r.base[strings.LastIndexByte(r.base, ':'):])
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(conn, "POST /key HTTP/1.1\r\nHost: x\r\nContent-Type: "+
		"application/x-www-form-urlencoded\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n")
	if l, err := bufio.NewReader(conn).ReadString('\n'); err != nil || !strings.Contains(l, "100") {
		t.Fatalf("%q, %v", l, err)
	}
	r.stop()
	if code := r.exit(t); code != 0 || !strings.Contains(r.stderr.String(), "cut off") {
		t.Errorf("exit status %d\n%s", code, r.stderr)
	}
}

func TestMetricsHaveTheirOwnListener(t *testing.T) {
	t.Parallel()
	r := serve(t, t.TempDir(), "--metrics-addr", "127.0.0.1:0", "--auth", "open")
	m := regexp.MustCompile(`metrics\s+(\S+)/metrics\n`).FindStringSubmatch(r.stdout.String())
	if m == nil {
		t.Fatalf("no address of the metrics in\n%s", r.stdout)
	}
	r.get(t, oneItem, "")
	if code, _ := r.get(t, "/metrics", ""); code != http.StatusNotFound {
		t.Errorf("/metrics of the API: %d", code)
	}
	r.base = m[1]
	if code, body := r.get(t, "/metrics", ""); code != http.StatusOK ||
		!strings.Contains(body, "grense_requests_total") {
		t.Errorf("/metrics: %d %.200s", code, body)
	}
	if code, _ := r.get(t, "/collections", ""); code != http.StatusNotFound {
		t.Errorf("data on the metrics listener: %d", code)
	}
}

func TestTLSAndItsRenewal(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pool := x509.NewCertPool()
	pool.AddCert(writeCertificate(t, dir, 1, time.Now().Add(time.Hour)))
	r := serve(t, dir, "--tls-cert", dir+"/cert.pem", "--tls-key", dir+"/key.pem")
	if !strings.HasPrefix(r.base, "https://localhost:") {
		t.Errorf("base URL %s", r.base)
	}
	serial := func() int64 {
		t.Helper()
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, ForceAttemptHTTP2: true,
			TLSClientConfig: &tls.Config{RootCAs: pool}}}
		resp, err := client.Get(r.base + "/conformance")
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK || resp.ProtoMajor != 2 {
			t.Errorf("status %d over %s", resp.StatusCode, resp.Proto)
		}
		return resp.TLS.PeerCertificates[0].SerialNumber.Int64()
	}
	if n := serial(); n != 1 {
		t.Errorf("certificate %d", n)
	}
	pool.AddCert(writeCertificate(t, dir, 2, time.Now().Add(time.Hour)))
	r.hup(t, "msg=reloaded")
	for end := time.Now().Add(patience); serial() != 2; { // the certificate is read after the data
		if time.Now().After(end) {
			t.Fatal("the old certificate is still used")
		}
	}
	writeFile(t, dir+"/cert.pem", "nonsense")
	r.hup(t, "the certificate from before is still used")
	if n := serial(); n != 2 {
		t.Errorf("certificate %d after a failed reload", n)
	}
}

// TestCertificatesThatEndWithinTwoWeeksAreToldInLogAndMetric, and others in the metric only.
func TestCertificatesThatEndWithinTwoWeeksAreToldInLogAndMetric(t *testing.T) {
	t.Parallel()
	const warning = "the TLS certificate ends soon"
	for days, warned := range map[int]bool{-1: true, 13: true, 15: false} {
		dir, end := t.TempDir(), time.Now().AddDate(0, 0, days)
		writeCertificate(t, dir, 1, end)
		r := serve(t, dir, "--tls-cert", dir+"/cert.pem", "--tls-key", dir+"/key.pem", "--metrics-addr", "127.0.0.1:0")
		if warned {
			r.stderr.await(t, warning)
			r.stderr.await(t, end.UTC().Format(time.RFC3339))
		} else if r.hup(t, "msg=reloaded"); strings.Contains(r.stderr.String(), warning) {
			t.Errorf("a warning %d days before the end:\n%s", days, r.stderr)
		}
		got, err := strconv.ParseFloat(r.metric(t, "grense_certificate_end_timestamp_seconds"), 64)
		if err != nil || int64(got) != end.Unix() {
			t.Errorf("the metric has %.0f, %v; the certificate ends at %d", got, err, end.Unix())
		}
	}
}

// writeCertificate writes cert.pem and key.pem, for localhost until end, into dir.
func writeCertificate(t *testing.T, dir string, serial int64, end time.Time) *x509.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(serial), DNSNames: []string{"localhost"},
		NotBefore: time.Now().AddDate(0, 0, -30), NotAfter: end, IsCA: true,
		BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, dir+"/cert.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	writeFile(t, dir+"/key.pem", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})))
	if c, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestWarnsWhenListeningBeyondLoopback(t *testing.T) {
	t.Parallel()
	r := serve(t, t.TempDir(), "--addr", "0.0.0.0:0", "--auth", "open")
	if log := r.stderr.String(); !strings.Contains(log, "--base-url") || !strings.Contains(log, "WARN") {
		t.Errorf("no warning in\n%s", log)
	}
}

// TestStopWhileStarting ends the program before it serves.
func TestStopWhileStarting(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	dir := t.TempDir()
	done := make(chan int, 1)
	go func() {
		done <- run(ctx, &process{Args: []string{"serve", "--addr", "127.0.0.1:0"},
			Environ: append(environ(dir), "GRENSE_LIMITS_DRAIN_WAIT=0s"), Stdout: io.Discard, Stderr: io.Discard})
	}()
	select {
	case <-done:
	case <-time.After(patience):
		t.Error("does not end")
	}
}

// TestASecondSignalLosesNoLines: what was answered stands in the log when the program ends at once.
func TestASecondSignalLosesNoLines(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	conf := writeFile(t, filepath.Join(dir, "grense.yaml"), "auth: open\nlimits: {drain_wait: 2s}\n")
	r := serve(t, dir, "--config", conf)
	signals := make(chan os.Signal, 2)
	over := make(chan os.Signal)
	go func() { over <- r.p.heed(signals, r.stop) }()
	signals <- syscall.SIGTERM
	r.stderr.await(t, "draining")
	const path, answers = "/collections/fylker/schema", 20
	for range answers {
		if code, body := r.get(t, path, ""); code != http.StatusOK {
			t.Fatal(code, body)
		}
	}
	signals <- os.Interrupt
	if by := <-over; by != os.Interrupt {
		t.Errorf("ends by %v", by)
	}
	if n := strings.Count(r.stderr.String(), path); n != answers {
		t.Errorf("%d lines of %d answers", n, answers)
	}
}
