package postgis_test

import (
	"bytes"
	"sync"
	"testing"

	"grense/internal/store"
	"grense/internal/store/postgis"
)

func TestSecretIsThatOfTheDatabase(t *testing.T) {
	t.Parallel()
	url := cluster.Database(t)
	var got [4][]byte
	var all sync.WaitGroup
	for i := range got {
		all.Go(func() {
			st, err := postgis.OpenState(t.Context(), url)
			if err != nil {
				t.Error(err)
				return
			}
			defer st.Close()
			if got[i], err = st.Secret(t.Context()); err != nil || len(got[i]) != store.SecretSize {
				t.Errorf("%d bytes, %v", len(got[i]), err)
			}
		})
	}
	all.Wait()
	for i := range got {
		if !bytes.Equal(got[i], got[0]) {
			t.Errorf("two secrets of one database: %x, %x", got[i], got[0])
		}
	}
}

func TestPasswordKeyFollowsFromThePassword(t *testing.T) {
	t.Parallel()
	a, b := postgis.PasswordKey("postgres://u:secret@one:5432/d"), postgis.PasswordKey("postgres://u:secret@two/d?application_name=x")
	if len(a) != store.SecretSize || !bytes.Equal(a, b) {
		t.Errorf("%x, %x", a, b)
	}
	for _, url := range []string{"postgres://u:other@one/d", "postgres://v:secret@one/d", "postgres://u:secret@one/e"} {
		if bytes.Equal(postgis.PasswordKey(url), a) {
			t.Errorf("%s has the same key", url)
		}
	}
	if key := postgis.PasswordKey("postgres://u@one/d?passfile=/dev/null"); key != nil {
		t.Errorf("without a password: %x", key)
	}
}
