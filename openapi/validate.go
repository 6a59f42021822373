package openapi

import (
	"context"
	"fmt"

	"github.com/getkin/kin-openapi/openapi3"
)

// Load parses a document and validates it as OpenAPI 3.0, including examples and defaults. It refuses external
// references.
func Load(ctx context.Context, doc []byte) (*openapi3.T, error) {
	l := openapi3.NewLoader()
	l.IsExternalRefsAllowed = false
	t, err := l.LoadFromData(doc)
	if err != nil {
		return nil, fmt.Errorf("openapi: %w", err)
	}
	if err := t.Validate(ctx); err != nil {
		return nil, fmt.Errorf("openapi: %w", err)
	}
	return t, nil
}
