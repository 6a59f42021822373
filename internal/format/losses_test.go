package format_test

import (
	"os"
	"strings"
	"testing"

	"grense/internal/format"
)

// TestDocumentationListsTheLossesOfTheHeader of each format, in the same words.
func TestDocumentationListsTheLossesOfTheHeader(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("../../docs/use/downloads.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(b), "| `f` | Lost |\n|---|---|\n")
	table, _, _ = strings.Cut(table, "\n\n")
	var want []string
	for _, f := range format.All() {
		if len(f.Losses) > 0 {
			want = append(want, "| `"+f.Name+"` | "+strings.Join(f.Losses, "; ")+" |")
		}
	}
	if got := strings.Join(want, "\n"); table != got {
		t.Errorf("docs/use/downloads.md has\n%s\nheaders tell\n%s", table, got)
	}
}
