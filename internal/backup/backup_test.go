package backup_test

import (
	"archive/zip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"grense/internal/backup"
	"grense/internal/config"
	"grense/internal/datadir"
	"grense/internal/state"
)

// write writes a backup of a state with one key.
func write(t *testing.T) (name string, m backup.Manifest) {
	t.Helper()
	st, err := state.Open(t.Context(), filepath.Join(t.TempDir(), datadir.StateFile))
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	if err := st.PutKey(t.Context(), state.Key{ID: "4fZk01Qd", Name: "kart", Created: time.Now()}); err != nil {
		t.Fatal(err)
	}
	name = filepath.Join(t.TempDir(), "backup.zip")
	m, err = backup.Write(t.Context(), name, st, []config.Setting{{Path: "auth", Value: "open", From: "flag"}}, "v1")
	if err != nil {
		t.Fatal(err)
	}
	return name, m
}

func TestABackupIsUnpacked(t *testing.T) {
	t.Parallel()
	name, written := write(t)
	if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(name), "*")); len(left) != 1 {
		t.Errorf("left %v", left)
	}
	dir := t.TempDir()
	m, err := backup.Unpack(name, dir)
	if err != nil || m.State != written.State || m.Holds != written.Holds || m.Holds.Keys != 1 || m.Program != "v1" ||
		!m.Created.Equal(written.Created) {
		t.Fatalf("%+v, %v; written %+v", m, err, written)
	}
	st, err := state.Open(t.Context(), filepath.Join(dir, datadir.StateFile))
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	if keys, err := st.Keys(t.Context()); err != nil || len(keys) != 1 || keys[0].Name != "kart" {
		t.Errorf("%+v, %v", keys, err)
	}
	z, err := zip.OpenReader(name)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	f, err := z.Open("settings.txt")
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(f); err != nil || string(text) != "auth\topen\tflag\n" {
		t.Errorf("%q, %v", text, err)
	}
}

func TestArchivesThatAreNotRestored(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct {
		files map[string]string
		want  string
	}{
		"no manifest":   {map[string]string{"a.txt": "a"}, "it is no backup"},
		"no JSON":       {map[string]string{"manifest.json": "a"}, "its manifest cannot be read"},
		"newer":         {map[string]string{"manifest.json": `{"format": 99, "program": "v9"}`}, "newer version, v9"},
		"without state": {map[string]string{"manifest.json": `{"format": 1}`}, "it is not whole"},
		"another state": {map[string]string{"manifest.json": `{"format": 1}`, datadir.StateFile: "x"},
			"its checksum is wrong"},
	} {
		path := filepath.Join(t.TempDir(), "backup.zip")
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		z := zip.NewWriter(f)
		for file, text := range x.files {
			w, err := z.Create(file)
			if err != nil {
				t.Fatal(err)
			}
			io.WriteString(w, text)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		f.Close()
		if _, err := backup.Unpack(path, t.TempDir()); err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
