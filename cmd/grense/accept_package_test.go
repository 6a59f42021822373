//go:build linux

package main_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// manager does what systemd does for one unit, in a root of its own.
type manager struct {
	t      *testing.T
	root   string
	unit   map[string][]string // of the section Service
	notify *net.UnixConn

	mu     sync.Mutex
	states []string // what the program has notified
	told   chan struct{}
	cmd    *exec.Cmd
	ended  chan struct{}
	log    *os.File

	stopping func() // called when the program begins to stop; nil: nothing
}

// newManager listens for notifications in root.
func newManager(t *testing.T, root string) *manager {
	t.Helper()
	m := &manager{t: t, root: root, told: make(chan struct{}, 1)}
	var err error
	at := &net.UnixAddr{Name: root + "/run/notify", Net: "unixgram"}
	if m.notify, err = net.ListenUnixgram("unixgram", at); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(root+"/run/notify", 0o666); err != nil {
		t.Fatal(err)
	}
	if m.log, err = os.Create(root + "/run/log"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.notify.Close(); m.log.Close() })
	go func() {
		for b := make([]byte, 4<<10); ; {
			n, err := m.notify.Read(b)
			if err != nil {
				return
			}
			m.mu.Lock()
			m.states = append(m.states, strings.Split(string(b[:n]), "\n")...)
			m.mu.Unlock()
			select {
			case m.told <- struct{}{}:
			default:
			}
		}
	}()
	return m
}

// load reads the unit of the package.
func (m *manager) load() error {
	text, err := os.ReadFile(m.root + "/usr/lib/systemd/system/grense.service")
	if err != nil {
		return err
	}
	m.unit = map[string][]string{}
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
			m.unit[name] = append(m.unit[name], value)
		}
	}
	if got := m.unit["Type"]; !slices.Equal(got, []string{"notify"}) {
		return fmt.Errorf("the unit has the type %v", got)
	}
	return nil
}

// environment is that of the unit: its own settings, the file, and what systemd adds.
func (m *manager) environment() (env []string, err error) {
	env = append(env, m.unit["Environment"]...)
	for _, name := range m.unit["EnvironmentFile"] {
		b, err := os.ReadFile(m.root + strings.TrimPrefix(name, "-"))
		if err != nil && !(strings.HasPrefix(name, "-") && errors.Is(err, os.ErrNotExist)) {
			return nil, err
		}
		env = append(env, strings.Fields(string(b))...)
	}
	return append(env, "NOTIFY_SOCKET=/run/notify", "WATCHDOG_USEC=2000000", "STATE_DIRECTORY=/var/lib/grense"), nil
}

// start starts the unit and waits until it is ready.
func (m *manager) start() error {
	if err := m.load(); err != nil {
		return err
	}
	uid, gid, err := userOf(m.root, m.unit["User"][0])
	if err != nil {
		return err
	}
	words := strings.Fields(m.unit["ExecStart"][0])
	m.cmd = exec.CommandContext(context.WithoutCancel(m.t.Context()), words[0], words[1:]...)
	if m.cmd.Env, err = m.environment(); err != nil {
		return err
	}
	m.cmd.Dir, m.cmd.Stdout, m.cmd.Stderr = "/", m.log, m.log
	m.cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: m.root, Credential: &syscall.Credential{Uid: uid, Gid: gid},
		Pdeathsig: syscall.SIGKILL}
	// systemd creates the state directory of the unit
	state := filepath.Join(m.root, "var/lib", m.unit["StateDirectory"][0])
	if err := errors.Join(os.MkdirAll(state, 0o700), os.Chown(state, int(uid), int(gid))); err != nil {
		return err
	}
	if err := m.cmd.Start(); err != nil {
		return err
	}
	m.ended = make(chan struct{})
	go func(cmd *exec.Cmd, ended chan struct{}) { cmd.Wait(); close(ended) }(m.cmd, m.ended)
	return m.await("READY=1")
}

// await waits until the program has notified a state, and forgets what came before.
func (m *manager) await(want string) error {
	for end := time.After(patience); ; {
		m.mu.Lock()
		i := slices.Index(m.states, want)
		if i >= 0 {
			m.states = m.states[i+1:]
		}
		m.mu.Unlock()
		if i >= 0 {
			return nil
		}
		select {
		case <-m.told:
		case <-m.ended:
			return fmt.Errorf("the unit ended before %s:\n%s", want, m.logged())
		case <-end:
			return fmt.Errorf("no %s:\n%s", want, m.logged())
		}
	}
}

func (m *manager) logged() string {
	b, _ := os.ReadFile(m.root + "/run/log")
	return string(b)
}

// reload sends the signal of ExecReload.
func (m *manager) reload() error {
	if got := m.unit["ExecReload"]; !slices.Equal(got, []string{"/bin/kill -HUP $MAINPID"}) {
		return fmt.Errorf("the unit reloads by %v", got)
	}
	return errors.Join(m.cmd.Process.Signal(syscall.SIGHUP), m.await("RELOADING=1"), m.await("READY=1"))
}

// stop ends the unit.
func (m *manager) stop() error {
	if m.cmd == nil {
		return nil
	}
	if err := errors.Join(m.cmd.Process.Signal(syscall.SIGTERM), m.await("STOPPING=1")); err != nil {
		return err
	}
	if m.stopping != nil {
		m.stopping()
	}
	select {
	case <-m.ended:
	case <-time.After(patience):
		m.cmd.Process.Kill()
		return errors.New("the unit does not stop")
	}
	code := m.cmd.ProcessState.ExitCode()
	m.cmd = nil
	if code != 0 {
		return fmt.Errorf("the unit ended with status %d:\n%s", code, m.logged())
	}
	return nil
}

// do carries out a command of systemctl.
func (m *manager) do(command string) error {
	words := strings.Fields(command)
	if len(words) == 0 || len(words) > 1 && !strings.Contains(command, "grense") {
		return fmt.Errorf("systemctl %s is not known here", command)
	}
	switch words[0] {
	case "daemon-reload":
		return nil
	case "enable", "start":
		return m.start()
	case "reload":
		return m.reload()
	case "disable", "stop":
		return m.stop()
	case "restart":
		return errors.Join(m.stop(), m.start())
	case "try-restart":
		if m.cmd == nil {
			return nil
		}
		return errors.Join(m.stop(), m.start())
	}
	return fmt.Errorf("systemctl %s is not known here", command)
}

// userOf returns the ids of a user of a root.
func userOf(root, name string) (uid, gid uint32, err error) {
	b, err := os.ReadFile(root + "/etc/passwd")
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(string(b)) {
		if f := strings.Split(line, ":"); f[0] == name {
			u, err1 := strconv.ParseUint(f[2], 10, 32)
			g, err2 := strconv.ParseUint(f[3], 10, 32)
			return uint32(u), uint32(g), errors.Join(err1, err2)
		}
	}
	return 0, 0, fmt.Errorf("there is no user %s", name)
}

// Programs that the root has in place of those that need a running systemd, or a password.
const (
	systemctlScript = `#!/bin/sh
echo "$*" > /run/systemctl.request
read status < /run/systemctl.reply
exit "$status"
`
	sudoScript = `#!/bin/sh
if [ "$1" = -u ]; then shift; user=$1; shift; exec runuser -u "$user" -- "$@"; fi
exec env -- "$@"
`
)

// debianRoot returns a copy of the root that make accept-ops has made, with a manager that systemctl commands.
func debianRoot(t *testing.T) *manager {
	t.Helper()
	root, err := os.MkdirTemp("/tmp", "grense-root-") // short, for the path of the socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(root) })
	must(t, "cp", "-a", "--reflink=auto", rootPath(t, "bin", "debian")+"/.", root)
	for name, text := range map[string]string{"systemctl": systemctlScript, "sudo": sudoScript} {
		if err := os.WriteFile(filepath.Join(root, "usr/bin", name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	must(t, "mkdir", "-p", root+"/run/systemd/system")
	must(t, "mount", "-t", "proc", "proc", root+"/proc")
	t.Cleanup(func() { exec.Command("umount", "-l", root+"/proc").Run() })
	m := newManager(t, root)
	t.Cleanup(func() {
		if m.cmd != nil {
			m.cmd.Process.Kill()
			<-m.ended
		}
	})
	request, reply := root+"/run/systemctl.request", root+"/run/systemctl.reply"
	for _, name := range []string{request, reply} {
		if err := syscall.Mkfifo(name, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	in, err := os.OpenFile(request, os.O_RDWR, 0) // both, so that it never ends
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close() })
	go func() {
		for lines := bufio.NewScanner(in); lines.Scan(); {
			status := "0\n"
			if err := m.do(lines.Text()); err != nil {
				t.Errorf("systemctl %s: %v", lines.Text(), err)
				status = "1\n"
			}
			if err := os.WriteFile(reply, []byte(status), 0); err != nil {
				t.Error(err)
			}
		}
	}()
	return m
}

// sh runs a script of the shell in the root.
func (m *manager) sh(script string) (string, error) {
	cmd := exec.CommandContext(m.t.Context(), "chroot", m.root, "sh", "-ec", script)
	cmd.Env = []string{"PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"HOME=/root", "DEBIAN_FRONTEND=noninteractive"}
	cmd.Dir = m.root + "/root"
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (m *manager) mustSh(script string) string {
	m.t.Helper()
	out, err := m.sh("cd /root; " + script)
	if err != nil {
		m.t.Fatalf("%s: %v\n%s\n%s", script, err, out, m.logged())
	}
	return out
}

var (
	consoleBlock = regexp.MustCompile("(?s)```console\n(.*?)```")
	debVersion   = regexp.MustCompile(`grense_(.+)_amd64\.deb$`)
)

// quickStart returns the commands of the first block of docs/run/install.md.
func quickStart(t *testing.T) (commands []string) {
	t.Helper()
	page, err := os.ReadFile(rootPath(t, "docs", "run", "install.md"))
	if err != nil {
		t.Fatal(err)
	}
	block := strings.ReplaceAll(string(consoleBlock.FindSubmatch(page)[1]), "\\\n", " ")
	for line := range strings.Lines(block) {
		if command, ok := strings.CutPrefix(strings.TrimSpace(line), "$ "); ok {
			commands = append(commands, command)
		}
	}
	return commands
}

// TestAcceptOpsPackage installs the package in a Debian without anything else, by the commands of the installation
// page; reloads, upgrades under a download, removes and purges it.
func TestAcceptOpsPackage(t *testing.T) {
	deb := releasedFile(t, "_amd64.deb")
	asRoot(t)
	m := debianRoot(t)
	must(t, "cp", deb, m.root+"/root/")
	if err := os.WriteFile(m.root+"/root/kommuner.geojson", []byte(areas(10_000)), 0o644); err != nil {
		t.Fatal(err)
	}
	addr := freeAddress(t)
	if err := os.WriteFile(m.root+"/etc/default/grense", []byte("GRENSE_ADDR="+addr+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	commands := quickStart(t)
	if len(commands) != 6 {
		t.Fatalf("the quick start has %d commands, want 6: %q", len(commands), commands)
	}
	script := strings.Join(commands, "\n")
	script = strings.ReplaceAll(script, "VERSION", debVersion.FindStringSubmatch(deb)[1])
	script = strings.ReplaceAll(script, "localhost:8080", addr)
	script = strings.ReplaceAll(script, "curl ", "curl -sS --fail-with-body ")
	out := m.mustSh(script + "\necho \"$KEY\" > /root/key\n")
	if !strings.Contains(out, `"FeatureCollection"`) || !strings.Contains(out, `"Vest"`) {
		t.Errorf("the last command does not print the first feature:\n%s", out)
	}
	if err := m.await("WATCHDOG=1"); err != nil {
		t.Error(err)
	}
	key := strings.TrimSpace(m.mustSh("cat /root/key"))
	if text := m.logged(); strings.Contains(text, key) {
		t.Error("the log holds the key")
	}

	get := func(path string) (int, string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+addr+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-API-Key", key)
		res, body := exchange(t, http.DefaultClient, req)
		return res.StatusCode, string(body)
	}
	m.mustSh("echo 'service: {title: Twenty counties}' >> /etc/grense/grense.yaml && systemctl reload grense")
	if _, body := get("/?f=json"); !strings.Contains(body, "Twenty counties") {
		t.Errorf("a reload does not take over the title: %s", body)
	}

	upgrade := newerDeb(t, deb)
	must(t, "cp", upgrade, m.root+"/root/")
	stopping := make(chan struct{})
	m.stopping = sync.OnceFunc(func() { close(stopping) })
	download := downloadUntilStopped(t, "http://"+addr+"/collections/kommuner/items?limit=10000", key, stopping)
	m.mustSh("apt-get install -y ./" + filepath.Base(upgrade))
	if late, body := download(); late < 1<<20 || !strings.Contains(body, `"9999"`) ||
		!strings.HasSuffix(strings.TrimSpace(body), "}") {
		t.Errorf("an answer of %d bytes, of which %d came after the end had begun, ends with %s",
			len(body), late, body[max(0, len(body)-100):])
	}
	if code, body := get("/collections/kommuner/items?limit=1"); code != http.StatusOK {
		t.Errorf("after the upgrade the key gives %d: %s", code, body)
	}
	if _, body := get("/?f=json"); !strings.Contains(body, "Twenty counties") {
		t.Errorf("the upgrade replaces the configuration: %s", body)
	}

	m.mustSh("apt-get remove -y grense")
	if m.cmd != nil {
		t.Error("the unit runs after the package was removed")
	}
	if out := m.mustSh("dpkg --purge grense; ls /var/lib/grense"); !strings.Contains(out, "state.db") ||
		!strings.Contains(out, "GRENSE_PURGE=keys") {
		t.Errorf("a purge does not keep the keys, or does not say so:\n%s", out)
	}
	m.mustSh("dpkg -i " + filepath.Base(upgrade) + "; GRENSE_PURGE=keys dpkg --purge grense; test ! -e /var/lib/grense")
}

// newerDeb returns the package with a higher version.
func newerDeb(t *testing.T, deb string) string {
	t.Helper()
	dir := t.TempDir()
	must(t, "dpkg-deb", "-R", deb, dir+"/pkg")
	control, err := os.ReadFile(dir + "/pkg/DEBIAN/control")
	if err != nil {
		t.Fatal(err)
	}
	newer := regexp.MustCompile(`(?m)^Version: .*$`).ReplaceAllString(string(control), "Version: 999.0.0")
	if err := os.WriteFile(dir+"/pkg/DEBIAN/control", []byte(newer), 0o644); err != nil {
		t.Fatal(err)
	}
	must(t, "dpkg-deb", "-Zgzip", "-z1", "-b", dir+"/pkg", dir+"/grense_999.0.0_amd64.deb")
	return dir + "/grense_999.0.0_amd64.deb"
}

// downloadUntilStopped begins a request, and reads slowly until the server is stopping. The returned function waits for
// the whole answer. late is how many bytes came after that.
func downloadUntilStopped(t *testing.T, url, key string, stopping <-chan struct{}) func() (late int, body string) {
	t.Helper()
	dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, addr)
		if err == nil {
			err = conn.(*net.TCPConn).SetReadBuffer(16 << 10)
		}
		return conn, err
	}
	client := &http.Client{Transport: &http.Transport{DialContext: dial, DisableCompression: true}}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-API-Key", key)
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if res.StatusCode != http.StatusOK {
		t.Errorf("%s: status %d", url, res.StatusCode)
	}
	early, late, read := []byte(nil), []byte(nil), make(chan error, 1)
	go func() {
		defer res.Body.Close()
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for b := make([]byte, 16<<10); ; {
			select {
			case <-stopping:
				var err error
				late, err = io.ReadAll(res.Body)
				read <- err
				return
			case <-tick.C:
			}
			n, err := res.Body.Read(b)
			early = append(early, b[:n]...)
			if err != nil {
				read <- err
				return
			}
		}
	}()
	return func() (int, string) {
		t.Helper()
		if err := <-read; err != nil {
			t.Errorf("the answer is cut: %v", err)
		}
		return len(late), string(early) + string(late)
	}
}
