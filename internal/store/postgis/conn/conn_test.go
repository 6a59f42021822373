package conn_test

import (
	"strings"
	"testing"

	"grense/internal/store/postgis/conn"
)

func TestPasswordsAreNotShown(t *testing.T) {
	t.Parallel()
	for _, url := range []string{
		"postgres://u:s3cret@h:port/d", "postgres://u:s3%cret@h/d", "host=127.0.0.1 port=1 password=s3cret",
		"host=127.0.0.1 port=x password='s3cret'", "postgres://127.0.0.1:1/d?password=s3cret",
		"postgres://u:s3cret@h/d?password=s3cret",
	} {
		if r := conn.Redact(url); strings.Contains(r, "cret") || !strings.Contains(r, "xxxxx") {
			t.Errorf("%s is shown as %s", url, r)
		}
		if _, err := conn.Open(t.Context(), url+" nonsense", conn.ForQueries); err == nil ||
			strings.Contains(err.Error(), "cret") {
			t.Errorf("%s: error %v", url, err)
		}
	}
	if r := conn.Redact("postgres://u@h/d"); r != "postgres://u@h/d" {
		t.Errorf("an address without a password is shown as %s", r)
	}
}

// TestOneServerWithTLSOrWithoutIsOne: the connections of a process are as many as are stated,
// however the address says TLS is used.
func TestOneServerWithTLSOrWithoutIsOne(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		url  string
		want int32 // connections for queries
	}{
		{"postgres://u@h/d?pool_max_conns=4&sslmode=disable", 2},
		{"postgres://u@h/d?pool_max_conns=4", 2},
		{"postgres://u@h/d?pool_max_conns=4&sslmode=allow", 2},
		{"postgres://u@h,h2/d?pool_max_conns=4", 1},
		{"postgres://u@h:1,h:2/d?pool_max_conns=4&sslmode=disable", 1},
	} {
		cfg, _, err := conn.Config(x.url, conn.ForQueries)
		if err != nil {
			t.Fatal(err)
		}
		if cfg.MaxConns != x.want {
			t.Errorf("%s: %d connections, want %d", x.url, cfg.MaxConns, x.want)
		}
	}
}

func TestTextsThatPostgreSQLAccepts(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{"": true, "Tromsø": true, "a\x00b": false, "\xff": false} {
		if got := conn.Storable(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestLiteralsKeepTheirQuotes(t *testing.T) {
	t.Parallel()
	if got := conn.Literal(`o'clock "x"`); got != `'o''clock "x"'` {
		t.Error(got)
	}
}
