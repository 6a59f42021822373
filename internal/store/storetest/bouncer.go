package storetest

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"grense/internal/await"
)

// Bouncer starts PgBouncer in front of the database at address, in a pool mode (session, transaction) and with at most
// size sessions of the server, until the test ends. It returns the address through it.
// Without PgBouncer the test fails: nothing is skipped silently.
func Bouncer(t testing.TB, address, mode string, size int) string {
	t.Helper()
	program, err := exec.LookPath("pgbouncer")
	if err != nil {
		t.Fatal("this test needs PgBouncer: install pgbouncer (on Debian: apt-get install pgbouncer)")
	}
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	port, err := freePort()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "grense-bouncer")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	ini := fmt.Sprintf("[databases]\n* = host=%s port=%s\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = "+
		"%s\nunix_socket_dir =\nauth_type = trust\nauth_file = %s\npool_mode = %s\n"+
		"default_pool_size = %d\nmax_client_conn = 200\nquery_wait_timeout = 60\n", u.Hostname(), u.Port(), port,
		filepath.Join(dir, "users"), mode, size)
	for name, text := range map[string]string{"ini": ini, "users": `"` + u.User.Username() + `" ""` + "\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(program, filepath.Join(dir, "ini"))
	if os.Getuid() == 0 { // PgBouncer does not run as root
		who, err := other()
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: who}
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	u.Host = net.JoinHostPort("127.0.0.1", port)
	await.Success(t, "the bouncer", func() error {
		c, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", u.Host)
		if err == nil {
			c.Close()
		}
		return err
	})
	return u.String()
}
