package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"grense/internal/config"
)

// healthTimeout is the time limit of a health check.
const healthTimeout = 5 * time.Second

type healthCmd struct {
	URL   string `arg:"" optional:"" placeholder:"URL" help:"Address of the server, or unix:PATH. Defaults to the setting addr on this machine."`
	Ready bool   `help:"Also fail while the server cannot answer for its data (/readyz instead of /healthz)."`
	dataFlags
}

func (healthCmd) Help() string {
	return `Prints the answer of the server, and exits with 0 if it is healthy, else with 1. For container health checks.

Examples:
  grense health
  grense health --ready https://example.org/divisions`
}

func (c *healthCmd) Run(ctx context.Context, p *process) error {
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	base, client, err := c.server(p)
	if err != nil {
		return err
	}
	path := "/healthz"
	if c.Ready {
		path = "/readyz"
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+path, nil)
	if err != nil {
		return fmt.Errorf("%s is not an address; write for example http://localhost:8080", c.URL)
	}
	res, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("no answer: %w", err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, 4<<10))
	if err != nil {
		return fmt.Errorf("no answer: %w", err)
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("%s%s answers %s: %s", base, path, res.Status, strings.TrimSpace(string(text)))
	}
	_, err = p.Stdout.Write(text)
	return err
}

// server returns the address of the server, and a client that reaches it.
func (c *healthCmd) server(p *process) (base string, client *http.Client, err error) {
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment}
	client = &http.Client{Transport: transport}
	addr, scheme := c.URL, "http://"
	if addr == "" {
		cfg, err := c.load(p, "", nil)
		if err != nil {
			return "", nil, err
		}
		addr = cfg.Addr
		if cfg.TLS.Enabled() { // the certificate has the public name, not localhost
			scheme, transport.TLSClientConfig = "https://", &tls.Config{InsecureSkipVerify: true}
		}
	}
	path, socket := config.UnixSocket(addr)
	switch {
	case socket:
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", path)
		}
		return scheme + "localhost", client, nil
	case c.URL == "":
		return scheme + localAddr(addr), client, nil
	}
	return strings.TrimSuffix(addr, "/"), client, nil
}

// localAddr returns the address for connecting to a listener on addr from this machine. The host of addr may be empty
// or a wildcard.
func localAddr(addr string) string {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return addr
	}
	if ip, err := netip.ParseAddr(host); host == "" || err == nil && ip.IsUnspecified() {
		host = "localhost"
	}
	return net.JoinHostPort(host, port)
}
