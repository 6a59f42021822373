package server_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"regexp"
	"strings"
	"testing"

	"grense/internal/await"
	"grense/internal/config"
)

var ownID = regexp.MustCompile(`^[0-9a-f]{16}$`)

const (
	traceID   = "4bf92f3577b34da6a3ce929d0e0e4736"
	traceOf   = "00-" + traceID + "-00f067aa0ba902b7-01"
	zeroTrace = "00-00000000000000000000000000000000-00f067aa0ba902b7-01"
)

// byProxy trusts the address from which tests ask.
func byProxy(c *config.Config) {
	c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
}

// TestRequestIDIsThatOfATrustedProxy in header, log and problem document; that of anybody else, and what is no id, is
// replaced.
func TestRequestIDIsThatOfATrustedProxy(t *testing.T) {
	t.Parallel()
	trusting, plain := serve(t, "", byProxy), serve(t, "", nil)
	for _, c := range []struct {
		name, sent string
		a          *api
		taken      bool
	}{
		{"of a proxy", "lb-7/2026:11@x+y=.z_", trusting, true},
		{"of a client", "lb-7", plain, false},
		{"none", "", trusting, false},
		{"with a space", "a b", trusting, false},
		{"with quotes", `a"b`, trusting, false},
		{"too long", strings.Repeat("x", 129), trusting, false},
		{"with a key", "grense_abcdefgh_" + strings.Repeat("A", 38), trusting, false},
	} {
		r := c.a.get("/collections/kommuner/items?limit=x", "X-Request-Id", c.sent).wants(400)
		id := r.Header.Get("X-Request-Id")
		if c.taken && id != c.sent || !c.taken && !ownID.MatchString(id) {
			t.Errorf("%s: X-Request-Id %q, want that of the request: %v", c.name, id, c.taken)
		}
		if got := r.json()["instance"]; got != "urn:grense:request:"+id {
			t.Errorf("%s: instance %v in the problem document, want %s", c.name, got, id)
		}
		if !strings.Contains(c.a.logs.String(), `"request":"`+id+`"`) {
			t.Errorf("%s: the log does not have the request %s", c.name, id)
		}
	}
}

// TestTraceparentReachesLogAndProblems (W3C Trace Context, 3.2), of any client; what is malformed is ignored.
func TestTraceparentReachesLogAndProblems(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		sent string
		want any // traceId of the problem document
	}{
		"valid":            {traceOf, traceID},
		"a later version":  {"01-" + traceID + "-00f067aa0ba902b7-01-more", traceID},
		"none":             {"", nil},
		"zeros":            {zeroTrace, nil},
		"a parent of none": {"00-" + traceID + "-0000000000000000-01", nil},
		"capitals":         {strings.ToUpper(traceOf), nil},
		"version ff":       {"ff" + traceOf[2:], nil},
		"too short":        {traceOf[:54], nil},
	} {
		a := serve(t, "", nil)
		r := a.get("/collections/kommuner/items?limit=x", "Traceparent", c.sent).wants(400)
		if got := r.json()["traceId"]; got != c.want {
			t.Errorf("%s: traceId %v in the problem document, want %v", name, got, c.want)
		}
		if got := strings.Contains(a.logs.String(), `"trace":"`+traceID+`"`); got != (c.want != nil) {
			t.Errorf("%s: the log has the trace: %v\n%s", name, got, a.logs)
		}
	}
}

// TestCallbacksHaveTheIDAndTheTraceOfTheirRequest, so that the subscriber's log leads to ours.
func TestCallbacksHaveTheIDAndTheTraceOfTheirRequest(t *testing.T) {
	t.Parallel()
	type call struct{ id, trace string }
	got := make(chan call, 1)
	subscriber := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		got <- call{r.Header.Get("X-Request-Id"), r.Header.Get("Traceparent")}
	}))
	t.Cleanup(subscriber.Close)
	a := serveOptions(t, demoStore(t), func(c *config.Config) {
		byProxy(c)
		c.Processes.Allow, c.Processes.Callbacks = []string{subscriber.URL}, true
	}, nil, callAnywhere)
	ask := func(header ...string) string {
		r := a.run("echo", `{"inputs":{"string":"x"},"outputs":{"string":{}},"subscriber":{"successUri":"`+
			subscriber.URL+`/"}}`, append([]string{"Prefer", "respond-async"}, header...)...).wants(201)
		return r.Header.Get("X-Request-Id")
	}
	ask("X-Request-Id", "lb-42", "Traceparent", traceOf)
	if c := await.Receive(t, got); c != (call{"lb-42", traceOf}) {
		t.Errorf("callback with %+v", c)
	}
	id := ask()
	if c := await.Receive(t, got); c != (call{id, ""}) {
		t.Errorf("callback with %+v, want the id %s and no trace", c, id)
	}
}

// TestAccessLogLeavesRequestsOut: what the setting does not choose, and health checks that succeed.
func TestAccessLogLeavesRequestsOut(t *testing.T) {
	t.Parallel()
	for setting, want := range map[string][]bool{ // of each path below
		"all": {true, true, false, false}, "errors": {false, true, false, false},
		"none": {false, false, false, false}, "slow>1h": {false, false, false, false},
		"slow>1ns": {true, true, false, false},
	} {
		a := serve(t, "", func(c *config.Config) { c.AccessLog = setting })
		for i, path := range []string{"/conformance", "/nowhere", "/healthz", "/readyz"} {
			a.get(path)
			if got := strings.Contains(a.logs.String(), `"path":"`+path+`"`); got != want[i] {
				t.Errorf("access_log: %s, %s is logged: %v", setting, path, got)
			}
		}
	}
}
