package main_test

import (
	"crypto/tls"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"grense/internal/await"
)

// TestAcceptACME obtains a certificate from Pebble, the test authority of Let's Encrypt, serves with it, and serves
// with it again after a restart, when the authority is away.
func TestAcceptACME(t *testing.T) {
	if os.Getenv("GRENSE_ACCEPT") == "" {
		t.Skip("Pebble runs in make accept")
	}
	for _, program := range []string{"pebble", "pebble-challtestsrv"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("NOT TESTED: ACME, since there is no %s; install the Debian package pebble", program)
		}
	}
	const host = "divisions.example.org"
	dir, addr, dns, metrics := t.TempDir(), freeAddress(t), freeAddress(t), freeAddress(t)
	pool := writeTLS(t, dir) // of the authority's own address
	runProgram(t, nil, "pebble-challtestsrv", "-dns01", dns, "-defaultIPv6", "", "-http01", "", "-https01", "",
		"-tlsalpn01", "", "-management", freeAddress(t))
	directory := "https://" + strings.Replace(freeAddress(t), "127.0.0.1", "localhost", 1) + "/dir"
	_, port, _ := net.SplitHostPort(addr)
	conf := fmt.Sprintf(`{"pebble": {"listenAddress": %q, "managementListenAddress": %q, "certificate": %q,
		"privateKey": %q, "httpPort": 1, "tlsPort": %s}}`, strings.TrimSuffix(directory[len("https://"):], "/dir"),
		freeAddress(t), filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem"), port)
	if err := os.WriteFile(filepath.Join(dir, "pebble.json"), []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	stopPebble, _ := runProgram(t, []string{"PEBBLE_VA_NOSLEEP=1", "PEBBLE_WFE_NONCEREJECT=20"},
		"pebble", "-config", filepath.Join(dir, "pebble.json"), "-dnsserver", dns)
	trusting := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}}
	await.Success(t, "Pebble answers", func() error {
		res, err := trusting.Get(directory)
		if err == nil {
			res.Body.Close()
		}
		return err
	})
	begin := func() (stop func(), log *output) {
		return runProgram(t, []string{"HOME=" + dir, "GRENSE_ADDR=" + addr, "GRENSE_TLS_ACME_HOSTS=" + host,
			"GRENSE_TLS_ACME_DIRECTORY=" + directory, "GRENSE_TLS_ACME_EMAIL=drift@example.org", "GRENSE_AUTH=open",
			"GRENSE_METRICS_ADDR=" + metrics, "SSL_CERT_FILE=" + filepath.Join(dir, "cert.pem"),
			"GRENSE_LIMITS_DRAIN_WAIT=0s"}, rootPath(t, "bin", "grense"), "serve")
	}
	stop, log := begin()
	first := servedBy(t, addr, host)
	if issuer := first.Issuer.CommonName; !strings.Contains(issuer, "Pebble") {
		t.Errorf("the certificate is by %q", issuer)
	}
	await.Success(t, "the metric has the end of the certificate", func() error {
		res, err := http.Get("http://" + metrics + "/metrics")
		if err != nil {
			return err
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		if !strings.Contains(string(text), "\ngrense_certificate_end_timestamp_seconds "+
			strconv.FormatFloat(float64(first.NotAfter.Unix()), 'g', -1, 64)+"\n") {
			return fmt.Errorf("it has not: %v", err)
		}
		return nil
	})
	res, err := tlsClient(addr, host, "").Get("https://" + host + "/?f=json")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	links, err := io.ReadAll(res.Body)
	if err != nil || !strings.Contains(string(links), `"https://`+host+`/collections`) {
		t.Errorf("links do not begin with the first host: %v\n%.300s", err, links)
	}
	health := program(t, t.Context(), dir, "health")
	health.Env = append(health.Env, "GRENSE_ADDR="+addr, "GRENSE_TLS_ACME_HOSTS="+host)
	if out, err := health.CombinedOutput(); err != nil {
		t.Errorf("health: %v\n%s", err, out)
	}
	stop()
	if text := log.String(); !strings.Contains(text, "the certificate is there") ||
		strings.Contains(text, "level=ERROR") {
		t.Errorf("log:\n%s", text)
	}
	othersMayNotRead(t, filepath.Join(dir, ".local/share/grense/acme"))

	stopPebble()
	stop, log = begin()
	if again := servedBy(t, addr, host); !again.Equal(first) {
		t.Errorf("after a restart the certificate is another one, until %s", again.NotAfter)
	}
	stop()
	if text := log.String(); strings.Contains(text, "no certificate could be obtained") {
		t.Errorf("log after the restart:\n%s", text)
	}
}

// othersMayNotRead checks a folder with keys, and what is in it.
func othersMayNotRead(t *testing.T, dir string) {
	t.Helper()
	n := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("others can read %s: %s", path, info.Mode())
		}
		n++
		return err
	})
	if err != nil || n < 3 {
		t.Errorf("%d files in %s: %v", n, dir, err)
	}
}
