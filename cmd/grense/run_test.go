package main

import (
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestUsageFaults(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"unknown command":  {[]string{"server"}, "server"},
		"unknown flag":     {[]string{"serve", "--adr", "x"}, `did you mean "--addr"`},
		"two sources":      {[]string{"serve", "a", "b"}, "unexpected argument b"},
		"key without name": {[]string{"key", "create"}, "--name"},
		"key alone":        {[]string{"key"}, "create"},
		"flag of another":  {[]string{"check", "x", "--addr", "y"}, "--addr"},
	} {
		code, stdout, stderr := command(t, t.TempDir(), c.args...)
		if code != exitUsage || !strings.Contains(stderr, c.want) || !strings.Contains(stderr, "--help") ||
			stdout != "" {
			t.Errorf("%s: status %d\n%s%s", name, code, stdout, stderr)
		}
	}
}

func TestFailuresTellTheCure(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	addr := taken.Addr().String()
	bad := writeFile(t, filepath.Join(dir, "bad.yaml"), "adr: x\nauth: maybe\n")
	file := writeFile(t, filepath.Join(dir, "file"), "no GeoPackage")
	for name, c := range map[string]struct {
		args []string
		want []string
	}{
		"port in use": {[]string{"serve", "--addr", addr}, []string{addr + " is in use", "--addr"}},
		"metrics in use": {[]string{"serve", "--addr", "127.0.0.1:0", "--metrics-addr", addr},
			[]string{addr + " is in use", "--metrics-addr"}},
		"no address of ours": {[]string{"serve", "--addr", "192.0.2.1:0", "--base-url", "http://x"},
			[]string{"192.0.2.1:0", "--addr"}},
		"no such source": {[]string{"serve", dir + "/none.gpkg", "--addr", "127.0.0.1:0"},
			[]string{"there is no file", "none.gpkg"}},
		"folder as source": {[]string{"serve", dir, "--addr", "127.0.0.1:0"}, []string{"is a folder"}},
		"other file":       {[]string{"serve", file, "--addr", "127.0.0.1:0"}, []string{"cannot open " + file}},
		"check other file": {[]string{"check", file}, []string{"cannot open " + file}},
		"no configuration": {[]string{"serve", "--config", dir + "/none.yaml"}, []string{"cannot read", "none.yaml"}},
		"bad configuration": {[]string{"key", "list", "--config", bad, "--data-dir", dir},
			[]string{"2 faults", "bad.yaml:1: adr: unknown setting", "bad.yaml:2: auth:"}},
		"bad flags": {[]string{"serve", "--auth", "x", "--tls-cert", "y", "--base-url", "z"},
			[]string{"3 faults", "--auth: ", "--tls-cert: ", "--base-url: "}},
		"no certificate": {[]string{"serve", "--addr", "127.0.0.1:0", "--tls-cert", file, "--tls-key", file},
			[]string{"cannot use the certificate", "PEM"}},
		"data dir is a file": {[]string{"key", "list", "--data-dir", file + "/x"},
			[]string{"data directory", "--data-dir"}},
	} {
		code, stdout, stderr := command(t, dir, c.args...)
		if code != exitFailed || stdout != "" {
			t.Errorf("%s: status %d, output %q", name, code, stdout)
		}
		for _, w := range c.want {
			if !strings.Contains(stderr, w) {
				t.Errorf("%s: %q is not in\n%s", name, w, stderr)
			}
		}
		if strings.Contains(stderr, "goroutine") || len(c.want) < 3 && strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s: not one sentence:\n%s", name, stderr)
		}
	}
}

func TestVersion(t *testing.T) {
	t.Parallel()
	for _, arg := range []string{"version", "--version"} {
		code, stdout, stderr := command(t, t.TempDir(), arg)
		first, rest, _ := strings.Cut(stdout, "\n")
		if code != 0 || stderr != "" || !strings.HasPrefix(first, "grense ") || !strings.Contains(first, "go1.") {
			t.Errorf("%s: status %d: %q %q", arg, code, stdout, stderr)
		}
		for _, name := range []string{"commit", "date", "state", "backup", "side files", "indexes", "tiles", "copies"} {
			if !regexp.MustCompile(`(?m)^` + name + ` +\S+$`).MatchString(rest) {
				t.Errorf("%s does not print %s:\n%s", arg, name, stdout)
			}
		}
	}
}

func TestDataDirIsForTheOwnerOnly(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if code, _, stderr := command(t, dir, "key", "list"); code != 0 {
		t.Fatal(stderr)
	}
	st, err := os.Stat(filepath.Join(dir, ".local/share/grense"))
	if err != nil || st.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", st, err)
	}
}
