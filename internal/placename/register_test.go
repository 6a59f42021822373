package placename_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	api "grense/api/placename"
	"grense/internal/placename"
	"grense/internal/register"
	"grense/internal/store"
	"grense/internal/store/gpkg"
	"grense/internal/store/postgis"
	"grense/internal/store/postgis/writer"
	"grense/internal/store/storetest"
)

// places is the size of the register of these tests.
const places = 1500

// fixture is a generated register in a GeoPackage, and its rows as they were written.
type fixture struct {
	store store.Store
	*oracle
}

var (
	folder  string // of the fixture
	shared  = sync.OnceValues(func() (*fixture, error) { return generate(folder) })
	cluster storetest.Cluster
	copied  struct { // the register in a database, once a test needs it
		sync.Mutex
		url string
	}
)

func TestMain(m *testing.M) {
	var err error
	if folder, err = os.MkdirTemp("", "placename"); err != nil {
		panic(err)
	}
	code := cluster.Main(m)
	os.RemoveAll(folder)
	os.Exit(code)
}

// inBothStores returns the fixture and one with the same register in PostGIS, by the name of the store.
func (f *fixture) inBothStores(t testing.TB) map[string]*fixture {
	t.Helper()
	return map[string]*fixture{"GeoPackage": f, "PostGIS": {openDatabase(t), f.oracle}}
}

// openDatabase opens the database with the register, which the first caller fills.
func openDatabase(t testing.TB) store.Store {
	t.Helper()
	copied.Lock()
	defer copied.Unlock()
	if copied.url == "" {
		url := cluster.Lasting(t)
		storetest.Write(t, func(w store.Writer) {
			if err := register.Generate(t.Context(), w, register.Options{Places: places, Seed: 7}); err != nil {
				t.Fatal(err)
			}
		})(writer.Create(t.Context(), url))
		copied.url = url
	}
	return storetest.Opened[*postgis.Store](t)(postgis.Open(t.Context(), copied.url, postgis.Options{}))
}

// setup returns the fixture, which tests only read.
func setup(t testing.TB) *fixture {
	t.Helper()
	f, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func generate(dir string) (*fixture, error) {
	ctx := context.Background()
	path := filepath.Join(dir, "register.gpkg")
	w, err := gpkg.Create(ctx, path)
	if err != nil {
		return nil, err
	}
	defer w.Close()
	rec := recorder{w, map[string][]row{}}
	if err := register.Generate(ctx, rec, register.Options{Places: places, Seed: 7}); err != nil {
		return nil, err
	}
	if err := w.Commit(ctx); err != nil {
		return nil, err
	}
	st, err := gpkg.Open(ctx, path, gpkg.Options{DataDir: dir})
	if err != nil {
		return nil, err
	}
	return &fixture{st, newOracle(rec.rows)}, nil
}

// recorder passes rows on and keeps them.
type recorder struct {
	store.Writer
	rows map[string][]row
}

func (r recorder) Insert(ctx context.Context, table string, columns []string) (func(...any) error, error) {
	insert, err := r.Writer.Insert(ctx, table, columns)
	if err != nil {
		return nil, err
	}
	columns = slices.Clone(columns)
	return func(values ...any) error {
		x := make(row, len(columns))
		for i, c := range columns {
			x[c] = values[i]
		}
		r.rows[table] = append(r.rows[table], x)
		return insert(values...)
	}, nil
}

// service searches the register as the oracle does: without a limit that matters, and finding nothing by unknown codes.
func (f *fixture) service() *placename.Service {
	return placename.New(f.store, placename.Options{MaxHits: 1_000_000, UnknownCodes: placename.NoMatch})
}

// hits runs a search and joins all batches.
func hits[H any, L interface {
	~[]H
	api.Hits
}](t testing.TB, s api.Searcher, r api.Request) []H {
	t.Helper()
	a, err := s.Search(t.Context(), r)
	if err != nil {
		t.Fatalf("%s: %v", describe(r), err)
	}
	var all []H
	for a.Next != nil {
		h, err := a.Next(t.Context())
		if err != nil {
			t.Fatalf("%s: %v", describe(r), err)
		}
		if h == nil {
			break
		}
		all = append(all, h.(L)...)
	}
	if a.Count != len(all) {
		t.Errorf("%s: count %d, %d hits", describe(r), a.Count, len(all))
	}
	return all
}

// describe names a request for a message.
func describe(r api.Request) string { return fmt.Sprintf("%s %s", r.Operation(), show(r)) }
