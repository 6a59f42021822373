package server

import (
	"net/http"
	"testing"

	"grense/internal/problem"
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
	}
}
