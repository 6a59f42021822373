package problems

import (
	"fmt"
	"net/http"
	"testing"

	"grense/internal/problem"
	"grense/web"
)

func TestEveryKindHasAStatusAndACode(t *testing.T) {
	t.Parallel()
	for _, k := range problem.Kinds {
		if http.StatusText(status[k]) == "" || codes[k] == "" {
			t.Errorf("%s: status %d, code %q", k, status[k], codes[k])
		}
		if k.String() == "" {
			t.Errorf("kind %d has no name", k)
		}
		for _, lang := range web.Languages() {
			for _, name := range []string{fmt.Sprintf("status.%d", status[k]),
				fmt.Sprintf("status.%d-text", status[k])} {
				// its page has the form for a key instead
				if status[k] != http.StatusUnauthorized && web.Text(lang, name) == name {
					t.Errorf("%s: %s has no words for it in %s", k, name, lang)
				}
			}
		}
	}
}
