package process_test

import (
	"testing"

	"grense/internal/process"
)

// TestProcessesDescribeThemselves: under the id by which they are found, with texts in each language, and with inputs and outputs that have a type.
func TestProcessesDescribeThemselves(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, p := range process.All() {
		id := p.ID()
		if found, ok := process.Find(id); !ok || found.ID() != id || seen[id] {
			t.Errorf("%s is not found, or there are two", id)
		}
		seen[id] = true
		told := map[string]string{}
		for _, lang := range []string{"nb", "nn", "en"} {
			d := p.Describe(lang)
			if d.ID != id {
				t.Errorf("%s describes itself as %s", id, d.ID)
			}
			if d.Title == "" || d.Description == "" || told[d.Description] != "" {
				t.Errorf("%s: title %q and description %q in %s; in %s it has the same", id, d.Title, d.Description, lang, told[d.Description])
			}
			told[d.Description] = lang
			for name, in := range d.Inputs {
				if in.Title == "" || in.Schema == nil {
					t.Errorf("%s: input %s has no title in %s, or no schema", id, name, lang)
				}
			}
			for name, out := range d.Outputs {
				if out.Schema == nil {
					t.Errorf("%s: output %s has no schema", id, name)
				}
			}
		}
	}
	if _, ok := process.Find("ingen"); ok || len(seen) == 0 {
		t.Error("a process that is not there is found, or there is none")
	}
}
