package migrate_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/fstest"

	"grense/internal/migrate"
)

// memory is a database that keeps what was applied; it fails at one number.
type memory struct {
	applied []int
	fail    int
}

var errFail = errors.New("fail")

func (m *memory) Applied(context.Context) ([]int, error) { return slices.Clone(m.applied), nil }

func (m *memory) Apply(_ context.Context, x migrate.Migration) error {
	if x.Number == m.fail {
		return errFail
	}
	m.applied = append(m.applied, x.Number)
	return nil
}

func three(t *testing.T) []migrate.Migration {
	t.Helper()
	list, err := migrate.Read(fstest.MapFS{"0002_b.sql": {Data: []byte("2")}, "0001_a_x.sql": {Data: []byte("1")},
		"0003_c.sql": {Data: []byte("3")}})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestReadOrders(t *testing.T) {
	t.Parallel()
	for i, m := range three(t) {
		if m.Number != i+1 || m.SQL != []string{"1", "2", "3"}[i] || m.Name != []string{"a_x", "b", "c"}[i] {
			t.Errorf("%d: %+v", i, m)
		}
	}
}

func TestReadRefuses(t *testing.T) {
	t.Parallel()
	for name, files := range map[string][]string{
		"gap": {"0001_a.sql", "0003_c.sql"}, "twice": {"0001_a.sql", "0001_b.sql"}, "zero": {"0000_a.sql"},
		"other name": {"1_a.sql"}, "no name": {"0001_.sql"},
		"other ending": {"0001_a.txt"}, "sign": {"+001_a.sql"},
	} {
		fsys := fstest.MapFS{}
		for _, f := range files {
			fsys[f] = &fstest.MapFile{}
		}
		if _, err := migrate.Read(fsys); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestUpAppliesOnce(t *testing.T) {
	t.Parallel()
	db, list := &memory{fail: 3}, three(t)
	n, err := migrate.Up(context.Background(), db, list)
	if n != 2 || !errors.Is(err, errFail) {
		t.Errorf("%d, %v", n, err)
	}
	db.fail = 0
	if n, err = migrate.Up(context.Background(), db, list); n != 1 || err != nil ||
		!slices.Equal(db.applied, []int{1, 2, 3}) {
		t.Errorf("%d, %v, %v", n, err, db.applied)
	}
	if n, err = migrate.Up(context.Background(), db, list); n != 0 || err != nil {
		t.Errorf("again: %d, %v", n, err)
	}
}

func TestUpRefusesNewer(t *testing.T) {
	t.Parallel()
	if _, err := migrate.Up(context.Background(), &memory{applied: []int{1, 2, 3, 4}}, three(t)); !errors.Is(err,
		migrate.ErrNewer) {
		t.Errorf("error %v", err)
	}
}

func TestOwnMigrationsAreRead(t *testing.T) {
	t.Parallel()
	list, err := migrate.GeoPackage()
	if err != nil || len(list) == 0 {
		t.Fatalf("%d migrations: %v", len(list), err)
	}
}
