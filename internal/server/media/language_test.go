package media_test

import (
	"testing"

	"grense/internal/config"
	"grense/internal/server/media"
	"grense/internal/server/page"
	"grense/web"
)

// TestEveryLanguageOfTheCataloguesIsNegotiated: by its code, and by the language tag of responses.
func TestEveryLanguageOfTheCataloguesIsNegotiated(t *testing.T) {
	t.Parallel()
	if len(page.Languages) != len(web.Languages()) {
		t.Errorf("%d languages, and %d catalogues", len(page.Languages), len(web.Languages()))
	}
	for i, code := range web.Languages() {
		if got, ok := media.LanguageOf(code); !ok || got != code {
			t.Errorf("%q is negotiated as %q", code, got)
		}
		if i >= len(page.Languages) || page.Languages[i].Code != code {
			t.Errorf("%q has no tag at its place", code)
		} else if got, ok := media.LanguageOf(page.Languages[i].Tag); !ok || got != code {
			t.Errorf("%q is negotiated as %q", page.Languages[i].Tag, got)
		}
	}
}

// TestTextsOfTheConfigurationMayBeInEveryLanguageOfTheCatalogues: the settings of a service accept the same languages
// as its pages.
func TestTextsOfTheConfigurationMayBeInEveryLanguageOfTheCatalogues(t *testing.T) {
	t.Parallel()
	for _, code := range web.Languages() {
		c := config.Default()
		c.DataDir, c.Service.Title = t.TempDir(), config.Text{code: "x"}
		if err := c.Validate(); err != nil {
			t.Errorf("%q: %v", code, err)
		}
	}
}
