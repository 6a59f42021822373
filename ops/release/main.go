// Command release writes the files of a release into dist: static programs, packages, an image, a list of components
// and checksums. make release runs it. Two runs on one commit write the same bytes.
package main

import (
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// release is what all parts of a release have in common.
type release struct {
	root    string // of the repository
	out     string // folder of the files
	work    string // folder of programs and of what is generated from them
	version string // without the v: 0.3.0
	commit  string
	time    time.Time // of the commit
}

// target is a system that programs are built for.
type target struct{ os, arch string }

var targets = []target{{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"},
	{"windows", "amd64"}}

func main() {
	log.SetFlags(0)
	root, out := flag.String("root", ".", "folder of the repository"),
		flag.String("out", "dist", "folder that is written, and emptied before")
	only := flag.String("only", "", "the one system to build for, such as linux/amd64; all, if empty")
	flag.Parse()
	if *only != "" {
		targets = slices.DeleteFunc(targets, func(t target) bool { return t.os+"/"+t.arch != *only })
	}
	if err := run(*root, *out); err != nil {
		log.Fatal("release: ", err)
	}
}

func run(root, out string) error {
	r, err := newRelease(root, out)
	if err != nil {
		return err
	}
	defer os.RemoveAll(r.work)
	steps := []func() error{r.generate}
	for _, t := range targets {
		steps = append(steps, func() error { return r.build(t) }, func() error { return r.archive(t) })
		if t.os == "linux" {
			steps = append(steps, func() error { return r.packages(t) })
		}
	}
	steps = append(steps, r.components, r.image, r.checksums)
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// newRelease reads version and time of the commit, and empties the folder out.
func newRelease(root, out string) (*release, error) {
	r := &release{root: root, out: out}
	described, err := r.git("describe", "--tags", "--always", "--dirty", "--abbrev=12")
	if err != nil {
		return nil, err
	}
	if r.version = strings.TrimPrefix(described, "v"); !strings.Contains(r.version, ".") {
		r.version = "0.0.0-" + r.version // no tag yet
	}
	if r.commit, err = r.git("rev-parse", "HEAD"); err != nil {
		return nil, err
	}
	seconds, err := r.git("log", "-1", "--format=%ct")
	if err != nil {
		return nil, err
	}
	n, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return nil, err
	}
	r.time = time.Unix(n, 0).UTC()
	if err := os.RemoveAll(out); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return nil, err
	}
	r.work, err = os.MkdirTemp("", "grense-release-")
	return r, err
}

func (r *release) git(args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = r.root
	b, err := cmd.Output()
	return strings.TrimSpace(string(b)), err
}

// program returns the path of the program for t.
func (r *release) program(t target) string {
	name := "grense-" + t.os + "-" + t.arch
	if t.os == "windows" {
		name += ".exe"
	}
	return filepath.Join(r.work, name)
}

// build compiles the program for t.
func (r *release) build(t target) error {
	if _, err := os.Stat(r.program(t)); err == nil {
		return nil
	}
	log.Printf("building for %s/%s", t.os, t.arch)
	linked := "-s -w -X main.linked=v" + r.version + " -X main.linkedCommit=" + r.commit + " -X main.linkedDate=" +
		r.time.Format(time.RFC3339)
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags", linked, "-o",
		r.program(t), "./cmd/grense")
	cmd.Dir = r.root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+t.os, "GOARCH="+t.arch)
	cmd.Stderr = os.Stderr
	return cmd.Run()
}

// generated are the files that the program writes about itself, by their path in a package.
var generated = map[string][]string{
	"/usr/share/man/man1/grense.1":                     {"man"},
	"/usr/share/bash-completion/completions/grense":    {"completion", "bash"},
	"/usr/share/zsh/vendor-completions/_grense":        {"completion", "zsh"},
	"/usr/share/fish/vendor_completions.d/grense.fish": {"completion", "fish"},
	"/usr/share/doc/grense/THIRD_PARTY":                {"licences"},
}

// generate runs the program of this machine to write manual page, completions and licences.
func (r *release) generate() error {
	host := target{runtime.GOOS, runtime.GOARCH}
	if err := r.build(host); err != nil {
		return err
	}
	for path, args := range generated {
		b, err := exec.Command(r.program(host), args...).Output()
		if err != nil {
			return fmt.Errorf("grense %s: %w", strings.Join(args, " "), err)
		}
		if err := os.WriteFile(r.generatedFile(path), b, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// generatedFile returns where the content of a path of generated lies.
func (r *release) generatedFile(path string) string {
	return filepath.Join(r.work, strings.ReplaceAll(path, "/", "_"))
}

// files returns the documents of a release: their names in an archive and where they lie.
func (r *release) files() (list [][2]string) {
	for _, name := range []string{"README.md", "CHANGELOG.md", "NOTICE", "LICENSE"} {
		path := filepath.Join(r.root, name)
		if _, err := os.Stat(path); err == nil || name != "LICENSE" {
			list = append(list, [2]string{name, path})
		}
	}
	for path := range generated {
		list = append(list, [2]string{"share/" + filepath.Base(path), r.generatedFile(path)})
	}
	list = append(list, [2]string{"share/grense.yaml", filepath.Join(r.root, "ops/package/grense.yaml")})
	slices.SortFunc(list, func(a, b [2]string) int { return strings.Compare(a[0], b[0]) })
	return list
}

// components writes the list of components (SBOM) of the program for linux/amd64, in CycloneDX.
func (r *release) components() error {
	path, err := filepath.Abs(filepath.Join(r.out, "grense_"+r.version+"_sbom.json"))
	if err != nil {
		return err
	}
	cmd := exec.Command("go", "tool", "cyclonedx-gomod", "bin", "-json", "-licenses", "-noserial", "-notimestamp",
		"-output", path, "-version", "v"+r.version, r.program(targets[0]))
	cmd.Dir = filepath.Join(r.root, "ops", "release")
	cmd.Env = append(os.Environ(), "GOFLAGS=", "SOURCE_DATE_EPOCH="+strconv.FormatInt(r.time.Unix(), 10))
	cmd.Stderr = os.Stderr
	return cmd.Run()
}

// checksums writes SHA256SUMS of all files.
func (r *release) checksums() error {
	names, err := os.ReadDir(r.out)
	if err != nil {
		return err
	}
	var sums strings.Builder
	for _, n := range names {
		if n.IsDir() {
			continue
		}
		b, err := os.ReadFile(filepath.Join(r.out, n.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(b), n.Name())
	}
	if sums.Len() == 0 {
		return errors.New("nothing was written")
	}
	return os.WriteFile(filepath.Join(r.out, "SHA256SUMS"), []byte(sums.String()), 0o644)
}
