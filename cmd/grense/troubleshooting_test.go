//go:build linux

package main_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"grense/internal/await"
	"grense/internal/store/storetest"
)

// symptoms are what an operator and a user see of a fault, by the columns of docs/run/troubleshooting.md.
type symptoms struct{ log, exit, readyz, metrics, user string }

// noAnswer is what is seen of a server that does not run.
const noAnswer = "no answer"

// troubles makes each fault of the table.
var troubles = map[string]func(*testing.T) symptoms{
	"`kill -9`":           killed,
	"Disk full":           diskFull,
	"Clock back a day":    clockBack,
	"Certificate expired": certificateExpired,
	"Database away":       databaseAway,
	"Wrong owner":         wrongOwner,
	"Wrong password":      wrongPassword,
	"Missing database":    missingDatabase,
	"Bad YAML":            badYAML,
	"Unknown setting":     unknownSetting,
	"Invalid reload":      invalidReload,
	"Port in use":         portInUse,
}

// quoted matches what a cell of the table holds literally.
var quoted = regexp.MustCompile("`([^`]+)`")

// TestTroubleshootingTableIsTrue makes each fault of docs/run/troubleshooting.md, and looks for the quoted texts of its
// row in what is seen.
func TestTroubleshootingTableIsTrue(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(rootPath(t, "docs", "run", "troubleshooting.md"))
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string][]string{}
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		if strings.HasPrefix(line, "| ") && len(cells) == 6 {
			for i := range cells {
				cells[i] = strings.TrimSpace(cells[i])
			}
			if cells[0] != "Fault" {
				rows[cells[0]] = cells[1:]
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		if troubles[name] == nil {
			t.Errorf("nothing makes the fault %q of the table", name)
		}
	}
	for name, makeIt := range troubles {
		t.Run(strings.Trim(name, "`"), func(t *testing.T) {
			t.Parallel()
			row := rows[name]
			if row == nil {
				t.Fatal("the table has no such fault")
			}
			s := makeIt(t)
			t.Logf("log:\n%s\nexit %s\n/readyz: %s\na user: %.500s", s.log, s.exit, s.readyz, s.user)
			for i, got := range []string{s.log, s.exit, s.readyz, s.metrics, s.user} {
				for _, m := range quoted.FindAllStringSubmatch(row[i], -1) {
					if !strings.Contains(got, m[1]) {
						t.Errorf("column %d: the page says %q, seen is\n%.3000s", i+2, m[1], got)
					}
				}
			}
		})
	}
}

// watched is a grense serve whose output is kept.
type watched struct {
	cmd         *exec.Cmd
	addr, meter string // meter is the address of the metrics
	out, log    *lockedBuffer
	ended       chan struct{}
}

// logs waits until the log has text.
func (w *watched) logs(t *testing.T, text string) {
	t.Helper()
	await.Success(t, "the log", func() error {
		if log := w.log.String(); !strings.Contains(log, text) {
			return fmt.Errorf("no %q in %s", text, log)
		}
		return nil
	})
}

// lockedBuffer is a buffer that a process writes while a test reads.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// watch starts cmd, a grense serve, and waits until it serves or has ended.
func watch(t *testing.T, cmd *exec.Cmd) *watched {
	t.Helper()
	w := &watched{cmd: cmd, out: &lockedBuffer{}, log: &lockedBuffer{}, ended: make(chan struct{})}
	cmd.Args = append(cmd.Args, "--metrics-addr", "127.0.0.1:0")
	cmd.Stderr = w.log
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); <-w.ended })
	ready := make(chan struct{})
	go func() {
		defer close(w.ended)
		once := sync.OnceFunc(func() { close(ready) })
		for in := bufio.NewScanner(out); in.Scan(); {
			fmt.Fprintln(w.out, in.Text())
			if m := listeningLine.FindStringSubmatch(in.Text()); m != nil {
				w.addr = m[1]
			}
			if m := metricsLine.FindStringSubmatch(in.Text()); m != nil {
				w.meter = m[1]
				once()
			}
		}
		cmd.Wait()
	}()
	select {
	case <-ready:
	case <-w.ended:
	case <-time.After(patience):
		t.Fatalf("it neither serves nor ends:\n%s", w.log)
	}
	return w
}

// see returns what is seen now; path is what a user asks for.
func (w *watched) see(t *testing.T, path string) symptoms {
	t.Helper()
	s := symptoms{exit: "runs"}
	select {
	case <-w.ended:
		state := w.cmd.ProcessState.Sys().(syscall.WaitStatus)
		s.exit = fmt.Sprint(w.cmd.ProcessState.ExitCode())
		if state.Signaled() {
			s.exit = fmt.Sprint(128 + int(state.Signal())) // as a shell has it
		}
	default:
	}
	s.readyz, s.user, s.metrics = answerOf(http.DefaultClient, "http://"+w.addr+"/readyz"),
		answerOf(http.DefaultClient, "http://"+w.addr+path), answerOf(http.DefaultClient, w.meter)
	s.log = w.log.String()
	return s
}

// answerOf is status and body, or noAnswer with the error.
func answerOf(c *http.Client, address string) string {
	res, err := c.Get(address)
	if err != nil {
		return noAnswer + ": " + err.Error()
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		return noAnswer + ": " + err.Error()
	}
	return fmt.Sprint(res.StatusCode, " ", strings.TrimSpace(string(b)))
}

// areasFile returns a GeoPackage with one collection, areas.
func areasFile(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "areas.gpkg")
	if err := os.WriteFile(filepath.Join(dir, "areas.geojson"), []byte(`{"type":"FeatureCollection","features":[
		{"type":"Feature","id":1,"properties":{"a":1},"geometry":{"type":"Point","coordinates":[10,60]}}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := program(t, t.Context(), dir, "import", filepath.Join(dir, "areas.geojson"), "--into", path,
		"--collection", "areas").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return path
}

const areaItems = "/collections/areas/items"

// serveCommand is a grense serve on a free port for which data are open.
func serveCommand(t *testing.T, home string, args ...string) *exec.Cmd {
	t.Helper()
	return program(t, context.WithoutCancel(t.Context()), home,
		append([]string{"serve", "--addr", "127.0.0.1:0", "--auth", "open"}, args...)...)
}

func killed(t *testing.T) symptoms {
	home, src := t.TempDir(), areasFile(t)
	w := watch(t, serveCommand(t, home, src))
	w.cmd.Process.Kill()
	<-w.ended
	s := w.see(t, areaItems)
	again := watch(t, serveCommand(t, home, src)).see(t, areaItems)
	if !strings.HasPrefix(again.readyz, "200 ok") || !strings.HasPrefix(again.user, "200") || again.log != "" &&
		strings.Contains(again.log, "ERROR") {
		t.Errorf("the next start: %+v", again)
	}
	return s
}

func diskFull(t *testing.T) symptoms {
	home, disk := t.TempDir(), t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=300k"); err != nil {
		t.Skipf("SKIPPED: a small disk cannot be mounted here: %v", err)
	}
	t.Cleanup(func() { syscall.Unmount(disk, syscall.MNT_DETACH) })
	w := watch(t, serveCommand(t, home, areasFile(t), "--data-dir", disk))
	full := bytes.Repeat([]byte("x"), 300<<10)
	if err := os.WriteFile(filepath.Join(disk, "full"), full, 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("the disk is not full: %v", err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+w.addr+"/processes/echo/execution",
		strings.NewReader(`{"inputs":{"string":"`+strings.Repeat("x", 100<<10)+`"}}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Prefer", "respond-async")
	res, body := exchange(t, http.DefaultClient, req)
	s := w.see(t, areaItems)
	if !strings.HasPrefix(s.user, "200") {
		t.Errorf("features are not served: %s", s.user)
	}
	s.user = fmt.Sprint(res.StatusCode, " ", string(body))
	return s
}

// clockBack serves what a server wrote whose clock was a day ahead.
func clockBack(t *testing.T) symptoms {
	home, src := t.TempDir(), areasFile(t)
	key := createKey(t, home)
	first := watch(t, serveCommand(t, home, src))
	first.cmd.Process.Signal(syscall.SIGTERM)
	<-first.ended
	data := filepath.Join(home, ".local/share/grense")
	c, err := sqlite.OpenConn(filepath.Join(data, "state.db"), sqlite.OpenReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	tomorrow := time.Now().Add(24 * time.Hour)
	err = sqlitex.ExecuteTransient(c, "UPDATE grense_key SET created = ?", &sqlitex.ExecOptions{
		Args: []any{tomorrow.UTC().Format("2006-01-02T15:04:05.000000000Z")}})
	if err := errors.Join(err, c.Close()); err != nil {
		t.Fatal(err)
	}
	for _, name := range append([]string{src}, must1(filepath.Glob(data+"/*"))...) {
		if err := os.Chtimes(name, tomorrow, tomorrow); err != nil {
			t.Fatal(err)
		}
	}
	cmd := serveCommand(t, home, src)
	cmd.Args = slices.DeleteFunc(cmd.Args, func(a string) bool { return a == "--auth" || a == "open" })
	w := watch(t, cmd)
	s := w.see(t, areaItems)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+w.addr+areaItems, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-API-Key", key)
	res, body := exchange(t, http.DefaultClient, req)
	s.user = fmt.Sprint(res.StatusCode, " ", string(body))
	return s
}

func must1[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func certificateExpired(t *testing.T) symptoms {
	dir := t.TempDir()
	pool := writeExpiredTLS(t, dir)
	w := watch(t, serveCommand(t, dir, areasFile(t), "--tls-cert", dir+"/cert.pem", "--tls-key", dir+"/key.pem"))
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}}
	user := answerOf(client, "https://"+w.addr+areaItems)
	w.logs(t, "TLS handshake") // the server notices it later
	s := w.see(t, areaItems)
	careless := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	s.user, s.readyz = user, answerOf(careless, "https://"+w.addr+"/readyz")
	return s
}

// writeExpiredTLS writes a certificate that ended an hour ago, with its key, and returns who trusts it.
func writeExpiredTLS(t *testing.T, dir string) *x509.CertPool {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-48 * time.Hour), NotAfter: time.Now().Add(-time.Hour), IsCA: true,
		BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string]*pem.Block{"cert.pem": {Type: "CERTIFICATE", Bytes: der},
		"key.pem": {Type: "PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(b), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(parsed)
	return pool
}

func databaseAway(t *testing.T) symptoms {
	own := &storetest.Cluster{Private: true}
	t.Cleanup(own.Stop)
	w := watch(t, serveCommand(t, t.TempDir(), areasTable(t, own)))
	if halted, err := own.Halt(); err != nil || !halted {
		t.Skipf("SKIPPED: this PostgreSQL cannot be stopped: %v", err)
	}
	s := w.see(t, areaItems)
	if err := own.Resume(); err != nil {
		t.Fatal(err)
	}
	await.Success(t, "the database is back", func() error {
		now := w.see(t, areaItems)
		if strings.HasPrefix(now.user, "200") && strings.HasPrefix(now.readyz, "200 ok") {
			return nil
		}
		return fmt.Errorf("%+v", now)
	})
	return s
}

// areasTable returns the address of a database with one table, areas.
func areasTable(t *testing.T, c *storetest.Cluster) string {
	t.Helper()
	address := c.Database(t)
	out, err := exec.CommandContext(t.Context(), "psql", address, "-c",
		"CREATE TABLE areas (id INT PRIMARY KEY, geom geometry(Point, 4326)); "+
			"INSERT INTO areas VALUES (1, 'SRID=4326;POINT(10 60)')").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return address
}

// nobody is a user without rights of its own.
const nobody = 65534

func wrongOwner(t *testing.T) symptoms {
	if os.Getuid() != 0 {
		t.Skip("SKIPPED: only root runs a program as another user")
	}
	dir, err := os.MkdirTemp("/tmp", "grense-owner-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	b, err := os.ReadFile(rootPath(t, "bin", "grense"))
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(os.Chmod(dir, 0o755), os.WriteFile(dir+"/grense", b, 0o755), os.Mkdir(dir+"/data", 0o700))
	if err != nil {
		t.Fatal(err)
	}
	cmd := serveCommand(t, dir, "--data-dir", dir+"/data")
	cmd.Path, cmd.Dir = dir+"/grense", "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	s := watch(t, cmd).see(t, areaItems)
	if !regexp.MustCompile(`chown -R (nobody|65534) ` + dir + "/data").MatchString(s.log) {
		t.Errorf("the cure is not the command to run: %s", s.log)
	}
	return s
}

// wrongPassword serves from a server that refuses every password, as PostgreSQL does.
func wrongPassword(t *testing.T) symptoms {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go refusePassword(c)
		}
	}()
	address := "postgres://reader:s3cret@" + l.Addr().String() + "/maps?sslmode=disable"
	s := watch(t, serveCommand(t, t.TempDir(), address)).see(t, areaItems)
	if strings.Contains(s.log, "s3cret") {
		t.Error("the password is told")
	}
	return s
}

// refusePassword answers the start of a connection with SQLSTATE 28P01 (PostgreSQL, message formats).
func refusePassword(c net.Conn) {
	defer c.Close()
	head := make([]byte, 4)
	if _, err := io.ReadFull(c, head); err != nil {
		return
	}
	n := int(head[0])<<24 | int(head[1])<<16 | int(head[2])<<8 | int(head[3])
	if _, err := io.CopyN(io.Discard, c, int64(n-4)); err != nil {
		return
	}
	text := "SFATAL\x00VFATAL\x00C28P01\x00Mpassword authentication failed for user \"reader\"\x00\x00"
	n = len(text) + 4
	c.Write(append([]byte{'E', byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}, text...))
}

func missingDatabase(t *testing.T) symptoms {
	var cluster storetest.Cluster
	t.Cleanup(cluster.Stop)
	u, err := url.Parse(cluster.Database(t))
	if err != nil {
		t.Fatal(err)
	}
	u.Path = "/nowhere"
	return watch(t, serveCommand(t, t.TempDir(), u.String())).see(t, areaItems)
}

// configured is a grense serve with a configuration file.
func configuredCommand(t *testing.T, text string) (cmd *exec.Cmd, file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "grense.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return serveCommand(t, t.TempDir(), areasFile(t), "--config", file), file
}

func badYAML(t *testing.T) symptoms {
	cmd, _ := configuredCommand(t, "auth: open\nservice: {title: [\n")
	return watch(t, cmd).see(t, areaItems)
}

func unknownSetting(t *testing.T) symptoms {
	cmd, _ := configuredCommand(t, "auth: open\nlimits:\n  memroy: 1GiB\n")
	return watch(t, cmd).see(t, areaItems)
}

func invalidReload(t *testing.T) symptoms {
	cmd, file := configuredCommand(t, "auth: open\n")
	w := watch(t, cmd)
	if err := os.WriteFile(file, []byte("auth: open\nlimits: {rate: many}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	w.logs(t, "reload failed")
	return w.see(t, areaItems)
}

func portInUse(t *testing.T) symptoms {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	cmd := serveCommand(t, t.TempDir(), areasFile(t))
	cmd.Args[slices.Index(cmd.Args, "--addr")+1] = l.Addr().String()
	return watch(t, cmd).see(t, areaItems)
}
