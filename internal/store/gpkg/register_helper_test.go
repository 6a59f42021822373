package gpkg_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"grense/internal/cql2"
	"grense/internal/register"
	"grense/internal/store/gpkg/writer"
)

func norm(property string) cql2.Expr {
	return cql2.Func{Name: "norm", Args: []cql2.Expr{cql2.Prop{Name: property}}}
}

func liked(pattern string) cql2.Expr {
	return cql2.Like{X: norm("langnavn"), Pattern: cql2.Text(pattern)}
}

// manyNames writes a register that is large enough for tables in memory, generated once for all tests.
func manyNames(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "register.gpkg")
	b, err := manyNamesFile()
	if err == nil {
		err = os.WriteFile(path, b, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

var manyNamesFile = sync.OnceValues(func() (b []byte, err error) {
	dir, err := os.MkdirTemp("", "register")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path, ctx := filepath.Join(dir, "register.gpkg"), context.Background()
	w, err := writer.Create(ctx, path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	if err = register.Generate(ctx, w, register.Options{Places: 2500, Seed: 3}); err != nil {
		return nil, err
	}
	if err = w.Commit(ctx); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})
