//go:build unix

package main_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	mathrand "math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"grense/internal/await"
)

// most is the most memory that a program which has ended had, in bytes.
func most(cmd *exec.Cmd) size {
	if u, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		return size(u.Maxrss << 10)
	}
	return 0
}

// TestAttackImportBombs: files that unpack to far more than they are, or have far more columns than a table,
// are refused soon and in bounded memory.
func TestAttackImportBombs(t *testing.T) {
	attack(t)
	dir := t.TempDir()
	bomb := filepath.Join(dir, "line.geojson.gz")
	f, err := os.Create(bomb)
	if err != nil {
		t.Fatal(err)
	}
	z := gzip.NewWriter(f)
	fmt.Fprint(z, `{"type":"FeatureCollection","features":[{"type":"Feature","properties":{},`+
		`"geometry":{"type":"LineString","coordinates":[`)
	piece := []byte(strings.Repeat("[10.123456,60.123456],", 10_000))
	for range 1000 {
		z.Write(piece)
	}
	fmt.Fprint(z, `[0,0]]}}]}`)
	if z.Close() != nil || f.Close() != nil {
		t.Fatal("the bomb is not whole")
	}
	wide := filepath.Join(dir, "wide.csv")
	if err := os.WriteFile(wide, []byte("id,x,y"+strings.Repeat(",column", 100_000)+"\n1,2,3"+
		strings.Repeat(",", 100_000)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, file := range map[string]string{"220 MB of one line in a .geojson.gz": bomb,
		"a CSV of 100,000 columns": wide} {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		start := time.Now()
		cmd := program(t, ctx, dir, "import", "--collection", "x", file, "--into", filepath.Join(dir, "out.gpkg"),
			"--feature-memory", "256")
		out, err := cmd.CombinedOutput()
		if err == nil {
			t.Errorf("%s is imported", name)
		}
		t.Logf("%s: %.300s", name, out)
		figure(t, "import of "+name+", `--feature-memory 256`: most memory", most(cmd), 512<<20)
		figure(t, "  until it is refused", time.Since(start), 20*time.Second)
	}
}

// TestAttackHostileFiles: GeoPackages with bytes turned at random are served in part or refused with words;
// nothing panics, hangs or takes much memory.
func TestAttackHostileFiles(t *testing.T) {
	attack(t)
	dir := t.TempDir()
	good := filepath.Join(dir, "good.gpkg")
	if out, err := program(t, t.Context(), dir, "register", "generate", "--places", "50", "--out", good).
		CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	whole, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	files := repeats(t, 60)
	seed := mathrand.Uint64()
	t.Logf("seed %d", seed)
	r := mathrand.New(mathrand.NewPCG(seed, 1))
	panics, hangs, peak := 0, 0, size(0)
	for i := range files {
		b := append([]byte(nil), whole...)
		for range 1 + r.IntN(200) {
			b[r.IntN(len(b))] = byte(r.Uint32())
		}
		if i%5 == 0 {
			b = b[:r.IntN(len(b))]
		}
		file := filepath.Join(dir, fmt.Sprintf("hostile%d.gpkg", i))
		if err := os.WriteFile(file, b, 0o600); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		cmd := program(t, ctx, dir, "check", file)
		out, _ := cmd.CombinedOutput()
		if ctx.Err() != nil {
			hangs++
		}
		cancel()
		if s := string(out); strings.Contains(s, "panic") || strings.Contains(s, "goroutine ") ||
			strings.Contains(s, "runtime error") {
			panics++
			t.Logf("%d: %.1000s", i, s)
		}
		peak = max(peak, most(cmd))
		os.Remove(file)
	}
	figure(t, fmt.Sprintf("%d GeoPackages with broken bytes: panics", files), panics, 0)
	figure(t, "  that took more than 20 s", hangs, 0)
	figure(t, "  most memory", peak, 256<<20)
}

// writeTLS writes a certificate for localhost and example.org and its key into dir.
func writeTLS(t *testing.T, dir string) *x509.CertPool {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"localhost", "example.org"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string]*pem.Block{"cert.pem": {Type: "CERTIFICATE", Bytes: der},
		"key.pem": {Type: "PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(b), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if c, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(c)
	return pool
}

// tookOf lists how long requests of a path took by the log of the server, in which clients and
// connections do not count.
func tookOf(log []byte, path string) (times []time.Duration) {
	for line := range bytes.Lines(log) {
		var l struct {
			Path string
			Took time.Duration
		}
		if json.Unmarshal(line, &l) == nil && l.Path == path {
			times = append(times, l.Took)
		}
	}
	return times
}

// TestAttackHTTP2Resets: streams of HTTP/2 that are reset as soon as they are asked leave others' answers quick,
// and no error in the log.
func TestAttackHTTP2Resets(t *testing.T) {
	attack(t)
	dir := t.TempDir()
	pool := writeTLS(t, dir)
	probe, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := probe.Addr().String()
	probe.Close()
	attacker, key := createKey(t, dir), createKey(t, dir)
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	cmd := program(t, context.WithoutCancel(t.Context()), dir, "serve", "--addr", addr, "--base-url", "https://"+addr,
		"--tls-cert", dir+"/cert.pem", "--tls-key", dir+"/key.pem", "--log-format", "json")
	cmd.Stderr = log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s := &serving{base: "https://" + addr, addr: addr, dir: dir, cmd: cmd}
	defer func() { cmd.Process.Signal(syscall.SIGTERM); cmd.Wait() }()
	client := func() *http.Client {
		return &http.Client{Timeout: patience, Transport: &http.Transport{ForceAttemptHTTP2: true, MaxConnsPerHost: 1,
			TLSClientConfig: &tls.Config{RootCAs: pool}}}
	}
	other := &asker{s: s, key: key, client: client()}
	await.True(t, "an item", func() bool {
		code, _, _, err := other.ask(t.Context(), "/collections/kommuner/items/0301")
		return err == nil && code == http.StatusOK
	})
	ctx, cancel := context.WithTimeout(t.Context(), phase(t, 15*time.Second))
	defer cancel()
	var all sync.WaitGroup
	noise := quiet(t)
	var machine time.Duration
	all.Go(func() { machine = noise(ctx) })
	var resets atomic.Int64
	for range 4 {
		c := client()
		for range 10 {
			all.Go(func() {
				for ctx.Err() == nil && resets.Load() < 50_000 {
					one, stop := context.WithCancel(ctx)
					req, _ := http.NewRequestWithContext(one, http.MethodGet,
						s.base+"/collections/kommuner/items?limit=300", nil)
					req.Header.Set("X-API-Key", attacker)
					time.AfterFunc(time.Duration(mathrand.IntN(3))*time.Millisecond, stop)
					if resp, err := c.Do(req); err == nil {
						if resp.ProtoMajor != 2 {
							t.Error(resp.Proto)
						}
						resp.Body.Close()
					}
					stop()
					resets.Add(1)
					await.Pace(5 * time.Millisecond) // the clients share this machine with the server
				}
			})
		}
	}
	item, bad := other.beside(ctx, "/collections/kommuner/items/0301", 20*time.Millisecond)
	all.Wait()
	b, err := os.ReadFile(log.Name())
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d items", len(item))
	latency(t, fmt.Sprintf("%d streams of HTTP/2 reset by 4 connections: p99 of another client's item", resets.Load()),
		p99(item), machine, 100*time.Millisecond)
	figure(t, "  its answers other than 200", bad, 0)
	latency(t, "  the server's part of it, by its log", p99(tookOf(b, "/collections/kommuner/items/0301")), machine,
		100*time.Millisecond)
	figure(t, "  errors in the log", strings.Count(string(b), `"level":"ERROR"`), 0)
	figure(t, "  most memory", s.peak(t), 512<<20)
}
