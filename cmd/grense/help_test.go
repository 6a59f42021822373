package main

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the generated pages")

// subcommand matches the lines of a help that list commands.
var subcommand = regexp.MustCompile(`(?m)^  ([a-z]+(?: [a-z]+)*) {2,}[A-Z]`)

// helps returns the help of every command, in the order of the command line, "" first.
func helps(t *testing.T) (names []string, texts map[string]string) {
	t.Helper()
	texts = map[string]string{}
	var visit func(name string)
	visit = func(name string) {
		if texts[name] != "" {
			return
		}
		code, stdout, stderr := command(t, t.TempDir(), append(strings.Fields(name), "--help")...)
		if code != 0 || stderr != "" {
			t.Fatalf("%s --help: status %d, %s", name, code, stderr)
		}
		names, texts[name] = append(names, name), stdout
		if _, list, ok := strings.Cut(stdout, "\nCommands:\n"); ok {
			list, _, _ = strings.Cut(list, "\n\n")
			for _, m := range subcommand.FindAllStringSubmatch(list, -1) {
				if group, _, ok := strings.Cut(m[1], " "); ok {
					visit(group)
				}
				visit(m[1])
			}
		}
	}
	visit("")
	return names, texts
}

// TestHelpBeginsWithAnImperativeAndEndsWithTwoExamples looks at every command.
func TestHelpBeginsWithAnImperativeAndEndsWithTwoExamples(t *testing.T) {
	t.Parallel()
	names, texts := helps(t)
	if len(names) < 20 {
		t.Fatalf("only %d commands: %v", len(names), names)
	}
	first := regexp.MustCompile(`(?s)^Usage: [^\n]*\n\n([A-Z][a-z]*[^s]) [^.]*\.`)
	last := regexp.MustCompile(`\nExamples:\n(  [^\n]*grense [^\n]*\n){2}$`)
	for _, name := range names {
		if !first.MatchString(texts[name]) {
			t.Errorf("grense %s --help does not begin with a sentence in the imperative:\n%.200s", name, texts[name])
		}
		if !last.MatchString(texts[name]) {
			t.Errorf("grense %s --help does not end with two examples:\n%s", name, texts[name])
		}
		if strings.ContainsAny(texts[name], "“”") {
			t.Errorf("grense %s --help has quotation marks that nobody can type", name)
		}
	}
	for _, args := range [][]string{{}, {"-h"}} {
		if code, stdout, stderr := command(t, t.TempDir(), args...); code != 0 || stderr != "" || stdout != texts[""] {
			t.Errorf("%v: status %d\n%s%s", args, code, stdout, stderr)
		}
	}
	for _, name := range []string{"--addr", "--base-url", "--data-dir", "--config", "--auth", "--metrics-addr",
		"--tls-cert", "--tls-key", "--log-format"} {
		if !strings.Contains(texts["serve"], name+"=") {
			t.Errorf("serve --help does not list %s", name)
		}
	}
}

// TestCommandsPageIsCurrent builds docs/run/commands.md from the help.
func TestCommandsPageIsCurrent(t *testing.T) {
	t.Parallel()
	names, texts := helps(t)
	var b strings.Builder
	b.WriteString("# Commands\n\n<!-- Generated from the help: go test ./cmd/grense -run PageIsCurrent " +
		"-update -->\n\n" +
		"`bin/grense COMMAND --help` prints the same.\n")
	for _, name := range names {
		b.WriteString("\n## grense " + name)
		if name == "" {
			b.WriteString("COMMAND")
		}
		b.WriteString("\n\n```text\n" + texts[name] + "```\n")
	}
	pageIsCurrent(t, "run/commands.md", b.String())
}

// pageIsCurrent compares a page below docs with what it is generated from; -update writes it.
func pageIsCurrent(t *testing.T, page, want string) {
	t.Helper()
	path := filepath.Join("..", "..", "docs", page)
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != want {
		t.Errorf("docs/%s is stale (%v); run go test ./cmd/grense -run PageIsCurrent -update", page, err)
	}
}
