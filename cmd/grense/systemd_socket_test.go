//go:build unix

package main_test

import (
	"bufio"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// TestASocketOfTheServiceManagerIsServed: its number is 3, and the variables name this process.
func TestASocketOfTheServiceManagerIsServed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	f, err := l.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	// The shell gives its process number to the program.
	grense := program(t, t.Context(), dir, "serve", "--auth", "open")
	cmd := exec.CommandContext(t.Context(), "sh",
		append([]string{"-c", `LISTEN_FDS=1 LISTEN_PID=$$ exec "$@"`, "sh"}, grense.Args...)...)
	cmd.Env, cmd.ExtraFiles = grense.Env, []*os.File{f}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { cmd.Process.Kill(); cmd.Wait() }()
	text := ""
	for lines := bufio.NewScanner(out); !strings.Contains(text, "for programs") && lines.Scan(); {
		text += lines.Text() + "\n"
	}
	res, err := http.Get("http://" + l.Addr().String() + "/collections")
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if port := strconv.Itoa(l.Addr().(*net.TCPAddr).Port); res.StatusCode != http.StatusOK ||
		!strings.Contains(text, port) {
		t.Errorf("status %d\n%s", res.StatusCode, text)
	}
}
