package gpkg_test

import (
	"bytes"
	"path/filepath"
	"testing"

	"grense/internal/store"
	"grense/internal/store/gpkg"
)

func TestSecretIsThatOfTheFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	secret := func(path string) []byte {
		st, err := gpkg.OpenState(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		defer st.Close()
		a, err := st.Secret(t.Context())
		if err != nil || len(a) != store.SecretSize {
			t.Fatalf("%d bytes, %v", len(a), err)
		}
		b, err := st.Secret(t.Context())
		if err != nil || !bytes.Equal(a, b) {
			t.Errorf("the second time %x, %v", b, err)
		}
		return a
	}
	if a, b := secret(path), secret(path); !bytes.Equal(a, b) {
		t.Error("another process has another secret")
	}
	if bytes.Equal(secret(path), secret(filepath.Join(t.TempDir(), "other.db"))) {
		t.Error("two files have one secret")
	}
}
