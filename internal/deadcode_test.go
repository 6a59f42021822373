package internal_test

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// unreached are functions that no program of ours calls, by package or by function, with the reason why they stay.
var unreached = map[string]string{
	"internal/store/storetest":               "for the tests of the stores",
	"internal/register/registertest":         "for the tests of the register and its imports",
	"internal/cql2/cql2test":                 "for the tests of what reads CQL2",
	"internal/sharedtest":                    "for the tests that read the shared data",
	"internal/demo Write":                    "tests of five packages fill a store with the demo",
	"api/placename CodeValues":               "a test of the register holds the lists against it",
	"api/placename StedsnavnContext.request": "marks the types that are requests; nobody calls it",
}

// TestEveryFunctionIsReached asks deadcode, which reads the whole program; make lint sets GRENSE_DEADCODE.
func TestEveryFunctionIsReached(t *testing.T) {
	t.Parallel()
	if os.Getenv("GRENSE_DEADCODE") == "" {
		t.Skip("takes a minute; make lint runs it")
	}
	cmd := exec.Command("go", "tool", "deadcode", "-f",
		`{{range .Funcs}}{{$.Path}} {{.Position.File}} {{.Name}}{{"\n"}}{{end}}`, "./cmd/...")
	cmd.Dir = ".."
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("deadcode: %v", err)
	}
	met := map[string]bool{}
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line)
		if len(f) != 3 {
			continue
		}
		pkg, file, name := strings.TrimPrefix(f[0], "grense/"), f[1], f[2]
		names := []string{pkg, file, pkg + " " + name}
		if i := slices.IndexFunc(names, func(n string) bool { return unreached[n] != "" }); i >= 0 {
			met[names[i]] = true
			continue
		}
		t.Errorf("%s: no program calls %s; delete it, or move it into tests", file, name)
	}
	for name := range unreached {
		if !met[name] && !strings.HasSuffix(name, "test") {
			t.Errorf("%s is listed as not reached, but is", name)
		}
	}
}
