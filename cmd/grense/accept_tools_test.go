package main_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// tools is the folder into which make puts what packages of Debian do not have; the test fails where it is not there.
func tools(t *testing.T) string {
	t.Helper()
	dir := rootPath(t, "bin", "clients")
	if !exists(filepath.Join(dir, "made")) {
		t.Fatalf("there is no %s; make client-tools installs the generators of clients and the newest GDAL", dir)
	}
	return dir
}

// readAll reads a layer with the newest GDAL, by the recipe of README: all of it, and by a condition
// that the server evaluates.
const readAll = `
import sys, pyogrio
base, key = sys.argv[1:]
meta, _, geometry, _ = pyogrio.raw.read("OAPIF:" + base + "/", layer="kommuner", USERPWD="any:" + key)
some, _, found, fields = pyogrio.raw.read("OAPIF:" + base + "/", layer="kommuner", USERPWD="any:" + key, where="nr = '0301'")
_, _, byid, _ = pyogrio.raw.read("OAPIF:" + base + "/", layer="kommuner", USERPWD="any:" + key, where="id = '1560'")
print(pyogrio.__gdal_version__[:2] >= (3, 11), len(geometry), len(found), len(byid), meta["crs"])
`

// TestAcceptNewestGDAL: the recipe of README holds for the GDAL of today as well as for that of Debian.
func TestAcceptNewestGDAL(t *testing.T) {
	accept(t)
	t.Parallel()
	dir := tools(t)
	s := serve(t, nil)
	out, err := exec.CommandContext(t.Context(), filepath.Join(dir, "python", "bin", "python"), "-c", readAll, s.base,
		s.key).CombinedOutput()
	if want := "True 357 1 1 EPSG:25833\n"; err != nil || string(out) != want {
		t.Errorf("%v: %s, want %s", err, out, want)
	}
	if _, err := exec.CommandContext(t.Context(), filepath.Join(dir, "python", "bin", "python"), "-c", readAll, s.base,
		"none").CombinedOutput(); err == nil {
		t.Error("a wrong key reads the data; the test proves nothing")
	}
}

// TestAcceptGeneratedClients validates and lints the API definition, generates clients in Go, Python, TypeScript and
// Java, compiles them and makes real calls.
func TestAcceptGeneratedClients(t *testing.T) {
	accept(t)
	t.Parallel()
	dir, work := tools(t), t.TempDir()
	if err := os.Symlink(filepath.Join(dir, "node_modules"), filepath.Join(work, "node_modules")); err != nil {
		t.Fatal(err)
	}
	s := serve(t, []string{"GRENSE_AUTH=open"})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, sharedPath(t, "acceptance", "openapi", "clients.sh"), s.base, work)
	cmd.Env = append(os.Environ(), "PATH="+dir+string(os.PathListSeparator)+os.Getenv("PATH"),
		"OAG="+filepath.Join(dir, "openapi-generator-cli.jar"),
		"PY="+filepath.Join(dir, "python"), "no_proxy=localhost,127.0.0.1", "NO_PROXY=localhost,127.0.0.1")
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	ok := 0
	for line := range strings.Lines(string(out)) {
		if strings.HasPrefix(line, "ok ") {
			ok++
		}
		if strings.HasPrefix(line, "skip") {
			t.Errorf("not checked, for want of a tool: %s", line)
		}
	}
	if err != nil || ok < 10 {
		t.Errorf("%v after %d steps\n%s", err, ok, out)
	}
}

// TestAcceptImportsCoverWhatGEOSReads: polygons with faults of many kinds cover after an import what make_valid of GEOS
// makes of them, or are listed.
func TestAcceptImportsCoverWhatGEOSReads(t *testing.T) {
	accept(t)
	t.Parallel()
	python := filepath.Join(tools(t), "python", "bin", "python")
	out, err := exec.CommandContext(t.Context(), python, filepath.Join("testdata", "geos.py"),
		rootPath(t, "bin", "grense"), t.TempDir()).CombinedOutput()
	if sets := strings.Count(string(out), " 0 of them not listed"); err != nil || sets != 8 {
		t.Errorf("%v, %d sets\n%s", err, sets, out)
	}
	t.Logf("%s", out)
}

// TestAcceptMoreGenerators: what ogen (Go) and orval (TypeScript) make of the API definition compiles,
// and orval's passes strict type checks. Of ogen's features that are not implemented, the forms of enrich and
// harmonise alone are left out.
func TestAcceptMoreGenerators(t *testing.T) {
	accept(t)
	t.Parallel()
	dir, work := tools(t), t.TempDir()
	s := serve(t, []string{"GRENSE_AUTH=open"})
	if err := os.Symlink(filepath.Join(dir, "node_modules"), filepath.Join(work, "node_modules")); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"go.mod":   "module example.test/ogen\ngo 1.25\n",
		"ogen.yml": "generator:\n  ignore_not_implemented: [\"all\"]\n",
		"orval.config.cjs": "module.exports = { grense: { input: { target: './openapi.json' }, " +
			"output: { target: 'src/api.ts', client: 'axios-functions', mode: 'single' } } };\n",
		"tsconfig.json": `{"compilerOptions":{"target":"ES2022","module":"esnext","moduleResolution":"bundler",` +
			`"strict":true,` +
			`"skipLibCheck":true,"noEmit":true,"lib":["ES2022","DOM"]},"files":["src/api.ts"]}`,
	} {
		if err := os.WriteFile(filepath.Join(work, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
	defer cancel()
	for _, step := range []string{
		"curl -sf " + s.base + "/openapi -o openapi.json",
		"npx --no-install orval --config orval.config.cjs", "npx --no-install tsc -p tsconfig.json",
		"ogen --config ogen.yml --target api --package api openapi.json", "go mod tidy && go build ./...",
	} {
		cmd := exec.CommandContext(ctx, "bash", "-c", step)
		cmd.Dir, cmd.WaitDelay = work, time.Second
		cmd.Env = append(os.Environ(), "PATH="+dir+string(os.PathListSeparator)+os.Getenv("PATH"), "GOFLAGS=-mod=mod")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", step, err, out)
		}
		if n := strings.Count(string(out), "Skipping"); n > 2 {
			t.Errorf("%s: %d parts are left out\n%s", step, n, out)
		}
	}
}
