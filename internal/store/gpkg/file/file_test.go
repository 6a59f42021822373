package file_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"grense/internal/store/gpkg/file"
)

// TestOnlyFilesOfFormerStatesAreRemoved: of the same source, whatever the folder is called.
func TestOnlyFilesOfFormerStatesAreRemoved(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "[data]*")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, stays := range map[string]bool{"a-1.records": true, "a-1-sted.records": true, "a-2-sted.records": false,
		"a-2.records": false, "a-2.side": true, "b-2.records": true} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		file.RemoveOthers(dir, "a-", "a-1", ".records")
		if _, err := os.Stat(path); (err == nil) != stays {
			t.Errorf("%s stays: %v", name, err == nil)
		}
	}
}

// TestWhatACrashLeftOfAFormerStateIsRemoved: once nobody can still be writing it, whatever state it is of.
func TestWhatACrashLeftOfAFormerStateIsRemoved(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, stays := range map[string]bool{".a-2-sted.records.7.tmp": false, ".a-1-sted.records.7.tmp": false,
		".a-2.side.7.tmp": true, ".b-2.records.7.tmp": true, "a-2.records.7.tmp": true} {
		path := filepath.Join(dir, name)
		for _, age := range []time.Duration{time.Hour, 25 * time.Hour} {
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Chtimes(path, time.Time{}, time.Now().Add(-age)); err != nil {
				t.Fatal(err)
			}
			file.RemoveOthers(dir, "a-", "a-1", ".records")
			if _, err := os.Stat(path); (err == nil) != (stays || age < 24*time.Hour) {
				t.Errorf("%s stays after %v: %v", name, age, err == nil)
			}
		}
	}
}
