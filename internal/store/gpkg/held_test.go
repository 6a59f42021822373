package gpkg_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"grense/internal/store"
	"grense/internal/store/gpkg"
	"grense/internal/store/storetest"
)

// TestRecordsThatAreHeldAreThoseOfTheFile: what is read from memory is what SQLite gives, in the order asked, until somebody writes.
func TestRecordsThatAreHeldAreThoseOfTheFile(t *testing.T) {
	t.Parallel()
	path := manyNames(t)
	open := func(bytes int) *gpkg.Store {
		return storetest.Opened[*gpkg.Store](t)(gpkg.Open(t.Context(), path, gpkg.Options{DataDir: t.TempDir(), TypeAhead: bytes}))
	}
	plain, held := open(-1), open(0)
	held.ColumnsAtOnce(false)
	fetch := func(st *gpkg.Store, collection string, rows []store.Row, w store.Want) (got []string, err error) {
		err = st.Fetch(t.Context(), collection, rows, w, func(f *store.Feature) error {
			got = append(got, fmt.Sprintf("%s %#v", f.ID, f.Values))
			return nil
		})
		return got, err
	}
	r := rand.New(rand.NewPCG(1, 2))
	for i, collection := range []string{"sted", "stedsnavn", "skrivemaate"} {
		c, _ := plain.Catalog().Collection(collection)
		w := store.Want{NoGeometry: true}
		for _, p := range c.Properties {
			w.Properties = append(w.Properties, p.Name)
		}
		for range 20 {
			p, err := plain.Page(t.Context(), store.Query{Collection: collection, Limit: 1 + r.IntN(3000), Offset: r.IntN(2000)})
			if err != nil {
				t.Fatal(err)
			}
			r.Shuffle(len(p.Rows), func(i, j int) { p.Rows[i], p.Rows[j] = p.Rows[j], p.Rows[i] })
			want, err := fetch(plain, collection, p.Rows, w)
			got, err2 := fetch(held, collection, p.Rows, w)
			if err := errors.Join(err, err2); err != nil || len(want) == 0 || !slices.Equal(got, want) {
				t.Fatalf("%s: %d of %d, %v", collection, len(got), len(want), err)
			}
		}
		if held.Columns() != i+1 || plain.Columns() != 0 {
			t.Errorf("%s: %d and %d tables", collection, held.Columns(), plain.Columns())
		}
		for _, missing := range []string{"0", "-1", "99999999", "x", "01", strconv.Itoa(1 << 40)} {
			rows := store.Current("1", missing)
			want, err := fetch(plain, collection, rows, w)
			got, err2 := fetch(held, collection, rows, w)
			if !errors.Is(err, store.ErrNotFound) || !errors.Is(err2, store.ErrNotFound) || !slices.Equal(got, want) {
				t.Errorf("%s %s: %v and %v, %q and %q", collection, missing, err, err2, want, got)
			}
		}
	}
	w := store.Want{NoGeometry: true, Properties: []string{"langnavn"}}
	for _, st := range []*gpkg.Store{plain, held} {
		before, err := st.Page(t.Context(), store.Query{Collection: "skrivemaate", Limit: 5})
		if err != nil {
			t.Fatal(err)
		}
		id := before.Rows[4].ID
		name := fmt.Sprintf("%p", st)
		if _, err := fetch(st, "skrivemaate", before.Rows, w); err != nil {
			t.Fatal(err)
		}
		run(t, path, "UPDATE skrivemaate SET langnavn = '"+name+"' WHERE id = "+id)
		if _, err := fetch(st, "skrivemaate", before.Rows, w); !errors.Is(err, store.ErrChanged) {
			t.Errorf("of the state before: %v", err)
		}
		if got, err := fetch(st, "skrivemaate", store.Current(id), w); err != nil || len(got) != 1 || got[0] != fmt.Sprintf("%s %#v", id, []any{name}) {
			t.Errorf("written: %v, %v", got, err)
		}
	}
}
