package gpkg_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"grense/internal/store/gpkg"
)

// elsewhere runs statements on a file in another process, since locks of a file are those of a process; what SQLite says of the first that fails.
func elsewhere(t *testing.T, path, script string) error {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestAnotherProgram$", "-test.v")
	cmd.Env = append(os.Environ(), "GRENSE_TEST_FILE="+path, "GRENSE_TEST_SCRIPT="+script)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

// TestAnotherProgram is no test but what elsewhere starts.
func TestAnotherProgram(t *testing.T) {
	path := os.Getenv("GRENSE_TEST_FILE")
	if path == "" {
		t.Skip("it is started by other tests")
	}
	db, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetBusyTimeout(200 * time.Millisecond)
	if err := sqlitex.ExecuteScript(db, os.Getenv("GRENSE_TEST_SCRIPT"), nil); err != nil {
		t.Fatal(err)
	}
}

// TestWhoReadsKeepsItsLockWhileTheFileIsOpenedAnew: nobody may write into what is being read, so that all of it is of one state.
func TestWhoReadsKeepsItsLockWhileTheFileIsOpenedAnew(t *testing.T) {
	t.Parallel()
	path := build(t, `CREATE TABLE x (fid INTEGER PRIMARY KEY, n INTEGER, pad BLOB);
		INSERT INTO x SELECT value, 0, zeroblob(6000) FROM (WITH RECURSIVE g(value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM g WHERE value < 1000) SELECT value FROM g);`+attributes)
	for name, reload := range map[string]func(s *gpkg.Store) error{
		"a reload": func(s *gpkg.Store) error { return s.Reload(t.Context()) },
		"another opening": func(*gpkg.Store) error {
			s, err := gpkg.Open(t.Context(), path, gpkg.Options{DataDir: t.TempDir()})
			if err == nil {
				err = s.Close()
			}
			return err
		},
		"an opening that fails": func(*gpkg.Store) error {
			if _, err := gpkg.Open(t.Context(), path, gpkg.Options{DataDir: filepath.Join(path, "in a file")}); err == nil {
				return errors.New("opened")
			}
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := openStore(t, path, gpkg.Options{PageCache: 1})
			seen := map[int64]int{}
			err := s.Numbers(t.Context(), "SELECT n, pad FROM main.x", func(n int64) error {
				if len(seen) == 0 {
					if err := reload(s); err != nil {
						return err
					}
					if err := elsewhere(t, path, "UPDATE x SET n = n + 1"); err == nil || !strings.Contains(err.Error(), "locked") {
						t.Errorf("another program writes into what is being read: %v", err)
					}
				}
				seen[n]++
				return nil
			})
			if err != nil || len(seen) != 1 {
				t.Errorf("one answer has rows of %d states: %v: %v", len(seen), seen, err)
			}
		})
	}
}
