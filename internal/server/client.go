package server

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
)

// routePath returns the path below the base URL, escaped as it came, without a slash at the end. It works whether or
// not a proxy removes the path of the base URL.
func (s *Kit) routePath(u *url.URL) string {
	p := u.EscapedPath()
	if s.prefix != "" {
		if rest, ok := strings.CutPrefix(p, s.prefix); ok && (rest == "" || rest[0] == '/') {
			p = rest
		}
	}
	if p = strings.TrimSuffix(p, "/"); p == "" {
		return "/"
	}
	return p
}

// address returns the URL at the start of links, and the address of the client: the configured URL and the peer, or the
// values that a trusted proxy sends. It ignores the Host header of clients.
func (s *Kit) address(r *http.Request) (root, client string) {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return s.Root, ""
	}
	peer, err := netip.ParseAddr(host)
	if err != nil {
		return s.Root, ""
	}
	trusted := len(s.Config.TrustedProxies) > 0
	if peer.Is4() && !trusted {
		return s.Root, host
	}
	peer = peer.Unmap().WithZone("")
	if !trusted || !s.trusts(peer) {
		return s.Root, peer.String()
	}
	return s.forwarded(r.Header), s.client(peer, r.Header).String()
}

func (s *Kit) trusts(peer netip.Addr) bool {
	return slices.ContainsFunc(s.Config.TrustedProxies, func(p netip.Prefix) bool { return p.Contains(peer) })
}

// mostHops bounds the chain of trusted proxies.
const mostHops = 16

// client returns the nearest address that is not a trusted proxy, from Forwarded (RFC 7239) or X-Forwarded-For, read
// from right to left. A malformed or hidden element ends the search; the last known address counts.
func (s *Kit) client(peer netip.Addr, h http.Header) netip.Addr {
	hops := h.Values("X-Forwarded-For")
	if f := h.Values("Forwarded"); len(f) > 0 {
		hops = nil
		for _, element := range strings.Split(strings.Join(f, ","), ",") {
			hops = append(hops, forOf(element))
		}
	} else {
		hops = strings.Split(strings.Join(hops, ","), ",")
	}
	for n := 0; len(hops) > 0 && n < mostHops && s.trusts(peer); n++ {
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

// shareOf returns the owner of an address in rates and queues: an IPv4 address, or the /64 network of an IPv6 address,
// which belongs to one subscriber (RFC 6177).
func shareOf(client string) string {
	if !strings.Contains(client, ":") {
		return client
	}
	a, err := netip.ParseAddr(client)
	if err != nil || a.Is4() {
		return client
	}
	p, _ := a.Prefix(64) // an address of 128 bits has 64
	return p.String()
}

// hostPattern matches a forwarded host: a name or an address, with an optional port.
var hostPattern = regexp.MustCompile(
	`^(?:[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?|\[[0-9A-Fa-f:.]{2,45}\])(?::[0-9]{1,5})?$`)

// prefixPattern matches a forwarded path.
var prefixPattern = regexp.MustCompile(`^(?:/[A-Za-z0-9._~-]{1,64}){1,8}/?$`)

// forwarded returns the URL in Forwarded (RFC 7239) or X-Forwarded-* of the nearest proxy. The base URL replaces
// missing or malformed parts.
func (s *Kit) forwarded(h http.Header) string {
	base, _ := url.Parse(s.Root)
	proto, host, prefix := base.Scheme, base.Host, s.prefix
	set := func(p, ho string) {
		if p = strings.ToLower(p); p == "http" || p == "https" {
			proto = p
		}
		if hostPattern.MatchString(ho) {
			host = ho
		}
	}
	if f := h.Values("Forwarded"); len(f) > 0 {
		var p, ho string
		for pair := range strings.SplitSeq(lastElement(f), ";") {
			k, v, _ := strings.Cut(strings.TrimSpace(pair), "=")
			switch strings.ToLower(k) {
			case "proto":
				p = strings.Trim(v, `"`)
			case "host":
				ho = strings.Trim(v, `"`)
			}
		}
		set(p, ho)
	} else {
		set(lastElement(h.Values("X-Forwarded-Proto")), lastElement(h.Values("X-Forwarded-Host")))
	}
	if p := lastElement(h.Values("X-Forwarded-Prefix")); prefixPattern.MatchString(p) &&
		path.Clean(p) == strings.TrimSuffix(p, "/") {
		prefix = strings.TrimSuffix(p, "/")
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
