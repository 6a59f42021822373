package gpkg_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"grense/internal/store"
	"grense/internal/store/gpkg"
	"grense/internal/store/storetest"
)

// fetched reads rows as text.
func fetched(t *testing.T, st *gpkg.Store, collection string, rows []store.Row,
	w store.Want) (got []string, err error) {
	t.Helper()
	err = st.Fetch(t.Context(), collection, rows, w, func(f *store.Feature) error {
		// of nothing that is wanted there are none, or no slice
		got = append(got, fmt.Sprintf("%s %#v", f.ID, append([]any{}, f.Values...)))
		return nil
	})
	return got, err
}

// recordFiles are the files of records in a folder.
func recordFiles(t *testing.T, dir string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.records"))
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// someRows gives rows of a collection, mixed.
func someRows(t *testing.T, st *gpkg.Store, r *rand.Rand, collection string) []store.Row {
	t.Helper()
	p, err := st.Page(t.Context(), store.Query{Collection: collection, Limit: 1 + r.IntN(3000), Offset: r.IntN(2000)})
	if err != nil {
		t.Fatal(err)
	}
	r.Shuffle(len(p.Rows), func(i, j int) { p.Rows[i], p.Rows[j] = p.Rows[j], p.Rows[i] })
	return p.Rows
}

// TestPackedRecordsAreThoseOfTheFile: what is read from a file of records is what SQLite gives,
// in the order asked, until somebody writes.
func TestPackedRecordsAreThoseOfTheFile(t *testing.T) {
	if testing.Short() {
		t.Skip("asks one question after another: nothing for the race detector")
	}
	t.Parallel()
	path, dir := manyNames(t), t.TempDir()
	open := func(dir string, bytes int) *gpkg.Store {
		return storetest.Opened[*gpkg.Store](t)(gpkg.Open(t.Context(), path,
			gpkg.Options{DataDir: dir, TypeAhead: bytes}))
	}
	plain, packed := open(t.TempDir(), -1), open(dir, 0)
	packed.ColumnsAtOnce(false)
	r := rand.New(rand.NewPCG(1, 2))
	for i, collection := range []string{"sted", "stedsnavn", "skrivemaate"} {
		c, _ := plain.Catalog().Collection(collection)
		for range 20 {
			w := store.Want{NoGeometry: true, Properties: []string{}}
			for _, n := range r.Perm(len(c.Properties))[:r.IntN(len(c.Properties)+1)] {
				w.Properties = append(w.Properties, c.Properties[n].Name)
			}
			rows := someRows(t, plain, r, collection)
			want, err := fetched(t, plain, collection, rows, w)
			got, err2 := fetched(t, packed, collection, rows, w)
			if err := errors.Join(err, err2); err != nil || len(want) == 0 || len(got) != len(want) {
				t.Fatalf("%s: %d of %d, %v", collection, len(got), len(want), err)
			}
			for i := range want {
				if got[i] != want[i] {
					t.Fatalf("%s, %d of %d rows, %q:\n    got %s\nwant %s", collection, i, len(want), w.Properties,
						got[i], want[i])
				}
			}
		}
		if !packed.Packed(collection) || plain.Packed(collection) || len(recordFiles(t, dir)) != i+1 {
			t.Errorf("%s: %v and %v, %d files", collection, packed.Packed(collection), plain.Packed(collection),
				len(recordFiles(t, dir)))
		}
		w := store.Want{NoGeometry: true}
		for _, rows := range [][]store.Row{
			store.Current("1", "0"), store.Current("2", "-1", "1"), store.Current("1", "99999999", "2"),
			store.Current("x"), store.Current("1", "01"), store.Current("1", strconv.Itoa(1<<40)),
			store.Current("5", "5", "1", "5"), {{ID: "1"}, {ID: "2", Rev: 7}}, nil,
		} {
			for _, w.SkipMissing = range []bool{false, true} {
				want, err := fetched(t, plain, collection, rows, w)
				got, err2 := fetched(t, packed, collection, rows, w)
				if fmt.Sprint(err) != fmt.Sprint(err2) || !slices.Equal(got, want) {
					t.Errorf("%s %v: %v and %v, %q and %q", collection, rows, err, err2, want, got)
				}
			}
		}
	}
	w := store.Want{NoGeometry: true, Properties: []string{"langnavn"}}
	for _, st := range []*gpkg.Store{plain, packed} {
		before, err := st.Page(t.Context(), store.Query{Collection: "skrivemaate", Limit: 5})
		if err != nil {
			t.Fatal(err)
		}
		id, name := before.Rows[4].ID, fmt.Sprintf("%p", st)
		if _, err := fetched(t, st, "skrivemaate", before.Rows, w); err != nil {
			t.Fatal(err)
		}
		run(t, path, "UPDATE skrivemaate SET langnavn = '"+name+"' WHERE id = "+id)
		if _, err := fetched(t, st, "skrivemaate", before.Rows, w); !errors.Is(err, store.ErrChanged) {
			t.Errorf("of the state before: %v", err)
		}
		if got, err := fetched(t, st, "skrivemaate", store.Current(id), w); err != nil || len(got) != 1 ||
			got[0] != fmt.Sprintf("%s %#v", id, []any{name}) {
			t.Errorf("written: %v, %v", got, err)
		}
	}
	old := recordFiles(t, dir)
	if err := packed.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left := recordFiles(t, dir); len(left) != 0 {
		t.Errorf("records of a former state are left: %v", left)
	}
	rows := someRows(t, packed, r, "skrivemaate")
	want, err := fetched(t, plain, "skrivemaate", store.Current(IDs(rows)...), w)
	got, err2 := fetched(t, packed, "skrivemaate", rows, w)
	if now := recordFiles(t, dir); err != nil || err2 != nil || !slices.Equal(got, want) || len(now) > 1 ||
		len(now) == 1 && slices.Contains(old, now[0]) {
		t.Errorf("after a reload: %v, %v, %d and %d, %v", err, err2, len(got), len(want), now)
	}
}

func IDs(rows []store.Row) (ids []string) {
	for _, x := range rows {
		ids = append(ids, x.ID)
	}
	return ids
}

// TestRecordsThatAreDamagedAreNotUsed: a file of records that is cut, changed or of something
// else gives no other answers.
func TestRecordsThatAreDamagedAreNotUsed(t *testing.T) {
	if testing.Short() {
		t.Skip("asks one question after another: nothing for the race detector")
	}
	t.Parallel()
	path := manyNames(t)
	w := store.Want{NoGeometry: true}
	for name, damage := range map[string]func([]byte) []byte{
		"nothing":    func(b []byte) []byte { return b },
		"empty":      func(b []byte) []byte { return nil },
		"cut":        func(b []byte) []byte { return b[:len(b)-1] },
		"cut to ten": func(b []byte) []byte { return b[:10] },
		"the tail":   func(b []byte) []byte { b[len(b)-40] ^= 1; return b },
		"a block":    func(b []byte) []byte { b[100] ^= 1; return b },
		"the footer": func(b []byte) []byte { b[len(b)-10] ^= 1; return b },
	} {
		dir := t.TempDir()
		open := func() *gpkg.Store {
			st := storetest.Opened[*gpkg.Store](t)(gpkg.Open(t.Context(), path, gpkg.Options{DataDir: dir}))
			st.ColumnsAtOnce(false)
			return st
		}
		st := open()
		p, err := st.Page(t.Context(), store.Query{Collection: "sted", Limit: 2500})
		if err != nil {
			t.Fatal(err)
		}
		want, err := fetched(t, st, "sted", p.Rows, w)
		files := recordFiles(t, dir)
		if err != nil || len(files) != 1 {
			t.Fatal(err, files)
		}
		data, err := os.ReadFile(files[0])
		if err == nil {
			err = os.WriteFile(files[0], damage(data), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			for _, st := range []*gpkg.Store{open(), st} { // the second has it open
				if got, err := fetched(t, st, "sted", p.Rows, w); err != nil || !slices.Equal(got, want) {
					t.Errorf("%s: %d features instead of %d, %v", name, len(got), len(want), err)
				}
			}
		}
	}
}
