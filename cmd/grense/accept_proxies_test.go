package main_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"grense/internal/await"
)

// proxyConf makes a proxy of an example in docs/run/proxies.md: what the example lacks to run alone, how it strips the
// prefix, and the command.
type proxyConf struct {
	program string
	strip   [2]string // old and new text
	conf    func(example, dir string) string
	args    func(conf, dir string) []string
}

var proxies = map[string]proxyConf{
	"nginx": {program: "nginx",
		strip: [2]string{"proxy_pass http://127.0.0.1:8080;", "proxy_pass http://127.0.0.1:8080/;"},
		conf: func(example, dir string) string {
			user := ""
			if os.Getuid() == 0 {
				user = "user root root;\n"
			}
			return user + "daemon off;\npid " + dir + "/pid;\nworker_processes 1;\nevents {}\n" +
				"http {\naccess_log off;\n" + example + "}\n"
		},
		args: func(conf, dir string) []string { return []string{"-p", dir, "-c", conf, "-e", dir + "/error.log"} }},
	"caddy": {program: "caddy",
		strip: [2]string{"handle /divisions* {", "handle_path /divisions/* {"},
		conf: func(example, dir string) string {
			return "{\nadmin off\nauto_https off\n}\n" + strings.Replace(example, "example.org {",
				"https://example.org:443 {\ntls "+dir+"/cert.pem "+dir+"/key.pem\n", 1)
		},
		args: func(conf, _ string) []string { return []string{"run", "--adapter", "caddyfile", "--config", conf} }},
	"haproxy": {program: "haproxy",
		strip: [2]string{"    option httpchk",
			"    http-request replace-path /divisions/?(.*) /\\1\n    option httpchk"},
		conf: func(example, dir string) string { return example },
		args: func(conf, _ string) []string { return []string{"-f", conf} }},
	"apache": {program: "apache2",
		strip: [2]string{"http://127.0.0.1:8080/divisions", "http://127.0.0.1:8080"},
		conf: func(example, dir string) string {
			head := "ServerRoot " + dir + "\nPidFile " + dir + "/pid\nErrorLog " + dir + "/error.log\nListen 443\n" +
				"ServerName example.org\nMutex file:" + dir + "\n"
			if os.Getuid() == 0 {
				head += "User www-data\nGroup www-data\n"
			}
			for _, m := range []string{"mpm_event", "authz_core", "socache_shmcb", "ssl", "http2", "proxy",
				"proxy_http", "headers", "unique_id"} {
				head += "LoadModule " + m + "_module /usr/lib/apache2/modules/mod_" + m + ".so\n"
			}
			return head + example
		},
		args: func(conf, _ string) []string { return []string{"-f", conf, "-DFOREGROUND"} }},
}

// TestAcceptProxies runs the examples of docs/run/proxies.md, with the prefix and without, before a server.
func TestAcceptProxies(t *testing.T) {
	if os.Getenv("GRENSE_ACCEPT") == "" {
		t.Skip("proxies run in make accept")
	}
	for name, p := range proxies {
		example := proxyExamples(t, name)[0]
		for _, strips := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, strips %v", name, strips), func(t *testing.T) {
				checkProxy(t, p, example, strips)
			})
		}
	}
}

// TestAcceptProxyOfAUnixSocket joins the two examples of nginx: the server of the first, the location of the second.
func TestAcceptProxyOfAUnixSocket(t *testing.T) {
	if os.Getenv("GRENSE_ACCEPT") == "" {
		t.Skip("proxies run in make accept")
	}
	examples := proxyExamples(t, "nginx")
	pass := regexp.MustCompile(`proxy_pass \S+;`)
	if len(examples) != 2 || !pass.MatchString(examples[1]) {
		t.Fatalf("docs/run/proxies.md has %d examples of nginx, want a second with a location", len(examples))
	}
	dir, err := os.MkdirTemp("", "grense-") // whose path is short enough for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	socket := filepath.Join(dir, "grense.sock")
	location := strings.ReplaceAll(pass.FindString(examples[1]), "/run/grense/grense.sock", socket)
	checkProxy(t, proxies["nginx"], pass.ReplaceAllLiteralString(examples[0], location), false,
		"--addr", "unix:"+socket)
}

// proxyExamples returns the examples of a proxy in docs/run/proxies.md.
func proxyExamples(t *testing.T, name string) (examples []string) {
	t.Helper()
	page, err := os.ReadFile(rootPath(t, "docs", "run", "proxies.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile("(?s)```"+name+"\n(.*?)```").FindAllSubmatch(page, -1) {
		examples = append(examples, string(m[1]))
	}
	if examples == nil {
		t.Fatalf("docs/run/proxies.md has no example of %s", name)
	}
	return examples
}

// checkProxy serves with args behind a proxy, and asks through it.
func checkProxy(t *testing.T, p proxyConf, example string, strips bool, args ...string) {
	program, err := exec.LookPath(p.program)
	if err != nil {
		t.Skipf("NOT TESTED: %s, since there is none; install the Debian package", p.program)
	}
	s := serve(t, []string{"GRENSE_BASE_URL=https://example.org/divisions",
		"GRENSE_TRUSTED_PROXIES=127.0.0.1"}, args...)
	x := &proxied{t: t, s: s, addr: freeAddress(t), strips: strips}
	x.start(program, p, example)
	x.check()
}

// proxied is a server behind a proxy.
type proxied struct {
	t      *testing.T
	s      *serving
	addr   string // of the proxy
	strips bool
	client *http.Client
}

// clientAddress is the address that requests through a proxy come from.
const clientAddress = "127.0.0.5"

func (x *proxied) start(program string, p proxyConf, example string) {
	t, dir := x.t, x.t.TempDir()
	writeTLS(t, dir)
	chain, err := os.ReadFile(dir + "/cert.pem")
	key, keyErr := os.ReadFile(dir + "/key.pem")
	if err := errors.Join(err, keyErr, os.WriteFile(dir+"/both.pem", slices.Concat(chain, key), 0o600)); err != nil {
		t.Fatal(err)
	}
	if x.strips {
		if !strings.Contains(example, p.strip[0]) {
			t.Fatalf("the example has no %q", p.strip[0])
		}
		example = strings.ReplaceAll(example, p.strip[0], p.strip[1])
	}
	_, port, _ := net.SplitHostPort(x.addr)
	text := strings.NewReplacer("crt /etc/ssl/example.org.pem", "crt "+dir+"/both.pem",
		"/etc/ssl/example.org.pem", dir+"/cert.pem", "/etc/ssl/example.org.key", dir+"/key.pem",
		"127.0.0.1:8080", x.s.addr, "443", port).Replace(p.conf(example, dir))
	conf := filepath.Join(dir, "conf")
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	os.Chmod(dir, 0o755) // workers of Apache have another user
	runProgram(t, []string{"HOME=" + dir}, program, p.args(conf, dir)...)
	x.client = tlsClient(x.addr, "example.org", clientAddress)
	await.Success(t, "the proxy answers", func() error {
		res, err := x.client.Get("https://example.org/divisions/healthz")
		if err != nil {
			return err
		}
		defer res.Body.Close()
		if res.StatusCode != http.StatusOK {
			return errors.New(res.Status)
		}
		return nil
	})
}

// ask sends a request with the key through the proxy; header has names and values in turn.
func (x *proxied) ask(method, path, body string, header ...string) (*http.Response, []byte) {
	x.t.Helper()
	req, err := http.NewRequestWithContext(x.t.Context(), method, "https://example.org/divisions"+path,
		strings.NewReader(body))
	if err != nil {
		x.t.Fatal(err)
	}
	req.Header.Set("X-API-Key", x.s.key)
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	return exchange(x.t, x.client, req)
}

func (x *proxied) check() {
	t := x.t
	const items = "/collections/kommuner/items?limit=20&f=json"
	res, body := x.ask("GET", items, "", "Accept-Encoding", "identity")
	if res.StatusCode != http.StatusOK || res.ProtoMajor != 2 {
		t.Errorf("%s over %s: %.200s", res.Status, res.Proto, body)
	}
	var doc struct{ Links []struct{ Rel, Href string } }
	if err := json.Unmarshal(body, &doc); err != nil {
		t.Fatal(err)
	}
	for _, l := range doc.Links {
		if !strings.HasPrefix(l.Href, "https://example.org/divisions/") && !strings.Contains(l.Rel, "://") &&
			l.Rel != "license" {
			t.Errorf("the link %s leads to %s", l.Rel, l.Href)
		}
		if path, ok := strings.CutPrefix(l.Href, "https://example.org/divisions"); ok && l.Rel == "next" {
			if res, _ := x.ask("GET", path, ""); res.StatusCode != http.StatusOK {
				t.Errorf("the link %s: %s", l.Rel, res.Status)
			}
		}
	}
	x.checkEncoded(items, body)
	x.checkDownload()
	x.checkSOAP()
	x.checkLog()
	for path, want := range map[string]int{"/collections/kommuner/items/a%2Fb": http.StatusNotFound,
		"/collections/kommuner/items?filter=navn%3D%27a%2Bb%27": http.StatusOK} {
		if res, body := x.ask("GET", path, "", "Accept", "application/json"); res.StatusCode != want ||
			!strings.Contains(res.Header.Get("Content-Type"), "json") {
			t.Errorf("%s: %s %.200s", path, res.Status, body)
		}
	}
	if res, _ := x.ask("GET", "", ""); res.StatusCode != http.StatusOK {
		t.Errorf("the address without a slash at its end: %s", res.Status)
	}
}

// checkEncoded asks for a page compressed, and again with its validator.
func (x *proxied) checkEncoded(path string, plain []byte) {
	t := x.t
	res, packed := x.ask("GET", path, "", "Accept-Encoding", "gzip")
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatalf("%v: Content-Encoding %q", err, res.Header.Get("Content-Encoding"))
	}
	text, err := io.ReadAll(z)
	stamp := regexp.MustCompile(`"timeStamp":"[^"]*"`)
	if err != nil || !bytes.Equal(stamp.ReplaceAll(text, nil), stamp.ReplaceAll(plain, nil)) {
		t.Errorf("the compressed page differs: %v", err)
	}
	etag := res.Header.Get("Etag")
	if vary := strings.Join(res.Header.Values("Vary"), ","); etag == "" || !strings.Contains(vary, "Accept-Encoding") {
		t.Errorf("ETag %q, Vary %q", etag, vary)
	}
	res, body := x.ask("GET", path, "", "Accept-Encoding", "gzip", "If-None-Match", etag)
	if res.StatusCode != http.StatusNotModified || len(body) > 0 {
		t.Errorf("%s and %d bytes to If-None-Match %s", res.Status, len(body), etag)
	}
}

// checkDownload resumes a download from its middle.
func (x *proxied) checkDownload() {
	t := x.t
	const path = "/collections/kommuner/download?f=flatgeobuf"
	res, whole := x.ask("GET", path, "")
	etag := res.Header.Get("Etag")
	if res.StatusCode != http.StatusOK || len(whole) < 100_000 || etag == "" {
		t.Fatalf("%s, %d bytes, ETag %q", res.Status, len(whole), etag)
	}
	from := len(whole) / 2
	res, rest := x.ask("GET", path, "", "Range", fmt.Sprintf("bytes=%d-", from), "If-Range", etag)
	if res.StatusCode != http.StatusPartialContent || !bytes.Equal(rest, whole[from:]) {
		t.Errorf("resumed: %s, %d bytes, want %d", res.Status, len(rest), len(whole)-from)
	}
}

// checkSOAP reads the contract, whose address is that of clients, and searches.
func (x *proxied) checkSOAP() {
	t := x.t
	const path = "/soap/stedsnavn/v1/SoekServiceWS"
	if res, wsdl := x.ask("GET", path+"?wsdl", ""); !strings.Contains(string(wsdl),
		`location="https://example.org/divisions`+path) {
		t.Errorf("WSDL: %s %.500s", res.Status, wsdl)
	}
	pattern := "Os*"
	_, body := x.s.soapRequest(pattern)
	res, answer := x.ask("POST", path, body, "Content-Type", "text/xml; charset=utf-8", "SOAPAction", `""`)
	if res.StatusCode != http.StatusOK || !bytes.Contains(answer, []byte("findStederResponse")) {
		t.Errorf("search: %s %.500s", res.Status, answer)
	}
}

// checkLog finds the address of the client in the log, although it claims another, and the id of the proxy.
func (x *proxied) checkLog() {
	t := x.t
	res, _ := x.ask("GET", "/conformance", "", "X-Forwarded-For", "203.0.113.9", "X-Request-Id", "forged")
	id := res.Header.Get("X-Request-Id")
	if id == "" || id == "forged" || regexp.MustCompile(`^[0-9a-f]{16}$`).MatchString(id) {
		t.Errorf("X-Request-Id %q is not that of the proxy", id)
	}
	await.Success(t, "the log has the request", func() error {
		for line := range strings.Lines(x.s.logged(t)) {
			var l struct{ Msg, Request, Client string }
			if json.Unmarshal([]byte(line), &l) == nil && l.Request == id {
				if l.Client != clientAddress {
					t.Errorf("the log has the client %s, want %s", l.Client, clientAddress)
				}
				return nil
			}
		}
		return errors.New("it has not")
	})
}

// tlsClient connects to addr for each host, by TLS with any certificate for name; from is the address of the client, or
// "".
func tlsClient(addr, name, from string) *http.Client {
	d := &net.Dialer{}
	if from != "" {
		d.LocalAddr = &net.TCPAddr{IP: net.ParseIP(from)}
	}
	return &http.Client{Timeout: patience, Transport: &http.Transport{ForceAttemptHTTP2: true, DisableCompression: true,
		TLSClientConfig: &tls.Config{ServerName: name, InsecureSkipVerify: true},
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return d.DialContext(ctx, network, addr)
		}}}
}

// servedBy waits until addr has a certificate for a host, and returns it.
func servedBy(t *testing.T, addr, host string) (cert *x509.Certificate) {
	t.Helper()
	await.Success(t, "there is a certificate", func() error {
		conn, err := tls.Dial("tcp", addr, &tls.Config{ServerName: host, InsecureSkipVerify: true,
			NextProtos: []string{"h2"}})
		if err != nil {
			return err
		}
		defer conn.Close()
		state := conn.ConnectionState()
		cert = state.PeerCertificates[0]
		if state.NegotiatedProtocol != "h2" {
			t.Errorf("it speaks %q", state.NegotiatedProtocol)
		}
		return cert.VerifyHostname(host)
	})
	return cert
}

// runProgram runs a program until the test ends, or stop is called. log has what it wrote.
func runProgram(t *testing.T, env []string, name string, args ...string) (stop func(), log *output) {
	t.Helper()
	log = &output{}
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), name, args...)
	cmd.Env = slices.Concat([]string{"PATH=" + os.Getenv("PATH")}, env)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { cmd.Wait(); close(ended) }()
	stop = sync.OnceFunc(func() {
		cmd.Process.Signal(syscall.SIGTERM) // no error: it may have ended
		select {
		case <-ended:
		case <-time.After(patience):
			t.Errorf("%s does not end", name)
			cmd.Process.Kill()
		}
		if t.Failed() {
			t.Logf("%s %v:\n%.4000s", name, args, log)
		}
	})
	t.Cleanup(stop)
	return stop, log
}

// output collects what a program writes.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}
