package internal_test

import (
	"go/ast"
	"go/token"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// maxColumns is the width of a line of code, with a tab as four columns.
const maxColumns = 120

// wide are files with lines that must stay whole: a shell script in a comment, outputs of examples, another module.
var wide = []string{
	"internal/geo/crs/transform_test.go", "api/placename/example_test.go", "internal/cql2/example_test.go",
	"internal/geo/locate/testdata/",
}

// TestLinesFitTheWindow: no line is wider than 120 columns, except for struct tags and raw strings over several lines.
func TestLinesFitTheWindow(t *testing.T) {
	t.Parallel()
	parsed(t, func(path string, set *token.FileSet, f *ast.File) {
		exempted := func(prefix string) bool { return strings.HasPrefix(path, prefix) }
		if slices.ContainsFunc(wide, exempted) {
			return
		}
		text, err := os.ReadFile("../" + path)
		if err != nil {
			t.Fatal(err)
		}
		exempt := map[int]bool{}
		ast.Inspect(f, func(n ast.Node) bool {
			lit, ok := n.(*ast.BasicLit)
			if field, isField := n.(*ast.Field); isField && field.Tag != nil {
				exempt[set.Position(field.Tag.Pos()).Line] = true
			}
			if ok && strings.HasPrefix(lit.Value, "`") && strings.Contains(lit.Value, "\n") {
				from, to := set.Position(lit.Pos()).Line, set.Position(lit.End()).Line
				for line := from; line <= to; line++ {
					exempt[line] = true
				}
			}
			return true
		})
		number := 0
		for line := range strings.Lines(string(text)) {
			number++
			line = strings.TrimRight(line, "\n")
			if n := utf8.RuneCountInString(line) + 3*strings.Count(line, "\t"); n > maxColumns && !exempt[number] {
				t.Errorf("%s:%d: %d columns; wrap it at %d", path, number, n, maxColumns)
			}
		}
	})
}
