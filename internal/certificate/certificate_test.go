package certificate_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"log/slog"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"grense/internal/certificate"
	"grense/internal/config"
)

// write writes a certificate that ends at a time, and returns a configuration that names its files in dir.
func write(t *testing.T, dir string, end time.Time) config.Config {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	of := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"localhost"}, NotAfter: end}
	cert, err := x509.CreateCertificate(rand.Reader, of, of, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	var cfg config.Config
	cfg.TLS.Cert, cfg.TLS.Key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for name, block := range map[string]*pem.Block{cfg.TLS.Cert: {Type: "CERTIFICATE", Bytes: cert},
		cfg.TLS.Key: {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(name, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cfg
}

// TestFilesAreReadAgain: a certificate that cannot be read changes nothing.
func TestFilesAreReadAgain(t *testing.T) {
	t.Parallel()
	dir, end := t.TempDir(), time.Now().Add(time.Hour).UTC().Truncate(time.Second)
	cfg := write(t, dir, end)
	c, err := certificate.Load(cfg, "test")
	if err != nil {
		t.Fatal(err)
	}
	serves := func(want time.Time) {
		t.Helper()
		cert, err := c.Config().GetCertificate(&tls.ClientHelloInfo{ServerName: "localhost"})
		if err != nil || !cert.Leaf.NotAfter.Equal(want) || !c.End().Equal(want) {
			t.Errorf("%v, %v; want the end %v", c.End(), err, want)
		}
	}
	serves(end)
	if err := os.WriteFile(cfg.TLS.Cert, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := c.Reload(); err == nil || !strings.Contains(err.Error(), "--tls-cert and --tls-key") {
		t.Errorf("a file that holds none: %v", err)
	}
	serves(end)
	write(t, dir, end.Add(time.Hour))
	if err := c.Reload(); err != nil {
		t.Fatal(err)
	}
	serves(end.Add(time.Hour))
}

func TestWithoutFilesThereIsNone(t *testing.T) {
	t.Parallel()
	if c, err := certificate.Load(config.Config{}, "test"); c != nil || err != nil {
		t.Errorf("%v, %v", c, err)
	}
}

// TestACertificateThatEndsSoonIsWarnedOf once a day.
func TestACertificateThatEndsSoonIsWarnedOf(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		day := 24 * time.Hour
		c, err := certificate.Load(write(t, t.TempDir(), time.Now().Add(15*day)), "test")
		if err != nil {
			t.Fatal(err)
		}
		var log bytes.Buffer
		ctx, cancel := context.WithTimeout(t.Context(), 3*day+time.Hour)
		defer cancel()
		c.Watch(ctx, slog.New(slog.NewTextHandler(&log, nil)))
		if n := strings.Count(log.String(), "ends soon"); n != 2 {
			t.Errorf("warned %d times in the days 0 to 3 of 15:\n%s", n, log.String())
		}
	})
}
