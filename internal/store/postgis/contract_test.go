package postgis_test

import (
	"context"
	"os"
	"testing"

	"github.com/jackc/pgx/v5"

	"grense/internal/store"
	"grense/internal/store/postgis"
	"grense/internal/store/postgis/writer"
	"grense/internal/store/storetest"
)

var cluster storetest.Cluster

func TestMain(m *testing.M) { os.Exit(cluster.Main(m)) }

func TestContract(t *testing.T) {
	t.Parallel()
	exercise := storetest.Exercise
	if testing.Short() { // the run without the race detector has all of it
		exercise = storetest.ExerciseThreads
	}
	exercise(t, func(t *testing.T, fill func(store.Writer)) store.Store {
		t.Helper()
		url := cluster.Database(t)
		create(t, url, fill)
		return openStore(t, url, postgis.Options{})
	})
}

// TestContractOfWhatIsNoGeometry: PostGIS takes coordinates that are no numbers.
func TestContractOfWhatIsNoGeometry(t *testing.T) {
	t.Parallel()
	storetest.ExerciseBroken(t, spoilt)
}

func TestContractOfCurves(t *testing.T) {
	t.Parallel()
	storetest.ExerciseCurves(t, spoilt)
}

func TestContractOfTheAntimeridian(t *testing.T) {
	t.Parallel()
	storetest.ExerciseAntimeridian(t, func(t *testing.T, fill func(store.Writer)) store.Store {
		url := cluster.Database(t)
		create(t, url, fill)
		return openStore(t, url, postgis.Options{})
	})
}

// spoilt is a storetest.BrokenOpener.
func spoilt(t *testing.T, fill func(store.Writer), spoil func(storetest.Put)) store.Store {
	t.Helper()
	url := cluster.Database(t)
	create(t, url, fill)
	db, err := pgx.Connect(context.Background(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close(context.Background())
	spoil(func(c *store.Collection, id string, geometry []byte) bool {
		sql := "UPDATE grense." + c.Table + " SET " + c.Geometry.Column + " = ST_SetSRID(ST_GeomFromWKB($1), ST_SRID(" +
			c.Geometry.Column + ")) WHERE " + c.Key.Column + "::text = $2"
		tag, err := db.Exec(context.Background(), sql, geometry, id)
		if err == nil && tag.RowsAffected() != 1 {
			t.Fatalf("%s %s: %v", c.ID, id, tag)
		}
		if err != nil {
			t.Logf("the database refuses %x: %v", geometry, err)
		}
		return err == nil
	})
	return openStore(t, url, postgis.Options{})
}

// create writes into a database.
func create(t testing.TB, url string, fill func(store.Writer)) {
	t.Helper()
	storetest.Write(t, fill)(writer.Create(context.Background(), url))
}

// openStore opens a store and closes it when the test ends.
func openStore(t testing.TB, url string, o postgis.Options) *postgis.Store {
	t.Helper()
	return storetest.Opened[*postgis.Store](t)(postgis.Open(context.Background(), url, o))
}

func TestChangedData(t *testing.T) {
	t.Parallel()
	storetest.ExerciseChange(t, func(t *testing.T, fill func(store.Writer)) (store.Store, func(func(store.Writer))) {
		url := cluster.Database(t)
		create(t, url, fill)
		s := openStore(t, url, postgis.Options{})
		return s, func(fill func(store.Writer)) {
			create(t, url, fill)
			if err := s.Reload(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestContractOfVersions: several rows may be one feature.
func TestContractOfVersions(t *testing.T) {
	t.Parallel()
	storetest.ExerciseVersions(t, func(t *testing.T, fill func(store.Writer)) store.Store {
		t.Helper()
		url := cluster.Database(t)
		create(t, url, fill)
		return openStore(t, url, postgis.Options{})
	})
}
