package certificate

import (
	"context"
	"crypto/tls"
	"log/slog"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/crypto/acme"
	"golang.org/x/crypto/acme/autocert"

	"grense/internal/config"
)

// acmeDir is the folder in the data directory for the account and the certificates of tls.acme.
const acmeDir = "acme"

// acmeRetry is the time between two attempts to obtain a certificate. Authorities allow a few failures an hour.
const acmeRetry = 15 * time.Minute

// newManager returns what obtains and renews certificates by ACME (RFC 8555), and answers challenges on the listener
// of the API (tls-alpn-01, RFC 8737).
func newManager(c config.ACME, dataDir, version string) *autocert.Manager {
	return &autocert.Manager{
		Prompt:     autocert.AcceptTOS,
		Cache:      autocert.DirCache(filepath.Join(dataDir, acmeDir)),
		HostPolicy: autocert.HostWhitelist(c.Hosts...),
		Email:      c.Email,
		Client:     &acme.Client{DirectoryURL: c.Directory, UserAgent: "grense/" + version},
	}
}

// obtain gets a certificate for each host, so that the first client need not wait for it. It returns when all are
// there, or ctx ends.
func (c *Certificate) obtain(ctx context.Context, log *slog.Logger) {
	missing := slices.Clone(c.files.ACME.Hosts)
	for {
		missing = slices.DeleteFunc(missing, func(host string) bool {
			cert, err := c.get(&tls.ClientHelloInfo{ServerName: host,
				CipherSuites: []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256}})
			if err != nil {
				log.Warn("no certificate could be obtained; port 443 of the host must lead to this server",
					"host", host, "retry_minutes", acmeRetry.Minutes(), "err", err)
				return false
			}
			log.Info("the certificate is there", "host", host, "end", cert.Leaf.NotAfter.UTC().Format(time.RFC3339))
			return true
		})
		if len(missing) == 0 {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(acmeRetry):
		}
	}
}

// get returns the certificate for a handshake. By ACME that may take a minute, the first time.
func (c *Certificate) get(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	if c.manager == nil {
		return c.current.Load(), nil
	}
	challenge := slices.Contains(hello.SupportedProtos, acme.ALPNProto)
	if !challenge && !slices.Contains(c.files.ACME.Hosts, hello.ServerName) { // such as a health check by address
		if last := c.current.Load(); last != nil {
			return last, nil
		}
	}
	cert, err := c.manager.GetCertificate(hello)
	if err == nil && !challenge {
		c.current.Store(cert)
	}
	return cert, err
}
