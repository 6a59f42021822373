package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"golang.org/x/crypto/acme"
	"golang.org/x/crypto/acme/autocert"

	"grense/internal/apikey"
	"grense/internal/config"
)

// certificate is a TLS certificate from files, which can be reloaded while in use, or by ACME.
type certificate struct {
	files   config.TLS
	manager *autocert.Manager               // nil: from files
	current atomic.Pointer[tls.Certificate] // nil: there is none yet
}

// loadCertificate loads the configured certificate, or prepares to obtain it; nil if none is configured.
func loadCertificate(cfg config.Config) (*certificate, error) {
	if !cfg.TLS.Enabled() {
		return nil, nil
	}
	c := &certificate{files: cfg.TLS}
	if len(cfg.TLS.ACME.Hosts) > 0 {
		c.manager = newManager(cfg.TLS.ACME, cfg.DataDir)
		return c, nil
	}
	return c, c.reload()
}

// reload reads the files again.
func (c *certificate) reload() error {
	if c.manager != nil {
		return nil
	}
	pair, err := tls.LoadX509KeyPair(c.files.Cert, c.files.Key)
	if err != nil {
		return fmt.Errorf(
			"cannot use the certificate: %w; --tls-cert and --tls-key name PEM files that belong together", err)
	}
	c.current.Store(&pair)
	return nil
}

// end returns when the certificate ends; zero if there is none yet.
func (c *certificate) end() time.Time {
	if cert := c.current.Load(); cert != nil {
		return cert.Leaf.NotAfter
	}
	return time.Time{}
}

// watch obtains certificates by ACME, and warns once a day of one that ends soon, until ctx ends.
func (c *certificate) watch(ctx context.Context, log *slog.Logger) {
	cure := "replace the files and send SIGHUP"
	if c.manager != nil {
		c.obtain(ctx, log)
		cure = "it should have been renewed; port 443 of the host must lead to this server"
	}
	tick := time.NewTicker(24 * time.Hour)
	defer tick.Stop()
	for {
		if end := c.end(); !end.IsZero() && time.Until(end) < apikey.EndsSoon {
			log.Warn("the TLS certificate ends soon, or has ended; "+cure, "file", c.files.Cert,
				"end", end.UTC().Format(time.RFC3339))
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// config returns a TLS configuration that always uses the latest certificate.
func (c *certificate) config() *tls.Config {
	t := &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: c.get}
	if c.manager != nil {
		t.NextProtos = []string{"h2", "http/1.1", acme.ALPNProto}
	}
	return t
}
