package postgis_test

import (
	"context"
	"fmt"
	"path/filepath"
	"reflect"
	"testing"

	"grense/internal/demo"
	"grense/internal/register"
	"grense/internal/store"
	"grense/internal/store/gpkg"
	"grense/internal/store/postgis"
)

// TestRegisterIsTheSameInBothStores writes the demo and a register into both and compares every collection and value.
func TestRegisterIsTheSameInBothStores(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	write := func(w store.Writer) {
		if err := demo.Write(ctx, w); err != nil {
			t.Fatal(err)
		}
		if err := register.Generate(ctx, w, register.Options{Places: 300, Seed: 3}); err != nil {
			t.Fatal(err)
		}
	}
	url := cluster.Database(t)
	create(t, url, write)
	create(t, url, func(w store.Writer) { // again, in place of the first
		if err := register.Generate(ctx, w, register.Options{Places: 300, Seed: 3}); err != nil {
			t.Fatal(err)
		}
	})
	path := filepath.Join(t.TempDir(), "data.gpkg")
	w, err := gpkg.Create(ctx, path)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	write(w)
	if err := w.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	file, err := gpkg.Open(ctx, path, gpkg.Options{DataDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	base := openStore(t, url, postgis.Options{})
	if n := base.Catalog().Notes; len(n) > 0 {
		t.Errorf("notes %+v", n)
	}
	if a, b := len(file.Catalog().Collections), len(base.Catalog().Collections); a != b {
		t.Errorf("%d collections in the file, %d in the database", a, b)
	}
	for _, c := range file.Catalog().Collections {
		got, ok := base.Catalog().Collection(c.ID)
		if !ok {
			t.Errorf("no collection %q", c.ID)
			continue
		}
		if got.Count != c.Count || !reflect.DeepEqual(got.Extent, c.Extent) {
			t.Errorf("%s: %d features in %v, want %d in %v", c.ID, got.Count, got.Extent, c.Count, c.Extent)
		}
		for _, x := range [][2]any{{got.Properties, c.Properties}, {got.Relations, c.Relations}} {
			if a, b := fmt.Sprintf("%+v", x[0]), fmt.Sprintf("%+v", x[1]); a != b { // an empty list is no list
				i := 0
				for i < min(len(a), len(b)) && a[i] == b[i] {
					i++
				}
				t.Errorf("%s: properties or relations differ:\n got ...%.200s\nwant ...%.200s", c.ID, a[max(0, i-60):], b[max(0, i-60):])
			}
		}
		if !reflect.DeepEqual(got.Temporal, c.Temporal) {
			t.Errorf("%s: time from %v to %v, want %v to %v", c.ID, got.Temporal[0], got.Temporal[1], c.Temporal[0], c.Temporal[1])
		}
		if a, b := everything(t, file, c), everything(t, base, c); !reflect.DeepEqual(a, b) {
			for i := range a {
				if i >= len(b) || !reflect.DeepEqual(a[i], b[i]) {
					t.Errorf("%s: feature %d of %d: %v, want %v", c.ID, i, len(b), b[min(i, len(b)-1)], a[i])
					break
				}
			}
		}
	}
}

// everything returns ids, all values and geometries of a collection by id.
func everything(t *testing.T, s store.Store, c *store.Collection) (all [][]any) {
	t.Helper()
	p, err := s.Page(context.Background(), store.Query{Collection: c.ID, Limit: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	var ids, names []string
	for _, r := range p.Rows {
		ids = append(ids, r.ID)
	}
	for _, x := range c.Properties {
		names = append(names, x.Name)
	}
	err = s.Fetch(context.Background(), c.ID, ids, store.Want{Properties: names}, func(f *store.Feature) error {
		g, err := f.Geometry.Orb()
		all = append(all, append([]any{f.ID, g}, f.Values...))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
