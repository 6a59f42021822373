package processes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"grense/internal/problem"
	"grense/internal/state"
)

// outgoing sends requests to other servers. It requests only addresses that the operator allows. It connects to a name
// only if all addresses of the name are public, and does not follow redirects.
type outgoing struct {
	allow  []string
	public func(netip.Addr) bool
	client *http.Client
}

// Limits of a request to another server.
const (
	outgoingTime  = 10 * time.Second // until the header of the response
	outgoingBytes = 256 << 20        // of a response body
)

func newOutgoing(allow []string, public func(netip.Addr) bool) *outgoing {
	o := &outgoing{allow: allow, public: public}
	o.client = &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{DialContext: o.dial, TLSHandshakeTimeout: outgoingTime,
			ResponseHeaderTimeout: outgoingTime, DisableKeepAlives: true, DisableCompression: true},
	}
	return o
}

// allowed reports whether an address begins with an allowed one: the same scheme, host and port, and the same first
// path segments.
func (o *outgoing) allowed(u *url.URL) bool {
	if u.User != nil || u.Fragment != "" || u.Host == "" || strings.Contains(u.EscapedPath(), "..") ||
		strings.Contains(strings.ToLower(u.EscapedPath()), "%2") {
		return false
	}
	for _, prefix := range o.allow {
		a, err := url.Parse(prefix)
		if err != nil || !strings.EqualFold(a.Scheme, u.Scheme) || !strings.EqualFold(a.Host, u.Host) {
			continue
		}
		path := strings.TrimSuffix(a.EscapedPath(), "/")
		if p := u.EscapedPath(); p == path || strings.HasPrefix(p, path+"/") {
			return true
		}
	}
	return false
}

// errPrivate reports a host name with an address that is not public.
var errPrivate = errors.New("server: the name leads to an address that is not public")

// dial resolves a name once and connects to one of its addresses, all of which must be public.
func (o *outgoing) dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, outgoingTime)
	defer cancel()
	found, err := o.resolve(ctx, host)
	if err != nil {
		return nil, err
	}
	for _, a := range found {
		var c net.Conn
		if c, err = (&net.Dialer{}).DialContext(ctx, network, net.JoinHostPort(a.Unmap().String(), port)); err == nil {
			return c, nil
		}
	}
	return nil, err
}

// resolve returns the addresses of a host, or errPrivate if one of them is not public.
func (o *outgoing) resolve(ctx context.Context, host string) ([]netip.Addr, error) {
	found, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil, err
	}
	for _, a := range found {
		if !o.public(a.Unmap()) {
			return nil, fmt.Errorf("%s: %w", host, errPrivate)
		}
	}
	return found, nil
}

// resolveTime bounds the check of a subscriber's host while the client waits.
const resolveTime = 2 * time.Second

// private reports whether the host of an address is known to have an address that is not public.
func (o *outgoing) private(ctx context.Context, u *url.URL) bool {
	ctx, cancel := context.WithTimeout(ctx, resolveTime)
	defer cancel()
	_, err := o.resolve(ctx, u.Hostname())
	return errors.Is(err, errPrivate)
}

// reservedBlocks are address blocks without public hosts that netip does not know (RFC 6890).
var reservedBlocks = func() (out []netip.Prefix) {
	for _, s := range []string{"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24",
		"198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4",
		"::/96", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20",
		"5f00::/16", "fec0::/10"} {
		out = append(out, netip.MustParsePrefix(s))
	}
	return out
}()

func isPublic(a netip.Addr) bool {
	if !a.IsValid() || a.Zone() != "" || !a.IsGlobalUnicast() || a.IsPrivate() || a.IsLoopback() ||
		a.IsLinkLocalUnicast() {
		return false
	}
	for _, p := range reservedBlocks {
		if p.Contains(a) {
			return false
		}
	}
	return true
}

// get requests an allowed address and returns the body and its media type.
func (o *outgoing) get(ctx context.Context, u *url.URL) (io.ReadCloser, string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, "", problem.New(problem.Invalid, err, "the address cannot be read")
	}
	res, err := o.client.Do(req)
	switch {
	case errors.Is(err, errPrivate):
		return nil, "", problem.New(problem.Invalid, err, "the name of the host leads to an address that is not public")
	case err != nil && ctx.Err() != nil:
		return nil, "", ctx.Err()
	case err != nil:
		return nil, "", problem.New(problem.Invalid, err, "the host does not answer")
	case res.StatusCode != http.StatusOK:
		res.Body.Close()
		return nil, "", problem.New(problem.Invalid, nil, "the address answers %d %s; redirects are not followed",
			res.StatusCode, http.StatusText(res.StatusCode))
	}
	return boundedBody{http.MaxBytesReader(nil, res.Body, outgoingBytes)}, res.Header.Get("Content-Type"), nil
}

// boundedBody returns problem.TooLarge for a body that is too long.
type boundedBody struct{ io.ReadCloser }

func (b boundedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		err = problem.New(problem.TooLarge, err, "What an input refers to has at most %d bytes.", outgoingBytes)
	}
	return n, err
}

// post sends JSON about a job to an allowed address once, with the id and the trace of the request that created the
// job. It fails unless the status is 2xx. The error does not contain the address, which may hold a secret.
func (o *outgoing) post(ctx context.Context, j *state.Job, address string, body io.ReadCloser) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, body)
	if err != nil {
		body.Close()
		return errors.New("server: the address cannot be read")
	}
	req.Header.Set("Content-Type", "application/json")
	var made jobRequest
	if json.Unmarshal(j.Request, &made) == nil && made.RequestID != "" {
		req.Header.Set("X-Request-Id", made.RequestID)
		if made.Trace != "" {
			req.Header.Set("Traceparent", made.Trace)
		}
	}
	res, err := o.client.Do(req)
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err
	}
	if err != nil {
		return err
	}
	res.Body.Close()
	if res.StatusCode/100 != 2 {
		return fmt.Errorf("server: it answers %d", res.StatusCode)
	}
	return nil
}
