package storetest_test

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"grense/internal/store/storetest"
)

// TestClusterEndsWithKilledTest kills a test that uses a server: the server and its folder go, and nothing holds the
// files any more that the test had open.
func TestClusterEndsWithKilledTest(t *testing.T) {
	if os.Getenv("GRENSE_TEST_VICTIM") != "" {
		cluster := storetest.Cluster{Private: true}
		cluster.Database(t)
		fmt.Fprintln(os.NewFile(3, "held"), "ready")
		select {} // until it is killed
	}
	t.Parallel()
	dir := t.TempDir()
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil { // the server runs as another user
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	held, hold, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	victim := exec.Command(os.Args[0], "-test.run=^TestClusterEndsWithKilledTest$")
	victim.Env = append(os.Environ(), "GRENSE_TEST_VICTIM=1", "TMPDIR="+dir)
	victim.ExtraFiles = []*os.File{hold} // programs that the test starts inherit it
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	hold.Close()
	held.SetReadDeadline(time.Now().Add(2 * time.Minute))
	said, err := io.ReadAll(io.LimitReader(held, int64(len("ready\n"))))
	victim.Process.Kill()
	victim.Wait()
	if string(said) != "ready\n" {
		t.Fatalf("the test did not start its server: %q, %v", said, err)
	}
	held.SetReadDeadline(time.Now().Add(time.Minute))
	if _, err := io.ReadAll(held); err != nil {
		t.Errorf("a minute after the test was killed its server runs: %v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}
