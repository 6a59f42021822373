package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"grense/internal/datadir"
	"grense/internal/state"
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
	if code, stdout, stderr := command(t, dir, "key", "list"); code != 0 || stdout != "" ||
		!strings.Contains(stderr, "key create") {
		t.Errorf("no keys: status %d, %q, %q", code, stdout, stderr)
	}
	today := time.Now().UTC().Format(time.DateOnly)
	forever, a := createKey(t, dir, "--name", "kart")
	until, b := createKey(t, dir, "--expires", "2999-01-01", "--name", "etat")
	for id, want := range map[string]string{a: a + " kart active " + today + " - - -",
		b: b + " etat active " + today + " - 2999-01-01 -"} {
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
	if code, stdout, stderr := command(t, dir, "key", "revoke", until); code != 0 ||
		strings.Contains(stdout+stderr, until) {
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

// TestARotatedKeyStaysValidForTheOverlap and its successor has its name.
func TestARotatedKeyStaysValidForTheOverlap(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, old := createKey(t, dir, "--name", "kart")
	code, stdout, stderr := command(t, dir, "key", "rotate", old, "--overlap", "14d", "--json")
	var made struct{ Key, ID, Name, Status string }
	if err := json.Unmarshal([]byte(stdout), &made); code != 0 || err != nil || made.Name != "kart" ||
		made.Status != "active" || !strings.Contains(made.Key, made.ID) {
		t.Fatalf("status %d, %v: %s%s", code, err, stdout, stderr)
	}
	today, end := time.Now().UTC().Format(time.DateOnly), time.Now().UTC().AddDate(0, 0, 14).Format(time.DateOnly)
	if got, want := line(t, dir, old), old+" kart active "+today+" - "+end+" -"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if code, _, stderr := command(t, dir, "key", "rotate", old, "--overlap", "0d"); code != 0 ||
		strings.Contains(line(t, dir, old), "active") {
		t.Errorf("status %d: %s", code, stderr)
	}
	for name, args := range map[string][]string{"no active key": {old},
		"not a number of days": {made.ID, "--overlap", "soon"}, "no active": {"unknown1"}} {
		if code, _, stderr := command(t, dir, append([]string{"key", "rotate"}, args...)...); code != exitFailed ||
			!strings.Contains(stderr, name) {
			t.Errorf("%v: status %d: %s", args, code, stderr)
		}
	}
}

// TestKeysMoveByExportAndImport with their states, and without the keys themselves.
func TestKeysMoveByExportAndImport(t *testing.T) {
	t.Parallel()
	from, to := t.TempDir(), t.TempDir()
	key, a := createKey(t, from, "--name", "kart", "--expires", "2999-01-01")
	_, b := createKey(t, from, "--name", "etat")
	command(t, from, "key", "revoke", b)
	_, exported, _ := command(t, from, "key", "export")
	if strings.Contains(exported, key) || !strings.Contains(exported, "sha256") {
		t.Fatal(exported)
	}
	for _, want := range []string{"2 keys added, 0 existed\n", "0 keys added, 2 existed\n"} {
		if code, stdout, stderr := piped(t, to, strings.NewReader(exported), "key", "import"); code != 0 ||
			stdout != want {
			t.Errorf("status %d, %q: %s", code, stdout, stderr)
		}
	}
	for _, id := range []string{a, b} {
		if got, want := line(t, to, id), line(t, from, id); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	for _, bad := range []string{"", "{}",
		`[{"id":"abcdefgh","name":"x","created":"2026-01-01T00:00:00Z","sha256":"00"}]`} {
		if code, _, stderr := piped(t, to, strings.NewReader(bad), "key", "import"); code != exitFailed ||
			!strings.Contains(stderr, "key export") {
			t.Errorf("%q: status %d: %s", bad, code, stderr)
		}
	}
}

// TestTermsOfAKeyAreListedAndMove with it.
func TestTermsOfAKeyAreListedAndMove(t *testing.T) {
	t.Parallel()
	from, to := t.TempDir(), t.TempDir()
	_, id := createKey(t, from, "--name", "kart", "--scope", "tiles,collections/kommuner", "--origin",
		"https://example.org", "--rate", "5", "--quota", "1000", "--note", "ring Kari")
	const terms = " collections/kommuner tiles https://example.org 5/s 1000/day"
	if got := line(t, from, id); !strings.HasSuffix(got, " - -"+terms) {
		t.Errorf("%q", got)
	}
	_, exported, _ := command(t, from, "key", "export", "--json")
	if code, stdout, stderr := piped(t, to, strings.NewReader(exported), "key", "import", "--json"); code != 0 ||
		!strings.Contains(stdout, `"added": 1`) {
		t.Errorf("status %d: %s%s", code, stdout, stderr)
	}
	if got, want := line(t, to, id), line(t, from, id); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if _, listed, _ := command(t, to, "key", "list", "--json"); !strings.Contains(listed, `"note": "ring Kari"`) {
		t.Errorf("%s", listed)
	}
	code, stdout, stderr := command(t, to, "key", "rotate", id, "--json")
	var made struct{ ID string }
	if err := json.Unmarshal([]byte(stdout), &made); code != 0 || err != nil ||
		!strings.HasSuffix(line(t, to, made.ID), terms) {
		t.Errorf("status %d, %v: %s%s", code, err, stdout, stderr)
	}
	for want, args := range map[string][]string{
		"is not a scope": {"--scope", "admin"}, "is not an origin": {"--origin", "example.org"},
		"a quota": {"--quota=-1"}, "must not hold a key": {"--note", "grense_AbCdEf01_" + strings.Repeat("x", 38)},
	} {
		code, _, stderr := command(t, from, append([]string{"key", "create", "--name", "x"}, args...)...)
		if code == 0 || !strings.Contains(stderr, want) {
			t.Errorf("%v: status %d: %s", args, code, stderr)
		}
	}
}

// TestUsageIsPrintedByDay in three forms.
func TestUsageIsPrintedByDay(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if code, stdout, stderr := command(t, dir, "key", "usage"); code != 0 || stdout != "" ||
		!strings.Contains(stderr, "No key was used") {
		t.Errorf("status %d: %s%s", code, stdout, stderr)
	}
	_, id := createKey(t, dir, "--name", "kart")
	db, err := state.Open(t.Context(), filepath.Join(dir, ".local/share/grense", datadir.StateFile))
	if err != nil {
		t.Fatal(err)
	}
	today := time.Now().UTC()
	if err := errors.Join(db.AddUses(t.Context(), []state.Use{{Key: id, Day: today, Requests: 3, Units: 5, Bytes: 700,
		Refused: 1}, {Key: id, Day: today.AddDate(0, 0, -40), Requests: 1}}), db.Close()); err != nil {
		t.Fatal(err)
	}
	row := today.Format(time.DateOnly) + "," + id + ",kart,3,5,700,1\n"
	if _, stdout, _ := command(t, dir, "key", "usage", "--csv"); stdout !=
		"day,id,name,requests,units,bytes,refused\n"+row {
		t.Errorf("%s", stdout)
	}
	if _, stdout, _ := command(t, dir, "key", "usage", id, "--days", "400", "--csv"); strings.Count(stdout, "\n") != 3 {
		t.Errorf("%s", stdout)
	}
	if _, stdout, _ := command(t, dir, "key", "usage", "--json"); !strings.Contains(stdout, `"requests": 3`) {
		t.Errorf("%s", stdout)
	}
	if _, stdout, _ := command(t, dir, "key", "usage"); !strings.Contains(stdout, id+"  kart") {
		t.Errorf("%s", stdout)
	}
	for _, args := range [][]string{{"--days", "401"}, {"unknown1"}, {"--csv", "--json"}} {
		if code, _, stderr := command(t, dir, append([]string{"key", "usage"}, args...)...); code == 0 || stderr == "" {
			t.Errorf("%v: status %d, %s", args, code, stderr)
		}
	}
}
