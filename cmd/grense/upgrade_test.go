package main

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"grense/internal/datadir"
	"grense/internal/state"
)

// earlier are the state files of programs, in a folder for each version of the state. Each holds a key, which is in the
// file key, and a finished job, whose id is in the file job. -update adds that of this program.
const earlier = "testdata/upgrade"

// copyEarlier copies one of them to where a server whose home is dir looks for it.
func copyEarlier(t *testing.T, name, dir string) (key, job string) {
	t.Helper()
	to := filepath.Join(dir, ".local/share/grense")
	if err := os.CopyFS(to, os.DirFS(filepath.Join(earlier, name))); err != nil {
		t.Fatal(err)
	}
	read := func(name string) string {
		b, err := os.ReadFile(filepath.Join(to, name))
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(b))
	}
	return read("key"), read("job")
}

// TestEachVersionOfTheStateIsKept for the programs to come.
func TestEachVersionOfTheStateIsKept(t *testing.T) {
	t.Parallel()
	to := filepath.Join(earlier, "state-"+strconv.Itoa(state.FileVersion))
	if _, err := os.Stat(to); err == nil {
		return
	}
	if !*update {
		t.Fatalf("%s is missing; run go test ./cmd/grense -run EachVersionOfTheState -update", to)
	}
	home := t.TempDir()
	key, _ := createKey(t, home, "--name", "kept")
	r := serveAsIs(t, home, collectionsOf(t, t.TempDir(), "a", "", "a"))
	job := strings.TrimPrefix(r.finishedJob(t, key), "/jobs/")
	r.stop()
	r.exit(t)
	kept, err := os.ReadFile(filepath.Join(home, ".local/share/grense", datadir.StateFile))
	if err == nil {
		err = os.MkdirAll(to, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{datadir.StateFile: string(kept), "key": key + "\n", "job": job + "\n"} {
		writeFile(t, filepath.Join(to, name), text)
	}
}

// TestDataDirectoriesOfEarlierProgramsAreUsed: keys are valid and finished jobs have their results.
func TestDataDirectoriesOfEarlierProgramsAreUsed(t *testing.T) {
	t.Parallel()
	dirs, err := os.ReadDir(earlier)
	if err != nil || len(dirs) == 0 {
		t.Fatal(dirs, err)
	}
	for _, d := range dirs {
		t.Run(d.Name(), func(t *testing.T) {
			t.Parallel()
			home := t.TempDir()
			key, job := copyEarlier(t, d.Name(), home)
			code, before, stderr := command(t, home, "check")
			if code != 0 || !strings.Contains(before, "state       version ") {
				t.Errorf("status %d: %s%s", code, before, stderr)
			}
			if code, again, _ := command(t, home, "check"); code != 0 || again != before {
				t.Errorf("check has changed the folder: %s, then %s", before, again)
			}
			r := serveAsIs(t, home, collectionsOf(t, t.TempDir(), "a", "", "a"))
			if code, body := r.get(t, "/collections/a/items", key); code != 200 {
				t.Errorf("the key gives %d: %s", code, body)
			}
			if code, body := r.get(t, "/jobs/"+job+"/results", key); code != 200 || body != `"abc"` {
				t.Errorf("the job gives %d: %s", code, body)
			}
			code, after, stderr := command(t, home, "check")
			if code != 0 || !strings.Contains(after, "used as it is") {
				t.Errorf("after the start: status %d: %s%s", code, after, stderr)
			}
		})
	}
}

// TestCheckTellsThatTheDataDirectoryOfANewerProgramIsRefused.
func TestCheckTellsThatTheDataDirectoryOfANewerProgramIsRefused(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	code, stdout, _ := command(t, home, "check")
	if code != 0 || !strings.Contains(stdout, "the first start creates it") {
		t.Errorf("without a folder: status %d: %s", code, stdout)
	}
	createKey(t, home, "--name", "x")
	path := filepath.Join(home, ".local/share/grense", datadir.StateFile)
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt(binary.BigEndian.AppendUint32(nil, state.FileVersion+1), 60); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := command(t, home, "check")
	if code != exitFailed || !strings.Contains(stdout, "refuses it") || !strings.Contains(stderr, "newer version") {
		t.Errorf("status %d: %s%s", code, stdout, stderr)
	}
}
