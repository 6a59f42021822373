package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"grense/internal/apikey"
	"grense/internal/config"
)

// certificate is a TLS certificate that can be reloaded while in use.
type certificate struct {
	files   config.TLS
	current atomic.Pointer[tls.Certificate]
}

// loadCertificate loads the configured certificate; nil if none is configured.
func loadCertificate(files config.TLS) (*certificate, error) {
	if !files.Enabled() {
		return nil, nil
	}
	c := &certificate{files: files}
	return c, c.reload()
}

func (c *certificate) reload() error {
	pair, err := tls.LoadX509KeyPair(c.files.Cert, c.files.Key)
	if err != nil {
		return fmt.Errorf(
			"cannot use the certificate: %w; --tls-cert and --tls-key name PEM files that belong together", err)
	}
	c.current.Store(&pair)
	return nil
}

// end returns when the certificate ends.
func (c *certificate) end() time.Time { return c.current.Load().Leaf.NotAfter }

// watch warns once a day of a certificate that ends soon, until ctx ends.
func (c *certificate) watch(ctx context.Context, log *slog.Logger) {
	tick := time.NewTicker(24 * time.Hour)
	defer tick.Stop()
	for {
		if end := c.end(); time.Until(end) < apikey.EndsSoon {
			log.Warn("the TLS certificate ends soon, or has ended; replace the files and send SIGHUP",
				"file", c.files.Cert, "end", end.UTC().Format(time.RFC3339))
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
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.current.Load(), nil },
	}
}
