package main_test

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

var (
	shellBlock  = regexp.MustCompile("(?ms)^```sh\n(.*?)^```$")
	shellRemark = regexp.MustCompile(`\s# .*$`)
)

// elsewhere are the commands of documents that this test does not run, by a part of them, with the reason.
var elsewhere = []struct{ part, reason string }{
	{"make ", "the targets run as a whole"},
	{"go test ", "the tests run as a whole"},
	{"export KEY", "the key is in the environment here"},
	{"postgres://", "the tests of PostGIS run these"},
	{"ogr2ogr ", "make accept runs GDAL"},
	{"ogrinfo ", "make accept runs GDAL"},
	{"sqlite3 ", "a tool of its own"},
	{"mv ", "of the system"},
	{"kill ", "the tests of reloads send the signal"},
	{"Basisdata_", "the tests of the official products import them"},
	{"key rotate ID", "the tests of keys rotate one"},
	{"/var/lib/grense", "the tests of backups restore one"},
	{"mvn ", "the official suites are run by hand"},
	{"java ", "the official suites are run by hand"},
	{"register upgrade", "needs a register of an older Grense"},
	{"--scheme ", "the tests of the registers import their tables"},
	{"lineage check", "the tests of the registers check their lists"},
	{"-X POST -H 'Content-Type: text/csv' -H \"X-API-Key: $KEY\"", "make accept sends tables by curl"},
}

// TestCommandsOfDocumentsRun runs what README and docs show in blocks of the language sh, in a folder with
// the files that they name.
func TestCommandsOfDocumentsRun(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("curl is not installed")
	}
	s := serve(t, []string{"GRENSE_HISTORY=norway", "GRENSE_COMPAT_KOMMUNEINFO=true", "GRENSE_COMPAT_STEDSNAVN=true"})
	dir := t.TempDir()
	documentFiles(t, s, dir)
	pages := []string{rootPath(t, "README.md"), rootPath(t, "CONTRIBUTING.md")}
	err := filepath.WalkDir(rootPath(t, "docs"), func(path string, d fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".md") {
			pages = append(pages, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	ran := map[string]bool{}
	for _, page := range pages {
		b, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, block := range shellBlock.FindAllSubmatch(b, -1) {
			for line := range strings.Lines(strings.ReplaceAll(string(block[1]), "\\\n", " ")) {
				line = shellRemark.ReplaceAllString(strings.Join(strings.Fields(line), " "), "")
				if line == "" || ran[line] || isElsewhere(line) {
					continue
				}
				ran[line] = true
				if err := runDocumented(t, s, dir, line); err != nil {
					t.Errorf("%s: %s\n%v", filepath.Base(page), line, err)
				}
			}
		}
	}
	if len(ran) < 30 {
		t.Errorf("only %d commands ran", len(ran))
	}
}

func isElsewhere(line string) bool {
	for _, e := range elsewhere {
		if strings.Contains(line, e.part) {
			return true
		}
	}
	return false
}

// documentFiles writes the files that documents name, from the demo that s serves.
func documentFiles(t *testing.T, s *serving, dir string) {
	t.Helper()
	get := func(path string) []byte {
		status, body, err := s.get(t.Context(), path)
		if err != nil || status != 200 {
			t.Fatal(path, status, err)
		}
		return body
	}
	write := func(name string, b []byte) {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(dir, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(rootPath(t, "bin", "grense"), filepath.Join(dir, "bin", "grense")); err != nil {
		t.Fatal(err)
	}
	write("kommuner.gpkg", get("/collections/kommuner/download?f=gpkg"))
	features := get("/collections/kommuner/download?f=json")
	features = bytes.ReplaceAll(features, []byte(`"nr":`), []byte(`"kommunenummer":`))
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	z.Write(bytes.ReplaceAll(features, []byte(`"navn":`), []byte(`"kommunenavn":`)))
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	write("kommuner.geojson.gz", packed.Bytes())
	write("municipalities.geojson", bytes.ReplaceAll(features, []byte(`"navn":`), []byte(`"name":`)))
	shapes := get("/collections/kommuner/download?f=shapefile")
	archive, err := zip.NewReader(bytes.NewReader(shapes), int64(len(shapes)))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range archive.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		write("folder-of-shapefiles/"+filepath.Base(f.Name), b)
	}
	write("people.csv", []byte("kommunenr,people\n0301,681071\n1504,47199\n"))
	write("births.csv", []byte("code,date,value\n0301,2019,9000\n0301,2020,9100\n"))
	write("steder.csv", []byte("name,lon,lat\nOslo,10.75,59.91\n"))
	config, err := os.ReadFile(rootPath(t, "docs", "run", "configuration.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, yaml, _ := strings.Cut(string(config), "```yaml\n")
	yaml, _, _ = strings.Cut(yaml, "```")
	write("grense.yaml", []byte(strings.ReplaceAll(yaml, "127.0.0.1:9090", freeAddress(t))))
	writeTLS(t, dir)
	if err := os.Rename(filepath.Join(dir, "cert.pem"), filepath.Join(dir, "chain.pem")); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"bin/grense import municipalities.geojson --into municipalities.gpkg --collection municipalities --id-field " +
			"kommunenummer --title-field name",
		"bin/grense register generate --places 100 --out register.gpkg",
	} {
		if err := runDocumented(t, s, dir, line); err != nil {
			t.Fatal(line, err)
		}
	}
}

// runDocumented runs a command in dir; a server until it is ready.
func runDocumented(t *testing.T, s *serving, dir, line string) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	server := strings.Contains(line, "grense serve")
	addr := freeAddress(t)
	line = strings.ReplaceAll(line, "--addr :8080", "")
	line = strings.ReplaceAll(line, "http://localhost:8080", s.base)
	line = strings.ReplaceAll(line, "'X-API-Key: KEY'", `"X-API-Key: $KEY"`)
	line = strings.ReplaceAll(line, "X-API-Key: KEY", "X-API-Key: $KEY")
	line = strings.ReplaceAll(line, "--places 100000 --seed 1 --out register.gpkg",
		"--places 200 --seed 1 --out generated.gpkg")
	line = strings.ReplaceAll(line, "curl -OJ", "curl --output-dir downloads --create-dirs -OJ")
	line = strings.ReplaceAll(line, "curl ", "curl -sS --noproxy '*' --fail-with-body ")
	line = strings.ReplaceAll(line, "key revoke ID", `key revoke "$(bin/grense key list | tail -n 1 | cut -d' ' -f1)"`)
	if server {
		line = "exec env " + line + " --addr " + addr
	}
	cmd := exec.CommandContext(ctx, "sh", "-c", line)
	cmd.Dir = dir
	cmd.Env = []string{"HOME=" + filepath.Join(dir, fmt.Sprintf("home-%d", len(line))), "PATH=" + os.Getenv("PATH"),
		"KEY=" + s.key, "GRENSE_LIMITS_DRAIN_WAIT=0s"}
	if !server && !strings.Contains(line, "key ") {
		cmd.Env[0] = "HOME=" + dir
	}
	if strings.Contains(line, "key ") {
		cmd.Env[0] = "HOME=" + filepath.Join(dir, "keys")
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if !server {
		err := cmd.Run()
		refused := strings.Contains(line, "limit=x") || strings.Contains(line, "after=1712")
		if (err != nil) != refused {
			return fmt.Errorf("%v: %s", err, &out)
		}
		return nil
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	scheme := "http"
	if strings.Contains(line, "--tls-cert") {
		scheme = "https"
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for ready := false; !ready; {
		select {
		case err := <-ended:
			return fmt.Errorf("the server ended: %v: %s", err, &out)
		case <-time.After(50 * time.Millisecond):
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, scheme+"://"+addr+"/readyz", nil)
			if err != nil {
				return err
			}
			if resp, err := client.Do(req); err == nil {
				ready = resp.StatusCode == http.StatusOK
				resp.Body.Close()
			}
		}
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	if err := <-ended; err != nil {
		return fmt.Errorf("%v: %s", err, &out)
	}
	return nil
}

// freeAddress returns an address that nobody listens on.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
