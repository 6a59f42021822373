package statedb_test

import (
	"bytes"
	"testing"

	"grense/internal/state"
	"grense/internal/store/postgis/statedb"
)

func TestPasswordKeyFollowsFromThePassword(t *testing.T) {
	t.Parallel()
	a, b := statedb.PasswordKey("postgres://u:secret@one:5432/d"),
		statedb.PasswordKey("postgres://u:secret@two/d?application_name=x")
	if len(a) != state.SecretSize || !bytes.Equal(a, b) {
		t.Errorf("%x, %x", a, b)
	}
	for _, url := range []string{"postgres://u:other@one/d", "postgres://v:secret@one/d", "postgres://u:secret@one/e"} {
		if bytes.Equal(statedb.PasswordKey(url), a) {
			t.Errorf("%s has the same key", url)
		}
	}
	if key := statedb.PasswordKey("postgres://u@one/d?passfile=/dev/null"); key != nil {
		t.Errorf("without a password: %x", key)
	}
}
