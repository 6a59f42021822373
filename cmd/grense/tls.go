package main

import (
	"crypto/tls"
	"fmt"
	"sync/atomic"

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

// config returns a TLS configuration that always uses the latest certificate.
func (c *certificate) config() *tls.Config {
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.current.Load(), nil },
	}
}
