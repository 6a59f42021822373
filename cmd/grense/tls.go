package main

import (
	"crypto/tls"
	"fmt"
	"sync/atomic"

	"grense/internal/config"
)

// certificate is a certificate that can be reloaded while it is in use.
type certificate struct {
	files   config.TLS
	current atomic.Pointer[tls.Certificate]
}

// loadCertificate reads the configured certificate; nil without error when there is none.
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

// config returns what a listener needs to use the certificate, always the newest.
func (c *certificate) config() *tls.Config {
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.current.Load(), nil },
	}
}
