//go:build linux

package main_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"grense/internal/await"
)

// imageRoot unpacks the image for this machine by the layout itself.
func imageRoot(t *testing.T) string {
	t.Helper()
	files := map[string][]byte{}
	f, err := os.Open(releasedFile(t, "_oci.tar"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for r := tar.NewReader(f); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if files[h.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
	type descriptor struct {
		Digest   string
		Platform struct{ Architecture string }
	}
	blob := func(d descriptor, v any) []byte {
		b := files["blobs/"+strings.ReplaceAll(d.Digest, ":", "/")]
		if v != nil {
			if err := json.Unmarshal(b, v); err != nil {
				t.Fatal(err)
			}
		}
		return b
	}
	var index struct{ Manifests []descriptor }
	if err := json.Unmarshal(files["index.json"], &index); err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(index.Manifests, func(d descriptor) bool { return d.Platform.Architecture == "amd64" })
	var manifest struct {
		Config descriptor
		Layers []descriptor
	}
	blob(index.Manifests[i], &manifest)
	var config struct {
		Config struct {
			User        string
			Env         []string
			Entrypoint  []string
			Cmd         []string
			Healthcheck struct{ Test []string }
		}
	}
	blob(manifest.Config, &config)
	if c := config.Config; c.User != "65532:65532" ||
		!slices.Equal(c.Healthcheck.Test, []string{"CMD", "/grense", "health"}) ||
		!slices.Equal(c.Entrypoint, []string{"/grense"}) || !slices.Equal(c.Env, imageEnvironment) {
		t.Errorf("configuration of the image: %+v", c)
	}
	root := t.TempDir()
	for _, layer := range manifest.Layers {
		var in io.Reader = bytes.NewReader(blob(layer, nil))
		if z, err := gzip.NewReader(bytes.NewReader(blob(layer, nil))); err == nil {
			in = z
		}
		cmd := exec.CommandContext(t.Context(), "tar", "-x", "--numeric-owner", "-C", root)
		cmd.Stdin = in
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	return root
}

var imageEnvironment = []string{"GRENSE_ADDR=:8080", "GRENSE_DATA_DIR=/data", "TMPDIR=/tmp", "HOME=/data"}

// contained returns a command in the image: as its user, as process 1, on a root that is read-only but for /data and
// /tmp.
func contained(ctx context.Context, root, data string, args ...string) *exec.Cmd {
	const script = `set -e; mount --make-rprivate /; mount --bind "$0" "$0"; mount --bind "$1" "$0/data"
mount -t tmpfs -o mode=1777 tmpfs "$0/tmp"; mount -o remount,ro,bind "$0"; root=$0; shift
exec chroot --userspec=65532:65532 "$root" "$@"`
	cmd := exec.CommandContext(ctx, "unshare", append([]string{"--mount", "--pid", "--fork", "--kill-child",
		"sh", "-c", script, root, data}, args...)...)
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH")}, imageEnvironment...)
	return cmd
}

// TestAcceptOpsImage runs the image as process 1: demo, import, each download, a job, and the end.
func TestAcceptOpsImage(t *testing.T) {
	releasedFile(t, "_oci.tar")
	asRoot(t)
	root, data := imageRoot(t), t.TempDir()
	if err := errors.Join(os.Chown(data, 65532, 65532), os.Chmod(root, 0o755), os.Chmod(filepath.Dir(root), 0o755),
		os.WriteFile(data+"/kommuner.geojson", []byte(areas(3)), 0o644)); err != nil {
		t.Fatal(err)
	}
	addr := freeAddress(t)
	run := func(args ...string) string {
		t.Helper()
		out, err := contained(t.Context(), root, data, append([]string{"/grense"}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	run("import", "/data/kommuner.geojson", "--into", "/data/kommuner.gpkg", "--collection", "kommuner")
	if out := run("key", "create", "--name", "x"); !strings.Contains(out, "\ngrense_") {
		t.Errorf("key create prints %s", out)
	}
	for _, source := range [][]string{nil, {"/data/kommuner.gpkg"}} {
		served := data + "/served"
		if err := errors.Join(os.RemoveAll(served), os.Mkdir(served, 0o700),
			os.Chown(served, 65532, 65532)); err != nil {
			t.Fatal(err)
		}
		cmd := contained(context.WithoutCancel(t.Context()), root, data, append([]string{"/grense", "serve",
			"--auth", "open", "--addr", addr, "--data-dir", "/data/served"}, source...)...)
		cmd.Env = append(cmd.Env, "GRENSE_LIMITS_DRAIN_WAIT=1s", "GRENSE_LIMITS_DRAIN_TIMEOUT=10s")
		var log bytes.Buffer
		cmd.Stdout, cmd.Stderr = &log, &log
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		w := &worker{base: "http://" + addr}
		awaitReady(t, w.base, ended, &log)
		everyDownload(t, w.base)
		job := w.submit(t, "0")
		w.await(t, job, "successful")
		run("health", w.base)
		begun := time.Now()
		if err := syscall.Kill(child(t, cmd.Process.Pid), syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-ended:
			if err != nil || time.Since(begun) > 12*time.Second {
				t.Errorf("%v after %v\n%s", err, time.Since(begun), &log)
			}
		case <-time.After(patience):
			cmd.Process.Kill()
			t.Fatalf("SIGTERM does not end it:\n%s", &log)
		}
	}
}

// child returns the one child of a process: of unshare, process 1 of the image.
func child(t *testing.T, pid int) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", pid))
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// awaitReady waits for /readyz.
func awaitReady(t *testing.T, base string, ended <-chan error, log fmt.Stringer) {
	t.Helper()
	await.Success(t, "ready", func() error {
		if res, err := http.Get(base + "/readyz"); err == nil {
			res.Body.Close()
			if res.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case err := <-ended:
			t.Fatalf("it ended: %v\n%s", err, log)
		default:
		}
		return errors.New(log.String())
	})
}

// everyDownload fetches each file that the collections offer.
func everyDownload(t *testing.T, base string) {
	t.Helper()
	get := func(url string) []byte {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		res, body := exchange(t, http.DefaultClient, req)
		if res.StatusCode != http.StatusOK || len(body) == 0 {
			t.Errorf("%s: status %d, %d bytes: %.300s", url, res.StatusCode, len(body), body)
		}
		return body
	}
	var list struct {
		Collections []struct {
			ID    string
			Links []struct{ Rel, Href string }
		}
	}
	if err := json.Unmarshal(get(base+"/collections?f=json"), &list); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, c := range list.Collections {
		for _, l := range c.Links {
			if _, path, ok := strings.Cut(l.Href, "/collections/"); ok && l.Rel == "enclosure" {
				get(base + "/collections/" + path)
				n++
			}
		}
	}
	if n < 12 {
		t.Errorf("only %d downloads are offered", n)
	}
}
