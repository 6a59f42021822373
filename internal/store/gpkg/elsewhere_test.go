package gpkg_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"grense/internal/await"
	"grense/internal/store/gpkg"
)

// elsewhere is a command that runs statements on a file in another process, since locks of a file are those of a
// process. It fails with what SQLite says.
func elsewhere(t *testing.T, path, script string, env ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestAnotherProgram$", "-test.v",
		"-test.short=false")
	cmd.Env = append(append(os.Environ(), "GRENSE_TEST_FILE="+path, "GRENSE_TEST_SCRIPT="+script), env...)
	return cmd
}

// TestAnotherProgram is no test but what elsewhere starts.
func TestAnotherProgram(t *testing.T) {
	path, script := os.Getenv("GRENSE_TEST_FILE"), os.Getenv("GRENSE_TEST_SCRIPT")
	if path == "" {
		t.Skip("other tests start it")
	}
	db, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetBusyTimeout(50 * time.Millisecond)
	pause, _ := time.ParseDuration(os.Getenv("GRENSE_TEST_EVERY"))
	for {
		if err := sqlitex.ExecuteTransient(db, script, nil); err != nil &&
			(pause == 0 || sqlite.ErrCode(err).ToPrimary() != sqlite.ResultBusy) {
			t.Fatal(err)
		}
		if pause == 0 {
			return
		}
		if err := sqlitex.ExecuteTransient(db, "PRAGMA wal_checkpoint(TRUNCATE)", nil); err != nil &&
			sqlite.ErrCode(err).ToPrimary() != sqlite.ResultBusy {
			t.Fatal(err)
		}
		await.Pace(pause)
	}
}

// TestCopiesOfAFileInWALModeAreOfOneState: a program that commits and moves its commits into the file all the time.
func TestCopiesOfAFileInWALModeAreOfOneState(t *testing.T) {
	t.Parallel()
	path := build(t, `CREATE TABLE x (fid INTEGER PRIMARY KEY, n INTEGER, pad BLOB);
		INSERT INTO x SELECT value, 0, zeroblob(6000) FROM (WITH RECURSIVE g(value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM g WHERE value < 4000) SELECT value FROM g);`+attributes)
	turn, end := other(t, path)
	turn("PRAGMA journal_mode=WAL")
	end()
	writer := elsewhere(t, path, "UPDATE x SET n = n + 1 WHERE fid IN (1, 4000)", "GRENSE_TEST_EVERY=1ms")
	if err := writer.Start(); err != nil {
		t.Fatal(err)
	}
	defer writer.Wait()         //nolint:errcheck // it is killed
	defer writer.Process.Kill() //nolint:errcheck // it is waited for
	states := map[int64]bool{}
	for len(states) < 6 {
		s, err := gpkg.Open(t.Context(), path, gpkg.Options{DataDir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		of := map[int64]int{}
		err = s.Numbers(t.Context(), "SELECT n FROM main.x WHERE fid IN (1, 4000)", func(n int64) error {
			of[n]++
			states[n] = true
			return nil
		})
		if err != nil || len(of) != 1 {
			t.Errorf("a copy has rows of %v: %v", of, err)
		}
		if err := s.Numbers(t.Context(), "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check <> 'ok'",
			func(n int64) error {
				if n > 0 {
					return errors.New("damaged")
				}
				return nil
			}); err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			return
		}
	}
}

// TestWhoReadsKeepsItsLockWhileTheFileIsOpenedAnew: nobody may write into what is being read,
// so that all of it is of one state.
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
			if _, err := gpkg.Open(t.Context(), path,
				gpkg.Options{DataDir: filepath.Join(path, "in a file")}); err == nil {
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
					if out, err := elsewhere(t, path, "UPDATE x SET n = n + 1").CombinedOutput(); err == nil ||
						!strings.Contains(string(out), "locked") {
						t.Errorf("another program writes into what is being read: %s", out)
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
