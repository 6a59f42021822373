package gpkg

import (
	"context"
	"time"

	"grense/internal/store"
	"grense/internal/store/gpkg/writer"
)

// Create is writer.Create.
func Create(ctx context.Context, path string) (store.Writer, error) { return writer.Create(ctx, path) }

// CreateDated is writer.CreateDated.
func CreateDated(ctx context.Context, path string, at time.Time) (store.Writer, error) {
	return writer.CreateDated(ctx, path, at)
}

// CreateBare is writer.CreateBare.
func CreateBare(ctx context.Context, path string, at time.Time) (store.Writer, error) {
	return writer.CreateBare(ctx, path, at)
}
