package limit_test

import (
	"testing"

	"grense/internal/server/limit"
)

func TestAddressesOfOneSubscriberShare(t *testing.T) {
	t.Parallel()
	for a, want := range map[string]string{"192.0.2.1": "192.0.2.1", "2001:db8:1:2:3::4": "2001:db8:1:2::/64", "": ""} {
		if got := limit.ShareOf(a); got != want {
			t.Errorf("%s: %s", a, got)
		}
	}
}
