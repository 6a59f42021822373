package statedb_test

import (
	"context"
	"errors"
	"net/url"
	"testing"

	"grense/internal/await"
	"grense/internal/store"
	"grense/internal/store/postgis/statedb"
	"grense/internal/store/storetest"
)

// plain is an address as people write it, without what it says of TLS, and with the hosts of others behind its own.
func plain(t *testing.T, address string, others ...string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	u.RawQuery = ""
	for _, o := range others {
		next, err := url.Parse(o)
		if err != nil {
			t.Fatal(err)
		}
		u.Host += "," + next.Host
	}
	return u.String()
}

// TestKeysWhereNoServerTakesChanges: a replica, alone or because the primary is gone, reports at once that there is no
// table of keys, and whether the role may create it.
func TestKeysWhereNoServerTakesChanges(t *testing.T) {
	t.Parallel()
	own := &storetest.Cluster{Private: true}
	t.Cleanup(own.Stop)
	primary := own.Database(t)
	reader, asReader := storetest.Role(t, primary, "")
	maker, asMaker := storetest.Role(t, primary, "")
	storetest.Run(t, primary, "CREATE TABLE sted (id INT PRIMARY KEY); GRANT SELECT ON sted TO "+reader+", "+maker+
		"; DO $$ BEGIN EXECUTE format('GRANT CREATE ON DATABASE %I TO "+maker+"', current_database()); END $$")
	replica := own.Replica(t, primary)
	at := func(as string) string { // the replica
		u, err := url.Parse(as)
		if err != nil {
			t.Fatal(err)
		}
		r, err := url.Parse(replica)
		if err != nil {
			t.Fatal(err)
		}
		u.Host = r.Host
		return plain(t, u.String())
	}
	for _, x := range []struct {
		name, url string
		halt      bool
		want      error
		again     bool // may help
	}{
		{"a role that reads, at a replica", at(asReader), false, statedb.ErrReadOnly, false},
		{"a role that may make the table, at a replica", at(asMaker), false, statedb.ErrNoPrimary, false},
		{"a role that reads, without the primary", plain(t, asReader, replica), true, statedb.ErrReadOnly, false},
		{"a role that may make the table, without the primary", plain(t, asMaker, replica), true,
			statedb.ErrNoPrimary, true},
	} {
		if x.halt {
			if _, err := own.Halt(); err != nil {
				t.Fatal(err)
			}
		}
		st, err := statedb.Open(context.Background(), x.url)
		if !errors.Is(err, x.want) || errors.Is(err, store.ErrUnavailable) != x.again {
			t.Errorf("%s: %v", x.name, err)
		}
		if err == nil {
			st.Close()
		}
		if x.halt {
			if err := own.Resume(); err != nil {
				t.Fatal(err)
			}
		}
	}
	st, err := statedb.Open(context.Background(), plain(t, asMaker, replica))
	if err != nil {
		t.Fatal(err)
	}
	st.Close()
	await.True(t, "the replica tells that there are no keys yet", func() bool {
		st, err := statedb.Open(context.Background(), at(asMaker))
		if err != nil {
			return false
		}
		defer st.Close()
		keys, err := st.Keys(context.Background())
		return err == nil && len(keys) == 0
	})
}
