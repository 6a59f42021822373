package internal_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// documents returns the texts of README, CONTRIBUTING and the pages below docs, by path from the root.
func documents(t *testing.T) map[string]string {
	t.Helper()
	texts := map[string]string{}
	read := func(path string) {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		texts[strings.TrimPrefix(filepath.ToSlash(path), "../")] = string(b)
	}
	read("../README.md")
	read("../CONTRIBUTING.md")
	err := filepath.WalkDir("../docs", func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".md") {
			read(path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return texts
}

var (
	linkTarget = regexp.MustCompile(`\]\(([^)#\s]+)[^)]*\)`)
	codeBlock  = regexp.MustCompile("(?ms)^```.*?^```$")
)

// TestLinksOfDocumentsLeadSomewhere looks at links to files; make docs looks at all.
func TestLinksOfDocumentsLeadSomewhere(t *testing.T) {
	t.Parallel()
	for path, text := range documents(t) {
		for _, m := range linkTarget.FindAllStringSubmatch(codeBlock.ReplaceAllString(text, ""), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			if _, err := os.Stat(filepath.Join("..", filepath.Dir(path), m[1])); err != nil {
				t.Errorf("%s links to %s, which does not exist", path, m[1])
			}
		}
	}
}

// TestEveryPageIsInTheNavigation of the site.
func TestEveryPageIsInTheNavigation(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("../docs/mkdocs.yml")
	if err != nil {
		t.Fatal(err)
	}
	for path := range documents(t) {
		if page, ok := strings.CutPrefix(path, "docs/"); ok && !strings.Contains(string(b), page) {
			t.Errorf("docs/mkdocs.yml does not name %s", page)
		}
	}
}

// TestDocumentsAreShort bounds README, the lines of the changelog, and sentences.
func TestDocumentsAreShort(t *testing.T) {
	t.Parallel()
	const readmeLines, readmeBytes, changelogLine, sentenceWords = 150, 8 << 10, 160, 30
	docs := documents(t)
	if r := docs["README.md"]; strings.Count(r, "\n") > readmeLines || len(r) > readmeBytes {
		t.Errorf("README.md has %d lines and %d bytes; move details to docs", strings.Count(r, "\n"), len(r))
	}
	b, err := os.ReadFile("../CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		if n := len([]rune(strings.TrimSpace(line))); n > changelogLine {
			t.Errorf("CHANGELOG.md: a line of %d characters: %.60s", n, line)
		}
	}
	for path, text := range docs {
		for _, s := range sentences(text) {
			if n := len(strings.Fields(s)); n > sentenceWords {
				t.Errorf("%s: a sentence of %d words: %.80s", path, n, s)
			}
		}
	}
}

// sentences returns those of the running text: not of code, tables and headings. A list item ends a sentence.
func sentences(text string) []string {
	var prose strings.Builder
	for line := range strings.Lines(codeBlock.ReplaceAllString(text, "")) {
		line = strings.TrimSpace(line)
		switch {
		case line == "", strings.HasPrefix(line, "|"), strings.HasPrefix(line, "#"):
			prose.WriteString(". ")
		case strings.HasPrefix(line, "- "), regexp.MustCompile(`^\d+\. `).MatchString(line):
			prose.WriteString(". " + line + " ")
		default:
			prose.WriteString(line + " ")
		}
	}
	return regexp.MustCompile(`[.:;!?]\s`).Split(prose.String(), -1)
}

// TestDocumentsUseTheGlossary looks for words that docs/develop/glossary.md replaces, but in that page and in code.
func TestDocumentsUseTheGlossary(t *testing.T) {
	t.Parallel()
	docs := documents(t)
	delete(docs, "docs/develop/glossary.md")
	for path, text := range docs {
		text = codeBlock.ReplaceAllString(text, "")
		text = strings.NewReplacer("not told apart", "").Replace(text) // of a format's losses, which a header has
		if m := dialect.FindString(text); m != "" {
			t.Errorf("%s: %q; docs/develop/glossary.md has the word", path, m)
		}
	}
}
