package forwarded_test

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"

	"grense/internal/server/forwarded"
)

func TestClientAddressByTrustedProxies(t *testing.T) {
	t.Parallel()
	proxies, err := forwarded.New("https://example.org/",
		[]netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		peer string
		h    http.Header
		want string
	}{
		"no proxy":                 {"192.0.2.1:99", http.Header{"X-Forwarded-For": {"198.51.100.7"}}, "192.0.2.1"},
		"proxy without the header": {"10.0.0.1:99", nil, "10.0.0.1"},
		"one proxy":                {"10.0.0.1:99", http.Header{"X-Forwarded-For": {"198.51.100.7"}}, "198.51.100.7"},
		"forged before": {"10.0.0.1:99", http.Header{"X-Forwarded-For": {"203.0.113.9, 198.51.100.7"}},
			"198.51.100.7"},
		"two proxies": {"10.0.0.1:99", http.Header{
			"X-Forwarded-For": {"203.0.113.9", "198.51.100.7,10.2.3.4"}}, "198.51.100.7"},
		"with a port": {"10.0.0.1:99", http.Header{"X-Forwarded-For": {"198.51.100.7:4711"}},
			"198.51.100.7"},
		"version 6": {"[fd00::1]:99", http.Header{"Forwarded": {`for="[2001:db8::7]:4711";proto=https`}},
			"2001:db8::7"},
		"mapped": {"[::ffff:10.0.0.1]:99", http.Header{"X-Forwarded-For": {"::ffff:198.51.100.7"}},
			"198.51.100.7"},
		"forwarded": {"10.0.0.1:99", http.Header{"Forwarded": {"for=203.0.113.9, " +
			"For=198.51.100.7;by=10.0.0.1"}}, "198.51.100.7"},
		"hidden": {"10.0.0.1:99", http.Header{"Forwarded": {"for=203.0.113.9, for=_hidden"}},
			"10.0.0.1"},
		"nonsense": {"10.0.0.1:99", http.Header{"X-Forwarded-For": {"203.0.113.9, <script>"}},
			"10.0.0.1"},
		"no address": {"pipe", http.Header{"X-Forwarded-For": {"203.0.113.9"}}, ""},
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.RemoteAddr = c.peer
		if c.h != nil {
			r.Header = c.h
		}
		if _, got := proxies.Address(r); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
