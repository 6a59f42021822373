package gpkg_test

import (
	"context"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"grense/internal/geo/wkb"
	"grense/internal/store"
	"grense/internal/store/gpkg"
	"grense/internal/store/gpkg/writer"
	"grense/internal/store/storetest"
)

func TestContract(t *testing.T) {
	t.Parallel()
	exercise := storetest.Exercise
	if testing.Short() { // the run without the race detector has all of it
		exercise = storetest.ExerciseThreads
	}
	exercise(t, func(t *testing.T, fill func(store.Writer)) store.Store {
		t.Helper()
		path := filepath.Join(t.TempDir(), "data.gpkg")
		create(t, path, fill)
		return openStore(t, path, gpkg.Options{})
	})
}

// TestContractOfAnUnchangingFile is what the contract says of answers where the file is read without locks.
func TestContractOfAnUnchangingFile(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long: the run without the race detector has it")
	}
	storetest.ExerciseAnswers(t, func(t *testing.T, fill func(store.Writer)) store.Store {
		t.Helper()
		path := filepath.Join(t.TempDir(), "data.gpkg")
		create(t, path, fill)
		return openStore(t, path, gpkg.Options{Unchanging: true})
	})
}

// TestContractWithColumnsInMemory is what the contract says of answers where conditions are
// answered from values in memory.
func TestContractWithColumnsInMemory(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long: the run without the race detector has it")
	}
	var s *gpkg.Store
	storetest.ExerciseAnswers(t, func(t *testing.T, fill func(store.Writer)) store.Store {
		t.Helper()
		path := filepath.Join(t.TempDir(), "data.gpkg")
		create(t, path, fill)
		s = openStore(t, path, gpkg.Options{})
		s.ColumnsAtOnce(false)
		return s
	})
	if n := s.Indexed(); n < 20 {
		t.Errorf("%d columns are in memory, no test", n)
	}
}

// TestContractOfWhatIsNoGeometry: other programs may leave anything.
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
		path := filepath.Join(t.TempDir(), "crossing.gpkg")
		create(t, path, fill)
		return openStore(t, path, gpkg.Options{})
	})
}

// spoilt is a storetest.BrokenOpener.
func spoilt(t *testing.T, fill func(store.Writer), spoil func(storetest.Put)) store.Store {
	t.Helper()
	path := filepath.Join(t.TempDir(), "data.gpkg")
	create(t, path, fill)
	db, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	spoil(func(c *store.Collection, id string, geometry []byte) bool {
		for _, trigger := range [...]string{"update1", "update2", "update3", "update4"} {
			// they call functions of SpatiaLite
			sql := `DROP TRIGGER IF EXISTS "rtree_` + c.Table + "_" + c.Geometry.Column + "_" + trigger + `"`
			if err := sqlitex.ExecuteTransient(db, sql, nil); err != nil {
				t.Fatal(err)
			}
		}
		srs := uint32(4326)
		if !c.Geometry.CRS.Geographic() {
			srs = uint32(c.Geometry.CRS)
		}
		blob := append(binary.LittleEndian.AppendUint32([]byte{'G', 'P', 0, 1}, srs), geometry...)
		err := sqlitex.ExecuteTransient(db, "UPDATE "+c.Table+" SET "+c.Geometry.Column+" = ? WHERE "+c.Key.Column+
			" = ?", &sqlitex.ExecOptions{Args: []any{blob, id}})
		if err != nil || db.Changes() != 1 {
			t.Fatalf("%s %s: %d rows, %v", c.ID, id, db.Changes(), err)
		}
		if _, in, err := wkb.Lines(geometry, store.Chord(c.Geometry.CRS)); err == nil && in.Positions > 0 {
			// as the triggers would
			b := in.Bound
			err := sqlitex.ExecuteTransient(db, `INSERT OR REPLACE INTO "rtree_`+c.Table+"_"+c.Geometry.Column+
				`" SELECT rowid, ?, ?, ?, ? FROM `+c.Table+" WHERE "+c.Key.Column+" = ?",
				&sqlitex.ExecOptions{Args: []any{b.Min[0], b.Max[0], b.Min[1], b.Max[1], id}})
			if err != nil {
				t.Fatal(err)
			}
		}
		return true
	})
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return openStore(t, path, gpkg.Options{})
}

// create writes a GeoPackage.
func create(t testing.TB, path string, fill func(store.Writer)) {
	t.Helper()
	storetest.Write(t, fill)(writer.Create(context.Background(), path))
}

// openStore opens a store and closes it when the test ends.
func openStore(t testing.TB, path string, o gpkg.Options) *gpkg.Store {
	t.Helper()
	if o.DataDir == "" {
		o.DataDir = t.TempDir()
	}
	o.AllowEmpty = true // many tests are about layers that are refused
	return storetest.Opened[*gpkg.Store](t)(gpkg.Open(context.Background(), path, o))
}

// TestChangedData: a file that another one takes the place of, and one that is written into.
func TestChangedData(t *testing.T) {
	t.Parallel()
	storetest.ExerciseChange(t, func(t *testing.T, fill func(store.Writer)) (store.Store, func(func(store.Writer))) {
		path := filepath.Join(t.TempDir(), "data.gpkg")
		create(t, path, fill)
		s := openStore(t, path, gpkg.Options{})
		return s, func(fill func(store.Writer)) {
			create(t, path+".new", fill)
			if err := os.Rename(path+".new", path); err != nil {
				t.Fatal(err)
			}
			if err := s.Reload(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestContractOfVersions: several rows may be one feature; of a file that nobody writes into also
// by the versions in memory.
func TestContractOfVersions(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]gpkg.Options{"by SQL": {}, "from memory": {Unchanging: true, Columns: 1 << 20}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			storetest.ExerciseVersions(t, func(t *testing.T, fill func(store.Writer)) store.Store {
				t.Helper()
				path := filepath.Join(t.TempDir(), "data.gpkg")
				create(t, path, fill)
				s := openStore(t, path, o)
				s.ColumnsAtOnce(false)
				return s
			})
		})
	}
}
