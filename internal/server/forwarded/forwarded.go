// Package forwarded reads from the headers of trusted proxies where a request came from and under which address the
// service was reached (RFC 7239, and X-Forwarded-*).
package forwarded

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Proxies are the proxies whose headers count, in front of a service with a configured address.
type Proxies struct {
	trusted []netip.Prefix
	base    *url.URL
	root    string // base without a slash at the end
	prefix  string // path of root, "" or "/geo"
}

// New returns the proxies at trusted addresses, in front of a service at baseURL.
func New(baseURL string, trusted []netip.Prefix) (*Proxies, error) {
	root := strings.TrimSuffix(baseURL, "/")
	base, err := url.Parse(root)
	if err != nil {
		return nil, fmt.Errorf("base URL: %w", err)
	}
	return &Proxies{trusted: trusted, base: base, root: root, prefix: base.EscapedPath()}, nil
}

// Path returns the path below the base URL, escaped as it came, without a slash at the end. It works whether or not a
// proxy removes the path of the base URL.
func (p *Proxies) Path(u *url.URL) string {
	path := u.EscapedPath()
	if p.prefix != "" {
		if rest, ok := strings.CutPrefix(path, p.prefix); ok && (rest == "" || rest[0] == '/') {
			path = rest
		}
	}
	if path = strings.TrimSuffix(path, "/"); path == "" {
		return "/"
	}
	return path
}

// Sent reports whether a request comes from a trusted proxy.
func (p *Proxies) Sent(r *http.Request) bool {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	return err == nil && p.trusts(peer.Addr().Unmap().WithZone(""))
}

// Address returns the URL at the start of links, and the address of the client: the configured URL and the peer, or the
// values that a trusted proxy sends. It ignores the Host header of clients.
func (p *Proxies) Address(r *http.Request) (root, client string) {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return p.root, ""
	}
	peer, err := netip.ParseAddr(host)
	if err != nil {
		return p.root, ""
	}
	trusted := len(p.trusted) > 0
	if peer.Is4() && !trusted {
		return p.root, host
	}
	peer = peer.Unmap().WithZone("")
	if !trusted || !p.trusts(peer) {
		return p.root, peer.String()
	}
	return p.forwarded(r.Header), p.client(peer, r.Header).String()
}

func (p *Proxies) trusts(peer netip.Addr) bool {
	return slices.ContainsFunc(p.trusted, func(at netip.Prefix) bool { return at.Contains(peer) })
}

// mostHops bounds the chain of trusted proxies.
const mostHops = 16

// client returns the nearest address that is not a trusted proxy, from Forwarded (RFC 7239) or X-Forwarded-For, read
// from right to left. A malformed or hidden element ends the search; the last known address counts.
func (p *Proxies) client(peer netip.Addr, h http.Header) netip.Addr {
	hops := h.Values("X-Forwarded-For")
	if f := h.Values("Forwarded"); len(f) > 0 {
		hops = nil
		for _, element := range strings.Split(strings.Join(f, ","), ",") {
			hops = append(hops, forOf(element))
		}
	} else {
		hops = strings.Split(strings.Join(hops, ","), ",")
	}
	for n := 0; len(hops) > 0 && n < mostHops && p.trusts(peer); n++ {
		last := strings.TrimSpace(hops[len(hops)-1])
		hops = hops[:len(hops)-1]
		if at, err := netip.ParseAddrPort(last); err == nil {
			last = at.Addr().String()
		}
		next, err := netip.ParseAddr(strings.Trim(last, "[]"))
		if err != nil {
			break
		}
		peer = next.Unmap().WithZone("")
	}
	return peer
}

// forOf returns the parameter for of an element of Forwarded; "" if it has none.
func forOf(element string) string {
	for pair := range strings.SplitSeq(element, ";") {
		if k, v, _ := strings.Cut(strings.TrimSpace(pair), "="); strings.EqualFold(k, "for") {
			return strings.Trim(v, `"`)
		}
	}
	return ""
}

// hostPattern matches a forwarded host: a name or an address, with an optional port.
var hostPattern = regexp.MustCompile(
	`^(?:[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?|\[[0-9A-Fa-f:.]{2,45}\])(?::[0-9]{1,5})?$`)

// prefixPattern matches a forwarded path.
var prefixPattern = regexp.MustCompile(`^(?:/[A-Za-z0-9._~-]{1,64}){1,8}/?$`)

// forwarded returns the URL in Forwarded (RFC 7239) or X-Forwarded-* of the nearest proxy. The base URL replaces
// missing or malformed parts.
func (p *Proxies) forwarded(h http.Header) string {
	proto, host, prefix := p.base.Scheme, p.base.Host, p.prefix
	set := func(scheme, at string) {
		if scheme = strings.ToLower(scheme); scheme == "http" || scheme == "https" {
			proto = scheme
		}
		if hostPattern.MatchString(at) {
			host = at
		}
	}
	if f := h.Values("Forwarded"); len(f) > 0 {
		var scheme, at string
		for pair := range strings.SplitSeq(lastElement(f), ";") {
			k, v, _ := strings.Cut(strings.TrimSpace(pair), "=")
			switch strings.ToLower(k) {
			case "proto":
				scheme = strings.Trim(v, `"`)
			case "host":
				at = strings.Trim(v, `"`)
			}
		}
		set(scheme, at)
	} else {
		set(lastElement(h.Values("X-Forwarded-Proto")), lastElement(h.Values("X-Forwarded-Host")))
	}
	if v := lastElement(h.Values("X-Forwarded-Prefix")); prefixPattern.MatchString(v) &&
		path.Clean(v) == strings.TrimSuffix(v, "/") {
		prefix = strings.TrimSuffix(v, "/")
	}
	return proto + "://" + host + prefix
}

// lastElement returns the last element of a list header: the one that the nearest proxy wrote.
func lastElement(values []string) string {
	if len(values) == 0 {
		return ""
	}
	v := values[len(values)-1]
	return strings.TrimSpace(v[strings.LastIndexByte(v, ',')+1:])
}
