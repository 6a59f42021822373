// Package certificate provides the TLS certificate of a server, from files or by ACME, and replaces it while in use.
package certificate

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"golang.org/x/crypto/acme"
	"golang.org/x/crypto/acme/autocert"

	"grense/internal/config"
)

// endsSoon is how long before its end a certificate is warned of.
const endsSoon = 14 * 24 * time.Hour

// Certificate is a TLS certificate from files, which can be reloaded while in use, or by ACME.
type Certificate struct {
	files   config.TLS
	manager *autocert.Manager               // nil: from files
	current atomic.Pointer[tls.Certificate] // nil: there is none yet
}

// Load loads the configured certificate, or prepares to obtain it, as a program of a version; nil if none is
// configured.
func Load(cfg config.Config, version string) (*Certificate, error) {
	if !cfg.TLS.Enabled() {
		return nil, nil
	}
	c := &Certificate{files: cfg.TLS}
	if len(cfg.TLS.ACME.Hosts) > 0 {
		c.manager = newManager(cfg.TLS.ACME, cfg.DataDir, version)
		return c, nil
	}
	return c, c.Reload()
}

// Reload reads the files again.
func (c *Certificate) Reload() error {
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

// End returns when the certificate ends; zero if there is none yet.
func (c *Certificate) End() time.Time {
	if cert := c.current.Load(); cert != nil {
		return cert.Leaf.NotAfter
	}
	return time.Time{}
}

// Watch obtains certificates by ACME, and warns once a day of one that ends soon, until ctx ends.
func (c *Certificate) Watch(ctx context.Context, log *slog.Logger) {
	cure := "replace the files and send SIGHUP"
	if c.manager != nil {
		c.obtain(ctx, log)
		cure = "it should have been renewed; port 443 of the host must lead to this server"
	}
	tick := time.NewTicker(24 * time.Hour)
	defer tick.Stop()
	for {
		if end := c.End(); !end.IsZero() && time.Until(end) < endsSoon {
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

// Config returns a TLS configuration that always uses the latest certificate.
func (c *Certificate) Config() *tls.Config {
	t := &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: c.get}
	if c.manager != nil {
		t.NextProtos = []string{"h2", "http/1.1", acme.ALPNProto}
	}
	return t
}
