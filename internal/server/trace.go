package server

import (
	"regexp"

	"grense/internal/apikey"
)

// requestID is what the identifier of a request may be, as a trusted proxy gives it in X-Request-Id.
var requestID = regexp.MustCompile(`^[0-9A-Za-z._:@=+/-]{1,128}$`)

// traceparent is the header of that name (W3C Trace Context, 3.2): version, trace id, parent id and flags.
var traceparent = regexp.MustCompile(`^(?:[0-9a-e][0-9a-f]|f[0-9a-e])-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}`)

// readIDs takes the identifier of the request from a trusted proxy, and the trace that the request belongs to.
func (s *Kit) readIDs(c *Call) {
	h := c.Request.Header
	if v := h["X-Request-Id"]; len(v) > 0 && requestID.MatchString(v[0]) && s.proxies.Sent(c.Request) &&
		apikey.Redact(v[0]) == v[0] {
		c.ID = v[0]
	}
	if v := h["Traceparent"]; len(v) == 1 && len(v[0]) >= 55 {
		if m := traceparent.FindStringSubmatch(v[0]); m != nil && !zeros(m[1]) && !zeros(m[2]) {
			c.Trace, c.traceID = v[0][:55], m[1]
		}
	}
}

func zeros(s string) bool {
	for i := range len(s) {
		if s[i] != '0' {
			return false
		}
	}
	return true
}
