package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

func createKey(t *testing.T, dir string, args ...string) (key, id string) {
	t.Helper()
	code, stdout, stderr := command(t, dir, append([]string{"key", "create"}, args...)...)
	key, ok := strings.CutSuffix(stdout, "\n")
	if code != 0 || !ok || !regexp.MustCompile(`^grense_[0-9A-Za-z]{8}_[0-9A-Za-z]{38}$`).MatchString(key) {
		t.Fatalf("status %d, output %q, %s", code, stdout, stderr)
	}
	if strings.Contains(stderr, key) {
		t.Error("the key is printed twice")
	}
	return key, key[len("grense_"):][:8]
}

// line returns the row of key list with the id.
func line(t *testing.T, dir, id string) string {
	t.Helper()
	_, stdout, stderr := command(t, dir, "key", "list")
	for l := range strings.Lines(stdout) {
		if strings.HasPrefix(l, id+" ") {
			return strings.Join(strings.Fields(l), " ")
		}
	}
	t.Fatalf("no key %s:\n%s%s", id, stdout, stderr)
	return ""
}

func TestKeyLifeCycle(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if code, stdout, stderr := command(t, dir, "key", "list"); code != 0 || stdout != "" || !strings.Contains(stderr, "key create") {
		t.Errorf("no keys: status %d, %q, %q", code, stdout, stderr)
	}
	today := time.Now().UTC().Format(time.DateOnly)
	forever, a := createKey(t, dir, "--name", "kart")
	until, b := createKey(t, dir, "--expires", "2999-01-01", "--name", "etat")
	for id, want := range map[string]string{a: a + " kart active " + today + " - -", b: b + " etat active " + today + " - 2999-01-01"} {
		if got := line(t, dir, id); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if code, stdout, stderr := command(t, dir, "key", "revoke", a); code != 0 || !strings.Contains(stdout, a) {
		t.Errorf("revoke: status %d, %s%s", code, stdout, stderr)
	}
	if got := line(t, dir, a); !strings.Contains(got, " revoked ") {
		t.Errorf("after revoke: %q", got)
	}
	if code, stdout, stderr := command(t, dir, "key", "revoke", until); code != 0 || strings.Contains(stdout+stderr, until) {
		t.Errorf("revoke by the whole key: status %d, %s%s", code, stdout, stderr)
	}
	if got := line(t, dir, b); !strings.Contains(got, " revoked ") {
		t.Errorf("after revoke by the whole key: %q", got)
	}
	_, stdout, _ := command(t, dir, "key", "list")
	files, err := filepath.Glob(filepath.Join(dir, ".local/share/grense/*"))
	if err != nil || len(files) == 0 {
		t.Fatal("no state", err)
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		stdout += string(b)
	}
	for _, key := range []string{forever, until} {
		if strings.Contains(stdout, key[len("grense_")+9:]) {
			t.Error("a list or a file holds a key")
		}
	}
}

func TestKeyFaults(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	secret := "grense_AbCdEf01_" + strings.Repeat("x", 38)
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"expired":          {[]string{"create", "--name", "a", "--expires", "2020-01-01"}, "2020-01-01 is past"},
		"no time":          {[]string{"create", "--name", "a", "--expires", "soon"}, "90d"},
		"empty name":       {[]string{"create", "--name", ""}, "name"},
		"unknown id":       {[]string{"revoke", "AbCdEf01"}, "AbCdEf01"},
		"mistyped key":     {[]string{"revoke", secret}, "grense_AbCdEf01_***"},
		"key as a name":    {[]string{"create", "--name", secret}, "must not hold a key"},
		"key as a command": {[]string{secret}, "***"},
	} {
		code, stdout, stderr := command(t, dir, append([]string{"key"}, c.args...)...)
		if code == 0 || !strings.Contains(stderr, c.want) || strings.Contains(stdout+stderr, secret) {
			t.Errorf("%s: status %d\n%s%s", name, code, stdout, stderr)
		}
	}
}
