package internal_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestWherePageNamesWhatExists reads docs/develop/where.md: each file is there, and has the names that follow it.
func TestWherePageNamesWhatExists(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/develop/where.md")
	if err != nil {
		t.Fatal(err)
	}
	names, rows := regexp.MustCompile("`([^`]+)`"), 0
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(line, "|")
		if len(cells) != 5 || !strings.Contains(line, "`") {
			continue
		}
		rows++
		for _, cell := range cells[2:4] {
			text := ""
			for _, m := range names.FindAllStringSubmatch(cell, -1) {
				switch name := m[1]; {
				case strings.Contains(name, "/"):
					path := filepath.Join("..", name)
					info, err := os.Stat(path)
					if err != nil {
						t.Errorf("%s: %v", strings.TrimSpace(cells[1]), err)
						continue
					}
					if text = ""; !info.IsDir() {
						b, err := os.ReadFile(path)
						if err != nil {
							t.Fatal(err)
						}
						text = string(b)
					}
				case !regexp.MustCompile(`\b` + name + `\b`).MatchString(text):
					t.Errorf("%s: the file has no %s", strings.TrimSpace(cells[1]), name)
				}
			}
		}
	}
	if rows < 40 {
		t.Errorf("only %d rows", rows)
	}
}
